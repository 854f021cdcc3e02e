#include "sim/posix/posix_world.h"

#include <sys/random.h>
#include <time.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "sim/choices.h"
#include "sim/env/check.h"
#include "sim/host.h"
#include "sim/scheduler.h"

namespace sim::posix {
namespace {

// Seconds from 1970-01-01 to 2000-01-01, PostgreSQL's epoch.
constexpr int64_t kEpochShiftSeconds = int64_t{10957} * 24 * 3600;

env::TimeNs ReadClock(clockid_t clock) {
  timespec t;
  SIM_CHECK(clock_gettime(clock, &t) == 0);
  return int64_t{t.tv_sec} * env::kSecond + t.tv_nsec;
}

// The machine's clocks; monotonic time starts at 0 with the world.
class RealClock final : public env::Clock {
 public:
  RealClock() : start_ns_(ReadClock(CLOCK_MONOTONIC)) {}

  env::TimeNs Now() override { return ReadClock(CLOCK_MONOTONIC) - start_ns_; }

  int64_t WallMicros() override {
    return ReadClock(CLOCK_REALTIME) / env::kMicrosecond -
           kEpochShiftSeconds * 1'000'000;
  }

  // Sleeps until Now() >= deadline_ns.
  void SleepUntil(env::TimeNs deadline_ns) {
    env::TimeNs at = start_ns_ + deadline_ns;
    timespec t;
    t.tv_sec = at / env::kSecond;
    t.tv_nsec = at % env::kSecond;
    int error = EINTR;
    while (error == EINTR) {
      error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
    }
    SIM_CHECK(error == 0);
  }

 private:
  env::TimeNs start_ns_;
};

// Everyone in turn; a timer fires once its time has come.
class InTurn final : public Strategy {
 public:
  InTurn(RealClock* real, VirtualClock* known) : real_(real), known_(known) {}

  bool Begin(const SchedulePoint&, env::TimeNs earliest_ns) override {
    if (earliest_ns == env::kForever) return false;
    known_->AdvanceTo(real_->Now());
    return earliest_ns <= known_->now_ns();
  }

  size_t Next(const SchedulePoint& point,
              std::span<const Candidate> candidates) override {
    return Successor(candidates, point.last);
  }

 private:
  RealClock* real_;
  VirtualClock* known_;
};

// Anything will do: no run here is ever repeated.
uint64_t SystemSeed() {
  uint64_t seed = 0;
  SIM_CHECK(getrandom(&seed, sizeof(seed), 0) == sizeof(seed));
  return seed;
}

}  // namespace

// The scheduler's clock shows the real time as of the last scheduling point.
class PosixWorld::Impl final : public SchedulerClient,
                               public env::CheckHandler {
 public:
  Impl(env::SiteTable node_sites, env::Files* files)
      : strategy_(&real_clock_, &clock_),
        choices_(SystemSeed()),
        hub_(&clock_),
        scheduler_(MakeOptions()),
        shared_(MakeShared()),
        host_(&shared_, 0, node_sites, {}) {
    host_.env().clock = &real_clock_;
    host_.AttachFiles(files);
  }

  CrashKind AskCrash(const CrashPoint&) override { return CrashKind::kNone; }

  void BeforeTimer(env::TimeNs deadline_ns) override {
    real_clock_.SleepUntil(deadline_ns);
  }

  [[noreturn]] void OnCheckFailed(const char* condition, const char* file,
                                  int line) override {
    const Task* task = scheduler_.current();
    std::fprintf(stderr, "%s:%d: check failed in %s: %s\n", file, line,
                 task == nullptr ? "no task" : task->name.c_str(), condition);
    std::abort();
  }

  RealClock real_clock_;
  VirtualClock clock_;
  InTurn strategy_;
  Choices choices_;
  StackPool stacks_;
  EventHub hub_;
  Scheduler scheduler_;
  HostShared shared_;
  Host host_;

 private:
  SchedulerOptions MakeOptions() {
    SchedulerOptions options;
    options.strategy.max_run = UINT32_MAX;
    options.strategy.max_ops_without_timer = UINT32_MAX;
    options.custom_strategy = &strategy_;
    options.choices = &choices_;
    options.max_steps = UINT64_MAX;
    options.stacks = &stacks_;
    options.world_scope = Scope().Child("w", 0);
    options.clock = &clock_;
    options.hub = &hub_;
    options.check_handler = this;
    options.client = this;
    return options;
  }

  HostShared MakeShared() {
    HostShared shared;
    shared.scheduler = &scheduler_;
    shared.hub = &hub_;
    shared.choices = &choices_;
    shared.clock = &clock_;
    shared.world_scope = Scope().Child("w", 0);
    return shared;
  }
};

PosixWorld::PosixWorld(env::SiteTable node_sites, env::Files* files)
    : impl_(std::make_unique<Impl>(node_sites, files)) {}

PosixWorld::~PosixWorld() { EndAllTasks(); }

env::Env& PosixWorld::env() { return impl_->host_.env(); }

env::TaskId PosixWorld::SpawnRoot(std::string_view name,
                                  std::function<void()> body) {
  return impl_->host_.SpawnRoot(name, std::move(body));
}

PosixWorld::StopReason PosixWorld::Run() {
  switch (impl_->scheduler_.Run()) {
    case Scheduler::Stop::kIdle:
      return StopReason::kIdle;
    case Scheduler::Stop::kRequested:
      return StopReason::kStopped;
    case Scheduler::Stop::kStuck:
      return StopReason::kStuck;
    default:
      SIM_UNREACHABLE();
  }
}

void PosixWorld::RequestStop() { impl_->scheduler_.RequestStop(); }

void PosixWorld::EndAllTasks() {
  impl_->scheduler_.EndTasks(impl_->scheduler_.tasks().Live());
}

size_t PosixWorld::live_tasks() const {
  return impl_->scheduler_.tasks().live_count();
}

void PosixWorld::Subscribe(EventSubscriber* subscriber) {
  impl_->hub_.Subscribe(subscriber);
}

}  // namespace sim::posix
