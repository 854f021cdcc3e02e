#include "faults/stage.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "faults/crash_faults.h"

namespace faults {
namespace {

constexpr std::array<env::SiteInfo, 2> kSites = {
    env::SiteInfo{"here", env::SiteKind::kInjection, ""},
    env::SiteInfo{"there", env::SiteKind::kYield, ""}};
constexpr env::TaskId kS1 = 7;
constexpr env::TaskId kS2 = 8;

class NoCrash : public sim::CrashHooks {
 public:
  sim::CrashKind OnPoint(const sim::CrashPoint&) override {
    return sim::CrashKind::kNone;
  }
};

class NoFault : public sim::DiskFaultHooks {
 public:
  sim::SyncFailure OnSync(std::string_view, uint64_t) override {
    return sim::SyncFailure::kNone;
  }
  env::TimeNs Latency(sim::DeviceStep, std::string_view) override { return 0; }
};

struct Fixture {
  explicit Fixture(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      EXPECT_TRUE(AddDirection(line, kSites, &directions).ok()) << line;
    }
    Stage::Options options;
    options.holds = directions.holds;
    options.failures = directions.failures;
    options.next_crash = &no_crash;
    options.next_disk = &no_fault;
    options.counters = &counters;
    options.release = [this](env::TaskId task) { released.push_back(task); };
    stage = std::make_unique<Stage>(std::move(options));
    stage->SetRunning(true);
  }

  void Pass(env::TaskId task, env::SiteId site) {
    sim::CrashPoint point;
    point.task = task;
    point.task_name = task == kS1 ? "s1" : "s2";
    point.node_site = true;
    point.site = site;
    point.step = ++step;
    stage->OnPoint(point);
  }

  NoCrash no_crash;
  NoFault no_fault;
  FaultCounters counters;
  Directions directions;
  std::unique_ptr<Stage> stage;
  std::vector<env::TaskId> released;
  uint64_t step = 0;
};

TEST(Stage, HoldsATaskAtTheNthPassingUntilAnotherOneIsThere) {
  Fixture f({"hold s1 at here 2 until s2 at there"});
  f.Pass(kS1, 0);
  EXPECT_FALSE(f.stage->Held(kS1));
  f.Pass(kS2, 0);  // somebody else's passing counts for nothing
  f.Pass(kS1, 0);
  EXPECT_TRUE(f.stage->Held(kS1));
  EXPECT_FALSE(f.stage->Held(kS2));
  EXPECT_EQ(f.stage->Unmet().size(), 1u);
  f.Pass(kS2, 1);
  EXPECT_FALSE(f.stage->Held(kS1));
  EXPECT_EQ(f.released, std::vector<env::TaskId>{kS1});
  EXPECT_TRUE(f.stage->Unmet().empty());
}

TEST(Stage, WhatAHoldWaitsForMayHaveHappenedBefore) {
  Fixture f({"hold s1 at here until after s2.q1"});
  f.stage->OnAnswer({2, 1});
  f.Pass(kS1, 0);
  EXPECT_FALSE(f.stage->Held(kS1));
  EXPECT_TRUE(f.stage->Unmet().empty());
}

TEST(Stage, HoldsAStatementBeforeItIsSent) {
  Fixture f({"hold before s2.q3 until s1 at here"});
  EXPECT_FALSE(f.stage->OnSend(kS2, {2, 2}));
  EXPECT_TRUE(f.stage->OnSend(kS2, {2, 3}));
  f.Pass(kS1, 0);
  EXPECT_FALSE(f.stage->Held(kS2));
}

// Those before it are not what the hold waits for; the sessions are done then.
TEST(Stage, AnInspectionEndsAHoldThatHasBegun) {
  Fixture f({"hold s1 at here until after inspection"});
  f.stage->OnInspection();
  f.Pass(kS1, 0);
  EXPECT_TRUE(f.stage->Held(kS1));
  f.stage->SetRunning(false);
  f.stage->OnInspection();
  EXPECT_FALSE(f.stage->Held(kS1));
  EXPECT_EQ(f.released, std::vector<env::TaskId>{kS1});
  EXPECT_TRUE(f.stage->Unmet().empty());
}

TEST(Stage, CountsOnlyWhileSessionsRun) {
  Fixture f({"hold s1 at here until after s2.q1"});
  f.stage->SetRunning(false);
  f.Pass(kS1, 0);
  EXPECT_FALSE(f.stage->Held(kS1));
  f.stage->SetRunning(true);
  f.Pass(kS1, 0);
  EXPECT_TRUE(f.stage->Held(kS1));
}

TEST(Stage, LetsGoAndSaysSoWhenItsPatienceEnds) {
  Fixture f({"hold s1 at here until after s2.q1"});
  f.Pass(kS1, 0);
  f.step += 100'000;
  f.Pass(kS2, 1);
  EXPECT_FALSE(f.stage->Held(kS1));
  EXPECT_EQ(f.stage->Unmet(),
            std::vector<std::string>{"hold s1 at here until after s2.q1"});
}

TEST(Stage, FailsTheNthSyncOfAFileOnce) {
  Fixture f({"fail fsync a/b 2"});
  auto sync = [&](const char* path) {
    return f.stage->OnSync(path, 1) != sim::SyncFailure::kNone;
  };
  EXPECT_FALSE(sync("a/b"));
  EXPECT_FALSE(sync("a/c"));
  EXPECT_EQ(f.stage->Unmet().size(), 1u);
  EXPECT_TRUE(sync("a/b"));
  EXPECT_FALSE(sync("a/b"));
  EXPECT_TRUE(f.stage->Unmet().empty());
  EXPECT_EQ(f.counters.of(Family::kSyncFailure).injected, 1u);
}

TEST(Stage, CutsTheNthWriteToAFileOnce) {
  Fixture f({"fail write a/b 2"});
  auto cut = [&](sim::Transfer transfer, const char* path) {
    sim::TransferFault fault = f.stage->OnTransfer(transfer, path, 0, 8192);
    if (fault.outcome == sim::TransferOutcome::kShort) {
      EXPECT_EQ(fault.bytes, 4096);
    }
    return fault.outcome != sim::TransferOutcome::kWhole;
  };
  EXPECT_FALSE(cut(sim::Transfer::kWrite, "a/b"));
  EXPECT_FALSE(cut(sim::Transfer::kWrite, "a/c"));
  EXPECT_FALSE(cut(sim::Transfer::kRead, "a/b"));
  EXPECT_TRUE(cut(sim::Transfer::kWrite, "a/b"));
  EXPECT_FALSE(cut(sim::Transfer::kWrite, "a/b"));
  EXPECT_TRUE(f.stage->Unmet().empty());
  EXPECT_EQ(f.counters.of(Family::kShortTransfer).injected, 1u);
}

TEST(Stage, RefusesTheNthGrowthOfAFileOnce) {
  Fixture f({"fail extend a/b 2"});
  auto refused = [&](const char* path) {
    return f.stage->Capacity(path, 8192, 8192) < 16384;
  };
  EXPECT_FALSE(refused("a/b"));
  EXPECT_FALSE(refused("a/c"));
  EXPECT_EQ(f.stage->OnSync("a/b", 1), sim::SyncFailure::kNone);
  EXPECT_TRUE(refused("a/b"));
  EXPECT_FALSE(refused("a/b"));
  EXPECT_TRUE(f.stage->Unmet().empty());
  EXPECT_EQ(f.counters.of(Family::kDiskFull).injected, 1u);
  EXPECT_EQ(f.counters.of(Family::kSyncFailure).injected, 0u);
}

TEST(Stage, DirectedCrashesStrikeInTheirOrder) {
  Directions d;
  ASSERT_TRUE(AddDirection("crash power-loss s1 at here", kSites, &d).ok());
  ASSERT_TRUE(AddDirection("image lose all", kSites, &d).ok());
  ASSERT_TRUE(AddDirection("crash process-crash after s2.q1", kSites, &d).ok());
  ASSERT_TRUE(AddDirection("crash power-loss at there 9", kSites, &d).ok());
  FaultCounters counters;
  CrashFaults faults(DirectedCrashPlan(d.crashes), kSites, &counters);
  sim::CrashPoint point;
  point.node_site = true;
  point.task_name = "s1";
  faults.SetPhase(Phase::kRunning);
  faults.OnAnswer({2, 1});  // not this one's turn
  EXPECT_EQ(faults.OnPoint(point), sim::CrashKind::kPowerLoss);
  EXPECT_EQ(faults.last_image().size(), 1u);
  faults.SetPhase(Phase::kRecovery);
  EXPECT_EQ(faults.OnPoint(point), sim::CrashKind::kNone);
  faults.SetPhase(Phase::kRunning);
  EXPECT_EQ(faults.OnPoint(point), sim::CrashKind::kNone);
  faults.OnAnswer({2, 1});
  EXPECT_EQ(faults.OnPoint(point), sim::CrashKind::kProcess);
  EXPECT_TRUE(faults.last_image().empty());
  // What does not come is forced, and told.
  EXPECT_EQ(faults.ForcedCrash(), sim::CrashKind::kPowerLoss);
  EXPECT_EQ(faults.Unmet(),
            std::vector<std::string>{"crash power-loss at there 9"});
}

}  // namespace
}  // namespace faults
