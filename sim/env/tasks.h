// Tasks: the processes of one host and how they wait for each other.
//
// Between two suspending calls a task runs alone: shared memory needs no
// atomics, only the discipline of locks that are held across suspensions.
// Parking is a binary semaphore per task: an Unpark that comes first is kept
// and makes the next Park return at once. Several Unparks count as one, so a
// waiter re-checks its condition in a loop.
#ifndef MUSTH_SIM_ENV_TASKS_H_
#define MUSTH_SIM_ENV_TASKS_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "sim/env/access.h"
#include "sim/env/ids.h"

namespace env {

enum class ExitReason : uint8_t {
  kReturned,  // the body returned
  kKilled,    // Kill() or an injected task kill
  kPanicked,  // Panic()
};

struct ChildExit {
  TaskId task = kNoTask;
  ExitReason reason = ExitReason::kReturned;
};

class Tasks {
 public:
  virtual ~Tasks() = default;

  // Starts a child of the calling task (of the host itself when called from
  // outside any task). `name` appears in traces and reports, must not change
  // from run to run, and need not be unique. Suspends: no.
  virtual TaskId Spawn(std::string_view name, std::function<void()> body) = 0;

  // The calling task.
  virtual TaskId Self() = 0;

  // A scheduling point: other tasks may run before it returns. `next` is what
  // the caller does then.
  virtual void Yield(SiteId site, Access next) = 0;
  void Yield(SiteId site) { Yield(site, Access()); }

  // Waits for Unpark(Self()). Suspends: yes.
  virtual void Park(SiteId site, Access next) = 0;
  void Park(SiteId site) { Park(site, Access()); }

  // Waits for Unpark(Self()) or until deadline (absolute). Returns false when
  // the deadline came first. Suspends: yes.
  virtual bool ParkUntil(SiteId site, TimeNs deadline, Access next) = 0;
  bool ParkUntil(SiteId site, TimeNs deadline) {
    return ParkUntil(site, deadline, Access());
  }

  // Lets the task's current or next Park return. A task that has exited is
  // ignored. Suspends: no.
  virtual void Unpark(TaskId task) = 0;

  // Ends a child at its next suspension point (SIGQUIT). Suspends: no.
  virtual void Kill(TaskId task) = 0;

  // Takes one exited child off the caller's list, oldest first. A child's exit
  // unparks its parent. Suspends: no.
  virtual std::optional<ChildExit> ReapChild() = 0;

  // Ends the calling task: it cannot go on (a legal crash of the engine).
  // Only destructors run; they find Killed() true.
  [[noreturn]] virtual void Panic(std::string message) = 0;

  // True while the calling task is being unwound by Kill, Panic or a crash.
  virtual bool Killed() = 0;

  // Runs fn on the thread's own, large stack; for libraries that need more
  // than a task has. Nobody else runs in between. fn reaches no suspending
  // call and throws nothing. Suspends: no.
  virtual void CallOnMainStack(const std::function<void()>& fn) { fn(); }
};

}  // namespace env

#endif  // MUSTH_SIM_ENV_TASKS_H_
