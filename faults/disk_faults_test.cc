#include "faults/disk_faults.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/fake_host.h"

namespace faults {
namespace {

FaultPlan With(Family family) {
  FaultPlan plan;
  plan.on[static_cast<size_t>(family)] = true;
  plan.sync_failure_denominator = 4;
  plan.sync_failure_budget = 100;
  plan.latency_denominator = 1;
  plan.latency_min_ns = 1000;
  plan.latency_mean_ns = 100000;
  plan.latency_sync_mean_ns = 900000;
  plan.stall_at = 3;
  plan.stall_ns = 5000;
  plan.writeback_gap = 8;
  plan.short_transfer_denominator = 4;
  plan.short_transfer_budget = 1000;
  plan.disk_full_at = 3;
  plan.disk_full_slack_bytes = 4096;
  plan.disk_full_refusals = 2;
  return plan;
}

// Which of 40 fsyncs of the path fail: '1' or '0' each.
std::string Failures(DiskFaults* faults, const char* path) {
  std::string out;
  for (int i = 0; i < 40; ++i) {
    out += faults->OnSync(path, 1) == sim::SyncFailure::kNone ? '0' : '1';
  }
  return out;
}

TEST(DiskFaults, FailuresOfOneFileDoNotMoveThoseOfAnother) {
  FaultCounters counters;
  sim::FakeHost host(11);
  DiskFaults alone(&host, With(Family::kSyncFailure), Knobs(), &counters);
  std::string expected = Failures(&alone, "base/5/1000");
  EXPECT_NE(expected.find('1'), std::string::npos);
  DiskFaults both(&host, With(Family::kSyncFailure), Knobs(), &counters);
  std::string other = Failures(&both, "base/5/2000");
  EXPECT_EQ(Failures(&both, "base/5/1000"), expected);
  EXPECT_NE(other, expected);
}

TEST(DiskFaults, LateErrorsComeAtOnceWhereThatGapIsClosed) {
  Knobs knobs;
  for (auto kind : {sim::SyncFailure::kExt4Data, sim::SyncFailure::kBtrfs}) {
    knobs.sync_failure = static_cast<int64_t>(kind);
    knobs.prompt_sync_errors = 0;
    EXPECT_EQ(FailureKind(knobs), kind);
    knobs.prompt_sync_errors = 1;
    EXPECT_EQ(FailureKind(knobs), kind == sim::SyncFailure::kExt4Data
                                      ? sim::SyncFailure::kExt4Ordered
                                      : kind);
  }
}

TEST(DiskFaults, IncarnationsDrawApart) {
  FaultCounters counters;
  sim::FakeHost host(11);
  DiskFaults faults(&host, With(Family::kSyncFailure), Knobs(), &counters);
  std::string first = Failures(&faults, "pg_wal/1");
  host.Restart(1);
  EXPECT_NE(Failures(&faults, "pg_wal/1"), first);
}

TEST(DiskFaults, BudgetBoundsTheFailuresAndCountsThem) {
  FaultCounters counters;
  sim::FakeHost host(2);
  FaultPlan plan = With(Family::kSyncFailure);
  plan.sync_failure_denominator = 1;
  plan.sync_failure_budget = 2;
  Knobs knobs;
  knobs.sync_failure = static_cast<int64_t>(sim::SyncFailure::kXfs);
  DiskFaults faults(&host, plan, knobs, &counters);
  EXPECT_EQ(faults.OnSync("a", 1), sim::SyncFailure::kXfs);
  EXPECT_EQ(faults.OnSync("b", 2), sim::SyncFailure::kXfs);
  EXPECT_EQ(faults.OnSync("a", 1), sim::SyncFailure::kNone);
  EXPECT_EQ(counters.of(Family::kSyncFailure).injected, 2u);
}

TEST(DiskFaults, FamilyThatIsOffDrawsNothingAndStopEndsAll) {
  FaultCounters counters;
  // Every draw of this host would fail the fsync: value 3 of 4.
  sim::FakeHost host(1);
  DiskFaults off(&host, FaultPlan(), Knobs(), &counters);
  DiskFaults on(&host, With(Family::kSyncFailure), Knobs(), &counters);
  EXPECT_EQ(Failures(&off, "a"), std::string(40, '0'));
  EXPECT_EQ(off.Latency(sim::DeviceStep::kWrite, "a"), 0);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(off.OnTransfer(sim::Transfer::kRead, "a", 0, 8192).outcome,
              sim::TransferOutcome::kWhole);
    EXPECT_EQ(off.Capacity("a", 0, 4096), INT64_MAX);
  }
  EXPECT_FALSE(counters.of(Family::kShortTransfer).enabled);
  EXPECT_FALSE(counters.of(Family::kDiskFull).enabled);
  EXPECT_FALSE(counters.of(Family::kLatency).enabled);
  on.Stop();
  EXPECT_EQ(Failures(&on, "a"), std::string(40, '0'));
}

// How much was moved by each of `count` writes of `bytes` that were cut short.
std::vector<int64_t> ShortWrites(DiskFaults* faults, const char* path,
                                 int64_t offset, int64_t bytes, int count) {
  std::vector<int64_t> cuts;
  for (int i = 0; i < count; ++i) {
    sim::TransferFault fault =
        faults->OnTransfer(sim::Transfer::kWrite, path, offset, bytes);
    if (fault.outcome != sim::TransferOutcome::kShort) continue;
    EXPECT_GT(fault.bytes, 0);
    EXPECT_LT(fault.bytes, bytes);
    cuts.push_back(fault.bytes);
  }
  return cuts;
}

int64_t OffBorders(const std::vector<int64_t>& cuts, int64_t sector) {
  return std::count_if(cuts.begin(), cuts.end(),
                       [=](int64_t cut) { return cut % sector != 0; });
}

// One write in four is hit; a quarter of those is interrupted. Every legal part
// comes, borders of sectors most of all.
TEST(DiskFaults, ShortTransfersMoveAPartAndPreferBorders) {
  FaultCounters counters;
  sim::FakeHost host(6);
  DiskFaults faults(&host, With(Family::kShortTransfer), Knobs(), &counters);
  std::vector<int64_t> cuts = ShortWrites(&faults, "a", 8192, 8192, 2000);
  int64_t off_borders = OffBorders(cuts, 512);
  EXPECT_NEAR(off_borders, 125, 50);
  EXPECT_NEAR(static_cast<int64_t>(cuts.size()) - off_borders, 250, 70);
  EXPECT_LT(*std::min_element(cuts.begin(), cuts.end()), 512);
  auto injected = counters.of(Family::kShortTransfer).injected;
  EXPECT_NEAR(injected - cuts.size(), 125, 50);
}

TEST(DiskFaults, ControlFileIsNeverCutInsideItsFirstSector) {
  FaultCounters counters;
  sim::FakeHost host(6);
  DiskFaults faults(&host, With(Family::kShortTransfer), Knobs(), &counters);
  std::vector<int64_t> cuts =
      ShortWrites(&faults, "global/pg_control", 0, 8192, 2000);
  EXPECT_GT(cuts.size(), 200u);
  EXPECT_GT(OffBorders(cuts, 512), 50);
  EXPECT_GE(*std::min_element(cuts.begin(), cuts.end()), 512);
}

TEST(DiskFaults, WritesThatCannotBeTornAreCutBetweenPages) {
  FaultCounters counters;
  sim::FakeHost host(6);
  Knobs knobs;
  knobs.atomic8k = 1;
  DiskFaults faults(&host, With(Family::kShortTransfer), knobs, &counters);
  EXPECT_TRUE(ShortWrites(&faults, "a", 8192, 8192, 400).empty());
  std::vector<int64_t> cuts = ShortWrites(&faults, "b", 8192, 32768, 400);
  EXPECT_FALSE(cuts.empty());
  EXPECT_EQ(OffBorders(cuts, 8192), 0);
}

TEST(DiskFaults, ShortTransferOfOneByteIsAnInterruption) {
  FaultCounters counters;
  sim::FakeHost host(6);
  FaultPlan plan = With(Family::kShortTransfer);
  plan.short_transfer_denominator = 1;
  plan.short_transfer_budget = 50;
  DiskFaults faults(&host, plan, Knobs(), &counters);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(faults.OnTransfer(sim::Transfer::kRead, "a", 7, 1).outcome,
              sim::TransferOutcome::kInterrupted);
  }
  EXPECT_EQ(faults.OnTransfer(sim::Transfer::kRead, "a", 7, 1).outcome,
            sim::TransferOutcome::kWhole);
}

TEST(DiskFaults, DiskIsFullFromACallOnUntilSomebodyMakesRoom) {
  FaultCounters counters;
  sim::FakeHost host(7);
  DiskFaults faults(&host, With(Family::kDiskFull), Knobs(), &counters);
  EXPECT_EQ(faults.Capacity("a", 10000, 4096), INT64_MAX);
  EXPECT_EQ(faults.Capacity("a", 10000, 4096), INT64_MAX);
  EXPECT_EQ(faults.Capacity("a", 20000, 4096), 24096);  // fits
  EXPECT_EQ(counters.of(Family::kDiskFull).injected, 0u);
  EXPECT_EQ(faults.Capacity("b", 24096, 4096), 24096);  // refused
  EXPECT_EQ(faults.Capacity("b", 12000, 4096), 24096);  // freed meanwhile
  EXPECT_EQ(faults.Capacity("b", 24096, 8192), 24096);  // refused
  EXPECT_EQ(counters.of(Family::kDiskFull).injected, 2u);
  EXPECT_EQ(faults.Capacity("b", 24096, 8192), INT64_MAX);
}

TEST(DiskFaults, LatencyHasTheLeastAndAboutTheMeanValue) {
  FaultCounters counters;
  sim::FakeHost host(3);
  DiskFaults faults(&host, With(Family::kLatency), Knobs(), &counters);
  int64_t sum = 0;
  int64_t sync_sum = 0;
  constexpr int kCalls = 4000;
  for (int i = 0; i < kCalls; ++i) {
    env::TimeNs delay = faults.Latency(sim::DeviceStep::kWrite, "a");
    EXPECT_GE(delay, 1000);
    sum += delay;
    sync_sum += faults.Latency(sim::DeviceStep::kSyncMiddle, "a");
  }
  EXPECT_NEAR(sum / kCalls, 101000, 8000);
  EXPECT_NEAR(sync_sum / kCalls, 901000, 72000);
}

TEST(DiskFaults, StallHoldsEveryCallUntilItIsOver) {
  FaultCounters counters;
  sim::FakeHost host(4);
  DiskFaults faults(&host, With(Family::kStall), Knobs(), &counters);
  EXPECT_EQ(faults.Latency(sim::DeviceStep::kPlain, "a"), 0);
  EXPECT_EQ(faults.Latency(sim::DeviceStep::kPlain, "a"), 0);
  EXPECT_EQ(faults.Latency(sim::DeviceStep::kPlain, "a"), 5000);
  host.now_ns = 4000;
  EXPECT_EQ(faults.Latency(sim::DeviceStep::kWrite, "b"), 1000);
  host.now_ns = 6000;
  EXPECT_EQ(faults.Latency(sim::DeviceStep::kWrite, "b"), 0);
  EXPECT_EQ(counters.of(Family::kStall).injected, 1u);
}

class CountingHooks : public sim::CrashHooks {
 public:
  sim::CrashKind OnPoint(const sim::CrashPoint&) override {
    ++asked;
    return sim::CrashKind::kProcess;
  }
  int asked = 0;
};

TEST(BackgroundDisk, WritesBackBetweenDeviceCallsAndPassesTheQuestionOn) {
  FaultCounters counters;
  sim::FakeHost host(5);
  sim::Disk disk{sim::DiskOptions()};
  disk.Attach(&host, nullptr);
  CountingHooks next;
  BackgroundDisk background(&disk, &host, With(Family::kWriteback), &counters,
                            &next);
  auto file = disk.Open("f", env::kOpenWrite | env::kOpenCreate).value();
  std::string data(100000, 'x');
  ASSERT_TRUE(file->Pwrite(0, data).ok());
  sim::CrashPoint point;
  point.place = sim::CrashPlace::kDevice;
  uint64_t pending = disk.PendingSectors();
  for (; point.step < 100; ++point.step) {
    EXPECT_EQ(background.OnPoint(point), sim::CrashKind::kProcess);
  }
  EXPECT_EQ(disk.PendingSectors(), pending);
  point.place = sim::CrashPlace::kStep;
  for (; point.step < 300; ++point.step) background.OnPoint(point);
  EXPECT_LT(disk.PendingSectors(), pending);
  EXPECT_GE(counters.of(Family::kWriteback).injected, 10u);
  EXPECT_EQ(next.asked, 300);
}

}  // namespace
}  // namespace faults
