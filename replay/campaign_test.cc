#include "replay/campaign.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "nlohmann/json.hpp"
#include "replay/user_files.h"

namespace replay {
namespace {

using properties::RunOptions;
using properties::RunOutcome;
using properties::RunSpec;

// A made-up run that depends on the seed alone.
RunOutcome FakeRun(const RunSpec& spec) {
  RunOutcome outcome;
  outcome.hash = spec.seed * 0x9e3779b97f4a7c15ULL;
  outcome.stats.crashes = 1 + spec.seed % 3;
  outcome.stats.recoveries = outcome.stats.crashes;
  outcome.stats.crashed_in_recovery = spec.seed % 4 == 0;
  outcome.stats.acked_commits = spec.seed % 7;
  outcome.stats.virtual_ns = 1000000000;
  outcome.stats.families["power_loss"].enabled_runs = 1;
  outcome.stats.families["power_loss"].injected = 1;
  outcome.stats.families["stall"].enabled_runs = 1;
  outcome.stats.crash_points["fsync middle"]["power loss"] = 1;
  outcome.stats.known_gaps["C5"] = spec.seed % 2;
  return outcome;
}

RunOutcome Broken(const RunSpec& spec, const char* promise) {
  RunOutcome outcome = FakeRun(spec);
  outcome.broken.push_back(
      {promise, "ack", "transaction 731 (s2.t4)",
       "acknowledged at 0/1A2B3C, but invisible after recovery", 99});
  outcome.last_events = {"98 crash", "99 ready"};
  return outcome;
}

class CampaignTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = ::testing::TempDir() + "/campaign_" +
           ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(dir_);
    options_.out_dir = dir_;
    options_.first_seed = 0;
    options_.last_seed = 99;
    options_.workers = 2;
    options_.timeout_s = 20;
    options_.invocation.program = "bazel-bin/musth";
  }

  // Runs the campaign; its text is in text_ afterwards.
  ExitCode Run(Runner runner) {
    std::string path = dir_ + ".out";
    options_.out = std::fopen(path.c_str(), "w");
    Campaign campaign(options_, std::move(runner));
    ExitCode code = campaign.Run();
    std::fclose(options_.out);
    summary_ = campaign.summary();
    text_ = ReadFile(path).value();
    return code;
  }

  std::string dir_;
  CampaignOptions options_;
  Summary summary_;
  std::string text_;
};

env::Result<RunOutcome> Kept(const RunSpec& spec, const RunOptions&) {
  return FakeRun(spec);
}

TEST_F(CampaignTest, SummaryDoesNotDependOnWorkersOrOrder) {
  std::set<std::string> jsons;
  for (int workers : {1, 2, 5}) {
    for (SeedOrder order :
         {SeedOrder::kForward, SeedOrder::kBackward, SeedOrder::kFresh}) {
      options_.workers = workers;
      options_.order = order;
      options_.seeds_per_worker = 13;
      options_.hashes_file = dir_ + "/hashes";
      EXPECT_EQ(Run(Kept), kExitKept);
      summary_.cpu_s = summary_.wall_s = 0;
      jsons.insert(summary_.ToJson() + ReadFile(dir_ + "/hashes").value());
    }
  }
  EXPECT_EQ(jsons.size(), 1u);
  EXPECT_EQ(summary_.seeds, 100u);
  EXPECT_EQ(summary_.seeds_crashed_in_recovery, 25u);
  EXPECT_EQ(summary_.known_gaps.at("C5"), 50u);
  EXPECT_EQ(summary_.crash_points.at("fsync middle").at("power loss"), 100u);
  EXPECT_EQ(summary_.NeverInjected(), std::vector<std::string>{"stall"});
  EXPECT_NE(text_.find("warning: stall was enabled and never struck"),
            std::string::npos);
}

TEST_F(CampaignTest, PairsOfCrashPointAndKindAreCountedAgainstTheAtlas) {
  Summary summary;
  size_t all = summary.RarelyHit(1).size();
  summary.crash_points["fsync middle"]["power loss"] = 99;
  EXPECT_EQ(summary.RarelyHit(1).size(), all - 1);
  std::vector<Summary::CrashPair> rare = summary.RarelyHit(100);
  EXPECT_EQ(rare.size(), all);
  auto met = [&](const std::string& point, const std::string& kind) {
    for (const Summary::CrashPair& pair : rare) {
      if (pair.point == point && pair.kind == kind) return pair.hits;
    }
    return UINT64_MAX;
  };
  EXPECT_EQ(met("fsync middle", "power loss"), 99u);
  EXPECT_EQ(met("recovery_before_redo", "process crash"), 0u);
  EXPECT_EQ(met("recovery_before_redo", "task kill"), UINT64_MAX);
  nlohmann::json json = nlohmann::json::parse(summary.ToJson());
  EXPECT_EQ(json["rare_crashes"].size(), all);
  EXPECT_FALSE(json["illegal_crashes"][0]["reason"].get<std::string>().empty());
}

TEST_F(CampaignTest, JsonHasExactlyTheseKeys) {
  Run(Kept);
  nlohmann::json json = nlohmann::json::parse(summary_.ToJson());
  std::set<std::string> keys;
  for (const auto& item : json.items()) keys.insert(item.key());
  EXPECT_EQ(keys, (std::set<std::string>{"build",
                                         "profile",
                                         "seeds",
                                         "parts",
                                         "findings",
                                         "harness_failures",
                                         "cpu_s",
                                         "wall_s",
                                         "virtual_s",
                                         "steps",
                                         "crashes",
                                         "recoveries",
                                         "seeds_crashed_in_recovery",
                                         "acked_commits",
                                         "in_doubt",
                                         "statements_predicted",
                                         "statements_unpredicted",
                                         "known_gaps",
                                         "judged",
                                         "outside",
                                         "schedulers",
                                         "faults",
                                         "crash_points",
                                         "illegal_crashes",
                                         "rare_crashes"}));
  std::set<std::string> outcomes;
  for (const auto& item : json["faults"]["power_loss"].items()) {
    outcomes.insert(item.key());
  }
  EXPECT_EQ(outcomes,
            (std::set<std::string>{"enabled_runs", "injected", "masked",
                                   "detected", "repaired", "silent", "gap"}));
  EXPECT_EQ(json["virtual_s"], 100.0);
}

TEST_F(CampaignTest, ShardsPartitionTheSeeds) {
  std::set<std::string> seen;
  options_.last_seed = 10;
  options_.shard_count = 3;
  options_.hashes_file = dir_ + "/hashes";
  std::string all;
  for (uint64_t shard = 0; shard < 3; ++shard) {
    options_.shard_index = shard;
    EXPECT_EQ(Run(Kept), kExitKept);
    EXPECT_EQ(summary_.seeds, shard < 2 ? 4u : 3u);
    all += ReadFile(dir_ + "/hashes").value();
  }
  size_t at = 0;
  while (at < all.size()) {
    EXPECT_TRUE(seen.insert(all.substr(at, all.find(' ', at) - at)).second);
    at = all.find('\n', at) + 1;
  }
  EXPECT_EQ(seen.size(), 11u);
}

// Breaks DUR at seeds that end in 2 or 3, also when it is written out.
env::Result<RunOutcome> BreaksAtSome(const RunSpec& spec,
                                     const RunOptions& options) {
  bool breaks = spec.seed % 10 == 2 || spec.seed % 10 == 3;
  RunOutcome outcome = breaks ? Broken(spec, "DUR") : FakeRun(spec);
  if (options.record) {
    auto record = std::make_shared<properties::RunRecord>();
    record->profile = "pg-contract";
    record->statements = {{1, "s1.t1.q1", "SELECT 1", 0}};
    outcome.record = std::move(record);
  }
  return outcome;
}

TEST_F(CampaignTest, TheFirstFindingOfAKindIsShrunk) {
  options_.order = SeedOrder::kBackward;
  options_.shrink = true;
  EXPECT_EQ(Run(BreaksAtSome), kExitBroken);
  EXPECT_EQ(summary_.findings, 20u);
  std::string path = dir_ + "/DUR-2.recipe";
  EXPECT_NE(text_.find("SHRINKING " + path), std::string::npos) << text_;
  EXPECT_EQ(text_.find("SHRINKING", text_.find("SHRINKING") + 1),
            std::string::npos);
  EXPECT_NE(text_.find("replay: bazel-bin/musth replay " + dir_ +
                       "/DUR-2.shrunk.recipe"),
            std::string::npos);
  Recipe shrunk = LoadRecipe(dir_ + "/DUR-2.shrunk.recipe").value();
  EXPECT_EQ(shrunk.expect_promise, "DUR");
  EXPECT_EQ(LoadRecipe(path).value().spec.base, sim::Base::kSeed);
  options_.shrink = false;
  Run(BreaksAtSome);
  EXPECT_EQ(text_.find("SHRINKING"), std::string::npos);
}

// Seeds 2 and 3 break; the first sitting ends at 90, before it shrinks.
TEST_F(CampaignTest, AFindingOfAnInterruptedSittingIsShrunkInTheNext) {
  options_.shrink = true;
  options_.state_file = dir_ + "/state";
  Run([](const RunSpec& spec, const RunOptions& options) {
    if (spec.seed == 90) kill(getppid(), SIGINT);
    return BreaksAtSome(spec, options);
  });
  std::string path = dir_ + "/DUR-2.recipe";
  EXPECT_EQ(text_.find("SHRINKING"), std::string::npos);
  EXPECT_TRUE(ReadFile(path).ok());
  EXPECT_EQ(Run(BreaksAtSome), kExitBroken);
  EXPECT_NE(text_.find("SHRINKING " + path), std::string::npos) << text_;
  EXPECT_TRUE(LoadRecipe(dir_ + "/DUR-2.shrunk.recipe").ok());
  // Once is enough.
  EXPECT_EQ(Run(BreaksAtSome), kExitBroken);
  EXPECT_EQ(text_.find("SHRINKING"), std::string::npos);
}

TEST_F(CampaignTest, FindingIsRunAgainAndWrittenAsARecipeThatReads) {
  options_.spec.knobs = {{"sessions", "2"}};
  ExitCode code = Run([](const RunSpec& spec, const RunOptions&) {
    return spec.seed == 42 ? Broken(spec, "DUR") : FakeRun(spec);
  });
  EXPECT_EQ(code, kExitBroken);
  EXPECT_EQ(summary_.findings, 1u);
  EXPECT_EQ(summary_.harness_failures, 0u);
  std::string path = dir_ + "/DUR-42.recipe";
  EXPECT_NE(text_.find("FINDING seed 42: DUR broken for transaction 731"),
            std::string::npos);
  EXPECT_NE(text_.find("replay: bazel-bin/musth replay " + path),
            std::string::npos);
  Recipe recipe = LoadRecipe(path).value();
  EXPECT_EQ(recipe.spec.seed, 42u);
  EXPECT_EQ(recipe.spec.knobs, options_.spec.knobs);
  EXPECT_EQ(recipe.expect_promise, "DUR");
  EXPECT_EQ(recipe.expect_hash, 42 * 0x9e3779b97f4a7c15ULL);
}

TEST_F(CampaignTest, FindingThatDoesNotReplayIsAHarnessFailure) {
  ExitCode code = Run([](const RunSpec& spec, const RunOptions&) {
    RunOutcome outcome = Broken(spec, "DUR");
    if (spec.seed != 42) outcome.broken.clear();
    // The two runs are in two processes.
    if (spec.seed == 42) outcome.hash = static_cast<uint64_t>(getpid());
    return outcome;
  });
  EXPECT_EQ(code, kExitHarness);
  EXPECT_EQ(summary_.findings, 0u);
  EXPECT_NE(text_.find("HARNESS FAILURE seed 42: broke DUR, but did not"),
            std::string::npos);
}

TEST_F(CampaignTest, DeadWorkerIsChargedToItsSeedAndTheCampaignGoesOn) {
  ExitCode code = Run([](const RunSpec& spec, const RunOptions&) {
    if (spec.seed == 7) raise(SIGSEGV);
    return FakeRun(spec);
  });
  EXPECT_EQ(code, kExitHarness);
  EXPECT_EQ(summary_.seeds, 100u);
  EXPECT_EQ(summary_.harness_failures, 1u);
  EXPECT_NE(text_.find("HARNESS FAILURE seed 7: the worker was killed by "
                       "signal 11 (Segmentation fault); alone it is as well"),
            std::string::npos)
      << text_;
  EXPECT_EQ(LoadRecipe(dir_ + "/harness-7.recipe").value().spec.seed, 7u);
}

TEST_F(CampaignTest, BrokenCheckOfOurOwnIsAHarnessFailureNotAFinding) {
  ExitCode code = Run([](const RunSpec& spec, const RunOptions&) {
    RunOutcome outcome = Broken(spec, "DUR");
    if (spec.seed != 3) outcome.broken.clear();
    if (spec.seed == 3) outcome.harness_failure = "bufmgr.cc:12: pin > 0";
    return outcome;
  });
  EXPECT_EQ(code, kExitHarness);
  EXPECT_EQ(summary_.findings, 0u);
  EXPECT_NE(text_.find("seed 3: bufmgr.cc:12: pin > 0"), std::string::npos);
}

TEST_F(CampaignTest, InterruptEndsWithTheSummarySoFar) {
  options_.last_seed = 1000000;
  ExitCode code = Run([](const RunSpec& spec, const RunOptions&) {
    if (spec.seed == 200) kill(getppid(), SIGINT);
    return FakeRun(spec);
  });
  EXPECT_EQ(code, kExitKept);
  EXPECT_GT(summary_.seeds, 100u);
  EXPECT_LT(summary_.seeds, 100000u);
  EXPECT_NE(text_.find("interrupted; "), std::string::npos);
  EXPECT_NE(text_.find("0 findings, 0 harness failures"), std::string::npos);
}

TEST_F(CampaignTest, StopAfterEndsEarly) {
  options_.last_seed = 1000000;
  options_.stop_after = 2;
  ExitCode code = Run([](const RunSpec& spec, const RunOptions&) {
    return spec.seed % 50 == 49 ? Broken(spec, "VIS") : FakeRun(spec);
  });
  EXPECT_EQ(code, kExitBroken);
  EXPECT_GE(summary_.findings, 2u);
  EXPECT_LT(summary_.seeds, 2000u);
}

// The text of what does not depend on times.
std::string Timeless(Summary summary) {
  summary.cpu_s = summary.wall_s = 0;
  return summary.ToJson();
}

// Interrupted at three places and gone on from there, once backward: together
// that is the campaign that nobody interrupted, findings and all.
TEST_F(CampaignTest, InterruptedCampaignGoesOnWhereItWas) {
  options_.last_seed = 4999;
  auto run = [this](uint64_t interrupt_at) {
    return Run([=](const RunSpec& spec, const RunOptions&) {
      if (spec.seed == interrupt_at) kill(getppid(), SIGINT);
      if (spec.seed % 1000 == 7) return Broken(spec, "DUR");
      RunOutcome outcome = FakeRun(spec);
      if (spec.seed == 1234) outcome.harness_failure = "a check";
      return outcome;
    });
  };
  run(UINT64_MAX);
  std::string whole = Timeless(summary_);
  EXPECT_EQ(summary_.findings, 5u);

  options_.state_file = dir_ + "/state";
  uint64_t before = 0;
  for (uint64_t at : {300, 2500, 3000}) {
    options_.order = at == 3000 ? SeedOrder::kBackward : SeedOrder::kForward;
    run(at);
    EXPECT_NE(text_.find("interrupted; "), std::string::npos);
    EXPECT_GT(summary_.seeds, before);
    before = summary_.seeds;
  }
  EXPECT_EQ(run(UINT64_MAX), kExitBroken);
  EXPECT_EQ(Timeless(summary_), whole);
  // Nothing is left to do.
  EXPECT_EQ(Run([](const RunSpec&, const RunOptions&) {
              return env::Result<RunOutcome>(
                  env::Status(env::Code::kInvalid, "it ran"));
            }),
            kExitBroken);
  EXPECT_EQ(Timeless(summary_), whole);
}

TEST_F(CampaignTest, StateOfAnotherCampaignIsRefusedAndKept) {
  options_.state_file = dir_ + "/state";
  options_.last_seed = 9;
  EXPECT_EQ(Run(Kept), kExitKept);
  std::string state = ReadFile(options_.state_file).value();
  options_.spec.knobs = {{"sessions", "2"}};
  EXPECT_EQ(Run(Kept), kExitUsage);
  options_.spec.knobs.clear();
  options_.last_seed = 10;
  EXPECT_EQ(Run(Kept), kExitUsage);
  EXPECT_EQ(ReadFile(options_.state_file).value(), state);
  ASSERT_TRUE(WriteFile(options_.state_file, "{\"done\": 3}").ok());
  EXPECT_EQ(Run(Kept), kExitUsage);
}

TEST_F(CampaignTest, SpecThatNobodyCanRunIsAUsageError) {
  ExitCode code = Run([](const RunSpec&, const RunOptions&) {
    return env::Result<RunOutcome>(
        env::Status(env::Code::kInvalid, "t.sql:3: expected a statement"));
  });
  EXPECT_EQ(code, kExitUsage);
}

TEST_F(CampaignTest, PoisonReachesTheRun) {
  options_.poison = 0xFF;
  ExitCode code = Run([](const RunSpec& spec, const RunOptions& options) {
    return options.poison == 0xFF ? FakeRun(spec) : Broken(spec, "DUR");
  });
  EXPECT_EQ(code, kExitKept);
}

TEST(Report, CommandUnderBazelNamesTheConfigurationOfPlantedRuns) {
  RunSpec spec;
  spec.planted = {"page_written_before_wal"};
  Invocation invocation{"/x/musth", true};
  std::string command = ReplayCommand(invocation, spec, "a b/it's.recipe");
  EXPECT_EQ(command.substr(0, 12), "./bazelw run");
  EXPECT_NE(command.find(" --config=planted //:musth -- replay "),
            std::string::npos);
  EXPECT_NE(command.find("'a b/it'\\''s.recipe'"), std::string::npos);
}

}  // namespace
}  // namespace replay
