#include "properties/durability_sanitizer.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace properties {
namespace {

using env::EventKind;

constexpr uint64_t kWal = 11;
constexpr uint64_t kHeap = 12;
constexpr uint64_t kClog = 13;
constexpr uint64_t kControl = 14;
constexpr uint64_t kOther = 15;
constexpr uint64_t kPage = uint64_t{16384} << 32 | 1;  // base/5/16384, block 1

class DurabilitySanitizerTest : public ::testing::Test {
 protected:
  DurabilitySanitizerTest() {
    Open(kWal, "pg_wal/000000010000000000000002");
    Open(kHeap, "base/5/16384");
    Open(kClog, "pg_xact/0000");
    Open(kControl, "global/pg_control");
    Open(kOther, "PG_VERSION");
  }

  void Emit(EventKind kind, std::vector<uint64_t> a,
            std::string_view bytes = {}) {
    env::Event e;
    e.kind = kind;
    for (size_t i = 0; i < a.size(); ++i) e.a[i] = a[i];
    e.bytes = bytes;
    e.task = 1;
    e.seq = ++seq_;
    sanitizer_.OnEvent(e);
  }
  void Open(uint64_t inode, std::string_view path) {
    Emit(EventKind::kFileOpen, {inode, 0}, path);
  }
  // Block 1 is written; LSN 0 stands for an extension.
  void WritePage(uint64_t lsn) {
    if (lsn != 0) Emit(EventKind::kPageWrite, {kPage, 0, lsn, lsn});
    Emit(EventKind::kFileWrite, {kHeap, 8192, 8192});
  }
  void Sync(uint64_t inode) {
    Emit(EventKind::kFileSync, {inode, 0, 0});
    Emit(EventKind::kFileSync, {inode, 2, 0});
  }
  void PowerLoss() { Emit(EventKind::kCrash, {3, 1}); }
  // A read meets undetermined bytes; so many sectors are older ones.
  void Read(uint64_t inode, uint64_t from, uint64_t older = 0) {
    Emit(EventKind::kFault, {3, inode, from, from + 512, older});
  }
  ReadCount Count(ReadPlace place) const {
    return sanitizer_.counts()[static_cast<size_t>(place)];
  }
  std::string Verdicts() {
    std::string out;
    for (const Verdict& v : sink_.verdicts()) {
      out += v.promise + " " + v.subject + ": " + v.message + "\n";
    }
    sink_ = VerdictSink();
    return out;
  }

  VerdictSink sink_;
  DurabilitySanitizer sanitizer_{&sink_, SanitizerOptions()};
  uint64_t seq_ = 0;
};

TEST_F(DurabilitySanitizerTest, EveryPlaceIsAllowedForAReason) {
  std::set<ReadPlace> places;
  for (const AllowRow& row : AllowTable()) {
    EXPECT_TRUE(places.insert(row.place).second) << row.what;
    EXPECT_NE(std::string(row.why), "") << row.what;
  }
  EXPECT_EQ(places.size(), static_cast<size_t>(ReadPlace::kCount));
}

TEST_F(DurabilitySanitizerTest, OnlyTheTailOfTheLogMayBeUndetermined) {
  constexpr uint64_t kSegment = 1 << 20;
  Emit(EventKind::kWalFlush, {2 * kSegment + 1000});
  PowerLoss();
  Read(kWal, 512);  // holds the flushed end
  Read(kWal, 1024, 1);
  EXPECT_EQ(Verdicts(), "");
  EXPECT_EQ(Count(ReadPlace::kWalTail).newest, 1u);
  EXPECT_EQ(Count(ReadPlace::kWalTail).older, 1u);
  Read(kWal, 0);
  EXPECT_NE(Verdicts().find("WAL pg_wal/000000010000000000000002, bytes 0 to "
                            "512: read while a power loss has left them"),
            std::string::npos);
}

TEST_F(DurabilitySanitizerTest, RedoMayNotReadAPageThatMayBeTorn) {
  WritePage(5000);
  Sync(kHeap);
  WritePage(6000);
  PowerLoss();
  Emit(EventKind::kRecoveryStart, {1000, 1000});
  Read(kHeap, 8192);
  EXPECT_NE(Verdicts().find("REDO base/5/16384, bytes 8192 to 8704"),
            std::string::npos);
  Emit(EventKind::kRecoveryEnd, {7000});
  Read(kHeap, 8192 + 512);
  EXPECT_NE(Verdicts().find("DUR base/5/16384"), std::string::npos);
}

TEST_F(DurabilitySanitizerTest, VersionsThatDifferInHintsMayBeRead) {
  WritePage(5000);
  Sync(kHeap);
  WritePage(5000);
  PowerLoss();
  Read(kHeap, 8192);
  EXPECT_EQ(Verdicts(), "");
  EXPECT_EQ(Count(ReadPlace::kHintOnlyPage).newest, 1u);
}

TEST_F(DurabilitySanitizerTest, WhatIsWrittenDuringASyncStaysPending) {
  WritePage(5000);
  Emit(EventKind::kFileSync, {kHeap, 0, 0});
  WritePage(6000);
  Emit(EventKind::kFileSync, {kHeap, 2, 0});
  PowerLoss();
  Read(kHeap, 8192);
  EXPECT_NE(Verdicts().find("LSN 0/1388, 0/1770"), std::string::npos);
}

TEST_F(DurabilitySanitizerTest, AFailedSyncCoversNothing) {
  WritePage(5000);
  Sync(kHeap);
  WritePage(6000);
  Emit(EventKind::kFileSync, {kHeap, 0, 0});
  Emit(EventKind::kFileSync, {kHeap, 2, 5});
  PowerLoss();
  Read(kHeap, 8192);
  EXPECT_NE(Verdicts(), "");
}

TEST_F(DurabilitySanitizerTest, ASecondPowerLossAddsVersions) {
  WritePage(5000);
  PowerLoss();
  WritePage(6000);
  Sync(kHeap);
  PowerLoss();
  Read(kHeap, 8192);  // hints were set after the sync: not reported here
  EXPECT_EQ(Verdicts(), "");
  WritePage(6000);
  PowerLoss();
  WritePage(7000);
  PowerLoss();
  Read(kHeap, 8192);
  EXPECT_NE(Verdicts(), "");
}

TEST_F(DurabilitySanitizerTest, AnExtendedPageMayBeAnything) {
  WritePage(0);
  PowerLoss();
  Read(kHeap, 8192, 3);
  EXPECT_EQ(Verdicts(), "");
  EXPECT_EQ(Count(ReadPlace::kUnusedPage).older, 1u);
  // But not once rows were put there.
  WritePage(5000);
  PowerLoss();
  Read(kHeap, 8192, 3);
  EXPECT_NE(Verdicts(), "");
}

TEST_F(DurabilitySanitizerTest, OtherFilesAreNotOnTheList) {
  Read(kClog, 0);
  Read(kControl, 0);
  EXPECT_EQ(Verdicts(), "");
  Read(kOther, 0);
  EXPECT_NE(Verdicts().find("REC PG_VERSION"), std::string::npos);
}

TEST_F(DurabilitySanitizerTest, AtomicPagesMayBeEitherVersion) {
  SanitizerOptions options;
  options.full_page_writes = false;
  options.sector_bytes = 8192;
  sanitizer_ = DurabilitySanitizer(&sink_, options);
  Open(kHeap, "base/5/16384");
  WritePage(5000);
  Sync(kHeap);
  WritePage(6000);
  PowerLoss();
  Read(kHeap, 8192);
  EXPECT_EQ(Verdicts(), "");
  EXPECT_EQ(Count(ReadPlace::kAtomicPage).newest, 1u);
}

}  // namespace
}  // namespace properties
