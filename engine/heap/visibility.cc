#include "engine/heap/visibility.h"

#include "engine/common/errcodes.h"
#include "engine/common/sites.h"
#include "engine/heap/combocid.h"
#include "engine/txn/clog.h"
#include "engine/txn/procarray.h"
#include "engine/txn/xact.h"
#include "engine/wal/xlog.h"
#include "sim/env/race.h"

namespace engine {
namespace {

// Sets hint bits. commit_lsn: for a commit, what must be durable before the
// page may say so; a page that is itself younger cannot reach the disk first.
void SetHintBits(Backend& be, HeapTupleHeaderData* tuple, Buffer buffer,
                 uint16_t bits, XLogRecPtr commit_lsn) {
  if (commit_lsn != kInvalidXLogRecPtr && !PLANTED(hint_bit_before_flush) &&
      BufferGetLSNAtomic(be, buffer) < commit_lsn &&
      XLogNeedsFlush(be, commit_lsn)) {
    return;
  }
  {
    env::UnlockedAccess unlocked(
        "under a share lock, as others look: the bits say what they can find "
        "out themselves");
    tuple->t_infomask |= bits;
  }
  MarkBufferDirtyHint(be, buffer);
}

Status MultiXactError(TransactionId xmax) {
  return SqlError(ERRCODE_DATA_CORRUPTED,
                  "MultiXactId {} has not been created yet", xmax);
}

// Whether a transaction that no longer runs committed. Sets the matching hint.
Result<bool> SettleXid(Backend& be, HeapTupleHeaderData* tuple, Buffer buffer,
                       TransactionId xid, uint16_t if_committed,
                       uint16_t if_aborted) {
  XLogRecPtr commit_lsn = kInvalidXLogRecPtr;
  ASSIGN_OR_RETURN(XidStatus status,
                   TransactionIdGetStatus(be, xid, &commit_lsn));
  bool committed = status == XidStatus::kCommitted;
  if (committed) {
    SetHintBits(be, tuple, buffer, if_committed, commit_lsn);
  } else {
    // Aborted, or ended in a crash without a record: never flushed, no matter.
    SetHintBits(be, tuple, buffer, if_aborted, kInvalidXLogRecPtr);
  }
  return committed;
}

// The tuple is this transaction's own; is it visible as of command curcid?
Result<bool> OwnTupleVisible(Backend& be, HeapTupleHeaderData* tuple,
                             CommandId curcid, Buffer buffer) {
  if (HeapTupleHeaderGetCmin(be, *tuple) >= curcid) return false;
  uint16_t infomask = tuple->t_infomask;
  if ((infomask & HEAP_XMAX_INVALID) != 0) return true;
  if (HEAP_XMAX_IS_LOCKED_ONLY(infomask)) return true;
  if ((infomask & HEAP_XMAX_IS_MULTI) != 0) {
    return MultiXactError(tuple->t_xmax);
  }
  if (!TransactionIdIsCurrentTransactionId(be, tuple->t_xmax)) {
    // Nobody else could have seen it.
    SetHintBits(be, tuple, buffer, HEAP_XMAX_INVALID, kInvalidXLogRecPtr);
    return true;
  }
  return HeapTupleHeaderGetCmax(be, *tuple) >= curcid;
}

// Whether the snapshot sees the tuple's insertion by another transaction.
Result<bool> XminVisible(Backend& be, HeapTupleHeaderData* tuple,
                         const SnapshotData& snapshot, Buffer buffer) {
  if (HeapTupleHeaderXminFrozen(*tuple)) return true;
  if (XidInMVCCSnapshot(tuple->t_xmin, snapshot)) return false;
  if (HeapTupleHeaderXminCommitted(*tuple)) return true;
  return SettleXid(be, tuple, buffer, tuple->t_xmin, HEAP_XMIN_COMMITTED,
                   HEAP_XMIN_INVALID);
}

// Whether the snapshot sees the tuple's deletion.
Result<bool> XmaxVisible(Backend& be, HeapTupleHeaderData* tuple,
                         const SnapshotData& snapshot, Buffer buffer) {
  uint16_t infomask = tuple->t_infomask;
  if ((infomask & HEAP_XMAX_INVALID) != 0) return false;
  if (HEAP_XMAX_IS_LOCKED_ONLY(infomask)) return false;
  TransactionId xmax = tuple->t_xmax;
  if ((infomask & HEAP_XMAX_IS_MULTI) != 0) return MultiXactError(xmax);
  if (TransactionIdIsCurrentTransactionId(be, xmax)) {
    return HeapTupleHeaderGetCmax(be, *tuple) < snapshot.curcid;
  }
  if (XidInMVCCSnapshot(xmax, snapshot)) return false;
  if ((infomask & HEAP_XMAX_COMMITTED) != 0) return true;
  return SettleXid(be, tuple, buffer, xmax, HEAP_XMAX_COMMITTED,
                   HEAP_XMAX_INVALID);
}

// Changed or locked and committed: gone, replaced, or free again.
TmResult CommittedXmaxResult(const HeapTupleHeaderData& tuple,
                             ItemPointerData self) {
  if (HEAP_XMAX_IS_LOCKED_ONLY(tuple.t_infomask)) return TmResult::kOk;
  return tuple.t_ctid == self ? TmResult::kDeleted : TmResult::kUpdated;
}

TmResult OwnXmaxResult(Backend& be, const HeapTupleHeaderData& tuple,
                       CommandId curcid) {
  if (HEAP_XMAX_IS_LOCKED_ONLY(tuple.t_infomask)) {
    return TmResult::kBeingModified;
  }
  return HeapTupleHeaderGetCmax(be, tuple) >= curcid ? TmResult::kSelfModified
                                                     : TmResult::kInvisible;
}

// Whether another transaction still runs. The array decides, not the commit
// log: a transaction is committed there before snapshots show it.
Result<bool> StillRuns(Backend& be, TransactionId xid) {
  if (PLANTED(commit_status_asked_first)) {
    ASSIGN_OR_RETURN(bool committed, TransactionIdDidCommit(be, xid));
    if (committed) return false;
  }
  return TransactionIdIsInProgress(be, xid);
}

// kOk if the insertion is settled and seen, so that xmax decides.
Result<TmResult> XminForUpdate(Backend& be, HeapTupleHeaderData* tuple,
                               CommandId curcid, Buffer buffer) {
  if (HeapTupleHeaderXminCommitted(*tuple)) return TmResult::kOk;
  if (HeapTupleHeaderXminInvalid(*tuple)) return TmResult::kInvisible;
  TransactionId xmin = tuple->t_xmin;
  if (TransactionIdIsCurrentTransactionId(be, xmin)) {
    return HeapTupleHeaderGetCmin(be, *tuple) >= curcid ? TmResult::kInvisible
                                                        : TmResult::kOk;
  }
  ASSIGN_OR_RETURN(bool runs, StillRuns(be, xmin));
  if (runs) return TmResult::kInvisible;
  ASSIGN_OR_RETURN(bool committed,
                   SettleXid(be, tuple, buffer, xmin, HEAP_XMIN_COMMITTED,
                             HEAP_XMIN_INVALID));
  return committed ? TmResult::kOk : TmResult::kInvisible;
}

}  // namespace

Result<bool> HeapTupleSatisfiesMVCC(Backend& be, HeapTupleHeaderData* tuple,
                                    const SnapshotData& snapshot,
                                    Buffer buffer) {
  if (!HeapTupleHeaderXminCommitted(*tuple)) {
    if (HeapTupleHeaderXminInvalid(*tuple)) return false;
    if (TransactionIdIsCurrentTransactionId(be, tuple->t_xmin)) {
      return OwnTupleVisible(be, tuple, snapshot.curcid, buffer);
    }
  }
  ASSIGN_OR_RETURN(bool inserted, XminVisible(be, tuple, snapshot, buffer));
  if (!inserted) return false;
  ASSIGN_OR_RETURN(bool deleted, XmaxVisible(be, tuple, snapshot, buffer));
  return !deleted;
}

Result<TmResult> HeapTupleSatisfiesUpdate(Backend& be,
                                          HeapTupleHeaderData* tuple,
                                          CommandId curcid, Buffer buffer,
                                          ItemPointerData self) {
  ASSIGN_OR_RETURN(TmResult inserted, XminForUpdate(be, tuple, curcid, buffer));
  if (inserted != TmResult::kOk) return inserted;
  uint16_t infomask = tuple->t_infomask;
  if ((infomask & HEAP_XMAX_INVALID) != 0) return TmResult::kOk;
  if ((infomask & HEAP_XMAX_COMMITTED) != 0) {
    return CommittedXmaxResult(*tuple, self);
  }
  TransactionId xmax = tuple->t_xmax;
  if ((infomask & HEAP_XMAX_IS_MULTI) != 0) return MultiXactError(xmax);
  if (TransactionIdIsCurrentTransactionId(be, xmax)) {
    return OwnXmaxResult(be, *tuple, curcid);
  }
  ASSIGN_OR_RETURN(bool runs, StillRuns(be, xmax));
  if (runs) return TmResult::kBeingModified;
  if (HEAP_XMAX_IS_LOCKED_ONLY(infomask)) {
    SetHintBits(be, tuple, buffer, HEAP_XMAX_INVALID, kInvalidXLogRecPtr);
    return TmResult::kOk;
  }
  ASSIGN_OR_RETURN(bool committed,
                   SettleXid(be, tuple, buffer, xmax, HEAP_XMAX_COMMITTED,
                             HEAP_XMAX_INVALID));
  return committed ? CommittedXmaxResult(*tuple, self) : TmResult::kOk;
}

}  // namespace engine
