// Backend: the context of one process of the node, and SharedMemory, what all
// of them share.
//
// Both hold one opaque slot per layer; a layer defines the types behind its
// own slots and nobody else's. Shared memory is built by the postmaster and
// discarded whole at a crash; a backend's slots die with its process. A
// function that may suspend takes `Backend& be` first.
#ifndef MUSTH_ENGINE_COMMON_BACKEND_H_
#define MUSTH_ENGINE_COMMON_BACKEND_H_

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "engine/common/config.h"
#include "engine/common/types.h"
#include "sim/env/env.h"

namespace engine {

enum class Layer : uint8_t {
  kIpc,
  kSmgr,
  kBuffer,
  kWal,
  kTxn,
  kLock,
  kFsm,
  kHeap,
  kNbtree,
  kToast,
  kCatalog,
  kCommands,
  kSql,
  kRepl,
  kNode,
  kCount,
};

// Base of what a layer keeps in a slot.
class LayerState {
 public:
  virtual ~LayerState() = default;
};

// One slot per layer, destroyed from the highest layer down.
class LayerSlots {
 public:
  LayerSlots() = default;
  ~LayerSlots() {
    for (size_t i = slots_.size(); i-- > 0;) slots_[i].reset();
  }
  LayerSlots(const LayerSlots&) = delete;
  LayerSlots& operator=(const LayerSlots&) = delete;

  void Set(Layer layer, std::unique_ptr<LayerState> state) {
    slots_[static_cast<size_t>(layer)] = std::move(state);
  }
  // The slot as the owning layer's type. Requires: set.
  template <typename T>
  T& Get(Layer layer) const {
    return static_cast<T&>(*slots_[static_cast<size_t>(layer)]);
  }
  bool Has(Layer layer) const {
    return slots_[static_cast<size_t>(layer)] != nullptr;
  }

 private:
  std::array<std::unique_ptr<LayerState>, static_cast<size_t>(Layer::kCount)>
      slots_;
};

struct SharedMemory {
  explicit SharedMemory(const Config& c) : config(c) {}
  const Config config;
  LayerSlots slots;
};

enum class BackendType : uint8_t {
  kPostmaster,
  kStartup,
  kCheckpointer,
  kBgWriter,
  kWalWriter,
  kClient,
};

class Backend {
 public:
  Backend(env::Env* e, SharedMemory* s, BackendType t)
      : env(e), shared(s), type(t), pid(e->tasks->Self()) {}
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  const Config& config() const { return shared->config; }
  bool Killed() const { return env->tasks->Killed(); }

  env::Env* const env;
  SharedMemory* const shared;
  const BackendType type;
  const env::TaskId pid;
  // Index of this process's PGPROC; -1 before ProcInit.
  int proc_number = -1;
  // Depth of critical sections: an error inside one is a PANIC.
  int crit_section_count = 0;
  // True in the startup process while it replays WAL.
  bool in_recovery = false;
  // The layers' private state.
  LayerSlots local;
};

// Ends the process as PostgreSQL's PANIC does; the postmaster restarts the
// node. Does not return.
[[noreturn]] inline void Panic(Backend& be, std::string message) {
  be.env->tasks->Panic(std::move(message));
  SIM_UNREACHABLE();  // g++ does not see that a virtual call is noreturn
}

// Marks a stretch of code in which an error may not be reported to the
// caller, because shared state or WAL is half changed.
class CriticalSection {
 public:
  explicit CriticalSection(Backend& be) : be_(be) { ++be_.crit_section_count; }
  ~CriticalSection() { --be_.crit_section_count; }
  CriticalSection(const CriticalSection&) = delete;
  CriticalSection& operator=(const CriticalSection&) = delete;

 private:
  Backend& be_;
};

// For errors inside a critical section: PANICs unless the status is OK.
inline void PanicIfError(Backend& be, const Status& status) {
  if (!status.ok()) Panic(be, status.ToString());
}

}  // namespace engine

#endif  // MUSTH_ENGINE_COMMON_BACKEND_H_
