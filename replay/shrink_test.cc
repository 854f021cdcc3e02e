#include "replay/shrink.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "replay/user_files.h"

namespace replay {
namespace {

using properties::RunOptions;
using properties::RunOutcome;
using properties::RunRecord;
using properties::RunSpec;

// A made-up engine that loses a row if "UPDATE b" runs after "UPDATE a" and the
// power fails; other runs break another promise or Musth itself.
env::Result<RunOutcome> FakeRun(const RunSpec& spec,
                                const RunOptions& options) {
  RunOutcome outcome;
  std::string all = spec.setup_sql;
  for (const properties::SessionSource& s : spec.sessions) all += s.text;
  bool written_out = spec.base == sim::Base::kZero;
  bool crash = !written_out || !spec.directions.empty();
  size_t a = all.find("UPDATE a");
  bool in_order =
      a != std::string::npos && all.find("UPDATE b", a) != std::string::npos;
  outcome.hash = spec.seed + all.size();
  if (written_out && all.find("CREATE") == std::string::npos) {
    outcome.harness_failure = "no table";
  }
  if (written_out && all.find("SELECT") == std::string::npos) {
    outcome.broken.push_back({"ATOM", "ack", "t", "another one", 1});
  }
  if (crash && (!written_out || in_order)) {
    outcome.broken.push_back({"DUR", "ack", "t", "lost", 1});
  }
  for (size_t i = 0; i < spec.schedule.size(); ++i) {
    outcome.unused_schedule.push_back(i);
  }
  if (!options.record) return outcome;
  auto record = std::make_shared<RunRecord>();
  record->profile = "pg-contract";
  record->statements = {{0, "s0.t1.q1", "CREATE TABLE t (id int4)", 0},
                        {1, "s1.t1.q1", "SELECT 1", 0},
                        {1, "s1.t1.q2", "UPDATE a", 0},
                        {1, "s1.t1.q3", "SELECT 2", 0},
                        {2, "s2.t1.q1", "UPDATE b", 0},
                        {2, "s2.t1.q2", "DELETE c", 0}};
  properties::RecordedCrash crash_record;
  crash_record.kind = "power-loss";
  crash_record.task = "s2";
  crash_record.place = "write";
  crash_record.nth = 3;
  crash_record.during = "s2.t1.q1";
  record->crashes = {crash_record};
  record->schedule = {{"w0/h0/i0/s1", 4, "timer", "s1.t1.q1"}};
  outcome.record = std::move(record);
  return outcome;
}

class ShrinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = ::testing::TempDir() + "/shrink_" +
           ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(dir_);
    options_.target = "7";
    options_.recipe.spec.seed = 7;
    options_.out_dir = dir_;
    options_.invocation.program = "musth";
  }

  ExitCode Run(Runner runner) {
    std::string path = dir_ + ".out";
    options_.out = std::fopen(path.c_str(), "w");
    Shrinker shrinker(options_, std::move(runner));
    ExitCode code = shrinker.Run();
    std::fclose(options_.out);
    result_ = shrinker.result();
    text_ = ReadFile(path).value();
    return code;
  }

  std::string dir_;
  ShrinkOptions options_;
  ShrinkResult result_;
  std::string text_;
};

TEST_F(ShrinkTest, EndsWithWhatTheSamePromiseNeeds) {
  EXPECT_EQ(Run(FakeRun), kExitBroken) << text_;
  EXPECT_TRUE(result_.one_minimal);
  EXPECT_EQ(result_.size.statements, 3u);
  EXPECT_EQ(result_.size.preemptions, 0u);
  EXPECT_EQ(result_.size.faults, 1u);
  EXPECT_NE(text_.find("1-minimal: no single part"), std::string::npos);
  auto recipe = LoadRecipe(dir_ + "/DUR-7.shrunk.recipe");
  ASSERT_TRUE(recipe.ok());
  EXPECT_EQ(recipe->expect_promise, "DUR");
  EXPECT_EQ(recipe->spec.directions,
            std::vector<std::string>{"crash power-loss at end"});
  EXPECT_TRUE(ReadFile(dir_ + "/DUR-7.script").ok());
}

TEST_F(ShrinkTest, WorkersDoNotChangeTheResult) {
  std::string texts[2];
  for (int i : {0, 1}) {
    options_.workers = i == 0 ? 1 : 3;
    ASSERT_EQ(Run(FakeRun), kExitBroken);
    texts[i] = ReadFile(dir_ + "/DUR-7.shrunk.recipe").value();
  }
  EXPECT_EQ(texts[0], texts[1]);
}

TEST_F(ShrinkTest, ABudgetThatRunsOutIsSaid) {
  options_.budget_s = 0;
  EXPECT_EQ(Run(FakeRun), kExitBroken);
  EXPECT_FALSE(result_.one_minimal);
  EXPECT_EQ(result_.size.statements, 6u);
  options_.budget_s = 1e6;
  int asked = 0;
  options_.stop = [&asked] { return ++asked > 8; };
  EXPECT_EQ(Run(FakeRun), kExitBroken);
  EXPECT_FALSE(result_.one_minimal);
  EXPECT_NE(text_.find("not 1-minimal"), std::string::npos);
}

TEST_F(ShrinkTest, ARunThatKeepsItsPromisesIsNoWork) {
  EXPECT_EQ(
      Run([](const RunSpec&, const RunOptions&) -> env::Result<RunOutcome> {
        return RunOutcome();
      }),
      kExitNoFit);
  EXPECT_NE(text_.find("nothing to shrink"), std::string::npos);
}

TEST_F(ShrinkTest, ARecipeThatNoLongerFitsIsNoWork) {
  EXPECT_EQ(
      Run([](const RunSpec&, const RunOptions&) -> env::Result<RunOutcome> {
        RunOutcome outcome;
        outcome.unmet_directions = {"crash power-loss at end"};
        return outcome;
      }),
      kExitNoFit);
}

TEST_F(ShrinkTest, BadInputIsUsage) {
  EXPECT_EQ(
      Run([](const RunSpec&, const RunOptions&) -> env::Result<RunOutcome> {
        return env::Status(env::Code::kInvalid, "setup:1: what is this?");
      }),
      kExitUsage);
}

TEST_F(ShrinkTest, AWorkerThatDiesRejectsItsCandidateOnly) {
  auto dies = [](const RunSpec& spec, const RunOptions& options) {
    // Every second statement less would have been fine, but this one kills.
    bool without_c = spec.base == sim::Base::kZero;
    for (const properties::SessionSource& s : spec.sessions) {
      without_c &= s.text.find("DELETE c") == std::string::npos;
    }
    if (without_c) std::abort();
    return FakeRun(spec, options);
  };
  EXPECT_EQ(Run(dies), kExitBroken) << text_;
  EXPECT_EQ(result_.size.statements, 4u);
  EXPECT_TRUE(result_.one_minimal);
}

// What hangs is neither needed nor not: it is counted, and nothing is claimed.
TEST_F(ShrinkTest, ACandidateThatRunsOutOfTimeIsCountedApart) {
  options_.timeout_s = 1;
  auto hangs = [](const RunSpec& spec, const RunOptions& options) {
    bool without_c = spec.base == sim::Base::kZero;
    for (const properties::SessionSource& s : spec.sessions) {
      without_c &= s.text.find("DELETE c") == std::string::npos;
    }
    if (without_c) sleep(100);
    return FakeRun(spec, options);
  };
  EXPECT_EQ(Run(hangs), kExitBroken) << text_;
  EXPECT_EQ(result_.size.statements, 4u);
  EXPECT_GE(result_.timeouts, 1u);
  EXPECT_GE(result_.cpu_s, static_cast<double>(result_.timeouts));
  EXPECT_FALSE(result_.one_minimal);
  EXPECT_GE(result_.undecided, 1u);
  EXPECT_NE(text_.find(" ran out of time\n"), std::string::npos) << text_;
  EXPECT_NE(text_.find("not 1-minimal: without "), std::string::npos) << text_;
}

TEST_F(ShrinkTest, AFindingThatCannotBeSaidWithoutItsSeedStands) {
  auto only_with_seed = [](const RunSpec& spec, const RunOptions& options) {
    env::Result<RunOutcome> outcome = FakeRun(spec, options);
    if (spec.base == sim::Base::kZero) outcome->broken.clear();
    return outcome;
  };
  EXPECT_EQ(Run(only_with_seed), kExitBroken);
  EXPECT_FALSE(result_.shrunk());
  EXPECT_NE(text_.find("(every promise is kept); it cannot be shrunk"),
            std::string::npos)
      << text_;
}

TEST_F(ShrinkTest, TheControlRunSaysWhetherThePlantedBugMatters) {
  Run(FakeRun);
  EXPECT_FALSE(result_.control_kept.has_value());
  EXPECT_EQ(text_.find("control:"), std::string::npos);
  auto needs_bug = [](const RunSpec& spec, const RunOptions& options) {
    env::Result<RunOutcome> outcome = FakeRun(spec, options);
    if (spec.planted.empty()) outcome->broken.clear();
    return outcome;
  };
  // Runs parse their recipes, so the bug must be one that there is.
  options_.recipe.spec.planted = {"clog_not_synced"};
  Run(FakeRun);
  EXPECT_EQ(result_.control_kept, false);
  EXPECT_NE(text_.find("control: without the planted bug it breaks DUR, too\n"),
            std::string::npos)
      << text_;
  Run(needs_bug);
  EXPECT_EQ(result_.control_kept, true);
  EXPECT_NE(
      text_.find("control: without the planted bug it keeps every promise\n"),
      std::string::npos)
      << text_;
}

// Time that passes outside of runs counts, too.
TEST_F(ShrinkTest, TheSearchItselfIsWithinTheBudget) {
  options_.budget_s = 0.05;
  options_.stop = [] {
    // Work of this process between runs.
    volatile uint64_t sum = 0;
    for (uint64_t i = 0; i < 30'000'000; ++i) sum = sum + i;
    return false;
  };
  EXPECT_EQ(Run(FakeRun), kExitBroken);
  EXPECT_FALSE(result_.one_minimal);
  EXPECT_EQ(result_.size.statements, 6u);
  EXPECT_GT(result_.cpu_s, 0.05);
}

}  // namespace
}  // namespace replay
