// PGPROC: what each process shows the others, and the array of all of them.
// Source: src/include/storage/proc.h, src/backend/storage/lmgr/proc.c.
#ifndef MUSTH_ENGINE_IPC_PROC_H_
#define MUSTH_ENGINE_IPC_PROC_H_

#include <vector>

#include "engine/common/backend.h"
#include "engine/ipc/latch.h"
#include "engine/ipc/lwlock.h"

namespace engine {

// Bits of PGPROC::delayChkptFlags.
inline constexpr uint8_t DELAY_CHKPT_START = 1;
inline constexpr uint8_t DELAY_CHKPT_COMPLETE = 2;

struct PGPROC {
  env::TaskId pid = env::kNoTask;  // kNoTask: the slot is free
  BackendType type = BackendType::kClient;
  // Set under XidGenLock, taken back under ProcArrayLock.
  TransactionId xid = kInvalidTransactionId;
  TransactionId xmin = kInvalidTransactionId;
  uint32_t lxid = 0;  // local transaction id: vxid = (slot, lxid)
  uint8_t delayChkptFlags = 0;
  // The xid this process waits for, for deadlock detection.
  TransactionId waiting_for_xid = kInvalidTransactionId;
  // The postmaster wants this client's backend to go: see CheckForInterrupts.
  bool procDiePending = false;
  // Notified when this process's transaction ends.
  ConditionVariable xact_end{{}, env::AccessGroup::kLocks};
};

// The shared slot of Layer::kIpc.
class ProcGlobal : public LayerState {
 public:
  explicit ProcGlobal(int slots) : procs(static_cast<size_t>(slots)) {}
  std::vector<PGPROC> procs;
  LWLock proc_array_lock{env::AccessGroup::kSessions};
  LWLock xid_gen_lock{env::AccessGroup::kSessions};
  LWLock oid_gen_lock;
};

inline ProcGlobal& Procs(Backend& be) {
  return be.shared->slots.Get<ProcGlobal>(Layer::kIpc);
}
// Requires: ProcInit.
inline PGPROC& MyProc(Backend& be) {
  SIM_CHECK(be.proc_number >= 0);
  return Procs(be).procs[static_cast<size_t>(be.proc_number)];
}

// Creates the shared state: max_connections client slots and eight for the
// node's own processes.
void ProcShmemInit(SharedMemory& shared);

// Takes a free PGPROC for this backend and creates its local ipc state.
// Errors: ERRCODE_TOO_MANY_CONNECTIONS.
Status ProcInit(Backend& be);
// Gives the PGPROC back. Suspends: no.
void ProcExit(Backend& be);
// Shows the others that this process waits for xid, or for nothing.
// Suspends: no.
void SetWaitingForXid(Backend& be, TransactionId xid);

// Whether at least `min` other processes have a transaction with an xid and do
// not wait for another's end. Suspends: no.
// Source: src/backend/storage/ipc/procarray.c MinimumActiveBackends().
bool MinimumActiveBackends(Backend& be, int min);

// Tells the backends of all clients to end at their next CheckForInterrupts,
// and wakes those that wait (PostgreSQL's SIGTERM). Requires: the postmaster.
// Suspends: no.
void TerminateClientBackends(Backend& be);
// ERRCODE_ADMIN_SHUTDOWN ("terminating connection due to administrator
// command") if this backend was told to end: its transaction rolls back and
// its session is over. Called where nothing is half done: between statements,
// between the pages of a scan, in waits for other transactions. Suspends: no.
// Source: src/backend/tcop/postgres.c ProcessInterrupts().
Status CheckForInterrupts(Backend& be);

}  // namespace engine

#endif  // MUSTH_ENGINE_IPC_PROC_H_
