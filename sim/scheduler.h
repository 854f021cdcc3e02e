// Scheduler: runs tasks on fibers, one at a time, and lets time pass.
//
// A scheduler stays on the thread that made it. A task that reaches a
// scheduling point decides on its own stack who goes on and switches there
// directly; the thread's stack is entered only to start, to end a task, to
// stop, and when nobody can run.
//
//   task ──Point──► count, kill?, crash hook?, stop? ──Reschedule──► Strategy
//     ▲                                                    │
//     └────────────── same task: nothing happens ◄─────────┤
//                     another: kSwitch, one context switch ◄┘
//
// Rules
// 1. Everything here that can change a run is a function of the choices, the
//    order of calls by tasks, and nothing else.
// 2. Timers fire in the order (deadline, armed first); time is the largest
//    deadline that fired.
// 3. A killed task is resumed only to unwind; while it unwinds, a suspending
//    call is a broken check.
#ifndef MUSTH_SIM_SCHEDULER_H_
#define MUSTH_SIM_SCHEDULER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/clock.h"
#include "sim/env/current.h"
#include "sim/event_queue.h"
#include "sim/events.h"
#include "sim/fault_hooks.h"
#include "sim/fiber.h"
#include "sim/process.h"
#include "sim/strategies.h"

namespace sim {

// What the scheduler asks its world.
class SchedulerClient {
 public:
  virtual ~SchedulerClient() = default;
  // Asked at every point while crash hooks are set. kProcess and kPowerLoss
  // end the run.
  virtual CrashKind AskCrash(const CrashPoint& point) = 0;
  // Called before the timer with this deadline fires.
  virtual void BeforeTimer(env::TimeNs deadline_ns) = 0;
};

// Where a task is when it reaches a scheduling point, and what it does next.
struct Operation {
  CrashPlace place = CrashPlace::kStep;
  env::SiteId site = 0;
  DeviceStep device_step = DeviceStep::kPlain;
  bool node_site = false;  // `site` is of the node's table
  uint64_t site_key = 0;   // hash of the site's name
  env::Access next;
};

struct SchedulerOptions {
  StrategyOptions strategy;
  // Takes the place of strategy.kind if not null; outlives the scheduler.
  Strategy* custom_strategy = nullptr;
  Choices* choices = nullptr;
  uint64_t max_steps = 0;
  bool poison_stacks = false;
  uint8_t poison = 0;
  bool record_schedule = false;
  // Whether marks count; with a recorded schedule they always do.
  bool marks = false;
  StackPool* stacks = nullptr;
  Scope world_scope;
  VirtualClock* clock = nullptr;
  EventHub* hub = nullptr;
  env::CheckHandler* check_handler = nullptr;
  SchedulerClient* client = nullptr;
};

class Scheduler {
 public:
  enum class Stop : uint8_t {
    kNone,
    kIdle,
    kRequested,
    kCrash,
    kStuck,
    kCheckFailed,
    kStepLimit,
  };

  explicit Scheduler(const SchedulerOptions& options);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Adds a runnable task. Suspends: no.
  Task* Spawn(env::Env* host_env, env::TaskId parent, const Scope& parent_scope,
              std::string_view name, std::function<void()> body);

  // Runs tasks until there is a reason to stop.
  Stop Run();
  void RequestStop() { stop_requested_ = true; }

  // The running task, null outside of any.
  Task* current() { return current_; }
  TaskTable& tasks() { return tasks_; }
  const TaskTable& tasks() const { return tasks_; }
  // True where a broken check cannot be pinned on a task's stack.
  bool on_main_stack() const { return current_ == nullptr || call_ != nullptr; }
  void set_ask_crash(bool ask) { ask_crash_ = ask; }

  // Calls of the running task; each is one sync operation and may suspend.
  void Yield(const Operation& op);
  void Park(const Operation& op);
  bool ParkUntil(const Operation& op, env::TimeNs deadline_ns);
  void Sleep(const Operation& op, env::TimeNs duration_ns);
  // Waits for Release; an Unpark meanwhile is kept for later.
  void Hold(const Operation& op);

  // Suspend nobody.
  void Unpark(env::TaskId id);
  // Requires: if the task waits at all, then in Hold.
  void Release(env::TaskId id);
  void Kill(env::TaskId id);
  // Ends the running task with this reason.
  [[noreturn]] void EndCurrent(env::ExitReason reason);
  // Suspends the running task for good after a broken check.
  [[noreturn]] void LoseCurrent();
  // Runs fn on the thread's own stack while the running task waits for it; no
  // other task runs in between. fn neither suspends nor throws.
  void CallOnMainStack(const std::function<void()>& fn);

  // From here on the task's operations are counted from this mark, and those
  // of tasks that set none themselves from whichever was set last: schedules
  // and crashes that are named so keep their place when what ran before is
  // edited. Without options.marks nothing happens.
  void Mark(env::TaskId id, std::string_view label);
  // Operations of all tasks are counted from their starts again.
  void ClearMarks();
  // The mark's label ("": none), and the operations since.
  std::pair<std::string, uint64_t> MarkOf(env::TaskId id) const;

  // Exits of the host's tasks without parent, oldest first.
  std::deque<env::ChildExit>& RootExits(env::HostId host);

  // Unwinds these tasks one after the other. Requires: called outside tasks.
  void EndTasks(const std::vector<Task*>& tasks);

  uint64_t steps() const { return steps_; }
  uint64_t sync_ops() const { return sync_ops_; }
  uint64_t switches() const { return switches_; }
  uint64_t schedule_misses() const { return strategy_->misses(); }
  std::vector<ScheduleEntry> recorded_schedule(size_t from = 0) const;
  std::vector<size_t> unused_schedule() const { return strategy_->Unused(); }

 private:
  struct Record {
    env::TaskId task;  // kNoTask: the world, before its first task
    uint64_t n;
    uint32_t mark;
    env::TaskId next;  // kNoTask: the timer
  };

  static void TaskEntry(void* scheduler);
  [[noreturn]] void RunCurrent();

  void Point(Task* task, const Operation& op);
  void CountFromMark(Task* task);
  SchedulePoint PointOf(const Task* task, uint64_t n, env::TaskId current,
                        const Operation& op);
  void AddRecord(const SchedulePoint& point, env::TaskId next);
  void AskCrash(Task* task, const Operation& op);
  void StopHere(Task* task);
  void ThrowIfKilled(Task* task);
  void Wait(Task* task, const Operation& op, TaskState state,
            env::TimeNs deadline_ns);
  [[gnu::always_inline]] inline void Reschedule(Task* task,
                                                const Operation& op);
  Task* PickAfter(Task* task, const Operation& op);
  Task* Decide(const SchedulePoint& point);
  Task* Choose(const SchedulePoint& point);
  void NoteTask(env::TaskId id);
  void FireTimer();

  void MakeRunnable(Task* task);
  const Candidate* Find(env::TaskId id) const;
  void RemoveRunnable(Task* task);
  void DisarmTimer(Task* task);

  void BeginOnMain();
  void Enter(Task* task);
  void Leave();
  void EmitSwitch(env::TaskId from, uint64_t n, const Task& to);
  Fiber* FiberOf(Task* task);
  Task* PickFromMain();
  void ResumeFromMain(Task* task);
  void FinishExited(Task* task);

  SchedulerOptions options_;
  std::unique_ptr<Strategy> own_strategy_;
  Strategy* strategy_;
  const bool watches_;  // the strategy does
  env::AccessLog* const access_log_;
  TaskTable tasks_;
  EventQueue timers_;
  std::vector<Candidate> runnable_;  // sorted by id; holds the running task
  std::vector<std::deque<env::ChildExit>> root_exits_;  // by host
  Fiber main_;
  Task* current_ = nullptr;
  Task* interrupted_ = nullptr;  // goes on first at the next Run
  // What a task left for the thread's stack to do.
  Task* exited_ = nullptr;
  Task* lost_ = nullptr;
  const std::function<void()>* call_ = nullptr;
  // The point that the next pick from the thread's stack belongs to.
  SchedulePoint main_point_{};
  Stop stop_ = Stop::kNone;
  bool stop_requested_ = false;
  bool ask_crash_ = false;
  bool in_run_ = false;
  bool ending_ = false;           // in EndTasks
  env::CurrentContext* context_;  // of this thread
  env::CurrentContext outer_;     // what it is outside of tasks
  env::Event switch_event_;       // kept, for speed
  uint64_t runs_ = 0;
  uint64_t run_length_ = 0;       // operations since the last switch
  uint64_t ops_since_timer_ = 0;  // while one was pending
  uint64_t steps_ = 0;
  uint64_t sync_ops_ = 0;
  uint64_t switches_ = 0;
  std::vector<Record> records_;
  struct MarkInfo {
    std::string label;
    uint64_t key = 0;
  };
  std::vector<MarkInfo> marks_;  // by Task::mark; the first is "none"
  uint32_t mark_epoch_ = 0;
  uint32_t last_mark_ = 0;
};

}  // namespace sim

#endif  // MUSTH_SIM_SCHEDULER_H_
