#include "engine/txn/xact.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/buffer/bufmgr.h"
#include "engine/common/sites.h"
#include "engine/ipc/proc.h"
#include "engine/smgr/smgr.h"
#include "engine/txn/clog.h"
#include "engine/txn/procarray.h"
#include "engine/txn/txn_shared.h"
#include "engine/txn/varsup.h"
#include "engine/txn/xact_xlog.h"
#include "engine/wal/rmgr.h"
#include "engine/wal/xlog.h"
#include "engine/wal/xloginsert.h"

namespace engine {
namespace {

struct PendingDelete {
  RelFileNode rnode;
  bool at_commit;
};

// One backend's transaction.
struct TransactionState {
  bool running = false;
  IsolationLevel level = IsolationLevel::kReadCommitted;
  bool synchronous_commit = true;
  TransactionId xid = kInvalidTransactionId;
  CommandId command_id = kFirstCommandId;
  bool command_id_used = false;
  TimestampTz start_timestamp = 0;
  // The first snapshot, which repeatable read keeps.
  std::optional<SnapshotData> first_snapshot;
  std::vector<std::function<void(Backend&, bool)>> callbacks;
  std::vector<PendingDelete> pending_deletes;
};

class TxnLocal : public LayerState {
 public:
  TransactionState current;
  uint32_t next_lxid = 0;
  XLogRecPtr last_commit_lsn = kInvalidXLogRecPtr;
  TransactionId last_commit_xid = kInvalidTransactionId;
};

TxnLocal& LocalTxn(Backend& be) { return be.local.Get<TxnLocal>(Layer::kTxn); }
TransactionState& Xact(Backend& be) { return LocalTxn(be).current; }

std::vector<RelFileNode> FilesToDrop(Backend& be, bool committed) {
  std::vector<RelFileNode> files;
  for (const PendingDelete& pending : Xact(be).pending_deletes) {
    if (pending.at_commit == committed) files.push_back(pending.rnode);
  }
  return files;
}

// The transaction has ended; what fails here leaves files behind, no more.
void DropFiles(Backend& be, const std::vector<RelFileNode>& files) {
  for (const RelFileNode& rnode : files) {
    DropRelationAllBuffers(be, rnode);
    (void)SmgrUnlink(be, rnode, false).ok();
  }
}

XLogRecPtr InsertXactRecord(Backend& be, uint8_t op,
                            const std::vector<RelFileNode>& files) {
  uint8_t info = 0;
  std::string data =
      BuildXactRecord(op, be.env->clock->WallMicros(), files, &info);
  XLogInsertion record(be);
  record.RegisterData(data.data(), data.size());
  return record.Insert(RM_XACT_ID, info);
}

void RunCallbacks(Backend& be, bool committed) {
  // By index: a callback may register for what it does itself.
  for (size_t i = 0; i < Xact(be).callbacks.size(); ++i) {
    auto callback = Xact(be).callbacks[i];
    callback(be, committed);
  }
}

// Common end: the clog knows; now everyone may, and the backend forgets.
void EndTransaction(Backend& be, bool committed) {
  std::vector<RelFileNode> files = FilesToDrop(be, committed);
  RunCallbacks(be, committed);
  ProcArrayEndTransaction(be, committed);
  if (committed && TransactionIdIsValid(Xact(be).xid)) {
    INJECTION_POINT(commit_visible);
  }
  SetXLogXid(be, kInvalidTransactionId);
  DropFiles(be, files);
  Xact(be) = TransactionState();
}

// Until the clog is set a checkpoint waits for this transaction.
env::Access NextOfCommit(const PGPROC& me) {
  return env::Access::Of(&me.delayChkptFlags, true,
                         env::AccessGroup::kSessions);
}

// Writes the commit record and marks the clog. No error may leave it: from the
// record on the transaction is committed for whoever recovers.
void RecordTransactionCommit(Backend& be) {
  TransactionState& xact = Xact(be);
  std::vector<RelFileNode> files = FilesToDrop(be, true);
  // Files go away at once, so the record must be durable first.
  bool sync = xact.synchronous_commit || !files.empty();
  CriticalSection crit(be);
  PGPROC& me = MyProc(be);
  // A checkpoint whose redo pointer is after the record must find the clog
  // set: it waits for this flag before it writes the clog.
  if (!PLANTED(delay_chkpt_not_set)) me.delayChkptFlags |= DELAY_CHKPT_START;
  XLogRecPtr lsn = InsertXactRecord(be, XLOG_XACT_COMMIT, files);
  LocalTxn(be).last_commit_lsn = lsn;
  LocalTxn(be).last_commit_xid = xact.xid;
  be.env->events->Emit(env::EventKind::kCommitRecord, xact.xid, lsn, sync);
  INJECTION_POINT_BEFORE(commit_record_written, NextOfCommit(me));
  if (PLANTED(visible_before_flush)) {
    PanicIfError(
        be, TransactionIdSetStatus(be, xact.xid, XidStatus::kCommitted, lsn));
    ProcArrayEndTransaction(be, true);
  }
  if (!sync) {
    XLogSetAsyncXactLSN(be, lsn);
  } else if (!PLANTED(commit_acked_before_flush)) {
    XLogFlush(be, lsn);
  }
  INJECTION_POINT_BEFORE(commit_record_flushed, NextOfCommit(me));
  PanicIfError(be, TransactionIdSetStatus(be, xact.xid, XidStatus::kCommitted,
                                          sync ? kInvalidXLogRecPtr : lsn));
  me.delayChkptFlags &= static_cast<uint8_t>(~DELAY_CHKPT_START);
}

void RecordTransactionAbort(Backend& be) {
  TransactionState& xact = Xact(be);
  std::vector<RelFileNode> files = FilesToDrop(be, false);
  CriticalSection crit(be);
  XLogRecPtr lsn = InsertXactRecord(be, XLOG_XACT_ABORT, files);
  be.env->events->Emit(env::EventKind::kAbort, xact.xid);
  INJECTION_POINT(abort_record_written);
  // Not flushed: a crash that loses it aborts the transaction anyway. But where
  // records have no page images, redo that meets the files gone and not this
  // record takes their pages for lost. PostgreSQL does not flush then, either.
  if (!files.empty() && !be.config().full_page_writes) XLogFlush(be, lsn);
  XLogSetAsyncXactLSN(be, lsn);
  PanicIfError(be, TransactionIdSetStatus(be, xact.xid, XidStatus::kAborted,
                                          kInvalidXLogRecPtr));
}

}  // namespace

void TxnShmemInit(SharedMemory& shared) {
  shared.slots.Set(Layer::kTxn, std::make_unique<TxnShared>(shared.config));
}

void TxnInit(Backend& be) {
  be.local.Set(Layer::kTxn, std::make_unique<TxnLocal>());
}

void StartTransaction(Backend& be, IsolationLevel level) {
  TransactionState& xact = Xact(be);
  SIM_CHECK(!xact.running);
  xact.running = true;
  xact.level = level;
  xact.synchronous_commit = be.config().synchronous_commit;
  xact.start_timestamp = be.env->clock->WallMicros();
  MyProc(be).lxid = ++LocalTxn(be).next_lxid;
}

Status CommitTransaction(Backend& be) {
  TransactionState& xact = Xact(be);
  SIM_CHECK(xact.running && be.crit_section_count == 0);
  if (TransactionIdIsValid(xact.xid)) {
    RecordTransactionCommit(be);
    INJECTION_POINT_BEFORE(commit_clog_set,
                           Procs(be).proc_array_lock.NextChanges());
  }
  EndTransaction(be, true);
  return {};
}

void AbortTransaction(Backend& be) {
  TransactionState& xact = Xact(be);
  SIM_CHECK(xact.running && be.crit_section_count == 0);
  // What the failed statement held, so that nothing below waits for itself.
  LWLockReleaseAll(be);
  ReleaseAllBuffers(be);
  SetWaitingForXid(be, kInvalidTransactionId);
  if (!TransactionIdIsValid(xact.xid)) {
    // An xid that was assigned but never reached this backend's state would
    // stay in the ProcArray for good.
    SIM_CHECK(!TransactionIdIsValid(MyProc(be).xid));
  } else {
    RecordTransactionAbort(be);
  }
  EndTransaction(be, false);
}

bool InTransaction(Backend& be) { return Xact(be).running; }

IsolationLevel CurrentIsolationLevel(Backend& be) { return Xact(be).level; }

void SetCurrentIsolationLevel(Backend& be, IsolationLevel level) {
  Xact(be).level = level;
}

void SetSynchronousCommit(Backend& be, bool on) {
  Xact(be).synchronous_commit = on;
}

Result<TransactionId> GetCurrentTransactionId(Backend& be) {
  TransactionState& xact = Xact(be);
  SIM_CHECK(xact.running);
  if (!TransactionIdIsValid(xact.xid)) {
    ASSIGN_OR_RETURN(xact.xid, GetNewTransactionId(be));
    SetXLogXid(be, xact.xid);
  }
  return xact.xid;
}

TransactionId GetCurrentTransactionIdIfAny(Backend& be) { return Xact(be).xid; }

bool TransactionIdIsCurrentTransactionId(Backend& be, TransactionId xid) {
  return TransactionIdIsValid(xid) && xid == Xact(be).xid;
}

CommandId GetCurrentCommandId(Backend& be, bool used) {
  TransactionState& xact = Xact(be);
  if (used) xact.command_id_used = true;
  return xact.command_id;
}

void CommandCounterIncrement(Backend& be) {
  TransactionState& xact = Xact(be);
  if (!xact.command_id_used) return;
  ++xact.command_id;
  SIM_CHECK(xact.command_id != kInvalidCommandId);
  xact.command_id_used = false;
  be.env->events->Emit(env::EventKind::kCommand, xact.xid, xact.command_id);
}

TimestampTz GetCurrentTransactionStartTimestamp(Backend& be) {
  return Xact(be).start_timestamp;
}

SnapshotData GetTransactionSnapshot(Backend& be) {
  TransactionState& xact = Xact(be);
  SIM_CHECK(xact.running);
  if (xact.level == IsolationLevel::kReadCommitted) {
    return GetSnapshotData(be, xact.command_id, SnapshotUse::kStatement);
  }
  if (!xact.first_snapshot.has_value()) {
    xact.first_snapshot =
        GetSnapshotData(be, xact.command_id, SnapshotUse::kStatement);
  }
  xact.first_snapshot->curcid = xact.command_id;
  return *xact.first_snapshot;
}

SnapshotData GetLatestSnapshot(Backend& be) {
  return GetSnapshotData(be, Xact(be).command_id, SnapshotUse::kCatalog);
}

void ReleaseStatementSnapshot(Backend& be) {
  if (Xact(be).first_snapshot.has_value()) return;
  MyProc(be).xmin = kInvalidTransactionId;
}

XLogRecPtr LastCommitLSN(Backend& be) { return LocalTxn(be).last_commit_lsn; }

TransactionId LastCommitXid(Backend& be) {
  return LocalTxn(be).last_commit_xid;
}

void RegisterXactCallback(Backend& be,
                          std::function<void(Backend&, bool committed)> f) {
  SIM_CHECK(Xact(be).running);
  Xact(be).callbacks.push_back(std::move(f));
}

void RegisterPendingDelete(Backend& be, const RelFileNode& rnode,
                           bool at_commit) {
  SIM_CHECK(TransactionIdIsValid(Xact(be).xid));
  Xact(be).pending_deletes.push_back({rnode, at_commit});
}

}  // namespace engine
