// Recovery: what was flushed is there, in order and whole, whatever a crash
// left of the rest and however often recovery itself is cut short.
#include "engine/wal/xlogrecovery.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/common/sites.h"
#include "engine/ipc/proc.h"
#include "engine/wal/wal_test_node.h"
#include "engine/wal/xlog.h"
#include "engine/wal/xlog_ctl.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xlog_redo.h"
#include "engine/wal/xloginsert.h"
#include "engine/wal/xlogrecord.h"
#include "engine/wal/xlogutils.h"

namespace engine {
namespace {

constexpr uint32_t kSegment = 64 << 10;
constexpr int kClients = 3;
constexpr int kSlots = 32;  // of one client
constexpr int kSlotsOnPage = 8;
constexpr BlockNumber kPages = kClients * kSlots / kSlotsOnPage;

WalTestOptions Options(uint64_t seed) {
  WalTestOptions options;
  options.config.wal_segment_size = kSegment;
  options.config.wal_buffers = 4;
  options.config.shared_buffers = 8;
  options.config.max_wal_size_bytes = 8 * kSegment;
  options.config.min_wal_size_bytes = 2 * kSegment;
  options.seed = seed;
  return options;
}

// Crashes the host at the n-th point that is asked about.
class CrashAt : public sim::CrashHooks {
 public:
  CrashAt(uint64_t n, sim::CrashKind kind) : left_(n), kind_(kind) {}
  sim::CrashKind OnPoint(const sim::CrashPoint&) override {
    ++seen_;
    if (left_ == 0 || --left_ > 0) return sim::CrashKind::kNone;
    return kind_;
  }
  uint64_t seen() const { return seen_; }

 private:
  uint64_t left_;
  uint64_t seen_ = 0;
  sim::CrashKind kind_;
};

// Each client owns four pages and writes 1, 2, 3, ... to its slots in turn, so
// that some pages rest while others change.
class Ledger {
 public:
  static BlockNumber PageOf(size_t c, uint64_t slot) {
    return static_cast<BlockNumber>((c * kSlots + slot) / kSlotsOnPage);
  }

  std::function<void(Backend&)> Client(int c, int writes) {
    return [this, c, writes](Backend& be) {
      auto client = static_cast<size_t>(c);
      for (int i = 0; i < writes; ++i) {
        uint64_t value = ++attempted_[client];
        uint64_t slot = value % kSlots;
        size_t ballast = value % 5 == 0 ? value * 997 % 15000 : value % 90;
        XLogRecPtr end =
            ToySet(be, PageOf(client, slot),
                   static_cast<int>(slot % kSlotsOnPage), value, ballast);
        if (value % 2 == 0) {
          XLogFlush(be, end);
          acked_[client] = value;
        }
        if (value % 11 == 0) {
          PanicIfError(be, RequestCheckpoint(be, CHECKPOINT_FORCE));
        }
      }
    };
  }

  // Judges what a recovered node shows; then goes on from there.
  void Judge(Backend& be) {
    for (size_t c = 0; c < kClients; ++c) {
      std::array<uint64_t, kSlots> slots;
      uint64_t last = 0;
      for (uint64_t s = 0; s < kSlots; ++s) {
        slots[s] = ToyGet(be, PageOf(c, s), static_cast<int>(s % kSlotsOnPage));
        last = std::max(last, slots[s]);
      }
      EXPECT_GE(last, acked_[c]) << "client " << c << " lost acked writes";
      EXPECT_LE(last, attempted_[c]) << "client " << c;
      // All writes up to the last one, and nothing else.
      for (uint64_t s = 0; s < kSlots; ++s) {
        uint64_t want = last - (last + kSlots - s) % kSlots;
        if (want > last) want = 0;  // never written
        EXPECT_EQ(slots[s], want) << "client " << c << " slot " << s;
      }
      attempted_[c] = last;
      acked_[c] = last;
    }
  }

  std::vector<std::function<void(Backend&)>> Clients(int writes) {
    std::vector<std::function<void(Backend&)>> out;
    for (int c = 0; c < kClients; ++c) out.push_back(Client(c, writes));
    return out;
  }

 private:
  std::array<uint64_t, kClients> attempted_ = {};
  std::array<uint64_t, kClients> acked_ = {};
};

// Runs until the end or the n-th point, and does the disk's part of the crash.
// Returns whether there was a crash.
bool RunWithCrash(WalTestNode& node, uint64_t n, sim::CrashKind kind,
                  std::vector<std::function<void(Backend&)>> clients) {
  CrashAt hooks(n, kind);
  node.world().set_crash_hooks(&hooks);
  sim::World::StopReason reason = node.Run(std::move(clients), true);
  node.world().set_crash_hooks(nullptr);
  EXPECT_TRUE(reason == sim::World::StopReason::kCrashed ||
              reason == sim::World::StopReason::kIdle)
      << sim::StopReasonName(reason) << " "
      << (node.world().check_failure() != nullptr
              ? node.world().check_failure()->condition
              : node.world().DescribeTasks());
  EXPECT_EQ(node.panic(), "");
  if (reason != sim::World::StopReason::kCrashed) {
    EXPECT_TRUE(node.startup_status().ok()) << node.startup_status().ToString();
    return false;
  }
  if (kind == sim::CrashKind::kPowerLoss) {
    node.PowerLoss();
  } else {
    node.ProcessCrash();
  }
  return true;
}

// Life after life: work, crash, crash again during recovery, judge.
void LiveAndCrash(uint64_t seed, WalTestOptions options) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Ledger ledger;
  WalTestNode node(options);
  node.RunToEnd({[](Backend& be) { ToyExtend(be, kPages); }}, true);
  uint64_t state = seed * 0x9e3779b97f4a7c15;
  auto draw = [&state](uint64_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % bound;
  };
  for (int life = 0; life < 4; ++life) {
    sim::CrashKind kind =
        draw(2) == 0 ? sim::CrashKind::kProcess : sim::CrashKind::kPowerLoss;
    bool crashed = RunWithCrash(node, 1 + draw(2500), kind, ledger.Clients(40));
    // Recovery is cut short at any point, several times.
    while (crashed && draw(2) == 0) {
      kind =
          draw(2) == 0 ? sim::CrashKind::kProcess : sim::CrashKind::kPowerLoss;
      crashed = RunWithCrash(node, 1 + draw(250), kind, {});
    }
    // What was recovered once stays, whatever the next crash takes.
    for (int look = 0; look < 2; ++look) {
      node.RunToEnd({[&](Backend& be) { ledger.Judge(be); }}, draw(2) == 0);
      if (::testing::Test::HasFailure()) return;
      if (draw(2) == 0) {
        node.PowerLoss();
      } else {
        node.ProcessCrash();
      }
    }
  }
}

TEST(XLogRecovery, FlushedWritesSurviveRepeatedCrashes) {
  for (uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) {
    LiveAndCrash(seed, Options(seed));
  }
}

// Without images redo depends on what reached the disk before the crash.
TEST(XLogRecovery, DisksThatDoNotTearNeedNoImages) {
  for (uint64_t seed = 1; seed <= 40 && !HasFailure(); ++seed) {
    WalTestOptions options = Options(seed);
    options.config.full_page_writes = false;
    options.disk.atomic8k = true;
    LiveAndCrash(seed + 3000, options);
  }
}

TEST(XLogRecovery, GarbageWhereNothingWasWrittenIsNoLog) {
  for (uint64_t seed = 1; seed <= 30 && !HasFailure(); ++seed) {
    WalTestOptions options = Options(seed);
    options.disk.fill = seed % 2 == 0 ? sim::Fill::kGarbage : sim::Fill::kStale;
    if (seed % 3 == 0) {
      options.disk.meta = sim::MetaMode::kWeak;
      // Else the relations' files themselves may vanish (C5).
      options.config.sync_new_file_directory = true;
    }
    LiveAndCrash(seed + 1000, options);
  }
}

TEST(XLogRecovery, RewritingTheLogBeforeTrustChangesNothingElse) {
  for (uint64_t seed = 1; seed <= 20 && !HasFailure(); ++seed) {
    WalTestOptions options = Options(seed);
    options.config.rewrite_wal_before_trust = true;
    LiveAndCrash(seed + 2000, options);
  }
}

// A recovered log, a record of its own length behind its end, a crash: the old
// record may not come back because the new one before it has the old length.
TEST(XLogRecovery, RecordsBehindTheEndNeverBecomeValidAgain) {
  WalTestNode node(Options(1));
  XLogRecPtr end_of_first = 0;
  node.RunToEnd({[&](Backend& be) {
    ToyExtend(be, 1);
    XLogFlush(be, ToySet(be, 0, 0, 1));
    end_of_first = GetXLogInsertRecPtr(be);
    // As long as a checkpoint record, then one that must not be seen again.
    std::string body(sizeof(CheckPoint), 'x');
    XLogInsertion record(be);
    record.RegisterData(body.data(), body.size());
    record.Insert(RM_XLOG_ID, XLOG_NOOP);
    XLogFlush(be, ToySet(be, 0, 1, 666));
  }});
  node.ProcessCrash();
  // The first of the two is torn; the second stays whole behind it.
  node.Corrupt(XLogFilePath(1, end_of_first / kSegment, kSegment),
               static_cast<int64_t>(end_of_first % kSegment + 40), "torn");
  node.RunToEnd({[&](Backend& be) {
    // The end-of-recovery checkpoint sits exactly where the torn record was.
    EXPECT_EQ(GetXLogInsertRecPtr(be), end_of_first + 120);
    EXPECT_EQ(ToyGet(be, 0, 1), 0u);
  }});
  node.ProcessCrash();
  node.RunToEnd({[&](Backend& be) {
    EXPECT_EQ(ToyGet(be, 0, 0), 1u);
    EXPECT_EQ(ToyGet(be, 0, 1), 0u);
  }});
  EXPECT_EQ(node.redone(), 0u);
}

// The page goes back to the device as it was replayed, whatever a device shows
// by then.
TEST(XLogRecovery, TheLastPageIsTheOneThatWasReplayed) {
  WalTestNode node(Options(1));
  node.RunToEnd({[](Backend& be) {
    ToyExtend(be, 1);
    XLogFlush(be, ToySet(be, 0, 0, 1));
    WalRecovery recovery(be);
    ASSERT_TRUE(InitWalRecovery(be, &recovery).ok());
    while (recovery.reader.ReadRecord()) {
    }
    XLogRecPtr page = XLogPageStart(recovery.reader.EndRecPtr());
    std::string kept(recovery.source.Kept(page));
    ASSERT_EQ(kept.size(), size_t{XLOG_BLCKSZ});
    auto file = be.env->files->Open(XLogFilePath(1, page / kSegment, kSegment),
                                    env::kOpenWrite);
    ASSERT_TRUE(file.ok());
    std::string noise(XLOG_BLCKSZ, 'x');
    ASSERT_TRUE((*file)->Pwrite(XLogSegmentOffset(page, kSegment), noise).ok());
    EndOfWalRecoveryInfo end;
    ASSERT_TRUE(FinishWalRecovery(&recovery, &end).ok());
    ASSERT_EQ(end.endOfLog, recovery.reader.EndRecPtr());
    ASSERT_FALSE(end.lastPage.empty());
    EXPECT_EQ(end.lastPage, kept.substr(0, end.lastPage.size()));
    // Two pages are kept. Of another one only its own bytes will do.
    for (XLogRecPtr other : {page + XLOG_BLCKSZ, page + 2 * XLOG_BLCKSZ}) {
      std::string bytes(XLOG_BLCKSZ, '\0');
      ASSERT_TRUE(recovery.source
                      .Read(other, std::span<char, XLOG_BLCKSZ>(bytes.data(),
                                                                XLOG_BLCKSZ))
                      .ok());
    }
    EXPECT_TRUE(recovery.source.Kept(page).empty());
    EXPECT_EQ(FinishWalRecovery(&recovery, &end).message(),
              "could not read the last page of the write-ahead log");
  }});
}

// The page where an unfinished record should go on is marked, so that readers
// who hold its first part know that no more will come.
TEST(XLogRecovery, AnUnfinishedRecordIsSkippedByAllLaterReaders) {
  WalTestNode node(Options(1));
  XLogRecPtr begin = 0;
  node.RunToEnd({[&](Backend& be) {
    ToyExtend(be, 1);
    XLogFlush(be, ToySet(be, 0, 0, 1));
    begin = GetXLogInsertRecPtr(be);
    XLogFlush(be, ToySet(be, 0, 1, 2, 20000));
  }});
  node.ProcessCrash();
  XLogRecPtr lost = XLogPageStart(begin) + XLOG_BLCKSZ;
  node.Corrupt(XLogFilePath(1, lost / kSegment, kSegment),
               static_cast<int64_t>(lost % kSegment), std::string(24, '\0'));
  node.RunToEnd({[&](Backend& be) {
    EXPECT_EQ(ToyGet(be, 0, 1), 0u);
    XLogFlush(be, ToySet(be, 0, 2, 3));
  }});
  // The log is continuous from before the gap to behind it.
  XLogReaderState reader(
      kSegment, node.config().system_identifier,
      PagesOf([&](XLogSegNo n) { return node.SegmentBytes(n); }, kSegment));
  reader.BeginRead(kSegment + kSizeOfXLogLongPHD);
  XLogRecPtr overwritten = 0;
  int toys = 0;
  while (reader.ReadRecord()) {
    if (reader.overwrittenRecPtr() != 0) {
      overwritten = reader.overwrittenRecPtr();
      EXPECT_EQ(reader.info() & 0xF0, XLOG_OVERWRITE_CONTRECORD);
      EXPECT_EQ(reader.ReadRecPtr(), lost + kSizeOfXLogShortPHD);
    }
    toys += reader.rmid() == kToyRmgrId ? 1 : 0;
  }
  EXPECT_EQ(overwritten, begin);
  EXPECT_EQ(toys, 3);  // init, first, third
  node.ProcessCrash();
  node.RunToEnd({[](Backend& be) { EXPECT_EQ(ToyGet(be, 0, 2), 3u); }});
}

TEST(XLogRecovery, ATornPageIsRebuiltFromItsImage) {
  WalTestNode node(Options(1));
  node.RunToEnd({[](Backend& be) {
    ToyExtend(be, 1);
    ToySet(be, 0, 3, 1);
    PanicIfError(be, CreateCheckPoint(be, CHECKPOINT_FORCE));
    ToySet(be, 0, 3, 2);
    ToySet(be, 0, 4, 2);
    XLogFlush(be, GetXLogInsertRecPtr(be));
    PanicIfError(be, CheckPointBuffers(be));
  }});
  node.ProcessCrash();
  node.Corrupt("base/5/16384", 512, std::string(3000, '\x5A'));
  node.RunToEnd({[](Backend& be) {
    EXPECT_EQ(ToyGet(be, 0, 3), 2u);
    EXPECT_EQ(ToyGet(be, 0, 4), 2u);
  }});
}

// A relation file that lost its second page: a record that carries the page's
// image builds it again, one that only changes it cannot.
void LosePageOne(WalTestNode& node) {
  Result<std::unique_ptr<env::File>> file =
      node.disk().Open("base/5/16384", env::kOpenWrite);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Truncate(BLCKSZ).ok());
}

void ChangePageOneAfterACheckpoint(Backend& be) {
  ToyExtend(be, 2);
  PanicIfError(be, CreateCheckPoint(be, CHECKPOINT_FORCE));
  ToySet(be, 1, 0, 2);
  XLogFlush(be, GetXLogInsertRecPtr(be));
}

TEST(XLogRecovery, AMissingPageIsBuiltFromItsImage) {
  WalTestNode node(Options(1));
  node.RunToEnd({ChangePageOneAfterACheckpoint});
  node.ProcessCrash();
  LosePageOne(node);
  node.RunToEnd({[](Backend& be) { EXPECT_EQ(ToyGet(be, 1, 0), 2u); }});
}

TEST(XLogRecovery, AMissingPageWithoutImageIsAPanic) {
  WalTestOptions options = Options(1);
  options.config.full_page_writes = false;
  WalTestNode node(options);
  node.RunToEnd({ChangePageOneAfterACheckpoint});
  node.ProcessCrash();
  LosePageOne(node);
  node.Run({});
  EXPECT_EQ(node.panic(),
            "WAL contains references to invalid pages: page 1 of relation "
            "base/5/16384 does not exist");
}

TEST(XLogRecovery, InvalidPagesAreForgottenWhenTheirRelationIsDropped) {
  WalTestNode node(Options(1));
  node.RunToEnd({[](Backend& be) {
    XLogLocalData& local = XLogLocal(be);
    BufferTag tag{kToyRel, kMainFork, 7};
    local.invalid_page_tab[tag] = false;
    XLogTruncateRelation(be, kToyRel, kMainFork, 8);
    EXPECT_EQ(local.invalid_page_tab.size(), 1u);
    XLogTruncateRelation(be, kToyRel, kMainFork, 7);
    EXPECT_EQ(local.invalid_page_tab.size(), 0u);
    local.invalid_page_tab[tag] = true;
    XLogDropRelation(be, kToyRel);
    XLogCheckInvalidPages(be);
    local.invalid_page_tab[tag] = true;
  }});
  node.ProcessCrash();
  EXPECT_EQ(node.Run({[](Backend& be) {
    XLogLocal(be).invalid_page_tab[{kToyRel, kMainFork, 7}] = true;
    XLogCheckInvalidPages(be);
  }}),
            sim::World::StopReason::kIdle);
  EXPECT_EQ(node.panic(),
            "WAL contains references to invalid pages: page 7 of relation "
            "base/5/16384 is uninitialized");
}

TEST(XLogRecovery, CountersComeFromTheRecords) {
  WalTestNode node(Options(1));
  node.RunToEnd({[](Backend& be) {
    SetXLogXid(be, 41);
    XLogPutNextOid(be, 24576);
    XLogFlush(be, GetXLogInsertRecPtr(be));
  }});
  node.ProcessCrash();
  node.RunToEnd({});
  EXPECT_EQ(node.client().next_xid(), 42u);
  EXPECT_EQ(node.client().next_oid(), 24576u);
}

TEST(XLogRecovery, ADamagedCheckpointRecordIsRefused) {
  WalTestNode node(Options(1));
  node.RunToEnd({}, true);
  node.ProcessCrash();
  std::string bytes;
  ASSERT_TRUE(node.disk().PeekFile(kControlFilePath, &bytes));
  Result<ControlFileData> control = DecodeControlFile(bytes, kSegment);
  ASSERT_TRUE(control.ok());
  node.Corrupt(XLogFilePath(1, 1, kSegment),
               static_cast<int64_t>(control->checkPoint % kSegment + 60), "xx");
  node.Run({});
  EXPECT_EQ(node.startup_status().message(),
            "could not locate a valid checkpoint record");
  EXPECT_NE(node.startup_status().detail().find("checksum"),
            std::string_view::npos);
}

}  // namespace
}  // namespace engine
