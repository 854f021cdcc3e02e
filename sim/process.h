// Processes: the task table, and how a task begins and ends.
//
// A task runs its body once. It ends by returning, or by ProcessCrashed, which
// is thrown from its suspension point and caught around the body. process.cc
// is the only file that throws and catches.
//
//             Yield                       Unpark, timer, Kill
//   kRunnable ◄───► (running)   ──Park──►  kParked  ──────────► kRunnable
//       │ body done, or unwound            kSleeping (timer or Kill only)
//       ▼
//   kExited          kLost: a check broke in it; its fiber stays as it is
#ifndef MUSTH_SIM_PROCESS_H_
#define MUSTH_SIM_PROCESS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/choices.h"
#include "sim/env/env.h"
#include "sim/env/lookup_map.h"
#include "sim/fiber.h"

namespace sim {

enum class TaskState : uint8_t {
  kRunnable,
  kParked,    // until Unpark, or its timer
  kSleeping,  // until its timer; an Unpark is kept for later
  kExited,
  kLost,
};

struct Task {
  env::TaskId id = env::kNoTask;
  env::TaskId parent = env::kNoTask;
  env::HostId host = 0;
  TaskState state = TaskState::kRunnable;
  bool permit = false;  // an Unpark that no Park has consumed
  bool kill_pending = false;
  bool unwinding = false;
  env::ExitReason exit_reason = env::ExitReason::kReturned;
  env::SiteId waits_at = 0;  // the site of the current park
  env::Env* env = nullptr;
  uint64_t timer = 0;     // its entry in the event queue, 0 is none
  uint64_t sync_ops = 0;  // how many sync operations it has begun
  // Marks (Scheduler::Mark): the one that its operations are counted from, how
  // many it had begun before, and which of the world's marks it has seen.
  uint32_t mark = 0;
  uint32_t mark_epoch = 0;
  bool marks_itself = false;
  uint64_t mark_base = 0;
  Scope scope;
  std::string name;
  uint64_t role = 0;  // a hash of the name
  std::function<void()> body;
  std::unique_ptr<Fiber> fiber;  // null before its first run and after its end
  std::deque<env::ChildExit> exited_children;
  // How often it drew at a site (env::Random).
  env::LookupMap<env::SiteId, uint64_t> draws;

  bool live() const { return state < TaskState::kExited; }
};

// Every task of a world, also those that ended; ids count from 1.
class TaskTable {
 public:
  TaskTable() = default;
  TaskTable(const TaskTable&) = delete;
  TaskTable& operator=(const TaskTable&) = delete;
  ~TaskTable();

  // A new runnable task. Its scope is the child of parent_scope labelled by
  // name, with ".k" after it for the k-th namesake (k >= 1) of that parent.
  Task* Add(env::HostId host, env::TaskId parent, const Scope& parent_scope,
            std::string_view name, std::function<void()> body);

  // Null if there never was such a task.
  Task* Find(env::TaskId id);
  const Task* Find(env::TaskId id) const;

  // Live tasks of the host, by id.
  std::vector<Task*> LiveOf(env::HostId host);
  std::vector<Task*> Live();
  size_t live_count() const { return live_count_; }

  // Records the end of a task that has left its fiber, and frees the fiber.
  void MarkExited(Task* task);
  // Records that the task stays parked for good, its stack with it.
  void MarkLost(Task* task);

 private:
  std::vector<std::unique_ptr<Task>> tasks_;
  // (parent scope, label) to the number of such children so far.
  env::LookupMap<uint64_t, uint64_t> namesakes_;
  size_t live_count_ = 0;
};

// Ends the running task: unwinds its stack up to RunBody. Only destructors run.
[[noreturn]] void ThrowProcessCrashed();

// Runs a task's body. Returns false if it was ended by ThrowProcessCrashed.
bool RunBody(const std::function<void()>& body);

// A label fit for a scope: blanks, '/' and '.' become '_'.
std::string ScopeLabel(std::string_view name);

}  // namespace sim

#endif  // MUSTH_SIM_PROCESS_H_
