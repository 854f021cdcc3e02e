#include "engine/ipc/proc.h"

#include "engine/common/errcodes.h"
#include "engine/ipc/ipc_local.h"
#include "sim/env/race.h"

namespace engine {
namespace {

// Slots for the node's own processes, behind the clients'.
constexpr int kAuxiliaryProcs = 8;

}  // namespace

void ProcShmemInit(SharedMemory& shared) {
  shared.slots.Set(Layer::kIpc,
                   std::make_unique<ProcGlobal>(shared.config.max_connections +
                                                kAuxiliaryProcs));
}

Status ProcInit(Backend& be) {
  SIM_CHECK(be.proc_number < 0);
  std::vector<PGPROC>& procs = Procs(be).procs;
  int clients = be.config().max_connections;
  bool is_client = be.type == BackendType::kClient;
  int begin = is_client ? 0 : clients;
  int end = is_client ? clients : static_cast<int>(procs.size());
  env::AtomicSection proc_struct_lock(&procs);
  for (int i = begin; i < end; ++i) {
    PGPROC& proc = procs[static_cast<size_t>(i)];
    if (proc.pid != env::kNoTask) continue;
    // lxid goes on from where the slot's last user left it, so that a virtual
    // transaction id is never used twice.
    proc.pid = be.pid;
    proc.type = be.type;
    proc.procDiePending = false;
    be.proc_number = i;
    LocalIpc(be);
    return {};
  }
  return SqlError(ERRCODE_TOO_MANY_CONNECTIONS,
                  "sorry, too many clients already");
}

void ProcExit(Backend& be) {
  if (be.proc_number < 0) return;
  SIM_CHECK(LWLocksHeld(be) == 0);
  PGPROC& proc = MyProc(be);
  SIM_CHECK(!TransactionIdIsValid(proc.xid));
  proc.xmin = kInvalidTransactionId;
  proc.delayChkptFlags = 0;
  SetWaitingForXid(be, kInvalidTransactionId);
  ConditionVariableBroadcast(be, proc.xact_end);
  env::AtomicSection proc_struct_lock(&Procs(be).procs);
  proc.pid = env::kNoTask;
  be.proc_number = -1;
}

void SetWaitingForXid(Backend& be, TransactionId xid) {
  env::AtomicSection lock_hash_partition_lock(&Procs(be).procs);
  MyProc(be).waiting_for_xid = xid;
}

bool MinimumActiveBackends(Backend& be, int min) {
  const std::vector<PGPROC>& procs = Procs(be).procs;
  env::AtomicSection lock_hash_partition_lock(&procs);
  env::UnlockedAccess unlocked("a guess will do: nothing hangs on the answer");
  int active = 0;
  for (size_t i = 0; i < procs.size() && active < min; ++i) {
    const PGPROC& proc = procs[i];
    bool other = proc.pid != env::kNoTask && proc.pid != be.pid;
    if (other && TransactionIdIsValid(proc.xid) &&
        !TransactionIdIsValid(proc.waiting_for_xid)) {
      ++active;
    }
  }
  return active >= min;
}

void TerminateClientBackends(Backend& be) {
  SIM_CHECK(be.type == BackendType::kPostmaster);
  env::AtomicSection proc_struct_lock(&Procs(be).procs);
  for (PGPROC& proc : Procs(be).procs) {
    if (proc.pid == env::kNoTask || proc.type != BackendType::kClient) continue;
    proc.procDiePending = true;
    be.env->tasks->Unpark(proc.pid);
  }
}

Status CheckForInterrupts(Backend& be) {
  if (be.crit_section_count > 0 || be.proc_number < 0) return {};
  if (!env::UnlockedRead(MyProc(be).procDiePending, "a signal sets it")) {
    return {};
  }
  return SqlError(ERRCODE_ADMIN_SHUTDOWN,
                  "terminating connection due to administrator command");
}

}  // namespace engine
