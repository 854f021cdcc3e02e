#include "engine/txn/varsup.h"

#include "engine/common/sites.h"
#include "engine/ipc/proc.h"
#include "engine/txn/clog.h"
#include "engine/txn/txn_shared.h"
#include "engine/wal/xlog_redo.h"
#include "sim/env/race.h"

namespace engine {
namespace {

// Object ids that one XLOG_NEXTOID record covers.
constexpr uint32_t VAR_OID_PREFETCH = 8192;

// The next full xid, skipping the permanent ones after a wraparound.
uint64_t FullTransactionIdNext(uint64_t full) {
  ++full;
  while (!TransactionIdIsNormal(static_cast<TransactionId>(full))) ++full;
  return full;
}

}  // namespace

Result<TransactionId> GetNewTransactionId(Backend& be) {
  ProcGlobal& procs = Procs(be);
  LWLockGuard lock(be, procs.xid_gen_lock, LWLockMode::kExclusive);
  TxnShared& txn = SharedTxn(be);
  auto xid = static_cast<TransactionId>(txn.next_full_xid);
  // Before the counter moves: if this fails the next caller tries again.
  RETURN_IF_ERROR(ExtendCLOG(be, xid));
  txn.next_full_xid = FullTransactionIdNext(txn.next_full_xid);
  if (PLANTED(xid_advertised_late)) {
    lock.Release();
    YIELD_POINT(xid_not_advertised);
  }
  // Advertised before the lock is released, so that a snapshot that has a
  // later xmax cannot miss it.
  {
    env::UnlockedAccess unlocked(
        "one word, and whoever looks under ProcArrayLock fetches it once: a "
        "snapshot that misses it has an xmax at or below it");
    MyProc(be).xid = xid;
  }
  be.env->events->Emit(env::EventKind::kXidAssigned, xid, xid);
  lock.Release();
  YIELD_POINT(xid_assigned);
  return xid;
}

uint64_t ReadNextFullTransactionId(Backend& be) {
  LWLockMoment xid_gen_lock(Procs(be).xid_gen_lock, LWLockMode::kShared);
  return SharedTxn(be).next_full_xid;
}

TransactionId ReadNextTransactionId(Backend& be) {
  return static_cast<TransactionId>(ReadNextFullTransactionId(be));
}

void AdvanceNextTransactionIdPastXid(Backend& be, TransactionId xid) {
  TxnShared& txn = SharedTxn(be);
  auto next = static_cast<TransactionId>(txn.next_full_xid);
  if (!TransactionIdIsNormal(xid) || TransactionIdPrecedes(xid, next)) return;
  uint64_t epoch = txn.next_full_xid >> 32;
  if (xid < next) ++epoch;  // later modulo 2^32, smaller as a number
  txn.next_full_xid = FullTransactionIdNext((epoch << 32) | xid);
}

void LeaveXidsOnCLOGPage(Backend& be, uint32_t xids) {
  SIM_CHECK(xids > 0 && xids < CLOG_XACTS_PER_PAGE / 2);
  TransactionId next = ReadNextTransactionId(be);
  TransactionId page = next - next % CLOG_XACTS_PER_PAGE;
  AdvanceNextTransactionIdPastXid(be, page + CLOG_XACTS_PER_PAGE - xids - 1);
}

Result<Oid> GetNewObjectId(Backend& be) {
  LWLockGuard lock(be, Procs(be).oid_gen_lock, LWLockMode::kExclusive);
  TxnShared& txn = SharedTxn(be);
  if (txn.next_oid < kFirstNormalObjectId) {
    // Wrapped around (or never set): ids below are the catalogs'.
    txn.next_oid = kFirstNormalObjectId;
    txn.oid_count = 0;
  }
  if (txn.oid_count == 0) {
    CriticalSection crit(be);
    XLogPutNextOid(be, txn.next_oid + VAR_OID_PREFETCH);
    txn.oid_count = VAR_OID_PREFETCH;
  }
  --txn.oid_count;
  return txn.next_oid++;
}

void SetNextObjectId(Backend& be, Oid next_oid) {
  TxnShared& txn = SharedTxn(be);
  txn.next_oid = next_oid;
  txn.oid_count = 0;
}

}  // namespace engine
