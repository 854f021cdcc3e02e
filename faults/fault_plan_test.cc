#include "faults/fault_plan.h"

#include <gtest/gtest.h>

namespace faults {
namespace {

const Profile& Contract() { return Profiles()[0]; }

FaultPlan Draw(uint64_t seed) {
  sim::Choices choices(seed);
  return DrawFaultPlan(choices, Contract());
}

TEST(FaultPlan, SharesOfRunsAreAsTheProfileSays) {
  int on[kFamilyCount] = {};
  int crashing = 0;
  constexpr int kRuns = 4000;
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    FaultPlan plan = Draw(seed);
    for (int i = 0; i < kFamilyCount; ++i) {
      on[i] += plan.Has(static_cast<Family>(i));
    }
    crashing += plan.Has(Family::kPowerLoss) || plan.Has(Family::kProcessCrash);
  }
  EXPECT_EQ(crashing, kRuns);
  auto share = [&](Family family) { return on[static_cast<int>(family)]; };
  EXPECT_NEAR(share(Family::kSyncFailure), kRuns / 5, 120);
  EXPECT_NEAR(share(Family::kLatency), kRuns / 2, 150);
  EXPECT_NEAR(share(Family::kStall), kRuns / 2, 150);
  EXPECT_NEAR(share(Family::kWriteback), kRuns / 2, 150);
  EXPECT_NEAR(share(Family::kTaskKill), kRuns / 2, 150);
  EXPECT_NEAR(share(Family::kShortTransfer), kRuns / 2, 150);
  EXPECT_NEAR(share(Family::kDiskFull), kRuns / 2, 150);
  EXPECT_NEAR(share(Family::kEviction), kRuns / 10, 90);
}

TEST(FaultPlan, SwitchingOneFamilyOffMovesNoOtherRate) {
  Profile quiet = Contract();
  quiet.families &= ~(uint32_t{1} << static_cast<int>(Family::kStall));
  for (uint64_t seed = 0; seed < 200; ++seed) {
    FaultPlan with = Draw(seed);
    sim::Choices choices(seed);
    FaultPlan without = DrawFaultPlan(choices, quiet);
    EXPECT_FALSE(without.Has(Family::kStall));
    EXPECT_EQ(with.latency_mean_ns, without.latency_mean_ns);
    EXPECT_EQ(with.sync_failure_denominator, without.sync_failure_denominator);
    EXPECT_EQ(with.writeback_gap, without.writeback_gap);
  }
}

TEST(FaultPlan, BaseZeroHasNoDiskFaults) {
  sim::Choices choices(5, sim::Base::kZero);
  FaultPlan plan = DrawFaultPlan(choices, Contract());
  for (Family family :
       {Family::kSyncFailure, Family::kWriteback, Family::kEviction,
        Family::kLatency, Family::kStall, Family::kTaskKill,
        Family::kShortTransfer, Family::kDiskFull}) {
    EXPECT_FALSE(plan.Has(family)) << FamilyName(family);
  }
}

}  // namespace
}  // namespace faults
