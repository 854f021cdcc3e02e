// World: hosts, their tasks, one clock, one hash; built from a seed.
//
//   Choices ──► Strategy ──► Scheduler ──► tasks (fibers) ──► env::Env
//                               │                               │
//   CrashHooks ◄── every point ─┘        EventHub ◄── events ───┘
//                                        hash, oracles, trace
//
// A driver builds a world, adds hosts, attaches a device to each, spawns the
// first task of each host and calls Run() until the run is over:
//
//   sim::Choices choices(seed);
//   sim::WorldOptions options;
//   options.choices = &choices;
//   sim::World world(options);
//   env::HostId host = world.AddHost(sites, {});
//   disk.Attach(&world.device_host(host));
//   world.AttachFiles(host, &disk);
//   world.SpawnRoot(host, "postmaster", [&] { ... });
//   while (world.Run() == sim::World::StopReason::kCrashed) {
//     // The host's tasks are gone; apply the crash to the disk, start again.
//   }
//
// One OS thread at a time uses a world. Tasks' stacks may hold env::File
// handles: a disk outlives the world, or EndAllTasks() comes first.
#ifndef MUSTH_SIM_WORLD_H_
#define MUSTH_SIM_WORLD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/choices.h"
#include "sim/device_host.h"
#include "sim/env/env.h"
#include "sim/events.h"
#include "sim/fault_hooks.h"
#include "sim/sim_sites.h"
#include "sim/strategies.h"

namespace sim {

class StackPool;  // sim/fiber.h
struct Task;

struct WorldOptions {
  Choices* choices = nullptr;  // required; outlives the world
  StrategyOptions strategy;
  // Takes the place of strategy.kind if not null; outlives the world.
  Strategy* custom_strategy = nullptr;
  // Scheduling steps after which Run gives up.
  uint64_t max_steps = 100'000'000;
  // Fills each task's stack with `poison` before use: a run that depends on
  // what it never wrote hashes differently.
  bool poison_stacks = false;
  uint8_t poison = 0;
  // Keeps the schedule for recorded_schedule().
  bool record_schedule = false;
  // Whether Mark does anything; with a recorded schedule it always does.
  bool marks = false;
  // Which copy of the world this is: the "w0" of scopes. A fan-out child gets
  // its own number.
  uint64_t fork = 0;
  // Stacks to reuse between worlds of one thread; the world's own if null.
  StackPool* stacks = nullptr;
};

// A broken SIM_CHECK.
struct CheckFailure {
  std::string condition;
  std::string file;
  int line = 0;
  env::TaskId task = env::kNoTask;
  std::string task_name;
};

class World {
 public:
  explicit World(const WorldOptions& options);
  // Ends every task that is left.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Adds a machine that runs a node with these sites. planted has a byte per
  // site (non-zero: that planted bug is on) or is empty. Hosts count from 0.
  env::HostId AddHost(env::SiteTable node_sites, std::vector<uint8_t> planted);
  // What a device of the host needs; valid as long as the world.
  DeviceHost& device_host(env::HostId host);
  // files was attached to device_host(host) and outlives the host's tasks.
  void AttachFiles(env::HostId host, env::Files* files);
  env::Env& env(env::HostId host);
  // "w0/h0/i2": this host, this incarnation.
  const Scope& host_scope(env::HostId host) const;

  // Starts a task without parent, e.g. the postmaster. Its exit is reaped by
  // env(host).tasks->ReapChild() called from outside any task.
  env::TaskId SpawnRoot(env::HostId host, std::string_view name,
                        std::function<void()> body);

  enum class StopReason : uint8_t {
    kIdle,         // no live task is left
    kStopped,      // RequestStop()
    kCrashed,      // a host crashed; see last_crash_*()
    kStuck,        // every live task is parked and no timer is pending
    kCheckFailed,  // a SIM_CHECK broke; see check_failure()
    kStepLimit,    // max_steps
  };
  // Runs until one of these. May be called again after each but the last two,
  // which are final.
  StopReason Run();
  // From a task, a subscriber or a hook: Run returns at the next scheduling
  // point, before it is acted on.
  void RequestStop();

  // Asked at every scheduling point of a task that is not being unwound; null
  // asks nobody. On kTaskKill the running task dies at once and Run goes on.
  // On kProcess and kPowerLoss Run does what CrashHost does, then returns
  // kCrashed: the caller applies the disk's part and starts the node again.
  void set_crash_hooks(CrashHooks* hooks);
  // Asked at every yield point of a host's tasks; null holds nobody.
  void set_hold_hooks(HoldHooks* hooks);
  // Lets a held task go on. From a task, a subscriber or a hook.
  void ReleaseHold(env::TaskId task);
  // Ends every task of the host now, by task id, each unwound by
  // ProcessCrashed; discards its timers; begins the next incarnation. One that
  // failed a SIM_CHECK stays parked for good. The caller applies the disk's
  // part. Requires: not called from a task.
  void CrashHost(env::HostId host, CrashKind kind);
  // As CrashHost for every host, without a crash: no event, no incarnation.
  // For drivers that stop in the middle of a run.
  void EndAllTasks();
  CrashKind last_crash_kind() const;
  env::HostId last_crash_host() const;
  const CrashPoint& last_crash_point() const;

  // The subscriber outlives the world, or is unsubscribed.
  void Subscribe(EventSubscriber* subscriber);
  void Unsubscribe(EventSubscriber* subscriber);

  uint64_t hash() const;
  // Scheduling steps: sync operations, task exits and timers that fired.
  uint64_t steps() const;
  // Sync operations of all tasks.
  uint64_t sync_ops() const;
  // Context switches.
  uint64_t switches() const;
  uint64_t event_count() const;
  env::TimeNs now() const;
  Choices& choices();
  uint32_t incarnation(env::HostId host) const;
  size_t live_tasks() const;
  // Null unless a SIM_CHECK broke in a task.
  const CheckFailure* check_failure() const;
  // How often tasks of the host passed a site of the node's table.
  uint64_t site_hits(env::HostId host, env::SiteId site) const;
  // How often the world passed one of its own sites (all hosts).
  uint64_t sim_site_hits(SimSite site) const;
  // Names of tasks, also of those that ended; "" for kNoTask.
  std::string_view task_name(env::TaskId task) const;
  const std::string& task_scope_path(env::TaskId task) const;
  // One line per live task: id, name, scope, what it waits for. For reports
  // on kStuck.
  std::string DescribeTasks() const;

  // Every switch and timer so far, from the `from`-th on. Requires:
  // options.record_schedule.
  std::vector<ScheduleEntry> recorded_schedule(size_t from = 0) const;
  // Entries of the given schedule that could not be followed.
  uint64_t schedule_misses() const;
  // Those that decided nothing, by index.
  std::vector<size_t> unused_schedule() const;

  // Marks: see Scheduler::Mark.
  void Mark(env::TaskId task, std::string_view label);
  void ClearMarks();
  std::pair<std::string, uint64_t> MarkOf(env::TaskId task) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

const char* StopReasonName(World::StopReason reason);

}  // namespace sim

#endif  // MUSTH_SIM_WORLD_H_
