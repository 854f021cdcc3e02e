#include "faults/media_faults.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "sim/fake_host.h"
#include "sim/fault_log.h"

namespace faults {
namespace {

// A small cluster, all of it durable.
std::unique_ptr<sim::Disk> Cluster() {
  auto disk = std::make_unique<sim::Disk>(sim::DiskOptions());
  for (const char* directory :
       {"base", "base/5", "global", "pg_wal", "pg_xact"}) {
    EXPECT_TRUE(disk->Mkdir(directory).ok());
  }
  for (const char* path :
       {"base/5/16384", "base/5/16384_vm", "global/1262", "global/pg_control",
        "pg_wal/000000010000000000000001", "pg_xact/0000", "PG_VERSION"}) {
    auto file = disk->Open(path, env::kOpenWrite | env::kOpenCreate).value();
    std::string content(8 * 8192, 'x');
    EXPECT_TRUE(file->Pwrite(0, content).ok());
  }
  return disk->ImageCopy();
}

FaultPlan Plan(std::initializer_list<Family> families) {
  FaultPlan plan;
  for (Family family : families) plan.on[static_cast<size_t>(family)] = true;
  plan.media_gap = 4;
  plan.media_budget = 3;
  return plan;
}

// All damage after a thousand steps.
std::vector<sim::FaultRecord> Strikes(uint64_t seed, const FaultPlan& plan,
                                      FaultCounters* counters) {
  sim::FakeHost host(seed);
  std::unique_ptr<sim::Disk> disk = Cluster();
  disk->Attach(&host, nullptr);
  MediaFaults faults(disk.get(), &host, plan, counters, nullptr);
  faults.Start();
  sim::CrashPoint point;
  for (; point.step < 1000; ++point.step) faults.OnPoint(point);
  auto records = disk->fault_log().records();
  return {records.begin(), records.end()};
}

TEST(MediaFaults, FamiliesThatAreOffDoNothing) {
  FaultCounters counters;
  EXPECT_TRUE(Strikes(1, Plan({Family::kMisread}), &counters).empty());
  for (Family family : {Family::kReadError, Family::kBitRot, Family::kGarbage,
                        Family::kZeroed}) {
    EXPECT_FALSE(counters.of(family).enabled);
    EXPECT_EQ(counters.of(family).injected, 0u);
  }
}

TEST(MediaFaults, BudgetBoundsTheStrikesAndStopEndsThem) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    FaultCounters counters;
    Strikes(seed, Plan({Family::kZeroed}), &counters);
    EXPECT_EQ(counters.of(Family::kZeroed).injected, 3u);
  }
  sim::FakeHost host(1);
  FaultCounters counters;
  std::unique_ptr<sim::Disk> disk = Cluster();
  MediaFaults faults(disk.get(), &host, Plan({Family::kZeroed}), &counters,
                     nullptr);
  sim::CrashPoint point;
  // Neither before the start nor after the end.
  for (; point.step < 1000; ++point.step) faults.OnPoint(point);
  EXPECT_TRUE(disk->fault_log().empty());
  faults.Start();
  faults.Stop();
  for (; point.step < 2000; ++point.step) faults.OnPoint(point);
  EXPECT_TRUE(disk->fault_log().empty());
}

TEST(MediaFaults, EveryKindOfFileIsStruckAndNoneThatIsNoRelation) {
  std::map<std::string, int> damaged;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    FaultCounters counters;
    for (const auto& record : Strikes(
             seed, Plan({Family::kBitRot, Family::kReadError}), &counters)) {
      ++damaged[record.path];
      EXPECT_LE(record.bytes, 8 * 512);
    }
  }
  EXPECT_EQ(damaged.size(), 6u);
  EXPECT_EQ(damaged.count("PG_VERSION"), 0u);
  EXPECT_GT(damaged["base/5/16384"] + damaged["global/1262"],
            damaged["pg_wal/000000010000000000000001"]);
}

// Row C16 needs pages of which nothing is left.
TEST(MediaFaults, ZerosMayTakeAWholePage) {
  std::map<int64_t, int> sizes;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    FaultCounters counters;
    for (const auto& record :
         Strikes(seed, Plan({Family::kZeroed}), &counters)) {
      ++sizes[record.bytes];
      EXPECT_EQ(record.offset / 8192,
                (record.offset + record.bytes - 1) / 8192);
    }
  }
  EXPECT_GT(sizes[8192], 50);
  EXPECT_GT(sizes[512], 10);
}

// Writes that a flush completes after the faults began to watch.
class WatchedDisk {
 public:
  WatchedDisk(uint64_t seed, const FaultPlan& plan)
      : host_(seed), disk_(Cluster()) {
    disk_->Attach(&host_, nullptr);
    faults_ = std::make_unique<MediaFaults>(disk_.get(), &host_, plan,
                                            &counters_, nullptr);
    faults_->Start();
  }
  ~WatchedDisk() { disk_->Attach(nullptr, nullptr); }
  void WritePage(const char* path, int64_t page, char fill, bool flush) {
    auto file = disk_->Open(path, env::kOpenWrite).value();
    EXPECT_TRUE(file->Pwrite(page * 8192, std::string(8192, fill)).ok());
    if (flush) {
      EXPECT_TRUE(file->Fsync().ok());
    }
  }
  void Run(uint64_t steps) {
    for (uint64_t i = 0; i < steps; ++i, ++point_.step) {
      faults_->OnPoint(point_);
    }
  }
  std::span<const sim::FaultRecord> records() const {
    return disk_->fault_log().records();
  }
  MediaFaults& faults() { return *faults_; }
  const FaultCounters& counters() const { return counters_; }

 private:
  sim::FakeHost host_;
  FaultCounters counters_;
  std::unique_ptr<sim::Disk> disk_;
  std::unique_ptr<MediaFaults> faults_;
  sim::CrashPoint point_;
};

TEST(MediaFaults, AMisdirectedWriteLivesOncePerRunMostlyInItsOwnFile) {
  int same_file = 0;
  int runs = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    WatchedDisk disk(seed, Plan({Family::kMisdirected}));
    disk.WritePage("base/5/16384", 2, 'n', true);
    disk.Run(400);
    disk.WritePage("base/5/16384", 3, 'm', true);
    disk.Run(400);
    if (disk.records().empty()) continue;
    ++runs;
    EXPECT_EQ(disk.records().size(), 1u);
    const sim::FaultRecord& record = disk.records()[0];
    EXPECT_EQ(record.damage, sim::Damage::kMisdirected);
    EXPECT_EQ(record.offset % 8192, 0);
    EXPECT_EQ(record.bytes, 8192);
    same_file += record.path == "base/5/16384";
    EXPECT_TRUE(record.path != "pg_xact/0000" && record.path != "PG_VERSION");
  }
  EXPECT_GT(runs, 190);
  EXPECT_NEAR(same_file, runs * 7 / 10, runs / 8);
}

TEST(MediaFaults, OnlyWhatWasFlushedIsLost) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    WatchedDisk disk(seed, Plan({Family::kLostWrite}));
    disk.WritePage("base/5/16384", 2, 'n', false);
    disk.Run(100);
    EXPECT_TRUE(disk.records().empty());
    disk.WritePage("pg_xact/0000", 1, 'n', true);
    disk.Run(400);
    ASSERT_EQ(disk.records().size(), 1u);
    EXPECT_EQ(disk.records()[0].path, "pg_xact/0000");
    EXPECT_EQ(disk.records()[0].offset, 8192);
    EXPECT_EQ(disk.counters().of(Family::kLostWrite).injected, 1u);
  }
}

TEST(MediaFaults, AMisdirectedWriteMissesItsPlaceIfThePlanSaysSo) {
  int missed = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    FaultPlan plan = Plan({Family::kMisdirected});
    plan.misdirected_misses = true;
    WatchedDisk disk(seed, plan);
    disk.WritePage("base/5/16384", 2, 'n', true);
    disk.Run(400);
    for (const sim::FaultRecord& record : disk.records()) {
      if (record.damage != sim::Damage::kMissedWrite) continue;
      ++missed;
      EXPECT_EQ(record.path, "base/5/16384");
      EXPECT_EQ(record.offset, 2 * 8192);
    }
  }
  EXPECT_GT(missed, 10);
  EXPECT_LT(missed, 30);
}

TEST(MediaFaults, APowerLossShearsAPendingSector) {
  int shorn = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    WatchedDisk disk(seed, Plan({Family::kShornSector}));
    disk.faults().OnPowerLoss();
    EXPECT_TRUE(disk.records().empty());  // nothing is pending
    disk.WritePage("base/5/16384", 2, 'n', false);
    disk.faults().OnPowerLoss();
    if (disk.records().empty()) continue;
    ++shorn;
    EXPECT_EQ(disk.records()[0].damage, sim::Damage::kShorn);
    EXPECT_EQ(disk.records()[0].bytes, 512);
  }
  EXPECT_GT(shorn, 10);
  EXPECT_LT(shorn, 35);
}

TEST(MediaFaults, FurtherStrikesAreMostlyNearTheFirst) {
  int near = 0;
  int all = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    FaultCounters counters;
    std::vector<sim::FaultRecord> records =
        Strikes(seed, Plan({Family::kGarbage}), &counters);
    for (size_t i = 1; i < records.size(); ++i) {
      ++all;
      near += records[i].path == records[0].path;
    }
  }
  EXPECT_GT(near * 10, all * 6);
  EXPECT_LT(near, all);
}

}  // namespace
}  // namespace faults
