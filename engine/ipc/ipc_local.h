// IpcLocal: one backend's private ipc state, behind Layer::kIpc.
#ifndef MUSTH_ENGINE_IPC_IPC_LOCAL_H_
#define MUSTH_ENGINE_IPC_IPC_LOCAL_H_

#include <memory>
#include <vector>

#include "engine/common/backend.h"

namespace engine {

class LWLock;
struct ConditionVariable;

class IpcLocal : public LayerState {
 public:
  IpcLocal() { held.reserve(16); }

  // The LWLocks this backend holds, oldest first.
  std::vector<LWLock*> held;
  // The condition variable this backend has joined and not left. Compared
  // only, never followed: what it was part of may be gone.
  const ConditionVariable* sleep_target = nullptr;
};

// Created at first use: LWLocks work before a process has its PGPROC.
inline IpcLocal& LocalIpc(Backend& be) {
  if (!be.local.Has(Layer::kIpc)) {
    be.local.Set(Layer::kIpc, std::make_unique<IpcLocal>());
  }
  return be.local.Get<IpcLocal>(Layer::kIpc);
}

}  // namespace engine

#endif  // MUSTH_ENGINE_IPC_IPC_LOCAL_H_
