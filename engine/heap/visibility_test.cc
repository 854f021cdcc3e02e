#include "engine/heap/visibility.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "engine/common/sites.h"
#include "engine/heap/combocid.h"
#include "engine/heap/test_node.h"
#include "engine/ipc/proc.h"
#include "engine/txn/clog.h"
#include "engine/txn/procarray.h"
#include "engine/txn/varsup.h"
#include "engine/wal/xlog.h"

namespace engine {
namespace {

void Pause(Backend& be) { be.env->tasks->Yield(SITE_ID(latch_wait)); }

TransactionId Xid(Backend& be) {
  auto xid = GetCurrentTransactionId(be);
  EXPECT_TRUE(xid.ok());
  return *xid;
}

// How a transaction stands to the observer's snapshot.
enum class Fate {
  kCommittedBefore,
  kCommittedAfter,  // was running when the snapshot was taken
  kAborted,
  kCrashed,  // ended without a record
  kRunning,
  kOwn,
};
constexpr Fate kFates[] = {Fate::kCommittedBefore, Fate::kCommittedAfter,
                           Fate::kAborted,         Fate::kCrashed,
                           Fate::kRunning,         Fate::kOwn};
constexpr const char* kFateNames[] = {"committed before", "committed after",
                                      "aborted",          "crashed",
                                      "running",          "own"};

bool Committed(Fate fate) {
  return fate == Fate::kCommittedBefore || fate == Fate::kCommittedAfter;
}

// One tuple's past. Command ids count only where the transaction is own.
struct Past {
  Fate xmin;
  int cmin;
  bool has_xmax;
  bool lock_only;
  Fate xmax;
  int cmax;
  bool moved_on;  // t_ctid points at another tuple

  std::string Text() const {
    return std::string("xmin ") + kFateNames[static_cast<int>(xmin)] + " " +
           std::to_string(cmin) +
           (has_xmax ? std::string(lock_only ? ", locked " : ", xmax ") +
                           kFateNames[static_cast<int>(xmax)] + " " +
                           std::to_string(cmax)
                     : "") +
           (moved_on ? ", updated" : "");
  }
};

constexpr int kCurcid = 1;

// --- What the definitions say. ---

bool SeenAsDone(Fate fate, int cid) {
  return fate == Fate::kOwn ? cid < kCurcid : fate == Fate::kCommittedBefore;
}

bool ExpectedMvcc(const Past& past) {
  if (!SeenAsDone(past.xmin, past.cmin)) return false;
  return !past.has_xmax || past.lock_only || !SeenAsDone(past.xmax, past.cmax);
}

TmResult ExpectedUpdate(const Past& past) {
  bool inserted =
      past.xmin == Fate::kOwn ? past.cmin < kCurcid : Committed(past.xmin);
  if (!inserted) return TmResult::kInvisible;
  if (!past.has_xmax) return TmResult::kOk;
  if (past.xmax == Fate::kRunning) return TmResult::kBeingModified;
  if (past.xmax == Fate::kOwn) {
    if (past.lock_only) return TmResult::kBeingModified;
    return past.cmax >= kCurcid ? TmResult::kSelfModified
                                : TmResult::kInvisible;
  }
  if (past.lock_only || !Committed(past.xmax)) return TmResult::kOk;
  return past.moved_on ? TmResult::kUpdated : TmResult::kDeleted;
}

// --- A node in which every fate has a transaction. ---

class FateNode {
 public:
  using Check =
      std::function<void(Backend&, const SnapshotData&, const TransactionId*)>;

  explicit FateNode(Check check) : check_(std::move(check)) {
    HeapTestNode node{HeapTestOptions()};
    node.RunToEnd({[this](Backend& be) { Observer(be); },
                   [this](Backend& be) { LateCommitter(be); },
                   [this](Backend& be) { Runner(be); }});
  }

 private:
  TransactionId& xid(Fate fate) { return xids_[static_cast<int>(fate)]; }

  void LateCommitter(Backend& be) {
    StartTransaction(be, IsolationLevel::kReadCommitted);
    xid(Fate::kCommittedAfter) = Xid(be);
    while (!snapshot_taken_) Pause(be);
    ASSERT_TRUE(CommitTransaction(be).ok());
    late_committed_ = true;
  }
  void Runner(Backend& be) {
    StartTransaction(be, IsolationLevel::kReadCommitted);
    xid(Fate::kRunning) = Xid(be);
    while (!done_) Pause(be);
    AbortTransaction(be);
  }
  void Observer(Backend& be) {
    while (xid(Fate::kCommittedAfter) == 0 || xid(Fate::kRunning) == 0) {
      Pause(be);
    }
    auto crashed = GetNewTransactionId(be);
    ASSERT_TRUE(crashed.ok());
    xid(Fate::kCrashed) = *crashed;
    MyProc(be).xid = kInvalidTransactionId;
    StartTransaction(be, IsolationLevel::kReadCommitted);
    xid(Fate::kAborted) = Xid(be);
    AbortTransaction(be);
    StartTransaction(be, IsolationLevel::kReadCommitted);
    xid(Fate::kCommittedBefore) = Xid(be);
    ASSERT_TRUE(CommitTransaction(be).ok());
    StartTransaction(be, IsolationLevel::kRepeatableRead);
    xid(Fate::kOwn) = Xid(be);
    SnapshotData snapshot = GetTransactionSnapshot(be);
    snapshot.curcid = kCurcid;
    snapshot_taken_ = true;
    while (!late_committed_) Pause(be);
    check_(be, snapshot, xids_);
    ASSERT_TRUE(CommitTransaction(be).ok());
    done_ = true;
  }

  const Check check_;
  TransactionId xids_[std::size(kFates)] = {};
  bool snapshot_taken_ = false;
  bool late_committed_ = false;
  bool done_ = false;
};

// Gives the tuple this past, without any hint.
void SetPast(Backend& be, const Past& past, const TransactionId* xids,
             ItemPointerData self, HeapTupleHeaderData* tuple) {
  tuple->t_infomask &= static_cast<uint16_t>(~HEAP_XACT_MASK);
  tuple->t_infomask2 &= static_cast<uint16_t>(~HEAP2_XACT_MASK);
  tuple->t_xmin = xids[static_cast<int>(past.xmin)];
  tuple->t_xmax = 0;
  tuple->t_ctid =
      past.moved_on ? ItemPointerData(self.block(), self.offset() + 1) : self;
  HeapTupleHeaderSetCid(tuple, static_cast<CommandId>(past.cmin), false);
  if (!past.has_xmax) {
    tuple->t_infomask |= HEAP_XMAX_INVALID;
    return;
  }
  TupleCmax cmax =
      HeapTupleHeaderAdjustCmax(be, *tuple, static_cast<CommandId>(past.cmax));
  if (past.xmin != Fate::kOwn || past.xmax == Fate::kOwn) {
    HeapTupleHeaderSetCid(tuple, cmax.cid, cmax.is_combo);
  }
  tuple->t_xmax = xids[static_cast<int>(past.xmax)];
  if (past.lock_only) {
    tuple->t_infomask |= HEAP_XMAX_LOCK_ONLY | HEAP_XMAX_EXCL_LOCK;
  }
}

// A hint may only say what is so.
void ExpectHonestHints(const Past& past, uint16_t infomask) {
  uint16_t xmin_hint = infomask & HEAP_XMIN_FROZEN;
  if (past.xmin == Fate::kOwn || past.xmin == Fate::kRunning) {
    EXPECT_EQ(xmin_hint, 0) << past.Text();
  } else if (xmin_hint != 0) {
    EXPECT_EQ(xmin_hint,
              Committed(past.xmin) ? HEAP_XMIN_COMMITTED : HEAP_XMIN_INVALID)
        << past.Text();
  }
  bool xmax_committed = (infomask & HEAP_XMAX_COMMITTED) != 0;
  bool xmax_invalid = (infomask & HEAP_XMAX_INVALID) != 0;
  if (!past.has_xmax) return;
  if (xmax_committed) {
    EXPECT_TRUE(Committed(past.xmax) && !past.lock_only) << past.Text();
  }
  if (xmax_invalid) {
    EXPECT_TRUE(past.xmax != Fate::kRunning && past.xmax != Fate::kOwn &&
                (past.lock_only || !Committed(past.xmax)))
        << past.Text();
  }
}

std::vector<Past> AllPasts() {
  std::vector<Past> pasts;
  for (Fate xmin : kFates) {
    for (int cmin : {0, 1, 2}) {
      pasts.push_back({xmin, cmin, false, false, Fate::kOwn, 0, false});
      for (Fate xmax : kFates) {
        // Only its own transaction can change what it has not committed.
        if ((xmin == Fate::kOwn || xmin == Fate::kRunning) && xmax != xmin) {
          continue;
        }
        for (int cmax : {0, 1, 2}) {
          if (xmin == Fate::kOwn && cmax < cmin) continue;
          for (int kind = 0; kind < 3; ++kind) {
            pasts.push_back(
                {xmin, cmin, true, kind == 2, xmax, cmax, kind == 1});
          }
        }
      }
    }
  }
  return pasts;
}

TEST(Visibility, EveryPastGivesWhatTheDefinitionsSay) {
  RelationData rel = HeapTestNode::MakeRelation();
  int cases = 0;
  FateNode node([&](Backend& be, const SnapshotData& snapshot,
                    const TransactionId* xids) {
    HeapTuple row = HeapTestNode::MakeRow(1, 1, "x");
    ASSERT_TRUE(HeapInsert(be, rel, &row, 0).ok());
    BufferGuard buffer(be, *ReadBuffer(be, rel.rd_node, 0));
    buffer.Lock(BufferLockMode::kExclusive);
    auto* tuple = reinterpret_cast<HeapTupleHeaderData*>(
        PageGetItem(buffer.page(), PageGetItemId(buffer.page(), 1)));
    for (const Past& past : AllPasts()) {
      SetPast(be, past, xids, row.t_self, tuple);
      // The second look meets the hints of the first.
      for (int look = 0; look < 2; ++look) {
        auto visible =
            HeapTupleSatisfiesMVCC(be, tuple, snapshot, buffer.get());
        ASSERT_TRUE(visible.ok()) << past.Text();
        EXPECT_EQ(*visible, ExpectedMvcc(past)) << past.Text();
        ExpectHonestHints(past, tuple->t_infomask);
      }
      SetPast(be, past, xids, row.t_self, tuple);
      for (int look = 0; look < 2; ++look) {
        auto result = HeapTupleSatisfiesUpdate(be, tuple, kCurcid, buffer.get(),
                                               row.t_self);
        ASSERT_TRUE(result.ok()) << past.Text();
        EXPECT_EQ(*result, ExpectedUpdate(past)) << past.Text();
        ExpectHonestHints(past, tuple->t_infomask);
      }
      ++cases;
    }
    // Leave the row as it was inserted.
    SetPast(be, {Fate::kOwn, 0, false, false, Fate::kOwn, 0, false}, xids,
            row.t_self, tuple);
  });
  EXPECT_GT(cases, 200);
}

TEST(Visibility, MultiXactsAreReportedAsDamage) {
  RelationData rel = HeapTestNode::MakeRelation();
  FateNode node([&](Backend& be, const SnapshotData& snapshot,
                    const TransactionId* xids) {
    HeapTuple row = HeapTestNode::MakeRow(1, 1, "x");
    ASSERT_TRUE(HeapInsert(be, rel, &row, 0).ok());
    BufferGuard buffer(be, *ReadBuffer(be, rel.rd_node, 0));
    buffer.Lock(BufferLockMode::kExclusive);
    auto* tuple = reinterpret_cast<HeapTupleHeaderData*>(
        PageGetItem(buffer.page(), PageGetItemId(buffer.page(), 1)));
    SetPast(be,
            {Fate::kCommittedBefore, 0, true, false, Fate::kRunning, 0, false},
            xids, row.t_self, tuple);
    tuple->t_infomask |= HEAP_XMAX_IS_MULTI;
    EXPECT_FALSE(
        HeapTupleSatisfiesMVCC(be, tuple, snapshot, buffer.get()).ok());
    EXPECT_FALSE(
        HeapTupleSatisfiesUpdate(be, tuple, kCurcid, buffer.get(), row.t_self)
            .ok());
  });
}

TEST(HintBits, CommitThatIsNotFlushedLeavesNone) {
  RelationData rel = HeapTestNode::MakeRelation();
  HeapTestNode node{HeapTestOptions()};
  auto infomask = [&](Backend& be) {
    EXPECT_EQ(HeapTestNode::Select(be, rel).size(), 1u);
    BufferGuard buffer(be, *ReadBuffer(be, rel.rd_node, 0));
    return reinterpret_cast<HeapTupleHeaderData*>(
               PageGetItem(buffer.page(), PageGetItemId(buffer.page(), 1)))
        ->t_infomask;
  };
  node.RunToEnd({[&](Backend& be) {
    StartTransaction(be, IsolationLevel::kReadCommitted);
    SetSynchronousCommit(be, false);
    HeapTuple row = HeapTestNode::MakeRow(1, 1, "x");
    ASSERT_TRUE(HeapInsert(be, rel, &row, GetCurrentCommandId(be, true)).ok());
    ASSERT_TRUE(CommitTransaction(be).ok());
    ASSERT_TRUE(XLogNeedsFlush(be, LastCommitLSN(be)));

    StartTransaction(be, IsolationLevel::kReadCommitted);
    EXPECT_EQ(infomask(be) & HEAP_XMIN_FROZEN, 0);
    XLogFlush(be, LastCommitLSN(be));
    EXPECT_EQ(infomask(be) & HEAP_XMIN_FROZEN, HEAP_XMIN_COMMITTED);
    ASSERT_TRUE(CommitTransaction(be).ok());
  }});
}

TEST(ComboCid, PairsLastUntilTheTransactionEnds) {
  HeapTestNode node{HeapTestOptions()};
  node.RunToEnd({[](Backend& be) {
    for (int round = 0; round < 2; ++round) {
      StartTransaction(be, IsolationLevel::kReadCommitted);
      HeapTupleHeaderData tuple = {};
      tuple.t_xmin = Xid(be);
      for (CommandId cmin = 0; cmin < 4; ++cmin) {
        for (CommandId cmax = cmin; cmax < 4; ++cmax) {
          HeapTupleHeaderSetCid(&tuple, cmin, false);
          TupleCmax combo = HeapTupleHeaderAdjustCmax(be, tuple, cmax);
          ASSERT_TRUE(combo.is_combo);
          HeapTupleHeaderSetCid(&tuple, combo.cid, true);
          EXPECT_EQ(HeapTupleHeaderGetCmin(be, tuple), cmin);
          EXPECT_EQ(HeapTupleHeaderGetCmax(be, tuple), cmax);
          // A second delete of the same tuple starts from the pair.
          TupleCmax again = HeapTupleHeaderAdjustCmax(be, tuple, cmax);
          EXPECT_EQ(again.cid, combo.cid);
        }
      }
      // Not this transaction's insertion: no pair needed.
      tuple.t_xmin = kFrozenTransactionId;
      EXPECT_FALSE(HeapTupleHeaderAdjustCmax(be, tuple, 3).is_combo);
      tuple.t_infomask |= HEAP_COMBOCID;
      tuple.t_cid = 1000;  // never handed out
      EXPECT_EQ(HeapTupleHeaderGetCmin(be, tuple), kInvalidCommandId);
      AbortTransaction(be);
    }
  }});
}

}  // namespace
}  // namespace engine
