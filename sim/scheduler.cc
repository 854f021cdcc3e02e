#include "sim/scheduler.h"

#include <algorithm>
#include <utility>

#include "sim/env/check.h"

namespace sim {
namespace {

bool ById(const Candidate& candidate, env::TaskId id) {
  return candidate.id < id;
}

constexpr uint64_t kTaskResources = env::SiteHash("task");

}  // namespace

Scheduler::Scheduler(const SchedulerOptions& options)
    : options_(options),
      own_strategy_(options.custom_strategy == nullptr
                        ? MakeStrategy(options.strategy, options.choices,
                                       options.world_scope)
                        : nullptr),
      strategy_(own_strategy_ == nullptr ? options.custom_strategy
                                         : own_strategy_.get()),
      watches_(strategy_->watches()),
      access_log_(strategy_->access_log()),
      context_(&env::Current()) {
  switch_event_.kind = env::EventKind::kSwitch;
  options_.marks |= options.strategy.kind == StrategyKind::kRecorded;
  marks_.emplace_back();
  SIM_CHECK(options.strategy.max_run != 0);
  SIM_CHECK(options.strategy.max_ops_without_timer != 0);
}

// ---- Tasks: beginning and end

Task* Scheduler::Spawn(env::Env* host_env, env::TaskId parent,
                       const Scope& parent_scope, std::string_view name,
                       std::function<void()> body) {
  SIM_CHECK(current_ == nullptr || !current_->unwinding);
  Task* task =
      tasks_.Add(host_env->host, parent, parent_scope, name, std::move(body));
  task->env = host_env;
  task->role = env::SiteHash(task->name);
  MakeRunnable(task);
  NoteTask(task->id);
  env::Event event;
  event.kind = env::EventKind::kTaskStart;
  event.a[0] = parent;
  event.bytes = task->name;
  options_.hub->Emit(task->host, task->id, &event);
  return task;
}

void Scheduler::TaskEntry(void* scheduler) {
  static_cast<Scheduler*>(scheduler)->RunCurrent();
}

void Scheduler::RunCurrent() {
  Task* task = current_;
  if (task->kill_pending) {
    task->exit_reason = env::ExitReason::kKilled;
  } else {
    RunBody(task->body);
  }
  env::Event event;
  event.kind = env::EventKind::kTaskExit;
  event.a[0] = static_cast<uint64_t>(task->exit_reason);
  options_.hub->Emit(task->host, task->id, &event);
  ++steps_;
  NoteTask(task->id);
  NoteTask(task->parent);
  if (options_.marks) CountFromMark(task);
  main_point_ = PointOf(task, task->sync_ops + 1, env::kNoTask, Operation());
  exited_ = task;
  Leave();
  task->fiber->ExitTo(&main_);
}

void Scheduler::EndCurrent(env::ExitReason reason) {
  SIM_CHECK(current_ != nullptr && call_ == nullptr && !current_->unwinding);
  current_->unwinding = true;
  current_->exit_reason = reason;
  ThrowProcessCrashed();
}

void Scheduler::LoseCurrent() {
  Task* task = current_;
  RemoveRunnable(task);
  DisarmTimer(task);
  stop_ = Stop::kCheckFailed;
  lost_ = task;
  Leave();
  task->fiber->SwitchTo(&main_);
  SIM_UNREACHABLE();
}

void Scheduler::FinishExited(Task* task) {
  RemoveRunnable(task);
  DisarmTimer(task);
  if (interrupted_ == task) interrupted_ = nullptr;
  if (!ending_) {
    env::ChildExit exit{task->id, task->exit_reason};
    Task* parent = tasks_.Find(task->parent);
    if (task->parent == env::kNoTask) {
      RootExits(task->host).push_back(exit);
    } else if (parent->live()) {
      parent->exited_children.push_back(exit);
      Unpark(parent->id);
    }
  }
  tasks_.MarkExited(task);
}

std::deque<env::ChildExit>& Scheduler::RootExits(env::HostId host) {
  if (root_exits_.size() <= host) root_exits_.resize(size_t{host} + 1);
  return root_exits_[host];
}

void Scheduler::Kill(env::TaskId id) {
  Task* task = tasks_.Find(id);
  if (task == nullptr || !task->live()) return;
  NoteTask(id);
  task->kill_pending = true;
  if (task->state != TaskState::kRunnable) MakeRunnable(task);
}

void Scheduler::EndTasks(const std::vector<Task*>& tasks) {
  SIM_CHECK(current_ == nullptr && !in_run_);
  BeginOnMain();
  ending_ = true;
  for (Task* task : tasks) {
    if (!task->live()) continue;
    task->kill_pending = true;
    if (task->state != TaskState::kRunnable) MakeRunnable(task);
    ResumeFromMain(task);
  }
  ending_ = false;
}

// ---- Scheduling points

// Lets whoever is chosen go on; returns when this task is chosen again.
void Scheduler::Reschedule(Task* task, const Operation& op) {
  bool can_stay = task->state == TaskState::kRunnable;
  if (can_stay && runnable_.size() == 1 && timers_.empty() && !watches_) return;
  Task* next = PickAfter(task, op);
  if (next == task) return;
  Fiber* to = &main_;
  if (next == nullptr) {
    Leave();
  } else {
    Enter(next);
    to = FiberOf(next);
  }
  task->fiber->SwitchTo(to);
  ThrowIfKilled(task);
}

void Scheduler::Yield(const Operation& op) {
  Task* task = current_;
  Point(task, op);
  Reschedule(task, op);
}

void Scheduler::Park(const Operation& op) { ParkUntil(op, env::kForever); }

bool Scheduler::ParkUntil(const Operation& op, env::TimeNs deadline_ns) {
  Task* task = current_;
  Point(task, op);
  NoteTask(task->id);
  if (task->permit) {
    task->permit = false;
    Reschedule(task, op);
    return true;
  }
  if (deadline_ns <= options_.clock->now_ns()) {
    Reschedule(task, op);
  } else {
    Wait(task, op, TaskState::kParked, deadline_ns);
  }
  return std::exchange(task->permit, false);
}

void Scheduler::Sleep(const Operation& op, env::TimeNs duration_ns) {
  SIM_CHECK(duration_ns > 0);
  Task* task = current_;
  Point(task, op);
  Wait(task, op, TaskState::kSleeping, options_.clock->now_ns() + duration_ns);
}

void Scheduler::Hold(const Operation& op) {
  Task* task = current_;
  Point(task, op);
  Wait(task, op, TaskState::kSleeping, env::kForever);
}

void Scheduler::Wait(Task* task, const Operation& op, TaskState state,
                     env::TimeNs deadline_ns) {
  task->waits_at = op.site;
  RemoveRunnable(task);
  task->state = state;
  if (deadline_ns != env::kForever) {
    task->timer = timers_.Add(deadline_ns, task->id);
  }
  Reschedule(task, op);
}

// Who wakes a task conflicts with its going to sleep, and with its end.
void Scheduler::NoteTask(env::TaskId id) {
  if (id == env::kNoTask) return;
  env::NoteAccess(env::Access::Numbered(Mix(kTaskResources, id), true));
}

void Scheduler::Unpark(env::TaskId id) {
  NoteTask(id);
  Task* task = tasks_.Find(id);
  if (task == nullptr || !task->live()) return;
  task->permit = true;
  if (task->state == TaskState::kParked) MakeRunnable(task);
}

void Scheduler::Release(env::TaskId id) {
  Task* task = tasks_.Find(id);
  if (task == nullptr || task->state != TaskState::kSleeping) return;
  SIM_CHECK(task->timer == 0);
  MakeRunnable(task);
}

void Scheduler::Point(Task* task, const Operation& op) {
  SIM_CHECK(task != nullptr && call_ == nullptr && !task->unwinding);
  ++task->sync_ops;
  ++sync_ops_;
  ++steps_;
  if (options_.marks) CountFromMark(task);
  ThrowIfKilled(task);
  if (ask_crash_) AskCrash(task, op);
  if (stop_requested_ || steps_ >= options_.max_steps) StopHere(task);
}

// Ends Run() with the task at its point; it goes on at the next Run().
void Scheduler::StopHere(Task* task) {
  stop_ = stop_requested_ ? Stop::kRequested : Stop::kStepLimit;
  stop_requested_ = false;
  interrupted_ = task;
  Leave();
  task->fiber->SwitchTo(&main_);
  ThrowIfKilled(task);
}

void Scheduler::AskCrash(Task* task, const Operation& op) {
  CrashPoint point;
  point.place = op.place;
  point.host = task->host;
  point.task = task->id;
  point.task_name = task->name;
  point.node_site = op.node_site;
  if (op.node_site) point.site = op.site;
  point.device_step = op.device_step;
  point.step = steps_;
  CrashKind kind = options_.client->AskCrash(point);
  if (kind == CrashKind::kNone) return;
  if (kind == CrashKind::kTaskKill) EndCurrent(env::ExitReason::kKilled);
  stop_ = Stop::kCrash;
  Leave();
  task->fiber->SwitchTo(&main_);
  ThrowIfKilled(task);
}

void Scheduler::ThrowIfKilled(Task* task) {
  if (task->kill_pending) EndCurrent(env::ExitReason::kKilled);
}

// Who goes on after the running task's point; null if the run has to end.
Task* Scheduler::PickAfter(Task* task, const Operation& op) {
  bool can_stay = task->state == TaskState::kRunnable;
  SchedulePoint point =
      PointOf(task, task->sync_ops, can_stay ? task->id : env::kNoTask, op);
  Task* next = Decide(point);
  if (next == nullptr) {
    main_point_ = point;
  } else if (next != task) {
    EmitSwitch(task->id, point.n, *next);
  }
  return next;
}

// Who goes on after the point; null if nobody ever can. May fire a timer.
Task* Scheduler::Decide(const SchedulePoint& point) {
  if (runnable_.empty()) {
    if (timers_.empty()) return nullptr;
    FireTimer();
    if (watches_) {
      strategy_->Begin(point, env::kForever);
      strategy_->Runs(runnable_.front());
    }
    return runnable_.front().task;
  }
  bool pending = !timers_.empty();
  bool fires = strategy_->Begin(point, timers_.EarliestDeadline());
  if (pending && (fires || ++ops_since_timer_ >=
                               options_.strategy.max_ops_without_timer)) {
    if (options_.record_schedule) AddRecord(point, env::kNoTask);
    FireTimer();
  }
  if (runnable_.size() > 1) return Choose(point);
  if (watches_) strategy_->Runs(runnable_.front());
  return runnable_.front().task;
}

// Requires: there are several.
Task* Scheduler::Choose(const SchedulePoint& point) {
  size_t i = strategy_->Next(point, runnable_);
  bool stays = point.current != env::kNoTask &&
               (i == kKeepRunning || runnable_[i].id == point.current);
  if (stays && ++run_length_ < options_.strategy.max_run) {
    if (watches_) strategy_->Runs(*Find(point.current));
    return current_;
  }
  if (stays) strategy_->TurnTaken(point.current);
  if (stays || i == kKeepRunning) i = Successor(runnable_, point.last);
  run_length_ = 0;
  if (options_.record_schedule) AddRecord(point, runnable_[i].id);
  if (watches_) strategy_->Runs(runnable_[i]);
  return runnable_[i].task;
}

void Scheduler::FireTimer() {
  options_.client->BeforeTimer(timers_.EarliestDeadline());
  EventQueue::Timer timer = timers_.PopEarliest();
  Task* task = tasks_.Find(timer.task);
  task->timer = 0;
  options_.clock->AdvanceTo(timer.deadline_ns);
  ops_since_timer_ = 0;
  ++steps_;
  MakeRunnable(task);
  env::Event event;
  event.kind = env::EventKind::kTimer;
  event.a[0] = static_cast<uint64_t>(timer.deadline_ns);
  event.a[1] = timer.task;
  options_.hub->Emit(task->host, env::kNoTask, &event);
}

// ---- Marks

void Scheduler::Mark(env::TaskId id, std::string_view label) {
  if (!options_.marks) return;
  Task* task = tasks_.Find(id);
  SIM_CHECK(task != nullptr);
  last_mark_ = static_cast<uint32_t>(marks_.size());
  marks_.push_back({std::string(label), env::SiteHash(label)});
  ++mark_epoch_;
  task->mark = last_mark_;
  task->mark_base = task->sync_ops;
  task->marks_itself = true;
}

void Scheduler::ClearMarks() {
  ++mark_epoch_;
  last_mark_ = 0;
}

// Notes the world's last mark at a task's first operation after it.
void Scheduler::CountFromMark(Task* task) {
  if (task->marks_itself || task->mark_epoch == mark_epoch_) return;
  task->mark_epoch = mark_epoch_;
  task->mark = last_mark_;
  task->mark_base = task->sync_ops == 0 ? 0 : task->sync_ops - 1;
}

std::pair<std::string, uint64_t> Scheduler::MarkOf(env::TaskId id) const {
  const Task* task = tasks_.Find(id);
  if (task == nullptr) return {};
  uint64_t since = task->sync_ops - (task->mark == 0 ? 0 : task->mark_base);
  return {marks_[task->mark].label, since};
}

SchedulePoint Scheduler::PointOf(const Task* task, uint64_t n,
                                 env::TaskId current, const Operation& op) {
  SchedulePoint point;
  point.scope_key = task->scope.key();
  point.n = n;
  point.current = current;
  point.last = task->id;
  point.site_key = op.site_key;
  point.access = op.next;
  point.runnable = runnable_;
  if (options_.marks && task->mark != 0) {
    point.mark_key = marks_[task->mark].key;
    point.mark_n = n - task->mark_base;
  }
  return point;
}

void Scheduler::AddRecord(const SchedulePoint& point, env::TaskId next) {
  const Task* task = tasks_.Find(point.last);
  bool marked = task != nullptr && task->mark != 0;
  records_.push_back({point.last, marked ? point.mark_n : point.n,
                      marked ? task->mark : 0, next});
}

// ---- The set of runnable tasks, timers

void Scheduler::MakeRunnable(Task* task) {
  DisarmTimer(task);
  task->state = TaskState::kRunnable;
  auto at =
      std::lower_bound(runnable_.begin(), runnable_.end(), task->id, ById);
  runnable_.insert(at, {task->scope.key(), task->id, task, task->role});
}

// Null if the task is not runnable.
const Candidate* Scheduler::Find(env::TaskId id) const {
  auto at = std::lower_bound(runnable_.begin(), runnable_.end(), id, ById);
  return at != runnable_.end() && at->id == id ? &*at : nullptr;
}

// A task that is not runnable is left alone.
void Scheduler::RemoveRunnable(Task* task) {
  const Candidate* at = Find(task->id);
  if (at != nullptr) runnable_.erase(runnable_.begin() + (at - &runnable_[0]));
}

void Scheduler::DisarmTimer(Task* task) {
  if (task->timer != 0) timers_.Cancel(std::exchange(task->timer, 0));
}

// ---- Switching

void Scheduler::BeginOnMain() {
  SIM_CHECK(context_ == &env::Current());
  outer_ = *context_;
}

void Scheduler::Enter(Task* task) {
  current_ = task;
  context_->env = task->env;
  context_->check_handler = options_.check_handler;
  context_->task = task->id;
  context_->access_log = access_log_;
}

void Scheduler::Leave() {
  current_ = nullptr;
  *context_ = outer_;
}

void Scheduler::EmitSwitch(env::TaskId from, uint64_t n, const Task& to) {
  ++switches_;
  switch_event_.a[0] = from;
  switch_event_.a[1] = n;
  switch_event_.a[2] = to.id;
  options_.hub->Emit(to.host, from, &switch_event_);
}

Fiber* Scheduler::FiberOf(Task* task) {
  if (task->fiber == nullptr) {
    task->fiber =
        options_.poison_stacks
            ? std::make_unique<Fiber>(options_.stacks, &TaskEntry, this,
                                      options_.poison)
            : std::make_unique<Fiber>(options_.stacks, &TaskEntry, this);
  }
  return task->fiber.get();
}

void Scheduler::CallOnMainStack(const std::function<void()>& fn) {
  SIM_CHECK(call_ == nullptr);
  if (current_ == nullptr) {
    fn();
    return;
  }
  call_ = &fn;
  current_->fiber->SwitchTo(&main_);
}

Task* Scheduler::PickFromMain() {
  Task* next = std::exchange(interrupted_, nullptr);
  if (next != nullptr) return next;
  main_point_.runnable = runnable_;
  next = Decide(main_point_);
  if (next != nullptr) EmitSwitch(main_point_.last, main_point_.n, *next);
  return next;
}

void Scheduler::ResumeFromMain(Task* task) {
  Enter(task);
  main_.SwitchTo(FiberOf(task));
  while (call_ != nullptr) {
    (*call_)();
    call_ = nullptr;
    main_.SwitchTo(current_->fiber.get());
  }
  if (exited_ != nullptr) FinishExited(std::exchange(exited_, nullptr));
  if (lost_ != nullptr) tasks_.MarkLost(std::exchange(lost_, nullptr));
}

Scheduler::Stop Scheduler::Run() {
  SIM_CHECK(!in_run_ && current_ == nullptr);
  if (stop_ == Stop::kCheckFailed || stop_ == Stop::kStepLimit) return stop_;
  in_run_ = true;
  stop_ = Stop::kNone;
  BeginOnMain();
  // A task that was stopped at its point goes on as if it had not been.
  if (interrupted_ == nullptr) {
    main_point_ = SchedulePoint();
    main_point_.scope_key = options_.world_scope.key();
    main_point_.n = ++runs_;
  }
  while (stop_ == Stop::kNone) {
    if (std::exchange(stop_requested_, false)) {
      stop_ = Stop::kRequested;
      break;
    }
    Task* next = PickFromMain();
    if (next == nullptr) {
      stop_ = tasks_.live_count() == 0 ? Stop::kIdle : Stop::kStuck;
      break;
    }
    ResumeFromMain(next);
  }
  in_run_ = false;
  return stop_;
}

std::vector<ScheduleEntry> Scheduler::recorded_schedule(size_t from) const {
  SIM_CHECK(options_.record_schedule);
  auto path = [this](env::TaskId id) {
    const Task* task = tasks_.Find(id);
    return task == nullptr ? options_.world_scope.path() : task->scope.path();
  };
  std::vector<ScheduleEntry> out;
  for (; from < records_.size(); ++from) {
    const Record& record = records_[from];
    ScheduleEntry entry;
    entry.task = path(record.task);
    entry.n = record.n;
    entry.mark = marks_[record.mark].label;
    entry.next = record.next == env::kNoTask ? std::string(kTimerName)
                                             : path(record.next);
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace sim
