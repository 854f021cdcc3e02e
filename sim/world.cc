#include "sim/world.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "sim/env/check.h"
#include "sim/host.h"
#include "sim/scheduler.h"

namespace sim {

class World::Impl final : public SchedulerClient, public env::CheckHandler {
 public:
  explicit Impl(const WorldOptions& options)
      : hub_(&clock_), scheduler_(MakeSchedulerOptions(options)) {
    shared_.scheduler = &scheduler_;
    shared_.hub = &hub_;
    shared_.choices = options.choices;
    shared_.clock = &clock_;
    shared_.world_scope = Scope().Child("w", options.fork);
  }

  Host& host(env::HostId id) {
    SIM_CHECK(id < hosts_.size());
    return *hosts_[id];
  }

  StopReason Run();
  void CrashHost(env::HostId id, CrashKind kind, const CrashPoint& point);

  CrashKind AskCrash(const CrashPoint& point) override;
  void BeforeTimer(env::TimeNs) override {}
  [[noreturn]] void OnCheckFailed(const char* condition, const char* file,
                                  int line) override;

  StackPool own_stacks_;
  VirtualClock clock_;
  EventHub hub_;
  Scheduler scheduler_;
  HostShared shared_;
  std::vector<std::unique_ptr<Host>> hosts_;
  CrashHooks* crash_hooks_ = nullptr;
  CrashKind crash_kind_ = CrashKind::kNone;
  CrashPoint crash_point_;
  CheckFailure check_failure_;
  bool check_failed_ = false;

 private:
  SchedulerOptions MakeSchedulerOptions(const WorldOptions& options);
  void EmitCrash(env::HostId id, CrashKind kind);
  void EndHost(env::HostId id);
};

SchedulerOptions World::Impl::MakeSchedulerOptions(
    const WorldOptions& options) {
  SIM_CHECK(options.choices != nullptr);
  SchedulerOptions out;
  out.strategy = options.strategy;
  out.custom_strategy = options.custom_strategy;
  out.choices = options.choices;
  out.max_steps = options.max_steps;
  out.poison_stacks = options.poison_stacks;
  out.poison = options.poison;
  out.record_schedule = options.record_schedule;
  out.marks = options.marks;
  out.stacks = options.stacks == nullptr ? &own_stacks_ : options.stacks;
  out.world_scope = Scope().Child("w", options.fork);
  out.clock = &clock_;
  out.hub = &hub_;
  out.check_handler = this;
  out.client = this;
  return out;
}

World::StopReason World::Impl::Run() {
  switch (scheduler_.Run()) {
    case Scheduler::Stop::kIdle:
      return StopReason::kIdle;
    case Scheduler::Stop::kRequested:
      return StopReason::kStopped;
    case Scheduler::Stop::kCrash:
      EndHost(crash_point_.host);
      return check_failed_ ? StopReason::kCheckFailed : StopReason::kCrashed;
    case Scheduler::Stop::kStuck:
      return StopReason::kStuck;
    case Scheduler::Stop::kCheckFailed:
      return StopReason::kCheckFailed;
    case Scheduler::Stop::kStepLimit:
      return StopReason::kStepLimit;
    case Scheduler::Stop::kNone:
      break;
  }
  SIM_UNREACHABLE();
}

void World::Impl::EmitCrash(env::HostId id, CrashKind kind) {
  host(id).Emit(env::EventKind::kCrash, static_cast<uint64_t>(kind),
                host(id).incarnation());
}

void World::Impl::EndHost(env::HostId id) {
  scheduler_.EndTasks(scheduler_.tasks().LiveOf(id));
  host(id).NextIncarnation();
}

void World::Impl::CrashHost(env::HostId id, CrashKind kind,
                            const CrashPoint& point) {
  crash_kind_ = kind;
  crash_point_ = point;
  EmitCrash(id, kind);
  EndHost(id);
}

CrashKind World::Impl::AskCrash(const CrashPoint& point) {
  CrashKind kind = crash_hooks_->OnPoint(point);
  if (kind == CrashKind::kNone) return kind;
  EmitCrash(point.host, kind);
  if (kind != CrashKind::kTaskKill) {
    crash_kind_ = kind;
    crash_point_ = point;
  }
  return kind;
}

void World::Impl::OnCheckFailed(const char* condition, const char* file,
                                int line) {
  if (scheduler_.on_main_stack()) {
    std::fprintf(stderr, "%s:%d: check failed outside of tasks: %s\n", file,
                 line, condition);
    std::abort();
  }
  // One that breaks while this one is reported adds nothing.
  if (!std::exchange(check_failed_, true)) {
    Task* task = scheduler_.current();
    check_failure_.condition = condition;
    check_failure_.file = file;
    check_failure_.line = line;
    check_failure_.task = task->id;
    check_failure_.task_name = task->name;
    env::Event event;
    event.kind = env::EventKind::kCheckFailed;
    event.a[0] = static_cast<uint64_t>(line);
    event.bytes = check_failure_.condition;
    host(task->host).Emit(event);
  }
  scheduler_.LoseCurrent();
}

World::World(const WorldOptions& options)
    : impl_(std::make_unique<Impl>(options)) {}

World::~World() { EndAllTasks(); }

env::HostId World::AddHost(env::SiteTable node_sites,
                           std::vector<uint8_t> planted) {
  auto id = static_cast<env::HostId>(impl_->hosts_.size());
  impl_->hosts_.push_back(std::make_unique<Host>(
      &impl_->shared_, id, node_sites, std::move(planted)));
  return id;
}

DeviceHost& World::device_host(env::HostId host) { return impl_->host(host); }

void World::AttachFiles(env::HostId host, env::Files* files) {
  impl_->host(host).AttachFiles(files);
}

env::Env& World::env(env::HostId host) { return impl_->host(host).env(); }

const Scope& World::host_scope(env::HostId host) const {
  return impl_->host(host).scope();
}

env::TaskId World::SpawnRoot(env::HostId host, std::string_view name,
                             std::function<void()> body) {
  return impl_->host(host).SpawnRoot(name, std::move(body));
}

World::StopReason World::Run() { return impl_->Run(); }

void World::RequestStop() { impl_->scheduler_.RequestStop(); }

void World::set_crash_hooks(CrashHooks* hooks) {
  impl_->crash_hooks_ = hooks;
  impl_->scheduler_.set_ask_crash(hooks != nullptr);
}

void World::set_hold_hooks(HoldHooks* hooks) {
  impl_->shared_.hold_hooks = hooks;
}

void World::ReleaseHold(env::TaskId task) { impl_->scheduler_.Release(task); }

void World::CrashHost(env::HostId host, CrashKind kind) {
  SIM_CHECK(kind == CrashKind::kProcess || kind == CrashKind::kPowerLoss);
  CrashPoint point;
  point.host = host;
  point.step = steps();
  impl_->CrashHost(host, kind, point);
}

void World::EndAllTasks() {
  impl_->scheduler_.EndTasks(impl_->scheduler_.tasks().Live());
}

CrashKind World::last_crash_kind() const { return impl_->crash_kind_; }

env::HostId World::last_crash_host() const { return impl_->crash_point_.host; }

const CrashPoint& World::last_crash_point() const {
  return impl_->crash_point_;
}

void World::Subscribe(EventSubscriber* subscriber) {
  impl_->hub_.Subscribe(subscriber);
}

void World::Unsubscribe(EventSubscriber* subscriber) {
  impl_->hub_.Unsubscribe(subscriber);
}

uint64_t World::hash() const { return impl_->hub_.hash(); }

uint64_t World::steps() const { return impl_->scheduler_.steps(); }

uint64_t World::sync_ops() const { return impl_->scheduler_.sync_ops(); }

uint64_t World::switches() const { return impl_->scheduler_.switches(); }

uint64_t World::event_count() const { return impl_->hub_.count(); }

env::TimeNs World::now() const { return impl_->clock_.now_ns(); }

Choices& World::choices() { return *impl_->shared_.choices; }

uint32_t World::incarnation(env::HostId host) const {
  return impl_->host(host).incarnation();
}

size_t World::live_tasks() const {
  return impl_->scheduler_.tasks().live_count();
}

const CheckFailure* World::check_failure() const {
  return impl_->check_failed_ ? &impl_->check_failure_ : nullptr;
}

uint64_t World::site_hits(env::HostId host, env::SiteId site) const {
  return impl_->host(host).site_hits(site);
}

uint64_t World::sim_site_hits(SimSite site) const {
  SIM_CHECK(site < kSimSiteCount);
  return impl_->shared_.sim_site_hits[site];
}

std::string_view World::task_name(env::TaskId id) const {
  const Task* task = std::as_const(impl_->scheduler_).tasks().Find(id);
  return task == nullptr ? std::string_view() : std::string_view(task->name);
}

const std::string& World::task_scope_path(env::TaskId id) const {
  const Task* task = std::as_const(impl_->scheduler_).tasks().Find(id);
  return task == nullptr ? impl_->shared_.world_scope.path()
                         : task->scope.path();
}

std::string World::DescribeTasks() const {
  std::string out;
  for (const Task* task : impl_->scheduler_.tasks().Live()) {
    const char* state = task->state == TaskState::kRunnable ? "runnable"
                        : task->timer != 0                  ? "timed wait"
                                                            : "parked";
    out += fmt::format("task {} {} ({}): {}, site {}\n", task->id, task->name,
                       task->scope.path(), state, task->waits_at);
  }
  return out;
}

std::vector<ScheduleEntry> World::recorded_schedule(size_t from) const {
  return impl_->scheduler_.recorded_schedule(from);
}

std::vector<size_t> World::unused_schedule() const {
  return impl_->scheduler_.unused_schedule();
}

void World::Mark(env::TaskId task, std::string_view label) {
  impl_->scheduler_.Mark(task, label);
}

void World::ClearMarks() { impl_->scheduler_.ClearMarks(); }

std::pair<std::string, uint64_t> World::MarkOf(env::TaskId task) const {
  return impl_->scheduler_.MarkOf(task);
}

uint64_t World::schedule_misses() const {
  return impl_->scheduler_.schedule_misses();
}

const char* StopReasonName(World::StopReason reason) {
  switch (reason) {
    case World::StopReason::kIdle:
      return "idle";
    case World::StopReason::kStopped:
      return "stopped";
    case World::StopReason::kCrashed:
      return "crashed";
    case World::StopReason::kStuck:
      return "stuck";
    case World::StopReason::kCheckFailed:
      return "check failed";
    case World::StopReason::kStepLimit:
      return "step limit";
  }
  SIM_UNREACHABLE();
}

}  // namespace sim
