#include "replay/replay_cmd.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "replay/user_files.h"

namespace replay {
namespace {

using properties::RunOutcome;

class ReplayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = ::testing::TempDir() + "/replay_" +
           ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(dir_);
    options_.target = "some.recipe";
    options_.recipe.build = BuildId();
    options_.recipe.spec.seed = 42;
    options_.recipe.expect_hash = 0x77;
    options_.out_dir = dir_;
    options_.invocation.program = "musth";
    outcome_.hash = 0x77;
  }

  void Break() {
    outcome_.broken.push_back({"DUR", "ack", "transaction 731 (s2.t4)",
                               "acknowledged, but gone", 99});
    outcome_.last_events = {"98 crash", "99 ready"};
  }

  ExitCode Replay() {
    return ReplayWith(
        [this](const properties::RunSpec&, const properties::RunOptions&) {
          return outcome_;
        });
  }
  ExitCode ReplayWith(const Runner& runner) {
    std::string path = dir_ + ".out";
    options_.out = std::fopen(path.c_str(), "w");
    ExitCode code = RunReplay(options_, runner);
    std::fclose(options_.out);
    text_ = ReadFile(path).value();
    return code;
  }
  bool Says(const std::string& what) {
    return text_.find(what) != std::string::npos;
  }

  std::string dir_;
  ReplayOptions options_;
  RunOutcome outcome_;
  std::string text_;
};

TEST_F(ReplayTest, KeptPromisesGiveZero) {
  EXPECT_EQ(Replay(), kExitKept);
  EXPECT_TRUE(Says("seed 42: every promise was kept"));
}

TEST_F(ReplayTest, GapThatTheRecipeExpectsInVainIsNamed) {
  options_.recipe.expect_gaps = {"C5", "C12"};
  outcome_.stats.known_gaps["C5"] = 1;
  EXPECT_EQ(Replay(), kExitKept);
  EXPECT_TRUE(Says("known PostgreSQL gap C5\n"));
  EXPECT_FALSE(Says("expects the known gap C5"));
  EXPECT_TRUE(Says("the recipe expects the known gap C12\n"));
}

TEST_F(ReplayTest, BrokenPromiseIsShownWithEventsAndTheCommand) {
  Break();
  EXPECT_EQ(Replay(), kExitBroken);
  EXPECT_TRUE(Says("seed 42: DUR broken for transaction 731 (s2.t4)"));
  EXPECT_TRUE(Says("acknowledged, but gone"));
  EXPECT_TRUE(Says("  99 ready\n"));
  EXPECT_TRUE(Says("replay: musth replay some.recipe\n"));
}

TEST_F(ReplayTest, BareSeedThatBreaksBecomesARecipe) {
  Break();
  options_.target = "42";
  options_.recipe.build.clear();
  options_.recipe.expect_hash.reset();
  EXPECT_EQ(Replay(), kExitBroken);
  Recipe recipe = LoadRecipe(dir_ + "/DUR-42.recipe").value();
  EXPECT_EQ(recipe.expect_hash, 0x77u);
  EXPECT_EQ(recipe.expect_promise, "DUR");
}

TEST_F(ReplayTest, HashThatTheRecipeDoesNotExpectIsThree) {
  Break();
  outcome_.hash = 0x78;
  EXPECT_EQ(Replay(), kExitHarness);
  EXPECT_TRUE(
      Says("expects hash 0000000000000077, the run has "
           "0000000000000078"));
  options_.any_hash = true;
  EXPECT_EQ(Replay(), kExitBroken);
}

TEST_F(ReplayTest, RunsThatDifferFromEachOtherAreThreeInAnyCase) {
  options_.recipe.expect_hash.reset();
  options_.any_hash = true;
  uint64_t calls = 0;
  EXPECT_EQ(ReplayWith(
                [&](const properties::RunSpec&, const properties::RunOptions&) {
                  RunOutcome outcome = outcome_;
                  outcome.hash += calls++;
                  return outcome;
                }),
            kExitHarness);
  EXPECT_TRUE(Says("two runs differ"));
}

TEST_F(ReplayTest, RecipeThatNoLongerFitsIsOneHundredAndTwentyFive) {
  outcome_.unmatched_overrides.push_back(
      sim::Override::Parse("knobs w0 gone 0 = 1").value());
  outcome_.unmatched_edits.push_back("drop s9.t9");
  EXPECT_EQ(Replay(), kExitNoFit);
  EXPECT_TRUE(Says("override knobs w0 gone 0 = 1 matches no draw"));
  EXPECT_TRUE(Says("edit drop s9.t9 matches nothing"));
}

TEST_F(ReplayTest, OtherBuildsHashIsAMisfitNotAFailure) {
  options_.recipe.build = "musth-0.0 lz4-0";
  outcome_.hash = 0x78;
  EXPECT_EQ(Replay(), kExitNoFit);
  EXPECT_TRUE(Says("it was written by musth-0.0 lz4-0"));
}

TEST_F(ReplayTest, OwnFailureIsThree) {
  outcome_.harness_failure = "scheduler.cc:12: runnable";
  EXPECT_EQ(Replay(), kExitHarness);
  EXPECT_TRUE(Says("HARNESS FAILURE seed 42: scheduler.cc:12: runnable"));
}

TEST_F(ReplayTest, SpecThatCannotRunIsTwo) {
  EXPECT_EQ(
      ReplayWith([](const properties::RunSpec&, const properties::RunOptions&) {
        return env::Result<RunOutcome>(
            env::Status(env::Code::kInvalid, "t.sql:3: no"));
      }),
      kExitUsage);
}

}  // namespace
}  // namespace replay
