// Transactions of one backend: start, commit, abort, command ids.
//
// Commit order: commit record inserted (under DELAY_CHKPT_START), flushed
// unless synchronous_commit is off, clog set, removed from the ProcArray. A
// transaction is visible to others only after that; the client is told after
// that. Source: src/backend/access/transam/xact.c.
#ifndef MUSTH_ENGINE_TXN_XACT_H_
#define MUSTH_ENGINE_TXN_XACT_H_

#include <functional>
#include <memory>

#include "engine/common/backend.h"
#include "engine/txn/snapshot.h"
#include "engine/wal/checkpoint.h"
#include "engine/wal/xlogreader.h"

namespace engine {

enum class IsolationLevel : uint8_t { kReadCommitted, kRepeatableRead };

// Shared state of the layer (clog, xid counters, procarray bounds).
void TxnShmemInit(SharedMemory& shared);
// This backend's transaction state.
void TxnInit(Backend& be);
// The layer's part in checkpoints and start-up.
std::unique_ptr<CheckpointClient> MakeTxnCheckpointClient();

// Requires: no transaction. Suspends: no.
void StartTransaction(Backend& be, IsolationLevel level);
// Requires: a transaction. Returns after the commit is visible to others (and
// durable, if synchronous). Failures after the commit record are PANICs.
// Suspends: yes. WAL: XLOG_XACT_COMMIT if an xid was assigned.
Status CommitTransaction(Backend& be);
// Releases everything the transaction held. WAL: XLOG_XACT_ABORT (not
// flushed) if an xid was assigned. Suspends: yes.
void AbortTransaction(Backend& be);

bool InTransaction(Backend& be);
IsolationLevel CurrentIsolationLevel(Backend& be);
void SetCurrentIsolationLevel(Backend& be, IsolationLevel level);
// synchronous_commit of the running transaction.
void SetSynchronousCommit(Backend& be, bool on);

// The transaction's xid, assigned at the first call. Suspends: yes.
Result<TransactionId> GetCurrentTransactionId(Backend& be);
TransactionId GetCurrentTransactionIdIfAny(Backend& be);
bool TransactionIdIsCurrentTransactionId(Backend& be, TransactionId xid);

// The running command's id. used: the command changes something.
CommandId GetCurrentCommandId(Backend& be, bool used);
// Makes the previous command's changes visible to the next. Emits kCommand.
void CommandCounterIncrement(Backend& be);
TimestampTz GetCurrentTransactionStartTimestamp(Backend& be);

// The statement's snapshot: a new one for each statement under read committed,
// the transaction's first one under repeatable read; curcid is set afresh.
SnapshotData GetTransactionSnapshot(Backend& be);
// A fresh snapshot regardless of isolation level (catalogs).
SnapshotData GetLatestSnapshot(Backend& be);
// End of a statement: stops advertising its xmin where none is needed.
void ReleaseStatementSnapshot(Backend& be);

// End of the last commit record of this backend; 0 if it wrote none.
XLogRecPtr LastCommitLSN(Backend& be);
TransactionId LastCommitXid(Backend& be);

// Called once, when the running transaction ends, in registration order: after
// the clog says how it ended, before the ProcArray learns of it (for caches to
// reset). Register again in the next transaction. May suspend, may not fail.
void RegisterXactCallback(Backend& be,
                          std::function<void(Backend&, bool committed)> f);

// Removes the files of a relation when the transaction commits (DROP) or aborts
// (CREATE). The commit or abort record names them, so that redo removes them
// too; the commit is then always synchronous. Requires: an xid. Suspends: no.
void RegisterPendingDelete(Backend& be, const RelFileNode& rnode,
                           bool at_commit);

Status XactRedo(Backend& be, XLogReaderState& record);

}  // namespace engine

#endif  // MUSTH_ENGINE_TXN_XACT_H_
