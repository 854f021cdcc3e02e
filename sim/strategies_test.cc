// What each strategy promises about the orders that it tries. Everything here
// is a pure function of the seeds, so bounds are met or not, never by luck.
#include "sim/strategies.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/fiber.h"
#include "sim/surw.h"
#include "sim/test_world.h"

namespace sim {
namespace {

using StopReason = World::StopReason;

constexpr StrategyKind kDrawing[] = {
    StrategyKind::kRandomWalk, StrategyKind::kPos,   StrategyKind::kPct,
    StrategyKind::kSurw,       StrategyKind::kDelay, StrategyKind::kStarve,
    StrategyKind::kStall};

WorldOptions With(StrategyKind kind, StackPool* stacks, uint32_t depth = 3) {
  WorldOptions options;
  options.strategy.kind = kind;
  options.strategy.depth = depth;
  options.strategy.switch_denominator = 2;
  options.stacks = stacks;
  return options;
}

// A point before a step at a resource that all share.
void PassShared(bool changes = true, uint64_t resource = 7) {
  env::Current().env->tasks->Yield(kTestYield,
                                   env::Access::Numbered(resource, changes));
}

// Task 'a' makes the first number of shared steps, 'b' the second, ...; each
// appends its letter. Before each step there are `between` points that count
// for nothing.
std::string SharedSteps(TestWorld& w, const std::vector<int>& steps,
                        int between = 0) {
  std::string order;
  char letter = 'a';
  for (int count : steps) {
    w.Spawn(std::string(1, letter), [&order, letter, count, between] {
      for (int i = 0; i < count; ++i) {
        for (int k = 0; k < between; ++k) PassPoint();
        PassShared();
        order += letter;
      }
    });
    ++letter;
  }
  EXPECT_EQ(w->Run(), StopReason::kIdle);
  return order;
}

PilotCounts PilotOf(const std::vector<int>& steps, int between = 0) {
  PilotRecorder recorder;
  WorldOptions options;
  options.custom_strategy = &recorder;
  TestWorld w(0, options);
  SharedSteps(w, steps, between);
  return recorder.counts();
}

int Changes(const std::string& order) {
  int changes = 0;
  for (size_t i = 1; i < order.size(); ++i) {
    changes += order[i] != order[i - 1];
  }
  return changes;
}

TEST(Strategies, EqualSeedsAreEqualRunsAndSeedsDiffer) {
  StackPool stacks;
  for (StrategyKind kind : kDrawing) {
    std::set<std::string> orders;
    for (uint64_t seed = 0; seed < 60; ++seed) {
      TestWorld first(seed, With(kind, &stacks));
      TestWorld second(seed, With(kind, &stacks));
      std::string order = SharedSteps(first, {6, 6, 6});
      EXPECT_EQ(order, SharedSteps(second, {6, 6, 6}));
      EXPECT_EQ(first->hash(), second->hash());
      orders.insert(order);
    }
    EXPECT_GT(orders.size(), 5u) << static_cast<int>(kind);
  }
}

TEST(Strategies, BaseZeroSwitchesOnlyWhereATaskEnds) {
  StackPool stacks;
  for (StrategyKind kind : kDrawing) {
    WorldOptions options = With(kind, &stacks);
    options.strategy.pilot = PilotOf({5, 5, 5});
    TestWorld w(Choices(9, Base::kZero), options);
    EXPECT_EQ(SharedSteps(w, {5, 5, 5}), "aaaaabbbbbccccc")
        << static_cast<int>(kind);
  }
}

TEST(Strategies, RecordedSchedulesOfAllOfThemReplay) {
  StackPool stacks;
  for (StrategyKind kind : kDrawing) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      WorldOptions options = With(kind, &stacks);
      options.record_schedule = true;
      TestWorld original(seed, options);
      std::string order = SharedSteps(original, {4, 4, 4}, 1);
      WorldOptions again;
      again.strategy.kind = StrategyKind::kRecorded;
      again.strategy.schedule = original->recorded_schedule();
      TestWorld replay(seed, again);
      EXPECT_EQ(SharedSteps(replay, {4, 4, 4}, 1), order);
      EXPECT_EQ(replay->hash(), original->hash());
    }
  }
}

// Two loops wait for a worker that has 60 points before it.
uint64_t StepsUntilPollerEnds(uint64_t seed, const WorldOptions& options,
                              bool says_so) {
  WorldOptions bounded = options;
  bounded.max_steps = 100'000;
  TestWorld w(seed, bounded);
  bool done = false;
  for (const char* name : {"poller1", "poller2"}) {
    w.Spawn(name, [&done, says_so] {
      while (!done) {
        env::Current().env->tasks->Yield(
            kTestYield, says_so ? env::Access::Poll() : env::Access());
      }
    });
  }
  w.Spawn("worker", [&done] {
    for (int i = 0; i < 60; ++i) PassShared();
    done = true;
  });
  EXPECT_EQ(w->Run(), StopReason::kIdle);
  return w->steps();
}

TEST(Strategies, LoopsThatPollEndSoonUnderEveryStrategy) {
  StackPool stacks;
  for (StrategyKind kind : kDrawing) {
    for (uint64_t seed = 0; seed < 100; ++seed) {
      WorldOptions options = With(kind, &stacks);
      options.strategy.pilot.Add(env::SiteHash("worker"),
                                 env::AccessGroup::kOther, 60);
      // One that stands still does so for 4,096 points at most.
      uint64_t still = kind == StrategyKind::kStarve ? 4096 : 0;
      // A worker that does so does at about a dozen of its 60 points.
      if (kind == StrategyKind::kStall) still = 12 * 4096;
      EXPECT_LT(StepsUntilPollerEnds(seed, options, true), 1000 + still)
          << static_cast<int>(kind) << " seed " << seed;
      // Each of both has max_run operations in a row, and again after each of
      // three delays.
      EXPECT_LT(StepsUntilPollerEnds(seed, options, false), 8100 + still)
          << static_cast<int>(kind) << " seed " << seed;
    }
  }
}

// ---- POS

// How often, of 2,000 seeds, b makes the shared step before a although it has
// twenty private steps to make first.
int LongPrefixFirst(StrategyKind kind) {
  StackPool stacks;
  int first = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    TestWorld w(seed, With(kind, &stacks));
    std::string order;
    auto step = [&](char letter) {
      PassShared();
      order += letter;
    };
    w.Spawn("a", [&] { step('a'); });
    w.Spawn("b", [&] {
      for (int i = 0; i < 20; ++i) PassPoint();
      step('b');
    });
    EXPECT_EQ(w->Run(), StopReason::kIdle);
    first += order == "ba";
  }
  return first;
}

TEST(Pos, ReachesOrdersThatARandomWalkMeetsExponentiallyRarely) {
  // A walk has to keep b running at 21 points, a chance of 2^-21. POS has to
  // draw a's rank as the lowest of 22.
  EXPECT_EQ(LongPrefixFirst(StrategyKind::kRandomWalk), 0);
  EXPECT_GT(LongPrefixFirst(StrategyKind::kPos), 2000 / 22 / 2);
}

TEST(Pos, DrawsAgainOnlyForStepsThatConflict) {
  StackPool stacks;
  auto differ_from_unshared = [&](bool changes) {
    int differ = 0;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      std::string orders[2];
      for (bool shared : {false, true}) {
        TestWorld w(seed, With(StrategyKind::kPos, &stacks));
        for (char letter : {'a', 'b', 'c'}) {
          w.Spawn(std::string(1, letter), [&, letter, shared] {
            for (int i = 0; i < 4; ++i) {
              PassShared(changes, shared ? 7 : uint64_t(letter));
              orders[shared] += letter;
            }
          });
        }
        EXPECT_EQ(w->Run(), StopReason::kIdle);
      }
      differ += orders[0] != orders[1];
    }
    return differ;
  };
  EXPECT_EQ(differ_from_unshared(/*changes=*/false), 0);
  EXPECT_GT(differ_from_unshared(/*changes=*/true), 100);
}

// ---- PCT

// Of `seeds` seeds, how often PCT of this depth yields exactly this order.
int HitsOfOrder(const std::string& wanted, uint32_t depth, int seeds,
                int between) {
  StackPool stacks;
  std::vector<int> steps(2);
  for (char letter : wanted) ++steps[static_cast<size_t>(letter - 'a')];
  PilotCounts pilot = PilotOf(steps, between);
  EXPECT_EQ(pilot.Total(kAllAccessGroups), wanted.size());
  int hits = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    WorldOptions options = With(StrategyKind::kPct, &stacks, depth);
    options.strategy.pilot = pilot;
    TestWorld w(static_cast<uint64_t>(seed), options);
    hits += SharedSteps(w, steps, between) == wanted ? 1 : 0;
  }
  return hits;
}

// With n = 2 tasks and k = 12 points that count, an order of d stretches is hit
// with chance 1 / (2 * 13^(d - 1)), PCT's bound, and not by a smaller depth.
// The bounds are four standard deviations wide.
TEST(Pct, MeetsItsGuaranteeAtEachDepth) {
  EXPECT_NEAR(HitsOfOrder("aaaaaabbbbbb", 1, 2000, 0), 1000, 90);
  EXPECT_EQ(HitsOfOrder("aaabbbbbbaaa", 1, 2000, 0), 0);
  EXPECT_NEAR(HitsOfOrder("aaabbbbbbaaa", 2, 5200, 0), 200, 56);
  EXPECT_EQ(HitsOfOrder("aaabbaaabbbb", 2, 5200, 0), 0);
  EXPECT_NEAR(HitsOfOrder("aaabbaaabbbb", 3, 27040, 0), 80, 36);
}

// Points that nobody else looks at do not thin out the change points.
TEST(Pct, CountsOnlyPointsThatMayConflict) {
  EXPECT_NEAR(HitsOfOrder("aaabbbbbbaaa", 2, 5200, 40), 200, 56);
}

TEST(Pct, WithoutAPilotStillChangesSomewhere) {
  StackPool stacks;
  int hits = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    TestWorld w(seed, With(StrategyKind::kPct, &stacks, 2));
    hits += SharedSteps(w, {6, 6}) == "aaabbbbbbaaa" ? 1 : 0;
  }
  // Point 4 is one of four of the third of fourteen scales: 4000 / 2 / 15 / 4.
  EXPECT_NEAR(hits, 33, 20);
}

// ---- SURW

std::map<std::string, int> Orders(StrategyKind kind, const PilotCounts& pilot,
                                  const std::vector<int>& steps, int between,
                                  int seeds) {
  StackPool stacks;
  std::map<std::string, int> orders;
  for (int seed = 0; seed < seeds; ++seed) {
    WorldOptions options = With(kind, &stacks);
    options.strategy.pilot = pilot;
    TestWorld w(static_cast<uint64_t>(seed), options);
    ++orders[SharedSteps(w, steps, between)];
  }
  return orders;
}

// Pearson's statistic against the uniform distribution over `classes` orders;
// those that never came count, too.
double ChiSquare(const std::map<std::string, int>& orders, int classes,
                 int seeds) {
  double expected = static_cast<double>(seeds) / classes;
  double sum = (classes - static_cast<double>(orders.size())) * expected;
  for (const auto& [order, count] : orders) {
    sum += (count - expected) * (count - expected) / expected;
  }
  return sum;
}

TEST(Surw, SamplesInterleavingsUniformly) {
  // 6! / (2! 2! 2!) = 90 orders, a hundred seeds for each. With 89 degrees of
  // freedom the statistic has mean 89 and standard deviation 13.3.
  std::vector<int> even = {2, 2, 2};
  for (int between : {0, 3}) {
    auto orders =
        Orders(StrategyKind::kSurw, PilotOf(even), even, between, 9000);
    EXPECT_EQ(orders.size(), 90u);
    for (const auto& [order, count] : orders) {
      EXPECT_NEAR(count, 100, 45) << order;
    }
    EXPECT_LT(ChiSquare(orders, 90, 9000), 89 + 4 * 13.3);
  }
  // 8! / (5! 2! 1!) = 168 orders, most of which a walk hardly ever takes.
  std::vector<int> uneven = {5, 2, 1};
  auto orders = Orders(StrategyKind::kSurw, PilotOf(uneven), uneven, 0, 16800);
  EXPECT_EQ(orders.size(), 168u);
  EXPECT_LT(ChiSquare(orders, 168, 16800), 167 + 4 * 18.3);
  auto walk =
      Orders(StrategyKind::kRandomWalk, PilotCounts(), uneven, 0, 16800);
  EXPECT_GT(ChiSquare(walk, 168, 16800), 5000);
}

TEST(Surw, LooksAtTheChosenGroupsOnly) {
  StackPool stacks;
  // Log steps interleave uniformly whatever page steps lie between them.
  auto run = [](TestWorld& w) {
    std::string order;
    for (char letter : {'a', 'b'}) {
      w.Spawn(std::string(1, letter), [&order, letter] {
        int pages = letter == 'a' ? 9 : 1;
        for (int i = 0; i < 3; ++i) {
          for (int k = 0; k < pages; ++k) {
            env::Current().env->tasks->Yield(
                kTestYield,
                env::Access::Numbered(1, true, env::AccessGroup::kPage));
          }
          env::Current().env->tasks->Yield(
              kTestYield,
              env::Access::Numbered(2, true, env::AccessGroup::kLog));
          order += letter;
        }
      });
    }
    EXPECT_EQ(w->Run(), StopReason::kIdle);
    return order;
  };
  PilotRecorder recorder;
  WorldOptions pilot;
  pilot.custom_strategy = &recorder;
  TestWorld first(0, pilot);
  run(first);
  WorldOptions options = With(StrategyKind::kSurw, &stacks);
  options.strategy.groups = GroupBit(env::AccessGroup::kLog);
  options.strategy.pilot = recorder.counts();
  std::map<std::string, int> orders;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    TestWorld w(seed, options);
    ++orders[run(w)];
  }
  // 6! / (3! 3!); 19 degrees of freedom.
  EXPECT_EQ(orders.size(), 20u);
  EXPECT_LT(ChiSquare(orders, 20, 2000), 19 + 4 * 6.2);
}

TEST(Surw, LivesWithCountsThatAreWrong) {
  // The pilot knew a with too few points, b with too many, and nothing of c.
  PilotCounts pilot;
  pilot.Add(env::SiteHash("a"), env::AccessGroup::kOther, 2);
  pilot.Add(env::SiteHash("b"), env::AccessGroup::kOther, 4);
  std::vector<int> steps = {3, 2, 2};
  auto orders = Orders(StrategyKind::kSurw, pilot, steps, 1, 20000);
  EXPECT_EQ(orders.size(), 210u);  // 7! / (3! 2! 2!)
}

// ---- Delay bounding, starvation

TEST(Delay, DelaysAtMostSoOften) {
  StackPool stacks;
  std::vector<int> steps = {20, 20, 20};
  PilotCounts pilot = PilotOf(steps);
  for (uint32_t depth : {1, 2, 4}) {
    std::set<std::string> orders;
    for (uint64_t seed = 0; seed < 400; ++seed) {
      WorldOptions options = With(StrategyKind::kDelay, &stacks, depth);
      options.strategy.pilot = pilot;
      TestWorld w(seed, options);
      std::string order = SharedSteps(w, steps);
      // A task that is delayed goes on when the others have had their turn.
      EXPECT_LE(Changes(order), 2 + 2 * static_cast<int>(depth));
      orders.insert(order);
    }
    // One delay: any of 60 points, or none; the 20 of the last task come to the
    // same.
    if (depth == 1) {
      EXPECT_EQ(orders.size(), 41u);
    } else {
      EXPECT_GT(orders.size(), 200u);
    }
  }
}

TEST(Starve, OneTaskRunsOnlyWhenNoOtherCan) {
  StackPool stacks;
  std::map<char, int> starved;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    TestWorld w(seed, With(StrategyKind::kStarve, &stacks));
    std::string order = SharedSteps(w, {20, 20, 20});
    for (char letter : {'a', 'b', 'c'}) {
      starved[letter] += order.find(letter) >= 40;
    }
  }
  // The shortest starvation (64 points) outlasts the others' 40 steps.
  EXPECT_EQ(starved['a'] + starved['b'] + starved['c'], 300);
  for (const auto& [letter, count] : starved) EXPECT_NEAR(count, 100, 40);
}

// How often, of 2,000 seeds, a's window stays open while b has `steps` points,
// each after a sleep of a millisecond if it sleeps.
int WindowStaysOpen(StrategyKind kind, int steps, bool sleeps) {
  StackPool stacks;
  int open = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    TestWorld w(seed, With(kind, &stacks, /*depth=*/1));
    std::string order;
    w.Spawn("a", [&] {
      PassPoint(kTestInjection);
      order += 'a';
    });
    w.Spawn("b", [&] {
      const env::Env& env = *env::Current().env;
      for (int i = 0; i < steps; ++i) {
        PassPoint();
        env::TimeNs deadline = env.clock->Now() + env::kMillisecond;
        while (sleeps && env.clock->Now() < deadline) {
          env.tasks->ParkUntil(kTestYield, deadline);
        }
      }
      order += 'b';
    });
    EXPECT_EQ(w->Run(), StopReason::kIdle);
    open += order == "ba";
  }
  return open;
}

TEST(Stall, AWindowAtAPlaceThatItDrewStaysOpen) {
  EXPECT_EQ(WindowStaysOpen(StrategyKind::kRandomWalk, 100, false), 0);
  // One place of eight counts at depth 1, every second visit, and five of nine
  // lengths are long enough.
  EXPECT_NEAR(WindowStaysOpen(StrategyKind::kStall, 100, false), 69, 25);
}

TEST(Stall, TimePassesForWhoStandsStill) {
  EXPECT_EQ(WindowStaysOpen(StrategyKind::kRandomWalk, 10, true), 0);
  // Ten times one of 32 goes on although it should not.
  EXPECT_NEAR(WindowStaysOpen(StrategyKind::kStall, 10, true), 70, 30);
}

}  // namespace
}  // namespace sim
