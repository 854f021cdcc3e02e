#include "replay/mutants.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "replay/user_files.h"

namespace replay {
namespace {

using properties::RunOptions;
using properties::RunOutcome;
using properties::RunSpec;

TEST(MutantTally, IntervalIsWilsons) {
  Interval tenth = ConfidenceOf(10, 100);
  EXPECT_NEAR(tenth.low, 0.0552, 0.0001);
  EXPECT_NEAR(tenth.high, 0.1744, 0.0001);
  Interval none = ConfidenceOf(0, 100);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 0.0370, 0.0001);
  EXPECT_EQ(ConfidenceOf(100, 100).high, 1);
  EXPECT_EQ(ConfidenceOf(0, 0).high, 1);
}

RunOutcome Failing(std::initializer_list<const char*> oracles) {
  RunOutcome outcome;
  for (const char* oracle : oracles) {
    outcome.broken.push_back({"DUR", oracle, "", "", 0});
  }
  return outcome;
}

TEST(MutantTally, CountsSeedsNotVerdicts) {
  MutantTally tally;
  tally.Add(RunOutcome(), 0.5);
  tally.Add(Failing({"ack", "ack", "content"}), 0.25);
  RunOutcome broken_check = Failing({"ack"});
  broken_check.harness_failure = "a check";
  tally.Add(broken_check, 1);
  tally.Add(Failing({"ack"}), 1);
  EXPECT_EQ(tally.seeds, 4u);
  EXPECT_EQ(tally.failing, 2u);
  EXPECT_EQ(tally.harness_failures, 1u);
  EXPECT_EQ(tally.first_seed, 1u);
  EXPECT_EQ(tally.cpu_to_first_s, 0.75);
  EXPECT_EQ(tally.oracles,
            (std::map<std::string, uint64_t>{{"ack", 2}, {"content", 1}}));
  EXPECT_EQ(tally.promises, (std::map<std::string, uint64_t>{{"DUR", 2}}));
}

MutantTally Measured(const char* bug, const char* scheduler, uint64_t failing) {
  MutantTally tally;
  tally.bug = bug;
  tally.scheduler = scheduler;
  tally.seeds = 2000;
  tally.failing = failing;
  if (failing > 0) tally.first_seed = 0;
  return tally;
}

TEST(Ablation, TheBestStandsAloneOnlyIfNoIntervalOverlaps) {
  Ablation ablation = Compare(
      {Measured("clear", "", 900), Measured("clear", "random-walk", 20),
       Measured("clear", "pos", 200), Measured("clear", "pct", 40),
       Measured("close", "random-walk", 0), Measured("close", "pos", 30),
       Measured("close", "pct", 25), Measured("unseen", "random-walk", 0),
       Measured("unseen", "pos", 0), Measured("unseen", "pct", 0)});
  EXPECT_EQ(ablation.schedulers,
            (std::vector<std::string>{"random-walk", "pos", "pct"}));
  EXPECT_EQ(
      ablation.best_for,
      (std::map<std::string, std::vector<std::string>>{{"pos", {"clear"}}}));
  EXPECT_EQ(ablation.hard_for_baseline,
            (std::vector<std::string>{"clear", "close"}));
  // Nobody to compare with, or too little to tell.
  EXPECT_TRUE(Compare({Measured("a", "pos", 0)}).best_for.empty());
  EXPECT_TRUE(
      Compare({Measured("a", "pos", 1), Measured("a", "random-walk", 0)})
          .hard_for_baseline.empty());
}

TEST(MutantTable, SurvivesItsFileAndShowsSchedulersBesideEachOther) {
  MutantTable table;
  table.tallies = {Measured("a", "", 10), Measured("a", "random-walk", 3),
                   Measured("a", "pos", 300)};
  table.tallies[0].shrunk = {4, 1, 2, 0.5, true};
  std::string json = table.ToJson();
  env::Result<MutantTable> read = MutantTable::FromJson(json, "state");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->ToJson(), json);
  std::string text = read->ToMarkdown();
  for (const char* expected :
       {"4 statements, 1 preemptions, 2 faults in 0.5 s",
        "1 findings were shrunk, 1 of them",
        "| bug | random-walk | pos |\n|---|---|---|\n| a | 30 (",
        ") | **3000 (", "- random-walk: best for none.",
        "- pos: best for 1 (a)",
        "tenth of the best scheduler's rate or less: 1 (a)."}) {
    EXPECT_NE(text.find(expected), std::string::npos) << expected << text;
  }
}

class MutantsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = ::testing::TempDir() + "/mutants_" +
           ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(dir_);
    options_.bugs = {"clog_not_synced", "wal_not_read"};
    options_.seeds = 1000;
    options_.enough = 20;
    options_.table_file = dir_ + "/table.md";
  }

  ExitCode Run(Runner runner) {
    std::string path = dir_ + ".out";
    options_.out = std::fopen(path.c_str(), "w");
    Mutants mutants(options_, std::move(runner));
    ExitCode code = mutants.Run();
    std::fclose(options_.out);
    table_ = mutants.table();
    text_ = ReadFile(path).value();
    return code;
  }
  std::string Timeless() const {
    MutantTable table = table_;
    for (MutantTally& tally : table.tallies) {
      tally.cpu_s = tally.cpu_to_first_s = 0;
    }
    return table.ToJson() + table.ToMarkdown();
  }

  std::string dir_;
  MutantOptions options_;
  MutantTable table_;
  std::string text_;
};

// The first bug is seen by every ninth seed, the second by none.
env::Result<RunOutcome> SeesTheFirst(const RunSpec& spec, const RunOptions&) {
  bool seen = spec.planted == std::vector<std::string>{"clog_not_synced"} &&
              spec.seed % 9 == 5;
  return seen ? Failing({"content"}) : RunOutcome();
}

TEST_F(MutantsTest, StopsAfterWholeBatchesWhateverTheWorkers) {
  std::string one;
  for (int workers : {1, 3}) {
    options_.workers = workers;
    EXPECT_EQ(Run(SeesTheFirst), kExitKept);
    ASSERT_EQ(table_.tallies.size(), 2u);
    EXPECT_EQ(table_.tallies[0].seeds, 200u);
    EXPECT_EQ(table_.tallies[0].failing, 22u);
    EXPECT_EQ(table_.tallies[0].first_seed, 5u);
    EXPECT_EQ(table_.tallies[1].seeds, 1000u);
    EXPECT_EQ(table_.tallies[1].failing, 0u);
    if (workers == 1) one = Timeless();
    EXPECT_EQ(Timeless(), one);
  }
  std::string table = ReadFile(options_.table_file).value();
  EXPECT_NE(table.find("| clog_not_synced | wal-recovery-fsync | 200 | 2200 ("),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("| wal_not_read |  | 1000 | 0 (0–77) | - | > "),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("|  | content 22 | DUR 22 |"), std::string::npos);
}

TEST_F(MutantsTest, InterruptedMeasurementGoesOnWhereItWas) {
  Run(SeesTheFirst);
  std::string whole = Timeless();
  options_.state_file = dir_ + "/state";
  Run([](const RunSpec& spec, const RunOptions& options) {
    if (spec.planted.front() == "wal_not_read" && spec.seed == 450) {
      kill(getppid(), SIGINT);
    }
    return SeesTheFirst(spec, options);
  });
  EXPECT_NE(text_.find("interrupted at wal_not_read"), std::string::npos);
  EXPECT_EQ(table_.tallies[1].seeds, 400u);
  EXPECT_FALSE(table_.tallies[1].finished);
  // What is measured is not measured again.
  Run([](const RunSpec& spec, const RunOptions& options) {
    if (spec.planted.front() == "clog_not_synced" || spec.seed < 400) _exit(1);
    return SeesTheFirst(spec, options);
  });
  EXPECT_EQ(Timeless(), whole);
  options_.enough = 21;
  EXPECT_EQ(Run(SeesTheFirst), kExitUsage);
}

TEST_F(MutantsTest, DeadWorkersAreCountedAndTheMeasurementGoesOn) {
  EXPECT_EQ(Run([](const RunSpec& spec, const RunOptions& options) {
              if (spec.seed == 17) raise(SIGSEGV);
              return SeesTheFirst(spec, options);
            }),
            kExitHarness);
  EXPECT_EQ(table_.tallies[0].failing, 22u);
  EXPECT_EQ(table_.tallies[0].harness_failures, 1u);
  EXPECT_EQ(table_.tallies[1].seeds, 1000u);
}

TEST_F(MutantsTest, EachSchedulerIsMeasuredAloneBesideThePortfolio) {
  options_.bugs = {"clog_not_synced"};
  options_.schedulers = {"random-walk", "pos"};
  options_.enough = 1000;
  options_.scheduler_seeds = 400;
  EXPECT_EQ(Run([](const RunSpec& spec, const RunOptions&) {
              if (spec.knobs.empty()) return Failing({"content"});
              EXPECT_EQ(spec.knobs[0].first, "strategy");
              bool seen = spec.knobs[0].second == "pos" && spec.seed % 4 == 0;
              return seen ? Failing({"content"}) : RunOutcome();
            }),
            kExitKept);
  ASSERT_EQ(table_.tallies.size(), 3u);
  EXPECT_EQ(table_.tallies[0].failing, 1000u);
  EXPECT_EQ(table_.tallies[1].failing, 0u);
  EXPECT_EQ(table_.tallies[1].seeds, 400u);
  EXPECT_EQ(table_.tallies[2].failing, 100u);
  EXPECT_EQ(table_.tallies[2].scheduler, "pos");
}

TEST_F(MutantsTest, WithScenesASchedulerIsMeasuredInTheBugsOwn) {
  options_.bugs = {"clog_not_synced", "wal_copy_not_awaited"};
  options_.schedulers = {"pos"};
  options_.seeds = 100;
  options_.scheduler_seeds = 100;
  RunSpec scene;
  scene.base = sim::Base::kSchedule;
  options_.scenes["wal_copy_not_awaited"] = scene;
  EXPECT_EQ(Run([](const RunSpec& spec, const RunOptions&) {
              bool in_scene = spec.base == sim::Base::kSchedule;
              EXPECT_EQ(in_scene, !spec.knobs.empty());
              if (in_scene) {
                EXPECT_EQ(spec.planted[0], "wal_copy_not_awaited");
                EXPECT_EQ(spec.knobs.back().second, "pos");
              }
              return in_scene ? Failing({"content"}) : RunOutcome();
            }),
            kExitKept);
  ASSERT_EQ(table_.tallies.size(), 3u);
  EXPECT_EQ(table_.tallies[1].failing, 0u);
  EXPECT_EQ(table_.tallies[2].failing, 100u);
}

TEST_F(MutantsTest, BudgetEndsABugAfterABatch) {
  options_.budget_s = 1e-9;
  EXPECT_EQ(Run(SeesTheFirst), kExitKept);
  EXPECT_EQ(table_.tallies[0].seeds, 100u);
  EXPECT_EQ(table_.tallies[1].seeds, 100u);
}

}  // namespace
}  // namespace replay
