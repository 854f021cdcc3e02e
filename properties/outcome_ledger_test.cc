#include "properties/outcome_ledger.h"

#include <gtest/gtest.h>

namespace properties {
namespace {

using faults::Family;
using faults::FaultCounters;

void Inject(FaultCounters* counters, Family family, int times) {
  for (int i = 0; i < times; ++i) counters->Inject(family);
}

TEST(OutcomeLedger, ARunThatKeepsItsPromisesMasksWhatWasNotNamed) {
  FaultCounters counters;
  OutcomeLedger ledger;
  counters.Enable(Family::kSyncFailure);
  Inject(&counters, Family::kSyncFailure, 2);
  ledger.Report(Family::kSyncFailure, counters);
  Inject(&counters, Family::kSyncFailure, 1);
  ledger.Settle(counters);
  Inject(&counters, Family::kSyncFailure, 1);
  RunStats::Family out = ledger.Of(Family::kSyncFailure, counters, false);
  EXPECT_EQ(out.enabled_runs, 1u);
  EXPECT_EQ(out.injected, 4u);
  EXPECT_EQ(out.detected, 2u);
  EXPECT_EQ(out.masked, 2u);
  EXPECT_EQ(out.silent, 0u);
}

TEST(OutcomeLedger, OnlyWhatStruckSinceTheLastGoodInspectionIsSilent) {
  FaultCounters counters;
  OutcomeLedger ledger;
  Inject(&counters, Family::kPowerLoss, 3);
  ledger.Settle(counters);
  Inject(&counters, Family::kPowerLoss, 1);
  Inject(&counters, Family::kLatency, 5);
  EXPECT_EQ(ledger.Of(Family::kPowerLoss, counters, true).masked, 3u);
  EXPECT_EQ(ledger.Of(Family::kPowerLoss, counters, true).silent, 1u);
  EXPECT_EQ(ledger.Of(Family::kLatency, counters, true).silent, 5u);
  ledger.Report(Family::kPowerLoss, counters);
  EXPECT_EQ(ledger.Of(Family::kPowerLoss, counters, true).silent, 0u);
  EXPECT_EQ(ledger.Of(Family::kPowerLoss, counters, true).detected, 1u);
}

}  // namespace
}  // namespace properties
