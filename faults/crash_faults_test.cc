#include "faults/crash_faults.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace faults {
namespace {

using sim::CrashKind;
using sim::CrashPlace;
using sim::CrashPoint;
using sim::DeviceStep;
using Place = PlannedCrash::Place;

constexpr env::SiteInfo kSites[] = {
    {"wal_insert", env::SiteKind::kInjection, ""},
    {"commit_flushed", env::SiteKind::kInjection, ""},
    {"buffer_evict_dirty", env::SiteKind::kInjection, ""},
    {"recovery_before_production", env::SiteKind::kInjection, ""},
    {"page_read", env::SiteKind::kYield, ""},
};

CrashPoint Step() { return CrashPoint{}; }
CrashPoint Device(DeviceStep step) {
  CrashPoint point;
  point.place = CrashPlace::kDevice;
  point.device_step = step;
  return point;
}
CrashPoint Injection(env::SiteId site) {
  CrashPoint point;
  point.place = CrashPlace::kInjection;
  point.site = site;
  return point;
}

PlannedCrash Planned(Place place, uint64_t n,
                     CrashKind kind = CrashKind::kPowerLoss) {
  PlannedCrash crash;
  crash.kind = kind;
  crash.forced_kind = CrashKind::kPowerLoss;
  crash.place = place;
  crash.n = n;
  return crash;
}

// How many of the points it takes until the crash comes; 0: it does not.
int After(CrashFaults* faults, const std::vector<CrashPoint>& points) {
  for (size_t i = 0; i < points.size(); ++i) {
    if (faults->OnPoint(points[i]) != CrashKind::kNone) {
      return static_cast<int>(i) + 1;
    }
  }
  return 0;
}

TEST(CrashFaults, StrikesAtTheNthEventOfItsPlaceOnly) {
  FaultCounters counters;
  CrashFaults faults({Planned(Place::kSyncEvent, 2)}, kSites, &counters);
  faults.SetPhase(Phase::kRunning);
  EXPECT_EQ(After(&faults, {Step(), Device(DeviceStep::kWrite),
                            Device(DeviceStep::kSyncStart), Injection(0),
                            Device(DeviceStep::kSyncMiddle), Step()}),
            5);
  EXPECT_EQ(faults.last_point(), "fsync middle");
  EXPECT_FALSE(faults.last_in_recovery());
  EXPECT_EQ(faults.hits().at("fsync middle").at("power loss"), 1u);
  EXPECT_EQ(counters.of(Family::kPowerLoss).injected, 1u);
}

TEST(CrashFaults, StrikesAtThePointThatThePlanNames) {
  FaultCounters counters;
  PlannedCrash crash = Planned(Place::kNamedInjection, 1);
  crash.point = "commit_flushed";
  crash.hits = 2;
  EXPECT_EQ(crash.ToString(),
            "power loss at commit_flushed while running, hit 2");
  CrashFaults faults({crash}, kSites, &counters);
  faults.SetPhase(Phase::kRunning);
  EXPECT_EQ(After(&faults, {Injection(1), Injection(0), Step(), Injection(0),
                            Injection(1)}),
            5);
  EXPECT_EQ(faults.last_point(), "commit_flushed");
}

TEST(CrashFaults, CountingBeginsAnewWithEachPhase) {
  FaultCounters counters;
  CrashFaults faults({Planned(Place::kStep, 3)}, kSites, &counters);
  EXPECT_EQ(After(&faults, std::vector<CrashPoint>(10, Step())), 0);
  faults.SetPhase(Phase::kRecovery);
  EXPECT_EQ(After(&faults, std::vector<CrashPoint>(10, Step())), 0);
  faults.SetPhase(Phase::kRunning);
  EXPECT_EQ(After(&faults, std::vector<CrashPoint>(2, Step())), 0);
  faults.SetPhase(Phase::kRunning);
  EXPECT_EQ(After(&faults, std::vector<CrashPoint>(10, Step())), 3);
}

TEST(CrashFaults, CountingWaitsForTheStatementThatIsNamed) {
  FaultCounters counters;
  PlannedCrash crash = Planned(Place::kMoment, 2);
  crash.moment.kind = Moment::Kind::kStep;
  crash.moment.during = {1, 3};
  CrashFaults faults({crash}, kSites, &counters);
  faults.SetPhase(Phase::kRunning);
  EXPECT_EQ(After(&faults, {Step(), Step(), Step()}), 0);
  faults.OnSend({1, 2});
  EXPECT_EQ(After(&faults, {Step(), Step()}), 0);
  faults.OnSend({1, 3});
  EXPECT_EQ(After(&faults, {Step(), Device(DeviceStep::kWrite)}), 2);
}

TEST(CrashFaults, DistinctInjectionPointReachesRareSites) {
  FaultCounters counters;
  PlannedCrash crash = Planned(Place::kNewInjection, 2);
  crash.hits = 2;
  CrashFaults faults({crash}, kSites, &counters);
  faults.SetPhase(Phase::kRunning);
  EXPECT_EQ(After(&faults, {Injection(0), Injection(0), Injection(2),
                            Injection(0), Injection(1), Injection(2)}),
            6);
  EXPECT_EQ(faults.last_point(), "buffer_evict_dirty");
}

TEST(CrashFaults, RecoveryCrashWaitsForRecoveryAndIsMarked) {
  FaultCounters counters;
  PlannedCrash second = Planned(Place::kStep, 1);
  second.in_recovery = true;
  second.doubled = true;
  CrashFaults faults({Planned(Place::kStep, 1, CrashKind::kProcess), second},
                     kSites, &counters);
  faults.SetPhase(Phase::kRunning);
  EXPECT_EQ(faults.OnPoint(Step()), CrashKind::kProcess);
  // Until the driver restarts the node nothing strikes.
  EXPECT_EQ(faults.OnPoint(Step()), CrashKind::kNone);
  faults.SetPhase(Phase::kRecovery);
  EXPECT_EQ(faults.OnPoint(Step()), CrashKind::kPowerLoss);
  EXPECT_TRUE(faults.last_in_recovery());
  EXPECT_EQ(counters.of(Family::kRecoveryCrash).injected, 1u);
  EXPECT_EQ(counters.of(Family::kDoubleCrash).injected, 1u);
}

TEST(CrashFaults, RecoveryCrashThatComesTooLateStrikesWhileRunning) {
  FaultCounters counters;
  PlannedCrash crash = Planned(Place::kStep, 5);
  crash.in_recovery = true;
  CrashFaults faults({crash}, kSites, &counters);
  faults.SetPhase(Phase::kRecovery);
  EXPECT_EQ(After(&faults, std::vector<CrashPoint>(4, Step())), 0);
  faults.SetPhase(Phase::kRunning);
  EXPECT_EQ(After(&faults, std::vector<CrashPoint>(9, Step())), 5);
  EXPECT_EQ(counters.of(Family::kRecoveryCrash).injected, 0u);
}

TEST(CrashFaults, TaskKillSparesProtectedTasks) {
  FaultCounters counters;
  CrashFaults faults({Planned(Place::kStep, 2, CrashKind::kTaskKill)}, kSites,
                     &counters);
  faults.ProtectTask(1);
  faults.SetPhase(Phase::kRunning);
  CrashPoint postmaster = Step();
  postmaster.task = 1;
  CrashPoint backend = Step();
  backend.task = 2;
  EXPECT_EQ(After(&faults, {postmaster, postmaster, postmaster, backend}), 4);
  EXPECT_EQ(counters.of(Family::kTaskKill).injected, 1u);
}

TEST(CrashFaults, ForcedCrashesUseUpThePlanAndAreCounted) {
  FaultCounters counters;
  CrashFaults faults({Planned(Place::kStep, 1000, CrashKind::kTaskKill),
                      Planned(Place::kStep, 1000)},
                     kSites, &counters);
  faults.SetPhase(Phase::kRunning);
  EXPECT_EQ(faults.ForcedCrash(), CrashKind::kPowerLoss);
  EXPECT_EQ(faults.ForcedCrash(), CrashKind::kPowerLoss);
  EXPECT_EQ(faults.ForcedCrash(), CrashKind::kNone);
  EXPECT_EQ(faults.hits().at("end of plan").at("power loss"), 2u);
  EXPECT_EQ(faults.OnPoint(Step()), CrashKind::kNone);
}

std::vector<PlannedCrash> Draw(uint64_t seed) {
  sim::Choices choices(seed);
  FaultPlan plan = DrawFaultPlan(choices, Profiles()[0]);
  return DrawCrashPlan(choices, sim::Scope::FromPath("w0/h0"), plan, kSites);
}

TEST(CrashPlan, HasEnoughCrashesOfEveryKindAndPlace) {
  constexpr int kSeeds = 4000;
  int host_crashes = 0;
  int seeds_with_recovery_crash = 0;
  int kinds[4] = {};
  int places[6] = {};
  int doubled = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    bool in_recovery = false;
    std::vector<PlannedCrash> plan = Draw(seed);
    EXPECT_LE(plan.size(), 12u);
    for (size_t i = 0; i < plan.size(); ++i) {
      const PlannedCrash& crash = plan[i];
      host_crashes += crash.kind != CrashKind::kTaskKill;
      ++kinds[static_cast<int>(crash.kind)];
      ++places[static_cast<int>(crash.place)];
      in_recovery |= crash.in_recovery;
      EXPECT_FALSE(i == 0 && crash.in_recovery);
      if (crash.doubled) {
        ++doubled;
        EXPECT_EQ(plan[i - 1].kind, CrashKind::kProcess);
        EXPECT_EQ(crash.kind, CrashKind::kPowerLoss);
        EXPECT_TRUE(crash.in_recovery);
      }
    }
    seeds_with_recovery_crash += in_recovery;
  }
  EXPECT_GT(host_crashes, kSeeds * 19 / 10);
  EXPECT_GT(seeds_with_recovery_crash, kSeeds * 30 / 100);
  EXPECT_EQ(kinds[static_cast<int>(CrashKind::kNone)], 0);
  for (int kind = 1; kind < 4; ++kind) EXPECT_GT(kinds[kind], kSeeds / 6);
  for (int count : places) EXPECT_GT(count, kSeeds / 30);
  EXPECT_GT(doubled, kSeeds / 30);
}

// Every other one is a point that few runs pass.
TEST(CrashPlan, NamesInjectionPoints) {
  std::map<std::string, int> running;
  std::map<std::string, int> recovery;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    for (const PlannedCrash& crash : Draw(seed)) {
      if (crash.place != Place::kNamedInjection) {
        EXPECT_EQ(crash.point, "");
        continue;
      }
      ++(crash.in_recovery ? recovery : running)[crash.point];
    }
  }
  for (const auto& [name, count] : running) EXPECT_GT(count, 50) << name;
  for (const auto& [name, count] : recovery) EXPECT_GT(count, 10) << name;
  EXPECT_EQ(running.size(), 3u);  // the other is passed in recovery only
  EXPECT_GT(running["buffer_evict_dirty"], running["wal_insert"] * 2);
  EXPECT_GT(recovery["recovery_before_production"], recovery["wal_insert"] * 2);
}

TEST(CrashPlan, BaseZeroHasNoCrash) {
  sim::Choices choices(1, sim::Base::kZero);
  FaultPlan plan = DrawFaultPlan(choices, Profiles()[0]);
  EXPECT_TRUE(
      DrawCrashPlan(choices, sim::Scope::FromPath("w0/h0"), plan, kSites)
          .empty());
}

// Editing one crash by an override leaves the others as they were.
TEST(CrashPlan, CrashesAreDrawnApart) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::vector<PlannedCrash> plain = Draw(seed);
    if (plain.size() < 3 || plain[1].doubled || plain[2].doubled) continue;
    sim::Choices choices(seed);
    choices.AddOverride(
        sim::Override::Parse("crash-point w0/h0/c1 place 0 = 45").value());
    FaultPlan fault_plan = DrawFaultPlan(choices, Profiles()[0]);
    std::vector<PlannedCrash> edited = DrawCrashPlan(
        choices, sim::Scope::FromPath("w0/h0"), fault_plan, kSites);
    ASSERT_GE(edited.size(), 3u);
    EXPECT_EQ(edited[1].place, Place::kStep);
    EXPECT_EQ(edited[0].ToString(), plain[0].ToString());
    EXPECT_EQ(edited[2].ToString(), plain[2].ToString());
  }
}

}  // namespace
}  // namespace faults
