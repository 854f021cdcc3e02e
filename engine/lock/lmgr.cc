#include "engine/lock/lmgr.h"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <string>

#include "engine/common/errcodes.h"
#include "engine/common/sites.h"
#include "engine/ipc/proc.h"
#include "engine/txn/procarray.h"
#include "engine/txn/xact.h"
#include "sim/env/race.h"

namespace engine {
namespace {

struct ExtensionLock {
  env::TaskId holder = env::kNoTask;
  std::deque<env::TaskId> queue;  // in order of arrival
};

class LockShared : public LayerState {
 public:
  // Only relations that someone is extending now.
  std::map<RelFileNode, ExtensionLock> extension;
};

LockShared& SharedLocks(Backend& be) {
  return be.shared->slots.Get<LockShared>(Layer::kLock);
}

// Says in the PGPROC what this backend waits for, as long as it lives.
class WaitAdvertisement {
 public:
  WaitAdvertisement(Backend& be, TransactionId xid) : be_(be) {
    SetWaitingForXid(be, xid);
  }
  ~WaitAdvertisement() {
    if (!be_.Killed()) SetWaitingForXid(be_, kInvalidTransactionId);
  }
  WaitAdvertisement(const WaitAdvertisement&) = delete;
  WaitAdvertisement& operator=(const WaitAdvertisement&) = delete;

 private:
  Backend& be_;
};

// How a wait began or ended, as kXactWait tells it.
enum class WaitPhase : uint8_t { kBegin, kEnd, kDeadlock };

void EmitXactWait(Backend& be, TransactionId xid, WaitPhase phase) {
  be.env->events->Emit(env::EventKind::kXactWait,
                       GetCurrentTransactionIdIfAny(be), xid,
                       static_cast<uint64_t>(phase));
}

// Follows the waits from this backend on. If they lead back to it, returns the
// DETAIL that describes the cycle, else nothing. Everyone waits for at most
// one transaction, so the wait-for graph is a set of chains.
std::string FindDeadlock(Backend& be) {
  const std::vector<PGPROC>& procs = Procs(be).procs;
  env::AtomicSection lock_hash_partition_lock(&procs);
  std::string detail;
  size_t waiter = static_cast<size_t>(be.proc_number);
  // A chain may end in a cycle that this backend is not on; no chain without
  // repetition is longer than the array.
  for (size_t steps = 0; steps < procs.size(); ++steps) {
    TransactionId awaited = procs[waiter].waiting_for_xid;
    if (!TransactionIdIsValid(awaited)) return {};
    int holder = ProcOfXid(be, awaited);
    if (holder < 0) return {};  // it has ended; its waiter is about to see it
    if (!detail.empty()) detail += '\n';
    detail += fmt::format(
        "Process {} waits for ShareLock on transaction {}; blocked by process "
        "{}.",
        procs[waiter].pid, awaited, procs[static_cast<size_t>(holder)].pid);
    if (holder == be.proc_number) return detail;
    waiter = static_cast<size_t>(holder);
  }
  return {};
}

// Takes the lock and returns true, or joins its queue.
bool TakeOrQueue(Backend& be, const RelFileNode& rnode) {
  std::map<RelFileNode, ExtensionLock>& locks = SharedLocks(be).extension;
  env::AtomicSection lock_hash_partition_lock(&locks);
  ExtensionLock& lock = locks[rnode];
  SIM_CHECK(lock.holder != be.pid);
  bool taken = lock.holder == env::kNoTask;
  if (taken) {
    lock.holder = be.pid;
  } else {
    lock.queue.push_back(be.pid);
  }
  return taken;
}

// Requires: queued, so that the lock exists.
bool HoldsExtensionLock(Backend& be, const RelFileNode& rnode) {
  std::map<RelFileNode, ExtensionLock>& locks = SharedLocks(be).extension;
  env::AtomicSection lock_hash_partition_lock(&locks);
  return locks[rnode].holder == be.pid;
}

}  // namespace

void LockShmemInit(SharedMemory& shared) {
  shared.slots.Set(Layer::kLock, std::make_unique<LockShared>());
}

Status XactLockTableWait(Backend& be, TransactionId xid) {
  SIM_CHECK(!TransactionIdIsCurrentTransactionId(be, xid));
  SIM_CHECK(LWLocksHeld(be) == 0);
  if (!TransactionIdIsInProgress(be, xid)) return {};
  WaitAdvertisement advertisement(be, xid);
  EmitXactWait(be, xid, WaitPhase::kBegin);
  // What follows looks whether it still runs.
  env::Access looks = Procs(be).proc_array_lock.NextReads();
  looks.group = env::AccessGroup::kLocks;
  YIELD_POINT_BEFORE(xact_wait, looks);
  env::TimeNs timeout = be.config().deadlock_timeout_ns;
  env::TimeNs deadline = be.env->clock->Now() + timeout;
  for (;;) {
    Status interrupted = CheckForInterrupts(be);
    int holder = ProcOfXid(be, xid);
    if (!interrupted.ok() || holder < 0) {
      EmitXactWait(be, xid, WaitPhase::kEnd);
      return interrupted;
    }
    ConditionVariable& ended =
        Procs(be).procs[static_cast<size_t>(holder)].xact_end;
    bool woken = ConditionVariableTimedSleep(be, ended, deadline);
    ConditionVariableCancelSleep(be, ended);
    if (woken || !TransactionIdIsInProgress(be, xid)) continue;
    std::string detail = FindDeadlock(be);
    if (!detail.empty()) {
      EmitXactWait(be, xid, WaitPhase::kDeadlock);
      return SqlError(ERRCODE_T_R_DEADLOCK_DETECTED, "deadlock detected")
          .WithDetail(std::move(detail))
          .WithHint("See server log for query details.");
    }
    if (PLANTED(deadlock_edge_not_advertised)) {
      MyProc(be).waiting_for_xid = kInvalidTransactionId;
    }
    deadline = be.env->clock->Now() + timeout;
  }
}

void LockRelationForExtension(Backend& be, const RelFileNode& rnode) {
  env::Access takes = env::Access::Of(&SharedLocks(be).extension, true,
                                      env::AccessGroup::kLocks);
  YIELD_POINT_BEFORE(extension_lock_wait, takes);
  if (TakeOrQueue(be, rnode)) return;
  // The holder hands the lock over, so that nobody overtakes the queue.
  while (!HoldsExtensionLock(be, rnode)) {
    be.env->tasks->Park(SITE_ID(extension_lock_wait), takes);
  }
}

void UnlockRelationForExtension(Backend& be, const RelFileNode& rnode) {
  std::map<RelFileNode, ExtensionLock>& locks = SharedLocks(be).extension;
  env::AtomicSection lock_hash_partition_lock(&locks);
  auto it = locks.find(rnode);
  SIM_CHECK(it != locks.end() && it->second.holder == be.pid);
  if (it->second.queue.empty()) {
    locks.erase(it);
    return;
  }
  it->second.holder = it->second.queue.front();
  it->second.queue.pop_front();
  be.env->tasks->Unpark(it->second.holder);
}

}  // namespace engine
