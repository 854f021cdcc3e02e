#include "replay/minimize.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

namespace replay {
namespace {

using Ids = std::set<uint64_t>;

// What fails: every group keeps at least one of its members. A group with one
// member is a part that is needed; one with several has many minima.
struct Problem {
  std::vector<Ids> groups;
  // Parts that fall away by themselves without this one.
  std::vector<std::pair<uint64_t, Ids>> dependents;
  // What cannot be judged; may be empty.
  std::function<bool(const Ids&)> hangs;

  bool Fails(const Ids& state) const {
    for (const Ids& group : groups) {
      bool kept = false;
      for (uint64_t id : group) kept |= state.count(id) != 0;
      if (!kept) return false;
    }
    return true;
  }
  Ids Pruned(Ids state) const {
    for (const auto& [of, parts] : dependents) {
      if (state.count(of) != 0) continue;
      for (uint64_t id : parts) {
        bool needed = false;
        for (const Ids& group : groups) needed |= group.count(id) != 0;
        if (!needed) state.erase(id);
      }
    }
    return state;
  }
};

struct Trace {
  Ids result;
  bool one_minimal = false;
  uint64_t memo_hits = 0;
  size_t undecided = 0;
  std::vector<Ids> judged;
};

MinimizePass<Ids> Deletion(std::string name, uint64_t modulus,
                           uint64_t remainder) {
  MinimizePass<Ids> pass;
  pass.name = std::move(name);
  pass.parts = [modulus, remainder](const Ids& state) {
    std::vector<uint64_t> parts;
    for (uint64_t id : state) {
      if (id % modulus == remainder) parts.push_back(id);
    }
    return parts;
  };
  pass.without = [](const Ids& state, const std::vector<uint64_t>& parts) {
    Ids left = state;
    for (uint64_t id : parts) left.erase(id);
    return std::vector<Ids>{left};
  };
  return pass;
}

uint64_t Key(const Ids& state) {
  uint64_t key = 0;
  for (uint64_t id : state) key = key * 0x9e3779b97f4a7c15ULL + id + 1;
  return key;
}

Trace Minimized(const Problem& problem, const Ids& start, size_t width,
                uint64_t budget = UINT64_MAX) {
  Trace run;
  Minimizer<Ids>::Options options;
  options.key = Key;
  options.width = width;
  options.exhausted = [&] { return run.judged.size() >= budget; };
  options.judge = [&](const std::vector<Ids>& candidates) {
    MinimizeJudgement<Ids> out;
    for (size_t i = 0; i < candidates.size(); ++i) {
      run.judged.push_back(candidates[i]);
      if (problem.hangs && problem.hangs(candidates[i])) {
        out.undecided.insert(i);
      } else if (problem.Fails(candidates[i])) {
        out.failing.emplace(i, problem.Pruned(candidates[i]));
        break;
      }
      if (run.judged.size() >= budget) break;
    }
    return out;
  };
  Minimizer<Ids> minimizer(std::move(options));
  run.result =
      minimizer.Run(start, {Deletion("even", 2, 0), Deletion("odd", 2, 1)});
  run.one_minimal = minimizer.one_minimal();
  run.memo_hits = minimizer.memo_hits();
  run.undecided = minimizer.undecided();
  return run;
}

// Some of the parts; may be none.
Ids Some(const std::vector<uint64_t>& ids) {
  auto chosen =
      *rc::gen::container<std::vector<uint64_t>>(rc::gen::elementOf(ids));
  return Ids(chosen.begin(), chosen.end());
}

Problem AnyProblem(const Ids& all) {
  std::vector<uint64_t> ids(all.begin(), all.end());
  Problem problem;
  auto groups = *rc::gen::inRange<size_t>(0, 6);
  for (size_t i = 0; i < groups; ++i) {
    Ids group = Some(ids);
    group.insert(*rc::gen::elementOf(ids));
    problem.groups.push_back(std::move(group));
  }
  problem.dependents.emplace_back(*rc::gen::elementOf(ids), Some(ids));
  return problem;
}

Ids Start() {
  Ids all;
  uint64_t n = *rc::gen::inRange<uint64_t>(1, 80);
  for (uint64_t id = 0; id < n; ++id) all.insert(id);
  return all;
}

RC_GTEST_PROP(Minimizer, ResultFailsAndNoSinglePartCanGo, ()) {
  Ids all = Start();
  Problem problem = AnyProblem(all);
  Trace run = Minimized(problem, all, 1);
  RC_ASSERT(run.one_minimal);
  RC_ASSERT(problem.Fails(run.result));
  for (uint64_t id : run.result) {
    Ids without = run.result;
    without.erase(id);
    RC_ASSERT(!problem.Fails(without));
  }
}

RC_GTEST_PROP(Minimizer, ResultDoesNotDependOnTheNumberOfWorkers, ()) {
  Ids all = Start();
  Problem problem = AnyProblem(all);
  Trace one = Minimized(problem, all, 1);
  for (size_t width : {2, 3, 7}) {
    Trace more = Minimized(problem, all, width);
    RC_ASSERT(more.result == one.result);
    RC_ASSERT(more.one_minimal == one.one_minimal);
  }
}

RC_GTEST_PROP(Minimizer, JudgesNoCandidateThatFailedNotTwice, ()) {
  Ids all = Start();
  Problem problem = AnyProblem(all);
  Trace run = Minimized(problem, all, 1);
  std::set<Ids> seen;
  for (const Ids& candidate : run.judged) {
    if (problem.Fails(candidate)) continue;
    RC_ASSERT(seen.insert(candidate).second);
  }
}

RC_GTEST_PROP(Minimizer, SaysOneMinimalOnlyAtTheEnd, ()) {
  Ids all = Start();
  Problem problem = AnyProblem(all);
  uint64_t needed = Minimized(problem, all, 1).judged.size();
  uint64_t budget = *rc::gen::inRange<uint64_t>(0, needed + 1);
  Trace run = Minimized(problem, all, 1, budget);
  RC_ASSERT(problem.Fails(run.result));
  RC_ASSERT(!run.one_minimal);
}

TEST(Minimizer, FindsThreeOfAThousandInFewRuns) {
  Ids all;
  for (uint64_t id = 0; id < 1000; ++id) all.insert(id);
  Problem problem;
  problem.groups = {{17}, {500}, {501}};
  Trace run = Minimized(problem, all, 1);
  EXPECT_EQ(run.result, (Ids{17, 500, 501}));
  EXPECT_LT(run.judged.size(), 90u);
  // The last round tries what was tried before.
  EXPECT_GT(run.memo_hits, 0u);
}

TEST(Minimizer, TakesTheFirstOfSeveralWays) {
  MinimizePass<int> halve;
  halve.parts = [](const int& n) {
    return n > 1 ? std::vector<uint64_t>{0} : std::vector<uint64_t>();
  };
  halve.without = [](const int& n, const std::vector<uint64_t>&) {
    return std::vector<int>{n / 3, n / 2, n - 1};
  };
  Minimizer<int>::Options options;
  options.key = [](const int& n) { return static_cast<uint64_t>(n); };
  options.exhausted = [] { return false; };
  options.judge = [](const std::vector<int>& candidates) {
    MinimizeJudgement<int> out;
    for (size_t i = 0; i < candidates.size() && !out.failing; ++i) {
      if (candidates[i] >= 37) out.failing.emplace(i, candidates[i]);
    }
    return out;
  };
  Minimizer<int> minimizer(std::move(options));
  EXPECT_EQ(minimizer.Run(1000, {halve}), 37);
  EXPECT_TRUE(minimizer.one_minimal());
}

// Equal candidates of one batch are one, too.
TEST(Minimizer, JudgesNothingTwiceWithinABatch) {
  MinimizePass<int> same;
  same.parts = [](const int& n) {
    return n == 10 ? std::vector<uint64_t>{0, 1, 2, 3}
                   : std::vector<uint64_t>();
  };
  same.without = [](const int& n, const std::vector<uint64_t>& parts) {
    return std::vector<int>{n - 1, n - static_cast<int>(parts.size())};
  };
  std::vector<int> judged;
  Minimizer<int>::Options options;
  options.key = [](const int& n) { return static_cast<uint64_t>(n); };
  options.exhausted = [] { return false; };
  options.width = 8;
  options.judge = [&judged](const std::vector<int>& candidates) {
    judged.insert(judged.end(), candidates.begin(), candidates.end());
    return MinimizeJudgement<int>();
  };
  Minimizer<int> minimizer(std::move(options));
  EXPECT_EQ(minimizer.Run(10, {same}), 10);
  EXPECT_EQ(judged, (std::vector<int>{9, 6, 8}));
}

RC_GTEST_PROP(Minimizer, WhatCannotBeJudgedIsNotTriedAgainAndProvesNothing,
              ()) {
  Ids all = Start();
  Problem problem = AnyProblem(all);
  problem.dependents.clear();
  uint64_t poison =
      *rc::gen::elementOf(std::vector<uint64_t>(all.begin(), all.end()));
  // Whatever lacks it hangs: the last part cannot be judged.
  problem.hangs = [poison](const Ids& state) {
    return state.count(poison) == 0;
  };
  for (size_t width : {1, 4}) {
    Trace run = Minimized(problem, all, width);
    RC_ASSERT(run.result.count(poison) == 1u);
    RC_ASSERT(!run.one_minimal);
    RC_ASSERT(run.undecided == 1u);
    Ids without = run.result;
    without.erase(poison);
    RC_ASSERT(std::count(run.judged.begin(), run.judged.end(), without) == 1);
    // All others were.
    for (uint64_t id : run.result) {
      Ids less = run.result;
      less.erase(id);
      RC_ASSERT(id == poison || !problem.Fails(less));
    }
  }
}

}  // namespace
}  // namespace replay
