#include "engine/txn/procarray.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/common/sites.h"
#include "engine/ipc/proc.h"
#include "engine/txn/txn_shared.h"
#include "engine/txn/varsup.h"
#include "sim/env/race.h"

namespace engine {
namespace {

// Requires: ProcArrayLock.
TransactionId XmaxOfNow(Backend& be) {
  return TransactionIdNext(SharedTxn(be).latest_completed_xid);
}

TransactionId Older(TransactionId a, TransactionId b) {
  return TransactionIdIsValid(b) && TransactionIdPrecedes(b, a) ? b : a;
}

void EmitSnapshot(Backend& be, const SnapshotData& snapshot, SnapshotUse use) {
  env::Event event;
  event.kind = env::EventKind::kSnapshot;
  event.a[0] = snapshot.xmin;
  event.a[1] = snapshot.xmax;
  event.a[2] = snapshot.curcid;
  event.a[3] = snapshot.xip.size();
  event.a[4] = use == SnapshotUse::kStatement ? 1 : 0;
  event.bytes = {reinterpret_cast<const char*>(snapshot.xip.data()),
                 snapshot.xip.size() * sizeof(TransactionId)};
  be.env->events->Emit(event);
}

}  // namespace

SnapshotData GetSnapshotData(Backend& be, CommandId curcid, SnapshotUse use) {
  ProcGlobal& global = Procs(be);
  bool early = PLANTED(snapshot_xmax_without_lock);
  TransactionId early_xmax = early ? XmaxOfNow(be) : kInvalidTransactionId;
  if (early)
    YIELD_POINT_BEFORE(snapshot_xmax_read, global.proc_array_lock.NextReads());
  LWLockGuard lock(be, global.proc_array_lock, LWLockMode::kShared);
  SnapshotData snapshot;
  snapshot.curcid = curcid;
  snapshot.xmax = early ? early_xmax : XmaxOfNow(be);
  PGPROC& me = MyProc(be);
  snapshot.xmin = Older(snapshot.xmax, me.xid);
  for (const PGPROC& proc : global.procs) {
    if (&proc == &me || !TransactionIdIsNormal(proc.xid)) continue;
    if (!TransactionIdPrecedes(proc.xid, snapshot.xmax)) continue;
    snapshot.xip.push_back(proc.xid);
    snapshot.xmin = Older(snapshot.xmin, proc.xid);
    // Where nobody needs the lock to leave, the others go on meanwhile.
    if (PLANTED(xid_cleared_without_lock)) YIELD_POINT(snapshot_xid_read);
  }
  std::sort(snapshot.xip.begin(), snapshot.xip.end());
  if (!TransactionIdIsValid(me.xmin)) me.xmin = snapshot.xmin;
  EmitSnapshot(be, snapshot, use);
  return snapshot;
}

bool TransactionIdIsInProgress(Backend& be, TransactionId xid) {
  return TransactionIdIsNormal(xid) && ProcOfXid(be, xid) >= 0;
}

int ProcOfXid(Backend& be, TransactionId xid) {
  const std::vector<PGPROC>& procs = Procs(be).procs;
  LWLockMoment proc_array_lock(Procs(be).proc_array_lock, LWLockMode::kShared);
  for (size_t i = 0; i < procs.size(); ++i) {
    if (procs[i].xid == xid) return static_cast<int>(i);
  }
  return -1;
}

void ProcArrayEndTransaction(Backend& be, bool committed) {
  PGPROC& me = MyProc(be);
  if (!TransactionIdIsValid(me.xid)) {
    // Nobody can wait for a transaction without an xid.
    me.xmin = kInvalidTransactionId;
    return;
  }
  std::optional<LWLockGuard> lock;
  if (!PLANTED(xid_cleared_without_lock)) {
    lock.emplace(be, Procs(be).proc_array_lock, LWLockMode::kExclusive);
  }
  TransactionId xid = std::exchange(me.xid, kInvalidTransactionId);
  me.xmin = kInvalidTransactionId;
  TransactionId& latest = SharedTxn(be).latest_completed_xid;
  if (TransactionIdPrecedes(latest, xid)) latest = xid;
  if (committed) be.env->events->Emit(env::EventKind::kVisible, xid);
  ConditionVariableBroadcast(be, me.xact_end);
}

TransactionId GetOldestNonRemovableTransactionId(Backend& be) {
  LWLockMoment proc_array_lock(Procs(be).proc_array_lock, LWLockMode::kShared);
  TransactionId oldest = XmaxOfNow(be);
  for (const PGPROC& proc : Procs(be).procs) {
    TransactionId xmin = env::UnlockedRead(
        proc.xmin,
        "its owner sets it under a share lock to a value that this "
        "scan may miss, and takes it back without one");
    oldest = Older(Older(oldest, proc.xid), xmin);
  }
  return oldest;
}

TransactionId GetOldestActiveTransactionId(Backend& be) {
  TransactionId oldest = ReadNextTransactionId(be);
  LWLockMoment proc_array_lock(Procs(be).proc_array_lock, LWLockMode::kShared);
  for (const PGPROC& proc : Procs(be).procs) oldest = Older(oldest, proc.xid);
  return oldest;
}

}  // namespace engine
