#include "properties/second_recovery.h"

#include <gtest/gtest.h>

#include <string>

#include "properties/cluster_template.h"
#include "properties/decoders/test_cluster.h"

namespace properties {
namespace {

constexpr char kFile[] = "base/5/16384";

std::string HeapPage(uint64_t lsn, int32_t value, uint16_t infomask = 0) {
  TestPage page;
  page.Add(700, 0, 1, Int4Body({1, value}), infomask);
  page.SetLsn(lsn);
  return page.Bytes(0);
}

MemoryCluster Cluster(const std::string& page) {
  MemoryCluster files;
  files.Put(kFile, std::string(kPageBytes, '\0') + page);
  files.Put("pg_xact/0000", std::string(kPageBytes, '\0'));
  return files;
}

// The only finding, as "subject: message".
std::string Compare(const MemoryCluster& expected, const MemoryCluster& found,
                    bool names_return = false) {
  std::string all;
  for (const Finding& f :
       CompareRecoveries(expected, found, names_return, 5000)) {
    if (!all.empty()) all += "\n";
    all += f.subject + ": " + f.message;
  }
  return all;
}

TEST(CompareRecoveries, HintsAndTheirImagesAreNoDifference) {
  MemoryCluster expected = Cluster(HeapPage(4000, 10));
  EXPECT_EQ(Compare(expected, Cluster(HeapPage(4000, 10))), "");
  EXPECT_EQ(Compare(expected, Cluster(HeapPage(6000, 10, kHeapXminCommitted))),
            "");
}

TEST(CompareRecoveries, ADifferenceIsNamedWithFileAndBlock) {
  MemoryCluster expected = Cluster(HeapPage(4000, 10));
  EXPECT_EQ(
      Compare(expected, Cluster(HeapPage(4000, 11))),
      "page base/5/16384:1: byte 28 of line pointer 1's tuple is 0xb, redo "
      "makes 0xa the second time");
  EXPECT_EQ(Compare(expected, Cluster(HeapPage(4008, 10))),
            "page base/5/16384:1: has LSN 0/FA8, the second time 0/FA0");
}

TEST(CompareRecoveries, FilesAndTheCommitLogCount) {
  MemoryCluster expected = Cluster(HeapPage(4000, 10));
  MemoryCluster found = Cluster(HeapPage(4000, 10));
  SetClog(&found, 700, ClogStatus::kCommitted);
  EXPECT_EQ(Compare(expected, found),
            "pg_xact/0000: differs the second time, first in byte 175");
  found = Cluster(HeapPage(4000, 10));
  found.Put("base/5/16385", "");
  EXPECT_EQ(Compare(expected, found),
            "base/5: has 2 files, the second time 1, or other names");
  found = Cluster(HeapPage(4000, 10));
  found.At(kFile).resize(kPageBytes);
  EXPECT_EQ(Compare(expected, found),
            "base/5/16384: has 8192 bytes, the second time 16384");
}

TEST(CompareRecoveries, RemovedFilesMayComeBackAfterAPowerLoss) {
  MemoryCluster less = Cluster(HeapPage(4000, 10));
  MemoryCluster more = Cluster(HeapPage(4000, 10));
  more.Put("base/5/16385", "");
  EXPECT_EQ(Compare(more, less, true), "");
  EXPECT_NE(Compare(more, less, false), "");
  EXPECT_NE(Compare(less, more, true), "");
}

class SecondRecoveryTest : public ::testing::Test {
 protected:
  SecondRecoveryTest() {
    options_.config.wal_segment_size = 1 << 20;
    env::Result<std::unique_ptr<sim::Disk>> disk =
        templates_.Fresh(options_.config, sim::DiskOptions());
    EXPECT_TRUE(disk.ok());
    disk_ = std::move(disk).value();
  }
  // Overwrites the file's first bytes behind the node's back.
  static void Damage(sim::Disk* disk, std::string_view path) {
    auto file = disk->Open(path, env::kOpenWrite);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->Pwrite(0, std::string(8192, 'x')).ok());
  }

  ClusterTemplates templates_{nullptr};
  SecondRecoveryOptions options_;
  std::unique_ptr<sim::Disk> disk_;
};

TEST_F(SecondRecoveryTest, SchedulesDoNotChangeWhatRecoveryMakes) {
  RecoveredCopy first = RecoverCopy(disk_->Clone(), options_, 1);
  RecoveredCopy second = RecoverCopy(disk_->Clone(), options_, 2);
  EXPECT_EQ(first.failure, "");
  EXPECT_EQ(second.failure, "");
  EXPECT_NE(first.end, 0u);
  EXPECT_EQ(first.end, second.end);
  DiskView a(*first.disk);
  DiskView b(*second.disk);
  EXPECT_TRUE(CompareRecoveries(a, b, false, first.end).empty());
  Damage(second.disk.get(), "base/5/1259");
  DiskView damaged(*second.disk);
  EXPECT_FALSE(CompareRecoveries(a, damaged, false, first.end).empty());
}

TEST_F(SecondRecoveryTest, ANodeThatDoesNotGetReadyHasAFailure) {
  Damage(disk_.get(), "global/pg_control");
  EXPECT_NE(RecoverCopy(std::move(disk_), options_, 1).failure, "");
}

}  // namespace
}  // namespace properties
