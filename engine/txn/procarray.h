// ProcArray: which transactions run now.
// Source: src/backend/storage/ipc/procarray.c.
#ifndef MUSTH_ENGINE_TXN_PROCARRAY_H_
#define MUSTH_ENGINE_TXN_PROCARRAY_H_

#include "engine/common/backend.h"
#include "engine/txn/snapshot.h"

namespace engine {

// Whose reads a snapshot serves; told in kSnapshot.
enum class SnapshotUse : uint8_t { kCatalog, kStatement };

// Takes a snapshot and advertises its xmin in this backend's PGPROC if none is
// advertised yet. Emits kSnapshot in the moment in which it is taken.
// Suspends: yes (ProcArrayLock shared).
SnapshotData GetSnapshotData(Backend& be, CommandId curcid, SnapshotUse use);

// True if xid belongs to a running transaction of any backend, this one
// included. Suspends: no.
bool TransactionIdIsInProgress(Backend& be, TransactionId xid);

// Index of the PGPROC that runs xid, or -1. Requires: xid is normal.
// Suspends: no.
int ProcOfXid(Backend& be, TransactionId xid);

// Publishes the end of this backend's transaction: removes its xid (after the
// clog says how it ended), advances latestCompletedXid, wakes waiters. Emits
// kVisible for commits. Suspends: yes (ProcArrayLock exclusive).
void ProcArrayEndTransaction(Backend& be, bool committed);

// Oldest xid that any snapshot may still need; tuples deleted before it are
// dead to all. Suspends: no.
TransactionId GetOldestNonRemovableTransactionId(Backend& be);
// Oldest running xid, or nextXid (for checkpoints). Suspends: no.
TransactionId GetOldestActiveTransactionId(Backend& be);

}  // namespace engine

#endif  // MUSTH_ENGINE_TXN_PROCARRAY_H_
