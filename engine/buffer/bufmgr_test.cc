#include "engine/buffer/bufmgr.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "engine/buffer/buf_internals.h"
#include "engine/buffer/buffer_guard.h"
#include "engine/common/errcodes.h"
#include "engine/common/sites.h"
#include "engine/ipc/proc.h"
#include "engine/smgr/smgr.h"
#include "engine/smgr/sync.h"
#include "engine/smgr/test_node.h"

namespace engine {
namespace {

using Op = FileCall::Op;

constexpr RelFileNode kRel{kDefaultTableSpaceOid, kDatabaseOid, 16384};
constexpr char kPath[] = "base/5/16384";

// A write-ahead log that only counts: the LSN is what was inserted, and all up
// to `flushed` is durable.
class FakeWal : public BufferWalHooks {
 public:
  explicit FakeWal(FakeFiles* files) : files_(files) {}

  void FlushWal(Backend&, XLogRecPtr lsn) override {
    YIELD_POINT(lwlock_acquire);
    flushed = std::max(flushed, lsn);
    files_->log.push_back("flush");
  }
  XLogRecPtr SaveBufferForHint(Backend& be, Buffer) override {
    delay_flag_seen = (MyProc(be).delayChkptFlags & DELAY_CHKPT_START) != 0;
    YIELD_POINT(lwlock_acquire);
    ++hint_images;
    return inserted += 100;
  }
  XLogRecPtr FlushedUpTo(Backend&) override { return flushed; }

  XLogRecPtr inserted = 1000;
  XLogRecPtr flushed = 0;
  int hint_images = 0;
  bool delay_flag_seen = false;

 private:
  FakeFiles* files_;
};

// Checks each page write against the log: no page before its WAL.
class WriteOracle : public sim::EventSubscriber {
 public:
  void OnEvent(const env::Event& event) override {
    if (event.kind != env::EventKind::kPageWrite) return;
    ++writes;
    if (event.a[2] > event.a[3]) ++too_early;
  }
  int writes = 0;
  int too_early = 0;
};

Config SmallConfig(int buffers = 8) {
  Config config;
  config.shared_buffers = buffers;
  return config;
}

sim::StrategyOptions RunToBlock() {
  sim::StrategyOptions options;
  options.kind = sim::StrategyKind::kRoundRobin;
  options.quantum = 1000000;
  return options;
}

class BufferNode : public TestNode {
 public:
  explicit BufferNode(uint64_t seed, Config config = SmallConfig(),
                      std::vector<uint8_t> planted = {},
                      sim::StrategyOptions strategy = {})
      : TestNode(seed, config, std::move(planted), strategy), wal(&files()) {
    BufferShmemInit(shared());
    SetBufferWalHooks(shared(), &wal);
    world().Subscribe(&oracle);
  }
  // A process with a pin table. It must give back all that it takes.
  void Process(std::string_view name, std::function<void(Backend&)> body) {
    Spawn(name, [body = std::move(body)](Backend& be) {
      BufferInit(be);
      body(be);
      EXPECT_EQ(BuffersPinned(be), 0);
      EXPECT_EQ(LWLocksHeld(be), 0);
    });
  }
  // Creates the relation with this many pages, all clean and checksummed.
  void CreateRelation(BlockNumber blocks) {
    Process("creator", [blocks, this](Backend& be) {
      ASSERT_TRUE(SmgrCreate(be, kRel, kMainFork, false).ok());
      for (BlockNumber i = 0; i < blocks; ++i) {
        Result<Buffer> buffer = ExtendRelation(be, kRel, kMainFork);
        ASSERT_TRUE(buffer.ok()) << buffer.status().ToString();
        ChangeLocked(be, *buffer, static_cast<char>('a' + i % 26));
        UnlockReleaseBuffer(be, *buffer);
      }
      ASSERT_TRUE(CheckPointBuffers(be).ok());
      DropRelationAllBuffers(be, kRel);
    });
    RunToEnd();
    files().log.clear();
  }
  // What XLogInsert and the page change do under the exclusive lock.
  void ChangeLocked(Backend& be, Buffer buffer, char fill) {
    char* page = BufferGetPage(be, buffer);
    CriticalSection critical(be);
    PageInit(page, 0);
    std::string item(100, fill);
    PageAddItem(page, item, 0, false, true);
    MarkBufferDirty(be, buffer);
    PageSetLSN(page, wal.inserted += 10);
  }
  void Change(Backend& be, BlockNumber block, char fill) {
    Result<Buffer> buffer = ReadBuffer(be, kRel, block);
    ASSERT_TRUE(buffer.ok()) << buffer.status().ToString();
    BufferGuard guard(be, *buffer);
    guard.Lock(BufferLockMode::kExclusive);
    ChangeLocked(be, *buffer, fill);
  }
  void Touch(Backend& be, BlockNumber block) {
    Result<Buffer> buffer = ReadBuffer(be, kRel, block);
    ASSERT_TRUE(buffer.ok()) << buffer.status().ToString();
    ReleaseBuffer(be, *buffer);
  }
  static char FillOf(const char* page) {
    return PageGetItemBytes(page, *PageGetItemId(page, 1))[0];
  }
  // The block as the file has it.
  char FillOnDisk(BlockNumber block) {
    alignas(8) char page[BLCKSZ];
    files().Content(kPath)->Read(int64_t{block} * BLCKSZ, page);
    EXPECT_TRUE(PageVerify(page, block, true).ok());
    return FillOf(page);
  }
  bool IsDirty(Backend& be, BlockNumber block) {
    Buffer id = SharedBuffers(be).table.Lookup({kRel, kMainFork, block});
    return id != 0 && GetBufferDescriptor(be, id).Is(BM_DIRTY);
  }

  FakeWal wal;
  WriteOracle oracle;
};

TEST(BufferManager, PagesSurviveEviction) {
  BufferNode node(1);
  node.CreateRelation(30);
  node.Process("p", [&](Backend& be) {
    for (BlockNumber i = 0; i < 30; ++i) node.Change(be, i, 'A' + i % 26);
    for (BlockNumber i = 0; i < 30; ++i) {
      Result<Buffer> buffer = ReadBuffer(be, kRel, i);
      ASSERT_TRUE(buffer.ok());
      BufferGuard guard(be, *buffer);
      guard.Lock(BufferLockMode::kShare);
      EXPECT_EQ(BufferNode::FillOf(guard.page()), 'A' + i % 26);
      EXPECT_EQ(BufferGetTag(be, *buffer).blockNum, i);
    }
  });
  node.RunToEnd();
  EXPECT_EQ(node.oracle.too_early, 0);
  EXPECT_GE(node.oracle.writes, 22);
}

TEST(BufferManager, EvictionSkipsPinnedPages) {
  BufferNode node(1);
  node.CreateRelation(40);
  node.Process("p", [&](Backend& be) {
    std::vector<Buffer> pinned;
    for (BlockNumber i = 0; i < 7; ++i) {
      pinned.push_back(*ReadBuffer(be, kRel, i));
    }
    for (BlockNumber i = 7; i < 40; ++i) node.Touch(be, i);  // one buffer left
    for (BlockNumber i = 0; i < 7; ++i) {
      EXPECT_EQ(BufferGetTag(be, pinned[i]).blockNum, i);
      EXPECT_EQ(BufferNode::FillOf(BufferGetPage(be, pinned[i])),
                static_cast<char>('a' + i));
    }
    pinned.push_back(*ReadBuffer(be, kRel, 20));
    Result<Buffer> none = ReadBuffer(be, kRel, 21);
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.status().sqlstate(), ERRCODE_OUT_OF_MEMORY);
    EXPECT_EQ(none.status().message(), "no unpinned buffers available");
    ReleaseBuffer(be, pinned.back());
    node.Touch(be, 21);
    pinned.pop_back();
    EXPECT_EQ(BuffersPinned(be), 7);
    IncrBufferRefCount(be, pinned[0]);
    ReleaseAllBuffers(be);
  });
  node.RunToEnd();
}

TEST(BufferManager, PopularPagesOutliveAScan) {
  BufferNode node(1);
  node.CreateRelation(60);
  node.Process("p", [&](Backend& be) {
    for (int i = 0; i < 5; ++i) node.Touch(be, 0);
    node.files().log.clear();
    for (BlockNumber i = 1; i < 25; ++i) node.Touch(be, i);  // three rounds
    int reads = node.files().CountInLog(std::string("read ") + kPath);
    node.Touch(be, 0);
    EXPECT_EQ(node.files().CountInLog(std::string("read ") + kPath), reads);
  });
  node.RunToEnd();
}

TEST(BufferManager, WalIsFlushedBeforeAnEvictedPageIsWritten) {
  BufferNode node(1);
  node.CreateRelation(20);
  node.Process("p", [&](Backend& be) {
    node.Change(be, 3, 'X');
    node.files().log.clear();
    for (BlockNumber i = 4; i < 20; ++i) node.Touch(be, i);
    std::vector<std::string> order;
    for (const std::string& entry : node.files().log) {
      if (entry == "flush" || entry.rfind("write", 0) == 0) {
        order.push_back(entry);
      }
    }
    EXPECT_EQ(order, (std::vector<std::string>{"flush",
                                               std::string("write ") + kPath}));
    EXPECT_EQ(node.FillOnDisk(3), 'X');
  });
  node.RunToEnd();
  EXPECT_EQ(node.oracle.too_early, 0);
}

TEST(BufferManager, ConcurrentReadersOfOneBlockDoOneRead) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    BufferNode node(seed);
    node.CreateRelation(3);
    for (int p = 0; p < 4; ++p) {
      node.Process("reader", [&](Backend& be) { node.Touch(be, 1); });
    }
    node.RunToEnd();
    EXPECT_EQ(node.files().CountInLog(std::string("read ") + kPath), 1);
  }
}

TEST(BufferManager, AWaitingReaderTriesAgainAfterAReadError) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    BufferNode node(seed);
    node.CreateRelation(3);
    bool failed_once = false;
    node.files().hook = [&](FileCall& call) {
      if (call.op != Op::kRead || failed_once) return;
      failed_once = true;
      call.fail = env::Code::kIo;
    };
    int errors = 0;
    int good = 0;
    for (int p = 0; p < 3; ++p) {
      node.Process("reader", [&](Backend& be) {
        Result<Buffer> buffer = ReadBuffer(be, kRel, 1);
        if (!buffer.ok()) {
          EXPECT_EQ(buffer.status().sqlstate(), ERRCODE_IO_ERROR);
          ++errors;
          return;
        }
        EXPECT_EQ(BufferNode::FillOf(BufferGetPage(be, *buffer)), 'b');
        ReleaseBuffer(be, *buffer);
        ++good;
      });
    }
    node.RunToEnd();
    EXPECT_EQ(errors, 1);
    EXPECT_EQ(good, 2);
  }
}

// A write that went to the same block of another relation: PostgreSQL's
// checksum does not see it, the option's does.
TEST(BufferManager, AnotherRelationsPageIsFoundWithTheRelationInTheChecksum) {
  for (bool option : {false, true}) {
    Config config = SmallConfig();
    config.checksum_relation = option;
    BufferNode node(1, config);
    node.CreateRelation(3);
    node.Process("p", [&](Backend& be) {
      RelFileNode other = kRel;
      other.relNode = kRel.relNode + 1;
      ASSERT_TRUE(SmgrCreate(be, other, kMainFork, false).ok());
      std::vector<char> page(BLCKSZ);
      node.files().Content(kPath)->Read(0, page);
      ASSERT_TRUE(SmgrExtend(be, other, kMainFork, 0,
                             std::span<char, BLCKSZ>(page.data(), BLCKSZ))
                      .ok());
      Result<Buffer> here = ReadBuffer(be, kRel, 0);
      ASSERT_TRUE(here.ok());
      ReleaseBuffer(be, *here);
      Result<Buffer> there = ReadBuffer(be, other, 0);
      EXPECT_EQ(there.ok(), !option);
      if (there.ok()) ReleaseBuffer(be, *there);
    });
    node.RunToEnd();
  }
}

// A page of zeros is a new one, unless it is known to have held content.
TEST(BufferManager, ZerosWhereContentWasAreAnErrorWithTheOption) {
  for (bool option : {false, true}) {
    Config config = SmallConfig();
    config.detect_zeroed_pages = option;
    BufferNode node(1, config);
    node.CreateRelation(3);
    node.Process("p", [&](Backend& be) {
      // Extended and never written: zeros are all that it has been.
      Buffer extended = *ExtendRelation(be, kRel, kMainFork);
      UnlockReleaseBuffer(be, extended);
      ASSERT_TRUE(CheckPointBuffers(be).ok());
      DropRelationAllBuffers(be, kRel);
      const std::vector<char> zeros(BLCKSZ);
      node.files().Content(kPath)->Write(BLCKSZ, zeros);
      Result<Buffer> held = ReadBuffer(be, kRel, 1);
      EXPECT_EQ(held.ok(), !option);
      if (held.ok()) {
        ReleaseBuffer(be, *held);
      } else {
        EXPECT_EQ(held.status().message(),
                  "invalid page in block 1 of relation base/5/16384");
      }
      Result<Buffer> fresh = ReadBuffer(be, kRel, 3);
      EXPECT_TRUE(fresh.ok());
      if (fresh.ok()) ReleaseBuffer(be, *fresh);
      // Redo judges such pages by the records that follow.
      be.in_recovery = true;
      Result<Buffer> redo = ReadBuffer(be, kRel, 1);
      EXPECT_TRUE(redo.ok());
      if (redo.ok()) ReleaseBuffer(be, *redo);
    });
    node.RunToEnd();
  }
}

TEST(BufferManager, DamagedPageIsAnErrorUnlessItMayBecomeZeros) {
  BufferNode node(1);
  node.CreateRelation(3);
  node.Process("p", [&](Backend& be) {
    const char junk[] = {'!'};
    node.files().Content(kPath)->Write(BLCKSZ + 5000, junk);
    Result<Buffer> bad = ReadBuffer(be, kRel, 1);
    ASSERT_FALSE(bad.ok());
    EXPECT_EQ(bad.status().sqlstate(), ERRCODE_DATA_CORRUPTED);
    EXPECT_EQ(bad.status().message(),
              "invalid page in block 1 of relation base/5/16384");
    Result<Buffer> zeros = ReadBufferExtended(be, kRel, kMainFork, 1,
                                              ReadBufferMode::kZeroOnError);
    ASSERT_TRUE(zeros.ok());
    EXPECT_TRUE(PageIsNew(BufferGetPage(be, *zeros)));
    ReleaseBuffer(be, *zeros);

    Result<Buffer> beyond = ReadBufferExtended(be, kRel, kMainFork, 3,
                                               ReadBufferMode::kNormalNoLog);
    EXPECT_EQ(*beyond, kInvalidBuffer);
    Result<Buffer> init = ReadBufferExtended(be, kRel, kMainFork, 2,
                                             ReadBufferMode::kZeroAndLock);
    EXPECT_TRUE(PageIsNew(BufferGetPage(be, *init)));
    EXPECT_FALSE(ConditionalLockBuffer(be, *init));
    UnlockReleaseBuffer(be, *init);
  });
  node.RunToEnd();
}

TEST(BufferManager, FailedExtensionLeavesNothingBehind) {
  BufferNode node(1);
  node.CreateRelation(2);
  node.Process("p", [&](Backend& be) {
    node.files().hook = [](FileCall& call) {
      if (call.op == Op::kWrite) call.fail = env::Code::kNoSpace;
    };
    Result<Buffer> full = ExtendRelation(be, kRel, kMainFork);
    ASSERT_FALSE(full.ok());
    EXPECT_EQ(full.status().sqlstate(), ERRCODE_DISK_FULL);
    EXPECT_EQ(BuffersPinned(be), 0);
    node.files().hook = nullptr;
    Result<Buffer> again = ExtendRelation(be, kRel, kMainFork);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(BufferGetTag(be, *again).blockNum, 2u);
    UnlockReleaseBuffer(be, *again);
  });
  node.RunToEnd();
}

// A hint bit set while the page is being written: the page on disk lacks it,
// so the page must not count as clean.
void DirtyDuringWrite(BufferNode& node, bool* still_dirty) {
  node.CreateRelation(2);
  node.Process("writer", [&](Backend& be) {
    node.Change(be, 0, 'X');
    Buffer mine = *ReadBuffer(be, kRel, 0);
    bool done = false;
    node.files().hook = [&](FileCall& call) {
      if (call.op != Op::kWrite || done) return;
      done = true;
      BufferGetPage(be, mine)[BLCKSZ - 1] = 'h';
      MarkBufferDirtyHint(be, mine);
    };
    EXPECT_TRUE(CheckPointBuffers(be).ok());
    node.files().hook = nullptr;
    *still_dirty = node.IsDirty(be, 0);
    EXPECT_EQ(node.FillOnDisk(0), 'X');  // and its checksum is right
    EXPECT_TRUE(CheckPointBuffers(be).ok());
    EXPECT_FALSE(node.IsDirty(be, 0));
    ReleaseBuffer(be, mine);
  });
  node.RunToEnd();
}

TEST(BufferManager, PageDirtiedDuringItsWriteStaysDirty) {
  BufferNode node(1);
  bool still_dirty = false;
  DirtyDuringWrite(node, &still_dirty);
  EXPECT_TRUE(still_dirty);
}

TEST(BufferManager, FailedWriteLeavesThePageDirty) {
  BufferNode node(1);
  node.CreateRelation(2);
  node.Process("p", [&](Backend& be) {
    node.Change(be, 0, 'X');
    node.files().hook = [](FileCall& call) {
      if (call.op == Op::kWrite) call.limit = 4096;
    };
    Status status = CheckPointBuffers(be);
    EXPECT_EQ(status.sqlstate(), ERRCODE_DISK_FULL);
    node.files().hook = nullptr;
    EXPECT_TRUE(node.IsDirty(be, 0));
    EXPECT_TRUE(CheckPointBuffers(be).ok());
    EXPECT_EQ(node.FillOnDisk(0), 'X');
  });
  node.RunToEnd();
}

TEST(BufferManager, CheckpointWritesInOrderWhatWasDirtyWhenItBegan) {
  BufferNode node(1, SmallConfig(16));
  node.CreateRelation(12);
  node.Process("p", [&](Backend& be) {
    for (BlockNumber block : {7, 2, 9, 4}) node.Change(be, block, 'X');
    node.Touch(be, 5);
    std::vector<int64_t> written;
    node.files().hook = [&](FileCall& call) {
      if (call.op != Op::kWrite) return;
      written.push_back(call.offset / BLCKSZ);
      if (written.size() == 1) node.Change(be, 5, 'Y');  // too late for it
    };
    EXPECT_TRUE(CheckPointBuffers(be).ok());
    node.files().hook = nullptr;
    EXPECT_EQ(written, (std::vector<int64_t>{2, 4, 7, 9}));
    EXPECT_TRUE(node.IsDirty(be, 5));
    EXPECT_FALSE(node.IsDirty(be, 7));
  });
  node.RunToEnd();
}

TEST(BufferManager, HintsAreLoggedBeforeTheyDirtyAPage) {
  BufferNode node(1);
  node.CreateRelation(3);
  node.Process("p", [&](Backend& be) {
    BufferGuard guard(be, *ReadBuffer(be, kRel, 1));
    guard.Lock(BufferLockMode::kShare);
    MarkBufferDirtyHint(be, guard.get());
    EXPECT_EQ(node.wal.hint_images, 1);
    EXPECT_TRUE(node.wal.delay_flag_seen);
    EXPECT_EQ(MyProc(be).delayChkptFlags, 0);
    EXPECT_EQ(PageGetLSN(guard.page()), node.wal.inserted);
    EXPECT_TRUE(node.IsDirty(be, 1));
    MarkBufferDirtyHint(be, guard.get());
    EXPECT_EQ(node.wal.hint_images, 1);

    BufferGuard other(be, *ReadBuffer(be, kRel, 2));
    other.Lock(BufferLockMode::kShare);
    be.in_recovery = true;
    MarkBufferDirtyHint(be, other.get());
    EXPECT_FALSE(node.IsDirty(be, 2));
    be.in_recovery = false;
  });
  node.RunToEnd();

  Config config = SmallConfig();
  config.data_checksums = false;
  BufferNode plain(1, config);
  plain.CreateRelation(2);
  plain.Process("p", [&](Backend& be) {
    BufferGuard guard(be, *ReadBuffer(be, kRel, 1));
    guard.Lock(BufferLockMode::kShare);
    MarkBufferDirtyHint(be, guard.get());
    EXPECT_EQ(plain.wal.hint_images, 0);
    EXPECT_TRUE(plain.IsDirty(be, 1));
  });
  plain.RunToEnd();
}

TEST(BufferManager, CleanupLockWaitsForOtherPins) {
  BufferNode node(1, SmallConfig(), {}, RunToBlock());
  node.CreateRelation(2);
  bool released = false;
  ConditionVariable go;
  node.Process("reader", [&](Backend& be) {
    Buffer buffer = *ReadBuffer(be, kRel, 0);
    ConditionVariableSleep(be, go);
    ConditionVariableCancelSleep(be, go);
    released = true;
    ReleaseBuffer(be, buffer);
  });
  node.Process("vacuum", [&](Backend& be) {
    Buffer buffer = *ReadBuffer(be, kRel, 0);
    EXPECT_FALSE(ConditionalLockBufferForCleanup(be, buffer));
    LockBufferForCleanup(be, buffer);
    EXPECT_TRUE(released);
    EXPECT_TRUE(IsBufferCleanupOK(be, buffer));
    UnlockReleaseBuffer(be, buffer);
  });
  node.Process("starter", [&](Backend& be) {
    EXPECT_FALSE(released);
    ConditionVariableBroadcast(be, go);
  });
  node.RunToEnd();
  EXPECT_TRUE(released);
}

// Truncation while the checkpointer writes the very pages: their contents are
// gone afterwards, and nothing writes them again.
TEST(BufferManager, DroppingWaitsForWritesUnderWay) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    BufferNode node(seed);
    node.CreateRelation(6);
    bool truncated = false;
    int late = 0;
    node.files().hook = [&](FileCall& call) {
      if (call.op == Op::kWrite && truncated) ++late;
    };
    node.Process("truncator", [&](Backend& be) {
      for (BlockNumber i = 0; i < 6; ++i) node.Change(be, i, 'X');
      DropRelationBuffers(be, kRel, kMainFork, 0);
      truncated = true;
      ASSERT_TRUE(SmgrTruncate(be, kRel, kMainFork, 0).ok());
    });
    node.Process("checkpointer", [&](Backend& be) {
      for (int i = 0; i < 5; ++i) ASSERT_TRUE(CheckPointBuffers(be).ok());
    });
    node.Process("bgwriter", [&](Backend& be) {
      for (int i = 0; i < 5; ++i) ASSERT_TRUE(BgBufferSync(be, 4).ok());
    });
    node.RunToEnd();
    EXPECT_EQ(late, 0) << "seed " << seed;
    EXPECT_EQ(node.files().Content(kPath)->size(), 0) << "seed " << seed;
  }
}

// Everything at once: more pages than buffers, several writers, a checkpointer
// and a background writer. Each page counts its updates; no update is lost and
// no page is written before its WAL.
TEST(BufferManager, NoUpdateIsLostUnderAnySchedule) {
  constexpr BlockNumber kBlocks = 14;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    BufferNode node(seed);
    node.CreateRelation(kBlocks);
    std::vector<int> expected(kBlocks, 0);
    auto count = [](const char* page) {
      uint32_t value;
      std::memcpy(&value, page + 8000, sizeof value);
      return value;
    };
    for (int p = 0; p < 3; ++p) {
      node.Process("writer", [&, p](Backend& be) {
        for (BlockNumber i = 0; i < 20; ++i) {
          BlockNumber block =
              (i * 5 + static_cast<BlockNumber>(p) * 3) % kBlocks;
          Result<Buffer> buffer = ReadBuffer(be, kRel, block);
          ASSERT_TRUE(buffer.ok()) << buffer.status().ToString();
          BufferGuard guard(be, *buffer);
          guard.Lock(BufferLockMode::kExclusive);
          uint32_t value = count(guard.page()) + 1;
          std::memcpy(guard.page() + 8000, &value, sizeof value);
          MarkBufferDirty(be, *buffer);
          PageSetLSN(guard.page(), node.wal.inserted += 10);
          ++expected[block];
        }
      });
    }
    node.Process("checkpointer", [&](Backend& be) {
      for (int i = 0; i < 4; ++i) ASSERT_TRUE(CheckPointBuffers(be).ok());
    });
    node.Process("bgwriter", [&](Backend& be) {
      for (int i = 0; i < 4; ++i) ASSERT_TRUE(BgBufferSync(be, 3).ok());
    });
    node.RunToEnd();
    node.Process("flusher", [&](Backend& be) {
      ASSERT_TRUE(FlushRelationBuffers(be, kRel).ok());
    });
    node.RunToEnd();
    alignas(8) char page[BLCKSZ];
    for (BlockNumber i = 0; i < kBlocks; ++i) {
      node.files().Content(kPath)->Read(int64_t{i} * BLCKSZ, page);
      ASSERT_TRUE(PageVerify(page, i, true).ok());
      ASSERT_EQ(count(page), static_cast<uint32_t>(expected[i]))
          << "seed " << seed << " block " << i;
    }
    EXPECT_EQ(node.oracle.too_early, 0);
  }
}

// A process that is killed leaves shared memory alone; the guards on its stack
// know.
TEST(BufferManager, KilledProcessReleasesNothing) {
  BufferNode node(1, SmallConfig(), {}, RunToBlock());
  node.CreateRelation(2);
  node.Process("parent", [&](Backend& be) {
    env::TaskId victim = be.env->tasks->Spawn("victim", [&] {
      Backend mine(be.env, be.shared, BackendType::kClient);
      SmgrInit(mine);
      BufferInit(mine);
      BufferGuard guard(mine, *ReadBuffer(mine, kRel, 0));
      guard.Lock(BufferLockMode::kExclusive);
      ConditionVariable never;
      ConditionVariableSleep(mine, never);
    });
    ConditionVariable pause;
    ConditionVariableTimedSleep(be, pause, be.env->clock->Now() + env::kSecond);
    be.env->tasks->Kill(victim);
    ConditionVariableTimedSleep(be, pause,
                                be.env->clock->Now() + 2 * env::kSecond);
    ConditionVariableCancelSleep(be, pause);
    Buffer id = SharedBuffers(be).table.Lookup({kRel, kMainFork, 0});
    EXPECT_EQ(GetBufferDescriptor(be, id).refcount, 1);
    EXPECT_TRUE(GetBufferDescriptor(be, id).content_lock.held_exclusive());
  });
  node.RunToEnd();
}

#ifdef MUSTH_PLANTED
TEST(BufferManager, PlantedWriteBeforeWalIsSeen) {
  BufferNode node(1, SmallConfig(),
                  TestNode::Plant(SITE_ID(page_written_before_wal)));
  node.CreateRelation(2);
  EXPECT_GT(node.oracle.too_early, 0);
}

TEST(BufferManager, PlantedLossOfJustDirtiedIsSeen) {
  BufferNode node(1, SmallConfig(),
                  TestNode::Plant(SITE_ID(evict_ignores_just_dirtied)));
  bool still_dirty = true;
  DirtyDuringWrite(node, &still_dirty);
  EXPECT_FALSE(still_dirty);
}

TEST(BufferManager, PlantedCleanAfterErrorIsSeen) {
  BufferNode node(1, SmallConfig(),
                  TestNode::Plant(SITE_ID(io_error_leaves_clean)));
  node.CreateRelation(2);
  node.Process("p", [&](Backend& be) {
    node.Change(be, 0, 'X');
    node.files().hook = [](FileCall& call) {
      if (call.op == Op::kWrite) call.fail = env::Code::kIo;
    };
    EXPECT_FALSE(CheckPointBuffers(be).ok());
    node.files().hook = nullptr;
    EXPECT_FALSE(node.IsDirty(be, 0));
  });
  node.RunToEnd();
}
#endif

}  // namespace
}  // namespace engine
