#include "sim/exhaustive_search.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/env/access.h"
#include "sim/test_world.h"

namespace sim {
namespace {

using Result = ExhaustiveSearch::Result;
using StopReason = World::StopReason;

// A step of a toy program: "x" writes resource x, "?x" reads it, "." touches
// nothing that others look at.
struct Step {
  char resource;
  bool changes;
};
using Program = std::vector<Step>;

Program Parse(const std::string& text) {
  Program program;
  bool reads = false;
  for (char c : text) {
    if (c == '?') {
      reads = true;
      continue;
    }
    program.push_back({c, !reads});
    reads = false;
  }
  return program;
}

env::Access AccessOf(Step step) {
  if (step.resource == '.') return env::Access();
  return env::Access::Numbered(static_cast<uint64_t>(step.resource),
                               step.changes);
}

struct Explored {
  Result result;
  // The orders, as task numbers, of all runs; of pruned ones as well.
  std::set<std::string> orders;
};

// One task per program.
Explored Explore(const std::vector<std::string>& programs,
                 ExhaustiveSearch::Options options = {}) {
  Explored explored;
  ExhaustiveSearch search(options);
  explored.result = search.Run([&](const WorldOptions& world) {
    TestWorld w(Choices(0, Base::kZero), world);
    std::string order;
    for (size_t p = 0; p < programs.size(); ++p) {
      w.Spawn("t" + std::to_string(p), [&order, &programs, p] {
        for (Step step : Parse(programs[p])) {
          env::Current().env->tasks->Yield(kTestYield, AccessOf(step));
          order += std::to_string(p);
        }
      });
    }
    EXPECT_EQ(w->Run(), StopReason::kIdle);
    explored.orders.insert(order);
    return std::string();
  });
  return explored;
}

uint64_t Classes(const std::vector<std::string>& programs) {
  Result result = Explore(programs).result;
  EXPECT_TRUE(result.complete);
  return result.runs;
}

uint64_t Schedules(const std::vector<std::string>& programs) {
  ExhaustiveSearch::Options options;
  options.sleep_sets = false;
  Explored explored = Explore(programs, options);
  EXPECT_TRUE(explored.result.complete);
  EXPECT_EQ(explored.result.pruned, 0u);
  return explored.orders.size();
}

TEST(ExhaustiveSearch, OneRunForEachMazurkiewiczClass) {
  // Nothing in common: one class.
  EXPECT_EQ(Classes({"aaa", "bbb", "ccc"}), 1u);
  EXPECT_EQ(Classes({"...", "...", "..."}), 1u);
  // Writes of one resource: every order is a class of its own.
  EXPECT_EQ(Classes({"x", "x", "x"}), 6u);
  EXPECT_EQ(Classes({"x", "x", "x", "x"}), 24u);
  EXPECT_EQ(Classes({"xx", "xx", "xx"}), 90u);
  // Readers commute with each other; each is before or after the writer.
  EXPECT_EQ(Classes({"x", "?x", "?x", "?x"}), 8u);
  // Between two writes there are three places for each reader.
  EXPECT_EQ(Classes({"xx", "?x", "?x"}), 9u);
  // An order for x and one for y: all four, or, if the second task takes them
  // the other way round, not the one that is a cycle.
  EXPECT_EQ(Classes({"xy", "xy"}), 4u);
  EXPECT_EQ(Classes({"xy", "yx"}), 3u);
  // Steps in between that nobody looks at add none.
  EXPECT_EQ(Classes({".x..y.", ".y..x."}), 3u);
  // The ring of dining philosophers: 2^3 directions without the two cycles, and
  // the two are orders here because each takes its forks one after the other.
  EXPECT_EQ(Classes({"ab", "bc", "ca"}), 7u);
}

TEST(ExhaustiveSearch, WithoutSleepSetsEveryScheduleRuns) {
  EXPECT_EQ(Schedules({"x", "x", "x"}), 6u);
  EXPECT_EQ(Schedules({"aa", "bb"}), 6u);           // 4! / (2! 2!)
  EXPECT_EQ(Schedules({"aaa", "bbb", "c"}), 140u);  // 7! / (3! 3! 1!)
}

// The order of each two conflicting steps: what makes a class.
std::string ClassOf(const std::vector<std::string>& programs,
                    const std::string& order) {
  std::vector<std::pair<size_t, Step>> steps;  // in the order of the run
  std::vector<size_t> next(programs.size());
  std::string ids;
  for (char c : order) {
    auto task = static_cast<size_t>(c - '0');
    steps.push_back({task, Parse(programs[task])[next[task]]});
    ids += static_cast<char>('A' + task * 8 + next[task]++);
  }
  std::set<std::string> pairs;
  for (size_t i = 0; i < steps.size(); ++i) {
    for (size_t j = i + 1; j < steps.size(); ++j) {
      if (steps[i].first == steps[j].first) continue;
      if (!AccessOf(steps[i].second).ConflictsWith(AccessOf(steps[j].second))) {
        continue;
      }
      pairs.insert({ids[i], ids[j]});
    }
  }
  std::string text;
  for (const std::string& pair : pairs) text += pair + " ";
  return text;
}

TEST(ExhaustiveSearch, MeetsEachClassOfRandomProgramsExactlyOnce) {
  ExhaustiveSearch::Options all;
  all.sleep_sets = false;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Choices choices(seed);
    Drawer drawer(&choices, Stream::kWorkload, Scope());
    std::vector<std::string> programs(3);
    for (std::string& program : programs) {
      uint64_t steps = 1 + drawer.Below("steps", 3);
      for (uint64_t i = 0; i < steps; ++i) {
        if (drawer.Below("reads", 2) == 0) program += '?';
        program += "xy."[drawer.Below("resource", 3)];
      }
    }
    std::set<std::string> classes;
    for (const std::string& order : Explore(programs, all).orders) {
      classes.insert(ClassOf(programs, order));
    }
    Explored reduced = Explore(programs);
    std::set<std::string> met;
    for (const std::string& order : reduced.orders) {
      met.insert(ClassOf(programs, order));
    }
    EXPECT_TRUE(reduced.result.complete);
    EXPECT_EQ(reduced.result.runs, classes.size()) << "seed " << seed;
    EXPECT_EQ(met, classes) << "seed " << seed;
  }
}

TEST(ExhaustiveSearch, RunsAreTheSameEveryTimeAndInPlainOrderFirst) {
  Explored first = Explore({"xy", "yx", "?x"});
  Explored second = Explore({"xy", "yx", "?x"});
  EXPECT_EQ(first.result.runs, second.result.runs);
  EXPECT_EQ(first.result.pruned, second.result.pruned);
  EXPECT_EQ(first.orders, second.orders);
  ExhaustiveSearch::Options one;
  one.max_runs = 1;
  Explored plain = Explore({"xx", "xx"}, one);
  EXPECT_EQ(plain.orders, std::set<std::string>{"0011"});
  EXPECT_FALSE(plain.result.complete);
}

// Two tasks increment a counter by reading and writing it; what they touch they
// note while they go, under addresses.
Result LostUpdate(bool atomic, bool stop_at_finding) {
  ExhaustiveSearch::Options options;
  options.stop_at_finding = stop_at_finding;
  ExhaustiveSearch search(options);
  return search.Run([&](const WorldOptions& world) -> std::string {
    TestWorld w(Choices(0, Base::kZero), world);
    int counter = 0;
    for (const char* name : {"a", "b"}) {
      w.Spawn(name, [&] {
        for (int i = 0; i < 2; ++i) {
          PassPoint();
          env::NoteAccess(&counter, false);
          int seen = counter;
          if (!atomic) PassPoint();
          env::NoteAccess(&counter, true);
          counter = seen + 1;
        }
      });
    }
    EXPECT_EQ(w->Run(), StopReason::kIdle);
    return counter == 4 ? "" : "an increment is lost";
  });
}

TEST(ExhaustiveSearch, FindsWhatOneOrderBreaksAndProvesItsAbsence) {
  Result sound = LostUpdate(/*atomic=*/true, false);
  EXPECT_TRUE(sound.complete);
  EXPECT_EQ(sound.findings, 0u);
  EXPECT_EQ(sound.runs, 6u);  // orders of two increments each
  Result broken = LostUpdate(/*atomic=*/false, false);
  EXPECT_TRUE(broken.complete);
  EXPECT_GT(broken.findings, 0u);
  EXPECT_LT(broken.findings, broken.runs);
  EXPECT_EQ(broken.first_finding, "an increment is lost");
  Result stopped = LostUpdate(false, true);
  EXPECT_EQ(stopped.findings, 1u);
  EXPECT_LT(stopped.runs, broken.runs);
}

// A wake-up that comes before its wait is kept; one that is lost leaves the
// waiter for good.
Result WaitForFlag(bool looks_again) {
  ExhaustiveSearch search({});
  return search.Run([&](const WorldOptions& world) -> std::string {
    TestWorld w(Choices(0, Base::kZero), world);
    bool flag = false;
    env::TaskId sleeper = env::kNoTask;
    env::TaskId waiter = w.Spawn("waiter", [&] {
      env::NoteAccess(&flag, false);
      while (!flag) {
        if (!looks_again) PassPoint();
        env::NoteAccess(&sleeper, true);
        sleeper = env::Current().env->tasks->Self();
        w.tasks().Park(kTestYield);
        env::NoteAccess(&flag, false);
      }
    });
    w.Spawn("setter", [&] {
      PassPoint();
      env::NoteAccess(&flag, true);
      env::NoteAccess(&sleeper, false);
      flag = true;
      if (sleeper != env::kNoTask) w.tasks().Unpark(waiter);
    });
    return w->Run() == StopReason::kIdle ? "" : "the waiter sleeps for good";
  });
}

TEST(ExhaustiveSearch, FindsALostWakeUp) {
  Result sound = WaitForFlag(/*looks_again=*/true);
  EXPECT_TRUE(sound.complete);
  EXPECT_EQ(sound.findings, 0u);
  Result broken = WaitForFlag(/*looks_again=*/false);
  EXPECT_TRUE(broken.complete);
  EXPECT_EQ(broken.findings, 1u);
  EXPECT_EQ(broken.first_finding, "the waiter sleeps for good");
}

TEST(ExhaustiveSearch, ScheduleWithoutEndIsCutOff) {
  ExhaustiveSearch::Options options;
  options.max_points = 50;
  options.max_runs = 30;
  ExhaustiveSearch search(options);
  Result result = search.Run([](const WorldOptions& world) {
    TestWorld w(Choices(0, Base::kZero), world);
    bool done = false;
    w.Spawn("poller", [&done] {
      env::NoteAccess(&done, false);
      while (!done) {
        PassPoint();
        env::NoteAccess(&done, false);
      }
    });
    w.Spawn("setter", [&done] {
      PassPoint();
      env::NoteAccess(&done, true);
      done = true;
    });
    w->Run();
    return std::string();
  });
  EXPECT_GT(result.cut, 0u);
  EXPECT_FALSE(result.complete);
}

}  // namespace
}  // namespace sim
