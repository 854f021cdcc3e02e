#include "sim/fault_log.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "sim/block_store.h"

namespace sim {
namespace {

std::string Sector(char byte) { return std::string(kSlotBytes, byte); }

// A file as a map of sectors.
struct Content {
  std::map<int64_t, std::string> sectors;

  FaultLog::SectorReader Reader() const {
    return [this](int64_t offset, char* out) {
      auto it = sectors.find(offset);
      if (it == sectors.end()) return false;
      std::memcpy(out, it->second.data(), kSlotBytes);
      return true;
    };
  }
};

uint64_t AddSector(FaultLog* log, Damage damage, int64_t offset, char byte) {
  std::vector<uint64_t> hashes = {HashSector(Sector(byte).data())};
  return log->Add(damage, 7, "base/5/16384", offset, kSlotBytes, hashes);
}

TEST(FaultLog, DamageLastsWhileItsBytesAreShown) {
  FaultLog log;
  Content file;
  file.sectors[1024] = Sector('g');
  uint64_t id = AddSector(&log, Damage::kGarbageFill, 1024, 'g');
  EXPECT_EQ(log.LiveIn(7, 0, kPageBytes, file.Reader()),
            std::vector<uint64_t>{id});
  file.sectors[1024] = Sector('w');  // somebody wrote
  EXPECT_TRUE(log.LiveIn(7, 0, kPageBytes, file.Reader()).empty());
  file.sectors[1024] = Sector('g');  // a power loss took the write back
  EXPECT_EQ(log.LiveIn(7, 0, kPageBytes, file.Reader()),
            std::vector<uint64_t>{id});
  file.sectors.erase(1024);  // the file has become shorter
  EXPECT_TRUE(log.LiveIn(7, 0, kPageBytes, file.Reader()).empty());
}

TEST(FaultLog, OnlyTheDamagedRangeOfTheFileCounts) {
  FaultLog log;
  Content file;
  file.sectors[kPageBytes] = Sector('g');
  AddSector(&log, Damage::kGarbageFill, kPageBytes, 'g');
  EXPECT_TRUE(log.LiveIn(7, 0, kPageBytes, file.Reader()).empty());
  EXPECT_TRUE(log.LiveIn(8, kPageBytes, kPageBytes, file.Reader()).empty());
  EXPECT_TRUE(
      log.LiveIn(7, kPageBytes + kSlotBytes, 100, file.Reader()).empty());
  EXPECT_EQ(log.LiveIn(7, kPageBytes + kSlotBytes - 1, 1, file.Reader()).size(),
            1u);
}

TEST(FaultLog, OneLiveSectorKeepsARecordAlive) {
  FaultLog log;
  Content file;
  for (int64_t at = 0; at < 3 * kSlotBytes; at += kSlotBytes) {
    file.sectors[at] = Sector('g');
    AddSector(&log, Damage::kGarbageFill, at, 'g');
  }
  ASSERT_EQ(log.records().size(), 1u);
  EXPECT_EQ(log.records()[0].bytes, 3 * kSlotBytes);
  file.sectors[0] = file.sectors[kSlotBytes] = Sector('w');
  EXPECT_EQ(log.LiveIn(7, 0, kPageBytes, file.Reader()).size(), 1u);
  EXPECT_TRUE(log.LiveIn(7, 0, 2 * kSlotBytes, file.Reader()).empty());
}

TEST(FaultLog, RecordsEndAtPagesAndDoNotMixKinds) {
  FaultLog log;
  AddSector(&log, Damage::kGarbageFill, kPageBytes - kSlotBytes, 'g');
  AddSector(&log, Damage::kGarbageFill, kPageBytes, 'g');
  AddSector(&log, Damage::kStaleFill, kPageBytes + kSlotBytes, 'g');
  ASSERT_EQ(log.records().size(), 3u);
  EXPECT_EQ(log.records()[2].id, 3u);
}

TEST(FaultLog, FaultsWithoutContentLastUntilTheyAreEnded) {
  FaultLog log;
  Content file;
  uint64_t id = log.Add(Damage::kReadError, 7, "pg_wal/0", 100, 10, {});
  EXPECT_EQ(log.LiveIn(7, 0, 101, file.Reader()), std::vector<uint64_t>{id});
  log.End(id);
  EXPECT_TRUE(log.LiveIn(7, 0, 101, file.Reader()).empty());
}

TEST(FaultLog, ReadsAreNotedWhereTheyOverlap) {
  FaultLog log;
  AddSector(&log, Damage::kGarbageFill, 1024, 'g');
  log.NoteRead(7, 0, 1024);
  log.NoteRead(8, 0, 4096);
  EXPECT_FALSE(log.records()[0].seen);
  log.NoteRead(7, 0, 1025);
  EXPECT_TRUE(log.records()[0].seen);
  EXPECT_FALSE(log.records()[0].seen_as_zeros);
  log.NoteRead(7, 1024, 512, /*zeros=*/true);  // not a page's start
  EXPECT_FALSE(log.records()[0].seen_as_zeros);
  log.NoteRead(7, 0, 8192, /*zeros=*/true);
  EXPECT_TRUE(log.records()[0].seen_as_zeros);
}

}  // namespace
}  // namespace sim
