// Access: what a task does next to what tasks share.
//
// Two uses, which change no run:
// - At a scheduling point a task says what it is about to do (Tasks::Yield).
//   Search strategies reorder steps that conflict on purpose.
// - Code that synchronises (locks, condition variables, AtomicSection of
//   race.h) notes what it touches where an exhaustive search listens
//   (NoteAccess): what a whole stretch between two points touched says exactly
//   which others it commutes with.
#ifndef MUSTH_SIM_ENV_ACCESS_H_
#define MUSTH_SIM_ENV_ACCESS_H_

#include <cstdint>

#include "sim/env/current.h"

namespace env {

// What kind of thing is shared; a strategy may look at some of them only.
enum class AccessGroup : uint8_t {
  kNone,  // nothing that another task looks at
  kOther,
  kLog,       // the write-ahead log: insertion, buffers, writing, flushing
  kPage,      // contents of buffered pages
  kSessions,  // who runs which transaction (ProcArray, xids)
  kLocks,     // waits for another transaction or for a heavyweight lock
  kFile,      // a file or the directory tree
};
inline constexpr int kAccessGroups = 7;

struct Access {
  uint64_t resource = 0;
  AccessGroup group = AccessGroup::kNone;
  bool changes = false;
  // The task looks whether something has happened, and will look again: it
  // need not go on before anybody else.
  bool polls = false;
  // The resource is a number that means the same in every execution.
  bool stable = false;

  // What lies at an address that stays where it is as long as a task may be
  // about to use it. Addresses are compared for equality only; they reach
  // neither a draw nor the hash.
  static Access Of(const void* address, bool changes,
                   AccessGroup group = AccessGroup::kOther) {
    return {reinterpret_cast<uint64_t>(address), group, changes, false, false};
  }
  static Access Numbered(uint64_t number, bool changes,
                         AccessGroup group = AccessGroup::kOther) {
    return {number, group, changes, false, true};
  }
  static Access Poll() { return {0, AccessGroup::kNone, false, true, false}; }

  bool any() const { return group != AccessGroup::kNone; }
  bool ConflictsWith(const Access& other) const {
    return any() && other.any() && resource == other.resource &&
           (changes || other.changes) && stable == other.stable;
  }
};

// Hears what the running task touches.
class AccessLog {
 public:
  virtual ~AccessLog() = default;
  virtual void OnAccess(const Access& access) = 0;
};

inline void NoteAccess(const Access& access) {
  AccessLog* log = Current().access_log;
  if (log != nullptr) [[unlikely]]
    log->OnAccess(access);
}
inline void NoteAccess(const void* address, bool changes) {
  AccessLog* log = Current().access_log;
  if (log != nullptr) [[unlikely]] {
    log->OnAccess(Access::Of(address, changes));
  }
}

}  // namespace env

#endif  // MUSTH_SIM_ENV_ACCESS_H_
