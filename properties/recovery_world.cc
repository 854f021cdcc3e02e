#include "properties/recovery_world.h"

#include "engine/common/sites.h"

namespace properties {
namespace {

// Recovery of a run's log takes some thousand steps.
constexpr uint64_t kMaxSteps = 5'000'000;

sim::WorldOptions WorldOptionsOf(const RecoveryWorldOptions& options,
                                 sim::Choices* choices, uint64_t fork) {
  sim::WorldOptions world;
  world.choices = choices;
  world.strategy = options.strategy;
  world.stacks = options.stacks;
  world.max_steps = kMaxSteps;
  world.fork = fork;
  return world;
}

}  // namespace

RecoveryWorld::RecoveryWorld(const RecoveryWorldOptions& options,
                             sim::Choices* choices, uint64_t fork,
                             sim::Disk* disk)
    : world_(WorldOptionsOf(options, choices, fork)),
      host_(world_.AddHost(engine::EngineSites(), options.planted)),
      disk_(disk) {
  disk_->Attach(&world_.device_host(host_), nullptr);
  world_.AttachFiles(host_, disk_);
  world_.Subscribe(this);
  node_.emplace(&world_.env(host_), options.config);
  node_->HoldClients(true);
}

RecoveryWorld::~RecoveryWorld() {
  world_.EndAllTasks();
  disk_->Attach(nullptr, nullptr);
}

sim::World::StopReason RecoveryWorld::Run() {
  if (!started_) {
    started_ = true;
    world_.SpawnRoot(host_, "postmaster", [this] { node_->Main(); });
  }
  return world_.Run();
}

std::string RecoveryWorld::Failure(sim::World::StopReason reason) const {
  if (world_.check_failure() != nullptr) {
    return "check failed: " + world_.check_failure()->condition;
  }
  if (!panic_.empty()) return "PANIC: " + panic_;
  return node_->failure().ok() ? sim::StopReasonName(reason)
                               : node_->failure().ToString();
}

void RecoveryWorld::OnEvent(const env::Event& e) {
  if (e.kind == env::EventKind::kRecoveryEnd) end_ = e.a[0];
  if (e.kind == env::EventKind::kPanic) {
    // Nothing goes wrong in this world: nobody is excused.
    panic_ = std::string(e.bytes);
    world_.RequestStop();
  }
  if (e.kind != env::EventKind::kReady) return;
  ready_ = true;
  world_.RequestStop();
}

}  // namespace properties
