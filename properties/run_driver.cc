#include "properties/run_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/common/sites.h"
#include "properties/blast_radius.h"
#include "sim/env/race.h"

namespace properties {
namespace {

// A run that starts its node so often makes no progress.
constexpr int kMaxNodeStarts = 64;
// Events kept for the report.
constexpr size_t kLastEvents = 40;

}  // namespace

RunDriver::RunDriver(RunParts parts)
    : parts_(std::move(parts)), world_(parts_.world), tail_(kLastEvents) {
  host_ = world_.AddHost(engine::EngineSites(), parts_.planted);
  sim::DeviceHost* device_host = &world_.device_host(host_);
  // Nothing goes wrong during set-up.
  parts_.disk->Attach(device_host, nullptr);
  world_.AttachFiles(host_, parts_.disk.get());
  BuildFaults(device_host);
  JudgeOptions judge;
  judge.format = {parts_.config.data_checksums, parts_.config.checksum_relation,
                  parts_.config.clog_checksums};
  judge.full_page_writes = parts_.config.full_page_writes;
  judge.wal_segment_bytes = parts_.config.wal_segment_size;
  judge.tpcb = parts_.books != Books::kNone;
  judge.only_tpcb = parts_.books == Books::kAll;
  judge.partial_tails = parts_.fault_plan.Has(faults::Family::kShortTransfer) ||
                        parts_.fault_plan.Has(faults::Family::kDiskFull);
  judge.excused = [this](const env::Status& status) {
    return Excused() || NamesDamage(status);
  };
  judge.disk = parts_.disk.get();
  judge.host = device_host;
  judge.damage = parts_.knobs.fill != 0;
  judge.media = parts_.fault_plan.media_budget > 0;
  if (judge.damage && parts_.fault_plan.Has(faults::Family::kPowerLoss)) {
    counters_.Enable(faults::Family::kFill);
  }
  judge_ = std::make_unique<Judge>(judge);
  SecondRecoveryOptions second;
  second.config = parts_.config;
  second.planted = parts_.planted;
  second.seed = parts_.choices->seed();
  second.stacks = parts_.world.stacks;
  // A copy would be damaged elsewhere.
  if (judge.media) second.one_in = 0;
  second_recovery_ = std::make_unique<SecondRecovery>(std::move(second));
  // A power loss strikes damaged media elsewhere, too.
  if (parts_.fan_out.on() && !judge.media) BuildFanOut();
  judge_->LoadTemplate(*parts_.disk);
  for (const PlanSession& session : parts_.plan.sessions) {
    clients_.push_back(std::make_unique<Client>(&session, this));
  }
  world_.Subscribe(this);
  if (parts_.trace != nullptr) world_.Subscribe(parts_.trace);
  for (sim::EventSubscriber* each : parts_.observers) world_.Subscribe(each);
  if (parts_.recorder == nullptr) return;
  world_.Subscribe(parts_.recorder);
  parts_.recorder->OnPaths(*parts_.disk, "");
}

void RunDriver::BuildFaults(sim::DeviceHost* device_host) {
  const faults::Directions& directions = parts_.directions;
  disk_faults_ = std::make_unique<faults::DiskFaults>(
      device_host, parts_.fault_plan, parts_.knobs, &counters_);
  crash_faults_ = std::make_unique<faults::CrashFaults>(
      directions.crashes.empty()
          ? faults::DrawCrashPlan(*parts_.choices,
                                  sim::Scope().Child("w0").Child("h0"),
                                  parts_.fault_plan, engine::EngineSites())
          : faults::DirectedCrashPlan(directions.crashes),
      engine::EngineSites(), &counters_);
  media_faults_ = std::make_unique<faults::MediaFaults>(
      parts_.disk.get(), device_host, parts_.fault_plan, &counters_,
      crash_faults_.get());
  background_disk_ = std::make_unique<faults::BackgroundDisk>(
      parts_.disk.get(), device_host, parts_.fault_plan, &counters_,
      media_faults_.get());
  Ask(background_disk_.get());
  if (directions.holds.empty() && directions.failures.empty()) return;
  faults::Stage::Options stage;
  stage.holds = directions.holds;
  stage.failures = directions.failures;
  stage.sync_failure = faults::FailureKind(parts_.knobs);
  stage.next_crash = background_disk_.get();
  stage.next_disk = disk_faults_.get();
  stage.counters = &counters_;
  stage.release = [this](env::TaskId task) { world_.ReleaseHold(task); };
  stage_directions_ = std::make_unique<faults::Stage>(std::move(stage));
  Ask(stage_directions_.get());
  world_.set_hold_hooks(stage_directions_.get());
}

void RunDriver::Ask(sim::CrashHooks* hooks) {
  if (parts_.recorder != nullptr) {
    parts_.recorder->OnWorld(&world_, hooks);
    hooks = parts_.recorder;
  }
  world_.set_crash_hooks(hooks);
}

void RunDriver::BuildFanOut() {
  FanOutOptions options;
  options.spec = parts_.fan_out;
  options.world.config = parts_.config;
  options.world.planted = parts_.planted;
  options.world.stacks = parts_.world.stacks;
  options.seed = parts_.choices->seed();
  fan_out_ = std::make_unique<FanOut>(std::move(options));
  faults::Instants::Options instants;
  if (parts_.fan_out.samples()) {
    instants.plan = faults::DrawInstants(
        *parts_.choices, sim::Scope().Child("w0").Child("h0"),
        parts_.fan_out.instants, engine::EngineSites());
  } else if (parts_.fan_out.mode == FanOutSpec::Mode::kExhaustive) {
    instants.which = faults::Instants::Which::kDurability;
  } else {
    instants.which = faults::Instants::Which::kStep;
    instants.step = parts_.fan_out.address.front().step;
  }
  instants.sites = engine::EngineSites();
  instants.next = background_disk_.get();
  if (stage_directions_ != nullptr) instants.next = stage_directions_.get();
  instants.stop = [this] { world_.RequestStop(); };
  instants_ = std::make_unique<faults::Instants>(std::move(instants));
  Ask(instants_.get());
}

bool RunDriver::ExploreInstant() {
  if (instants_ == nullptr) return false;
  std::optional<faults::Instant> instant = instants_->Take();
  if (!instant.has_value()) return false;
  Explore(*instant);
  return true;
}

void RunDriver::Explore(const faults::Instant& instant) {
  fan_out_->Explore(
      *parts_.disk, *judge_,
      {instant.step, instant.point, world_.event_count(), instant.write});
}

sim::DiskFaultHooks* RunDriver::DiskHooks() {
  if (stage_directions_ != nullptr) return stage_directions_.get();
  return disk_faults_.get();
}

void RunDriver::SetPhase(faults::Phase phase) {
  crash_faults_->SetPhase(phase);
  if (parts_.recorder != nullptr) {
    parts_.recorder->OnPhase(phase == faults::Phase::kRecovery);
  }
  if (instants_ != nullptr) instants_->SetPhase(phase);
  if (stage_directions_ != nullptr) {
    stage_directions_->SetRunning(phase == faults::Phase::kRunning);
  }
}

RunDriver::~RunDriver() { world_.EndAllTasks(); }

RunOutcome RunDriver::Drive() {
  StartNode();
  while (!finished_) {
    sim::World::StopReason reason = world_.Run();
    switch (reason) {
      case sim::World::StopReason::kStopped:
        // For an instant, something else, or both.
        if (!ExploreInstant() || stop_cause_ != StopCause::kNone) OnStopped();
        break;
      case sim::World::StopReason::kCrashed:
        Crash(world_.last_crash_kind());
        break;
      case sim::World::StopReason::kIdle:
        Fail("no task is left");
        finished_ = true;
        break;
      case sim::World::StopReason::kStuck:
        Break("LIVE", "node",
              "every process waits and nothing will wake it:\n" +
                  world_.DescribeTasks());
        finished_ = true;
        break;
      case sim::World::StopReason::kStepLimit:
        Fail(fmt::format("no end after {} scheduling steps", world_.steps()));
        finished_ = true;
        break;
      case sim::World::StopReason::kCheckFailed: {
        const sim::CheckFailure* check = world_.check_failure();
        Fail(fmt::format("check failed: {} at {}:{} in {}", check->condition,
                         check->file, check->line, check->task_name));
        finished_ = true;
        break;
      }
    }
  }
  TakeVerdicts();
  FillStats();
  world_.EndAllTasks();
  return std::move(outcome_);
}

void RunDriver::StartNode() {
  if (++node_starts_ > kMaxNodeStarts) {
    Break("LIVE", "node",
          fmt::format("the node was started {} times", node_starts_ - 1));
    finished_ = true;
    return;
  }
  node_ = std::make_unique<engine::Node>(&world_.env(host_), parts_.config);
  node_->HoldClients(true);
  disk_faults_->Hold(false);
  inspecting_ = false;
  clients_added_ = false;
  stopping_node_ = false;
  last_panic_.clear();
  world_.ClearMarks();
  judge_->liveness().OnNodeStarts();
  refusals_at_start_ = counters_.Refusals();
  sync_failed_ = false;
  damage_at_start_ = parts_.disk->fault_log().records().size();
  task_kills_at_start_ = counters_.of(faults::Family::kTaskKill).injected;
  SetPhase(stage_ == Stage::kWork && !faults_stopped_ ? faults::Phase::kRecovery
                                                      : faults::Phase::kDone);
  engine::Node* node = node_.get();
  env::TaskId postmaster = world_.SpawnRoot(host_, "postmaster", [this, node] {
    node->Main();
    env::Unwatched unwatched;
    Stop(StopCause::kNodeEnded);
  });
  crash_faults_->ProtectTask(postmaster);
}

void RunDriver::Crash(sim::CrashKind kind) {
  ++outcome_.stats.crashes;
  if (crash_faults_->last_in_recovery()) {
    outcome_.stats.crashed_in_recovery = true;
  }
  redo_is_needless_ = false;
  Restart(kind);
}

void RunDriver::Restart(sim::CrashKind kind) {
  for (const auto& client : clients_) {
    if (client->CommitPending()) ++outcome_.stats.in_doubt;
    client->OnBackendLost();
  }
  bool own_crash = stage_ == Stage::kWork && !faults_stopped_;
  if (fan_out_ != nullptr && parts_.fan_out.at_crashes && own_crash) {
    Explore({world_.steps(), crash_faults_->last_point(), false});
  }
  judge_->OnCrash(kind);
  if (stage_directions_ != nullptr) stage_directions_->OnCrash();
  node_.reset();
  uint64_t open_before = parts_.disk->OpenSectors();
  if (kind == sim::CrashKind::kPowerLoss) {
    media_faults_->OnPowerLoss();
    parts_.disk->PowerLoss(crash_faults_->last_image());
    disk_faults_->OnHostRestart();
  } else {
    parts_.disk->ProcessCrash();
  }
  recoveries_begun_ = 0;
  second_recovery_->OnCrash(*parts_.disk, open_before,
                            &world_.device_host(host_));
  if (parts_.keep_crashed) crashed_disk_ = parts_.disk->Clone();
  recovered_ = true;
  StartNode();
}

void RunDriver::NoteRestart(std::string why) {
  if (parts_.recorder != nullptr) parts_.recorder->OnRestart(std::move(why));
}

void RunDriver::Reboot() {
  NoteRestart("a reboot, because the file system is down");
  world_.CrashHost(host_, sim::CrashKind::kPowerLoss);
  Crash(sim::CrashKind::kPowerLoss);
}

RunDriver::Blame RunDriver::BlameOf(const env::Status& status) {
  if (parts_.disk->fault_log().empty()) return Blame::kNone;
  std::string text = std::string(status.message()) + " ";
  text += status.detail();
  Blame blame = Blame::kNone;
  for (const sim::FaultRecord& record :
       BlastRadius(parts_.disk.get()).OfMessage(text, damage_at_start_)) {
    if (sim::IsFill(record.damage)) continue;
    detected_.insert(record.id);
    blame = std::max(blame, record.ended ? Blame::kPassing : Blame::kLasting);
  }
  return blame;
}

void RunDriver::Stop(StopCause cause) {
  stop_cause_ = cause;
  world_.RequestStop();
}

void RunDriver::OnStopped() {
  StopCause cause = std::exchange(stop_cause_, StopCause::kNone);
  switch (cause) {
    case StopCause::kInspected:
      OnInspected();
      return;
    case StopCause::kSetupDone:
      stage_ = Stage::kWork;
      parts_.disk->Attach(&world_.device_host(host_), DiskHooks());
      media_faults_->Start();
      BeginWork();
      return;
    case StopCause::kWorkDone:
      OnWorkDone();
      return;
    case StopCause::kNodeEnded:
      OnNodeEnded();
      return;
    case StopCause::kBroken:
      finished_ = true;
      return;
    case StopCause::kNone:
      Fail("the world stopped without a cause");
      finished_ = true;
      return;
  }
}

void RunDriver::BeginWork() {
  if (!setup_status_.ok()) {
    finished_ = true;
    return;
  }
  if (!faults_stopped_) SetPhase(faults::Phase::kRunning);
  if (!clients_added_) {
    clients_added_ = true;
    for (const auto& client : clients_) {
      if (client->done()) continue;
      Client* c = client.get();
      node_->AddClient(c->name(), [this, c](engine::Session& session) {
        env::Unwatched unwatched;
        c->Run(session);
        bool all_done = true;
        for (const auto& other : clients_) all_done &= other->finished();
        // A node that is being stopped is started again first.
        if (all_done && !stopping_node_) Stop(StopCause::kWorkDone);
      });
    }
  }
  node_->HoldClients(false);
  bool any_left = false;
  for (const auto& client : clients_) any_left |= !client->finished();
  if (!any_left) OnWorkDone();
}

void RunDriver::OnWorkDone() {
  if (disk_faults_->file_system_down()) {
    Reboot();
    return;
  }
  sim::CrashKind kind = crash_faults_->ForcedCrash();
  if (kind != sim::CrashKind::kNone) {
    faults_stopped_ = false;
    judge_->liveness().OnFaultsGoOn();
    if (parts_.recorder != nullptr) parts_.recorder->OnForcedCrash(kind);
    world_.CrashHost(host_, kind);
    Crash(kind);
    return;
  }
  stage_ = Stage::kFinal;
  StopFaults();
  OnReady();
}

void RunDriver::StopFaults() {
  faults_stopped_ = true;
  SetPhase(faults::Phase::kDone);
  disk_faults_->Stop();
  media_faults_->Stop();
  background_disk_->Stop();
  judge_->liveness().OnFaultsStopped(world_.steps());
}

void RunDriver::MaybeStopNode() {
  if (stage_ != Stage::kWork || stopping_node_ ||
      ++answers_ != parts_.knobs.shutdown_after) {
    return;
  }
  auto mode = static_cast<engine::ShutdownMode>(parts_.knobs.shutdown);
  if (mode == engine::ShutdownMode::kSmart) return;
  stopping_node_ = true;
  node_->RequestShutdown(mode);
}

void RunDriver::OnNodeStopped() {
  auto mode = static_cast<engine::ShutdownMode>(parts_.knobs.shutdown);
  bool clean = mode == engine::ShutdownMode::kFast;
  if (clean) {
    judge_->OnShutdown(*WhatWasWritten());
    TakeVerdicts();
    finished_ = !outcome_.broken.empty();
    if (finished_) return;
  }
  NoteRestart(clean ? "a fast shutdown" : "an immediate shutdown");
  world_.CrashHost(host_, sim::CrashKind::kProcess);
  if (!clean) {
    Crash(sim::CrashKind::kProcess);
    return;
  }
  redo_is_needless_ = true;
  Restart(sim::CrashKind::kProcess);
}

void RunDriver::OnNodeEnded() {
  if (stopping_node_ && node_->state() == engine::NodeState::kStopped) {
    OnNodeStopped();
    return;
  }
  if (stage_ == Stage::kShutdown &&
      node_->state() == engine::NodeState::kStopped) {
    judge_->OnShutdown(*WhatWasWritten());
    finished_ = true;
    return;
  }
  if (disk_faults_->file_system_down()) {
    Reboot();
    return;
  }
  Blame blame = std::max(BlameOf(node_->failure()),
                         BlameOf(env::Status(env::Code::kIo, last_panic_)));
  if (blame == Blame::kLasting) {
    finished_ = true;  // the node would refuse again
    return;
  }
  bool excused =
      blame == Blame::kPassing || Excused() ||
      counters_.of(faults::Family::kTaskKill).injected > task_kills_at_start_;
  if (excused) {
    // A start-up process that died of an injected fault takes the postmaster
    // with it; whoever runs the host starts the node again.
    NoteRestart("the end of the node after a fault");
    world_.CrashHost(host_, sim::CrashKind::kProcess);
    Crash(sim::CrashKind::kProcess);
    return;
  }
  std::string why = node_->failure().ToString();
  if (!last_panic_.empty()) why = "PANIC: " + last_panic_;
  judge_->liveness().OnRefusedStart(why);
  finished_ = true;
}

}  // namespace properties
