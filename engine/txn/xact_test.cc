#include "engine/txn/xact.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "engine/common/sites.h"
#include "engine/heap/test_node.h"
#include "engine/ipc/proc.h"
#include "engine/smgr/smgr.h"
#include "engine/txn/procarray.h"
#include "engine/txn/varsup.h"
#include "engine/txn/xact_xlog.h"
#include "engine/wal/xlog.h"

namespace engine {
namespace {

using env::EventKind;

TransactionId Xid(Backend& be) {
  auto xid = GetCurrentTransactionId(be);
  EXPECT_TRUE(xid.ok()) << xid.status().ToString();
  return xid.ok() ? *xid : kInvalidTransactionId;
}

void Pause(Backend& be) { be.env->tasks->Yield(SITE_ID(latch_wait)); }

RC_GTEST_PROP(XactRecord, RoundTripsAndNoPrefixOfItParses,
              (int64_t time, std::vector<uint32_t> rels)) {
  std::vector<RelFileNode> dropped;
  for (uint32_t rel : rels) dropped.push_back({1663, 5, rel});
  uint8_t info = 0;
  std::string data = BuildXactRecord(XLOG_XACT_COMMIT, time, dropped, &info);
  RC_ASSERT(data.size() == (rels.empty() ? 8 : 8 + 4 + 4 + 12 * rels.size()));
  RC_ASSERT(info == (rels.empty() ? 0x00 : 0x81));
  auto parsed = ParseXactRecord(info, data);
  RC_ASSERT(parsed.ok());
  RC_ASSERT(parsed->xact_time == time);
  RC_ASSERT(parsed->dropped == dropped);
  for (size_t size = 0; size < data.size(); ++size) {
    RC_ASSERT(!ParseXactRecord(info, data.substr(0, size)).ok());
  }
  RC_ASSERT(!ParseXactRecord(info, data + '\0').ok());
}

TEST(Xid, NextXidIsBeyondEveryXidSeenAcrossTheWraparound) {
  HeapTestNode node{HeapTestOptions()};
  node.RunToEnd({[](Backend& be) {
    uint64_t first = ReadNextFullTransactionId(be);
    AdvanceNextTransactionIdPastXid(be, 1);  // permanent: no news
    EXPECT_EQ(ReadNextFullTransactionId(be), first);
    AdvanceNextTransactionIdPastXid(be, 0x70000000);
    EXPECT_EQ(ReadNextFullTransactionId(be), 0x70000001u);
    AdvanceNextTransactionIdPastXid(be, 0x60000000);  // older
    EXPECT_EQ(ReadNextFullTransactionId(be), 0x70000001u);
    AdvanceNextTransactionIdPastXid(be, 0xE0000000);
    AdvanceNextTransactionIdPastXid(be, 0xFFFFFFFF);
    EXPECT_EQ(ReadNextFullTransactionId(be), 0x100000003u);
    AdvanceNextTransactionIdPastXid(be, 0x10);
    EXPECT_EQ(ReadNextFullTransactionId(be), 0x100000011u);
  }});
}

TEST(Oid, NoObjectIdIsHandedOutTwiceAcrossACrash) {
  HeapTestNode node{HeapTestOptions()};
  std::set<Oid> seen;
  for (int run = 0; run < 3; ++run) {
    node.RunToEnd({[&](Backend& be) {
      for (int i = 0; i < 10; ++i) {
        auto oid = GetNewObjectId(be);
        ASSERT_TRUE(oid.ok());
        EXPECT_GE(*oid, kFirstNormalObjectId);
        EXPECT_TRUE(seen.insert(*oid).second) << *oid;
      }
      XLogFlush(be, GetXLogInsertRecPtr(be));
    }});
    node.PowerLoss();
  }
}

// The steps of one transaction's end, as letters: R record, F flushed, C clog,
// V visible, A abort.
class EndWatcher {
 public:
  void OnEvent(const env::Event& event) {
    if (event.kind == EventKind::kCommitRecord) {
      commit_lsn_ = event.a[1];
      steps_ += 'R';
    } else if (event.kind == EventKind::kWalFlush) {
      if (commit_lsn_ != 0 && event.a[0] >= commit_lsn_) steps_ += 'F';
    } else if (event.kind == EventKind::kClogSet) {
      steps_ += event.a[1] == 1 ? 'C' : 'c';
    } else if (event.kind == EventKind::kVisible) {
      steps_ += 'V';
    } else if (event.kind == EventKind::kAbort) {
      steps_ += 'A';
    }
  }
  std::string Take() {
    commit_lsn_ = 0;
    return std::exchange(steps_, "");
  }

 private:
  XLogRecPtr commit_lsn_ = 0;
  std::string steps_;
};

TEST(Xact, StepsOfACommitComeInTheOneSafeOrder) {
  EndWatcher watcher;
  HeapTestOptions options;
  options.on_event = [&](const env::Event& e) { watcher.OnEvent(e); };
  HeapTestNode node(options);
  node.RunToEnd({[&](Backend& be) {
    watcher.Take();
    StartTransaction(be, IsolationLevel::kReadCommitted);
    Xid(be);
    ASSERT_TRUE(CommitTransaction(be).ok());
    EXPECT_EQ(watcher.Take(), "RFCV");

    StartTransaction(be, IsolationLevel::kReadCommitted);
    SetSynchronousCommit(be, false);
    Xid(be);
    ASSERT_TRUE(CommitTransaction(be).ok());
    EXPECT_EQ(watcher.Take(), "RCV");

    StartTransaction(be, IsolationLevel::kReadCommitted);
    Xid(be);
    AbortTransaction(be);
    EXPECT_EQ(watcher.Take(), "Ac");

    StartTransaction(be, IsolationLevel::kReadCommitted);
    ASSERT_TRUE(CommitTransaction(be).ok());
    EXPECT_EQ(watcher.Take(), "");  // no xid, no trace
  }});
}

TEST(Xact, CheckpointStartIsHeldOffBetweenRecordAndClog) {
  // Events are told on the committing backend's stack, so its PGPROC shows
  // what a checkpointer would see at that moment.
  std::vector<std::pair<EventKind, bool>> seen;
  Backend* backend = nullptr;
  HeapTestOptions options;
  options.on_event = [&](const env::Event& e) {
    if (backend == nullptr) return;
    if (e.kind != EventKind::kWalInsert && e.kind != EventKind::kClogSet &&
        e.kind != EventKind::kVisible) {
      return;
    }
    bool delayed = (MyProc(*backend).delayChkptFlags & DELAY_CHKPT_START) != 0;
    seen.emplace_back(e.kind, delayed);
  };
  HeapTestNode node(options);
  node.RunToEnd({[&](Backend& be) {
    StartTransaction(be, IsolationLevel::kReadCommitted);
    Xid(be);
    backend = &be;
    ASSERT_TRUE(CommitTransaction(be).ok());
    backend = nullptr;
  }});
  EXPECT_EQ(seen, (std::vector<std::pair<EventKind, bool>>{
                      {EventKind::kWalInsert, true},
                      {EventKind::kClogSet, true},
                      {EventKind::kVisible, false}}));
}

TEST(Xact, CommandIdsMoveOnlyWhenACommandChangedSomething) {
  HeapTestNode node{HeapTestOptions()};
  node.RunToEnd({[](Backend& be) {
    StartTransaction(be, IsolationLevel::kReadCommitted);
    EXPECT_EQ(GetCurrentCommandId(be, false), 0u);
    CommandCounterIncrement(be);
    EXPECT_EQ(GetCurrentCommandId(be, true), 0u);
    CommandCounterIncrement(be);
    EXPECT_EQ(GetCurrentCommandId(be, false), 1u);
    EXPECT_EQ(GetTransactionSnapshot(be).curcid, 1u);
    ASSERT_TRUE(CommitTransaction(be).ok());
    StartTransaction(be, IsolationLevel::kReadCommitted);
    EXPECT_EQ(GetCurrentCommandId(be, false), 0u);
    AbortTransaction(be);
  }});
}

TEST(Xact, CallbacksRunOnceBeforeOthersSeeTheEnd) {
  HeapTestNode node{HeapTestOptions()};
  node.RunToEnd({[](Backend& be) {
    std::string calls;
    for (bool commit : {true, false}) {
      StartTransaction(be, IsolationLevel::kReadCommitted);
      TransactionId xid = Xid(be);
      for (char name : {'a', 'b'}) {
        RegisterXactCallback(be, [&, name, xid](Backend& b, bool committed) {
          calls += name;
          calls += committed ? '+' : '-';
          EXPECT_TRUE(TransactionIdIsInProgress(b, xid));
        });
      }
      if (commit) {
        ASSERT_TRUE(CommitTransaction(be).ok());
      } else {
        AbortTransaction(be);
      }
      EXPECT_FALSE(TransactionIdIsInProgress(be, xid));
    }
    StartTransaction(be, IsolationLevel::kReadCommitted);
    ASSERT_TRUE(CommitTransaction(be).ok());
    EXPECT_EQ(calls, "a+b+a-b-");
  }});
}

TEST(Xact, DroppedFilesGoAtTheEndAndAgainInRedo) {
  constexpr RelFileNode kKept = {kDefaultTableSpaceOid, kDatabaseOid, 20001};
  constexpr RelFileNode kDropped = {kDefaultTableSpaceOid, kDatabaseOid, 20002};
  HeapTestNode node{HeapTestOptions()};
  node.RunToEnd({[&](Backend& be) {
    for (const RelFileNode& rnode : {kKept, kDropped}) {
      StartTransaction(be, IsolationLevel::kReadCommitted);
      SetSynchronousCommit(be, false);  // must not matter
      Xid(be);
      ASSERT_TRUE(SmgrCreate(be, rnode, kMainFork, false).ok());
      RegisterPendingDelete(be, rnode, /*at_commit=*/rnode == kDropped);
      ASSERT_TRUE(CommitTransaction(be).ok());
      if (rnode == kDropped) {
        EXPECT_FALSE(XLogNeedsFlush(be, LastCommitLSN(be)));
      }
    }
    // As if the crash had come before the file was removed.
    ASSERT_TRUE(SmgrCreate(be, kDropped, kMainFork, true).ok());
  }});
  node.RunToEnd({[&](Backend& be) {
    EXPECT_TRUE(*SmgrExists(be, kKept, kMainFork));
    EXPECT_FALSE(*SmgrExists(be, kDropped, kMainFork));
  }});
}

TEST(Snapshot, RepeatableReadKeepsTheFirstAndReadCommittedTakesNewOnes) {
  HeapTestNode node{HeapTestOptions()};
  node.RunToEnd({[](Backend& be) {
    for (IsolationLevel level :
         {IsolationLevel::kReadCommitted, IsolationLevel::kRepeatableRead}) {
      StartTransaction(be, level);
      SnapshotData first = GetTransactionSnapshot(be);
      ReleaseStatementSnapshot(be);
      bool repeatable = level == IsolationLevel::kRepeatableRead;
      EXPECT_EQ(TransactionIdIsValid(MyProc(be).xmin), repeatable);
      Xid(be);  // time passes for the others
      SnapshotData second = GetTransactionSnapshot(be);
      EXPECT_EQ(first.xmax, second.xmax);
      ASSERT_TRUE(CommitTransaction(be).ok());
      EXPECT_FALSE(TransactionIdIsValid(MyProc(be).xmin));
    }
  }});
}

TEST(Snapshot, OldestNonRemovableNeverPassesALivingSnapshot) {
  HeapTestNode node{HeapTestOptions()};
  bool holding = false;
  bool done = false;
  TransactionId horizon = 0;
  node.RunToEnd({[&](Backend& be) {
                   StartTransaction(be, IsolationLevel::kRepeatableRead);
                   horizon = GetTransactionSnapshot(be).xmin;
                   holding = true;
                   while (!done) Pause(be);
                   ASSERT_TRUE(CommitTransaction(be).ok());
                 },
                 [&](Backend& be) {
                   while (!holding) Pause(be);
                   for (int i = 0; i < 5; ++i) {
                     StartTransaction(be, IsolationLevel::kReadCommitted);
                     Xid(be);
                     ASSERT_TRUE(CommitTransaction(be).ok());
                     EXPECT_EQ(GetOldestNonRemovableTransactionId(be), horizon);
                   }
                   EXPECT_EQ(GetOldestActiveTransactionId(be),
                             ReadNextTransactionId(be));
                   done = true;
                 }});
}

// A snapshot is a moment: whoever committed before the last one that it sees
// is seen as well. Commit order is the order of kVisible events.
TEST(Snapshot, EverySnapshotIsAPrefixOfTheCommitOrder) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    std::vector<TransactionId> order;
    HeapTestOptions options;
    options.seed = seed;
    options.strategy = RestlessStrategy();
    options.on_event = [&](const env::Event& e) {
      if (e.kind == EventKind::kVisible) {
        order.push_back(static_cast<TransactionId>(e.a[0]));
      }
    };
    HeapTestNode node(options);
    HeapTestNode::Body writer = [&](Backend& be) {
      for (int i = 0; i < 6; ++i) {
        StartTransaction(be, IsolationLevel::kReadCommitted);
        SetSynchronousCommit(be, false);
        Xid(be);
        ASSERT_TRUE(CommitTransaction(be).ok());
      }
    };
    HeapTestNode::Body reader = [&](Backend& be) {
      for (int i = 0; i < 20; ++i) {
        StartTransaction(be, IsolationLevel::kReadCommitted);
        size_t before = order.size();
        SnapshotData snapshot = GetTransactionSnapshot(be);
        size_t visible = 0;
        bool gap = false;
        for (TransactionId xid : order) {
          if (XidInMVCCSnapshot(xid, snapshot)) {
            gap = true;
          } else {
            ASSERT_FALSE(gap) << "seed " << seed << " xid " << xid;
            ++visible;
          }
        }
        ASSERT_GE(visible, before) << "seed " << seed;
        ASSERT_TRUE(CommitTransaction(be).ok());
      }
    };
    node.RunToEnd({writer, writer, writer, reader, reader});
  }
}

}  // namespace
}  // namespace engine
