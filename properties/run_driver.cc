#include "properties/run_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/common/errcodes.h"
#include "engine/common/sites.h"
#include "engine/sql/parse.h"
#include "properties/blast_radius.h"
#include "properties/decoders/wal_decoder.h"
#include "sim/env/race.h"

namespace properties {
namespace {

// A run that starts its node so often makes no progress.
constexpr int kMaxNodeStarts = 64;
// Events kept for the report.
constexpr size_t kLastEvents = 40;
// Scheduling steps without a finished statement after which nobody believes in
// progress any more.
constexpr uint64_t kStepsWithoutProgress = 2'000'000;

// What a report shows of a run's end: what changed something, not what was
// looked at.
bool WorthTelling(env::EventKind kind) {
  switch (kind) {
    case env::EventKind::kTupleRead:
    case env::EventKind::kPageRead:
    case env::EventKind::kFileRead:
    case env::EventKind::kFileOpen:
    case env::EventKind::kSnapshot:
    case env::EventKind::kSwitch:
    case env::EventKind::kTimer:
      return false;
    default:
      return true;
  }
}

// Errors that say that files failed. The judge knows of those that say that
// they are damaged.
bool BlamesFiles(const env::Status& status) {
  for (uint32_t sqlstate : {engine::ERRCODE_DISK_FULL, engine::ERRCODE_IO_ERROR,
                            engine::ERRCODE_UNDEFINED_FILE,
                            engine::ERRCODE_INSUFFICIENT_PRIVILEGE}) {
    if (status.sqlstate() == sqlstate) return true;
  }
  return false;
}

// What a crash extends a file with is judged by what the log says of the page.
bool IsFill(sim::Damage damage) {
  return damage == sim::Damage::kGarbageFill ||
         damage == sim::Damage::kStaleFill;
}

std::vector<std::string> SplitLines(const std::string& text) {
  std::vector<std::string> lines;
  size_t at = 0;
  while (at < text.size()) {
    size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// Where the node's code begins, for race checks.
engine::StatementResult Execute(engine::Session& session,
                                const engine::Statement& statement) {
  env::Watched watched;
  return session.Execute(statement);
}

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
  judge.tpcb = parts_.tpcb;
  judge.only_tpcb = parts_.only_tpcb;
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
  judge_->LoadTemplate(*parts_.disk);
  for (const PlanSession& session : parts_.plan.sessions) {
    clients_.push_back(std::make_unique<Client>(&session, this));
  }
  world_.Subscribe(this);
  if (parts_.trace != nullptr) world_.Subscribe(parts_.trace);
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
  world_.set_crash_hooks(background_disk_.get());
  if (directions.holds.empty() && directions.failures.empty()) return;
  faults::Stage::Options stage;
  stage.holds = directions.holds;
  stage.failures = directions.failures;
  stage.sync_failure = static_cast<sim::SyncFailure>(parts_.knobs.sync_failure);
  stage.next_crash = background_disk_.get();
  stage.next_disk = disk_faults_.get();
  stage.counters = &counters_;
  stage.release = [this](env::TaskId task) { world_.ReleaseHold(task); };
  stage_directions_ = std::make_unique<faults::Stage>(std::move(stage));
  world_.set_crash_hooks(stage_directions_.get());
  world_.set_hold_hooks(stage_directions_.get());
}

sim::DiskFaultHooks* RunDriver::DiskHooks() {
  if (stage_directions_ != nullptr) return stage_directions_.get();
  return disk_faults_.get();
}

void RunDriver::SetPhase(faults::Phase phase) {
  crash_faults_->SetPhase(phase);
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
        OnStopped();
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

void RunDriver::Reboot() {
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
    if (IsFill(record.damage)) continue;
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

void RunDriver::OnAccepting() {
  panicked_ = sync_failed_since_ready_ = redo_is_needless_ = false;
  reinspections_ = 0;
  OnReady();
}

void RunDriver::OnReady() {
  disk_faults_->Hold(true);
  SetPhase(faults::Phase::kDone);
  node_->HoldClients(true);
  // After a restart by the node itself the old inspector is connected again.
  if (inspecting_) return;
  inspecting_ = true;
  node_->AddClient(
      "inspector",
      [this](engine::Session& session) {
        env::Unwatched unwatched;
        Inspect(session);
      },
      /*first=*/true);
}

engine::StatementResult RunDriver::Look(engine::Session& session,
                                        const std::string& sql) {
  while (true) {
    uint64_t before = FaultsTold();
    engine::StatementResult result = Execute(session, Parsed(sql));
    if (result.status.ok() || FaultsTold() == before ||
        disk_faults_->file_system_down()) {
      return result;
    }
  }
}

void RunDriver::Inspect(engine::Session& session) {
  scans_.clear();
  engine::StatementResult tables =
      Look(session,
           "SELECT relname FROM pg_class WHERE oid >= 16384 AND relkind = 'r' "
           "ORDER BY relname");
  std::vector<std::string> names;
  for (const auto& row : tables.rows) names.push_back(*row[0]);
  scans_.emplace_back("pg_class", std::move(tables));
  for (const std::string& name : names) {
    scans_.emplace_back(name, Look(session, "SELECT * FROM " + name));
  }
  Stop(StopCause::kInspected);
}

const engine::Statement& RunDriver::Parsed(const std::string& sql) {
  auto& statements =
      parts_.statements != nullptr ? *parts_.statements : own_statements_;
  auto it = statements.find(sql);
  if (it == statements.end()) {
    auto parsed = engine::ParseSql(sql);
    SIM_CHECK(parsed.ok() && parsed->size() == 1);
    it = statements.emplace(sql, std::move((*parsed)[0])).first;
  }
  return it->second;
}

void RunDriver::OnInspected() {
  inspecting_ = false;
  disk_faults_->Hold(false);
  if (disk_faults_->file_system_down()) {
    Reboot();
    return;
  }
  // The inspector outran the node's end; its next start is judged.
  if (panicked_) return;
  // An fsync has failed, and its caller has yet to act on that.
  if (sync_failed_since_ready_ && ++reinspections_ <= kMaxReinspections) {
    OnReady();
    return;
  }
  JudgeInspection();
  if (!outcome_.broken.empty()) {
    finished_ = true;
    return;
  }
  switch (stage_) {
    case Stage::kSetup:
      node_->AddClient(
          "setup",
          [this](engine::Session& session) {
            env::Unwatched unwatched;
            setup_status_ = RunSetup(parts_.plan, this, session);
            Stop(StopCause::kSetupDone);
          },
          /*first=*/true);
      return;
    case Stage::kWork:
      BeginWork();
      return;
    case Stage::kFinal:
      stage_ = Stage::kShutdown;
      node_->RequestShutdown();
      return;
    case Stage::kShutdown:
      // The node died during its shutdown (an fsync failed before the faults
      // stopped and was found only now) and was started again.
      node_->RequestShutdown();
      return;
  }
}

std::unique_ptr<sim::Disk> RunDriver::WhatWasWritten() const {
  std::unique_ptr<sim::Disk> disk = parts_.disk->Clone();
  disk->Freeze();
  disk->RepairMedia();
  return disk;
}

void RunDriver::JudgeInspection() {
  if (recovered_) {
    ++outcome_.stats.recoveries;
    recovered_ = false;
    judge_->OnRecovered(*WhatWasWritten());
    second_recovery_->OnRecovered(*parts_.disk, &world_.device_host(host_),
                                  recovery_end_, world_.event_count(),
                                  &outcome_.broken);
  }
  for (const auto& [table, result] : scans_) {
    if (!result.status.ok()) {
      if (NamesDamage(result.status)) continue;
      judge_->JudgeRefusal("table " + table, result.status);
    } else if (table != "pg_class") {
      judge_->CompareScan(table, result);
    }
  }
  scans_.clear();
  TakeVerdicts();
  if (outcome_.broken.empty()) ledger_.Settle(counters_);
}

void RunDriver::TakeVerdicts() {
  for (Verdict& verdict : judge_->TakeVerdicts()) {
    outcome_.broken.push_back(std::move(verdict));
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
    world_.CrashHost(host_, sim::CrashKind::kProcess);
    Crash(sim::CrashKind::kProcess);
    return;
  }
  std::string why = node_->failure().ToString();
  if (!last_panic_.empty()) why = "PANIC: " + last_panic_;
  judge_->liveness().OnRefusedStart(why);
  finished_ = true;
}

void RunDriver::Break(std::string promise, std::string subject,
                      std::string message) {
  Verdict verdict;
  verdict.promise = std::move(promise);
  verdict.oracle = "driver";
  verdict.subject = std::move(subject);
  verdict.message = std::move(message);
  verdict.event_seq = world_.event_count();
  outcome_.broken.push_back(std::move(verdict));
}

void RunDriver::Fail(std::string why) {
  if (outcome_.harness_failure.empty()) {
    outcome_.harness_failure = std::move(why);
  }
}

void RunDriver::OnEvent(const env::Event& event) {
  if (WorthTelling(event.kind)) tail_.OnEvent(event);
  if (event.kind == env::EventKind::kFileSync && event.a[2] != 0) {
    sync_failed_ = sync_failed_since_ready_ = true;
  }
  bool excused = event.kind == env::EventKind::kPanic &&
                 (Excused() || NamesDamage(env::Status(
                                   env::Code::kIo, std::string(event.bytes))));
  if (excused) {
    judge_->liveness().OnExcuse();
    ledger_.Report(faults::Family::kSyncFailure, counters_);
  }
  judge_->OnEvent(event);
  switch (event.kind) {
    case env::EventKind::kReady:
      OnAccepting();
      break;
    case env::EventKind::kTaskStart:
      // A node that restarts by itself recovers before anybody says so.
      if (event.bytes == "startup" &&
          crash_faults_->phase() == faults::Phase::kRunning) {
        SetPhase(faults::Phase::kRecovery);
      }
      break;
    case env::EventKind::kRedo:
      if (redo_is_needless_) {
        redo_is_needless_ = false;
        Break("CKPT", "restart after a fast shutdown",
              fmt::format("replays the record at {}", LsnToText(event.a[0])));
      }
      break;
    case env::EventKind::kRecoveryStart:
      if (++recoveries_begun_ > 1) second_recovery_->Forget();
      // A node that restarts by itself recovers, too.
      if (stage_ == Stage::kSetup) break;
      recovered_ = true;
      if (stage_ == Stage::kWork && !faults_stopped_) {
        SetPhase(faults::Phase::kRecovery);
      }
      break;
    case env::EventKind::kPanic:
      last_panic_ = std::string(event.bytes);
      panicked_ = true;
      if (!excused) Stop(StopCause::kBroken);
      break;
    case env::EventKind::kFault:
      if (event.a[0] == static_cast<uint64_t>(sim::DiskFaultFamily::kDamage)) {
        if (IsFill(static_cast<sim::Damage>(event.a[1]))) {
          counters_.Inject(faults::Family::kFill);
        }
      }
      break;
    case env::EventKind::kTimer:
      CheckProgress();
      break;
    case env::EventKind::kRecoveryEnd:
      recovery_end_ = event.a[0];
      progress_step_ = world_.steps();
      break;
    case env::EventKind::kCommand:
      if (event.a[2] == 0) progress_step_ = world_.steps();
      break;
    case env::EventKind::kAcked:
      progress_step_ = world_.steps();
      break;
    default:
      break;
  }
}

void RunDriver::OnStatementSent(const PlanStatement& statement) {
  faults::StatementRef ref{statement.id.session, statement.id.statement};
  if (stage_directions_ != nullptr &&
      stage_directions_->OnSend(env::Current().task, ref)) {
    world_.env(host_).tasks->Yield(SITE_ID(client_sleep));
  }
  judge_->OnStatementSent(env::Current().task, statement);
  // What a recipe demands in words may come as late as it likes.
  if (parts_.knobs.quiet_tail == 0 || parts_.directed || faults_stopped_ ||
      stage_ != Stage::kWork) {
    return;
  }
  bool all_at_last = true;
  for (const auto& client : clients_) all_at_last &= client->done();
  if (all_at_last) StopFaults();
}

void RunDriver::OnStatementResult(
    const PlanStatement& statement,
    const std::vector<engine::StatementResult>& results) {
  judge_->OnStatementResult(env::Current().task, statement, results);
  for (const engine::StatementResult& result : results) {
    if (!BlamesFiles(result.status) || NamesDamage(result.status) ||
        Excused()) {
      continue;
    }
    Break("STMT", "statement " + statement.id.ToString(),
          "refused although no fault struck: " + result.status.ToString());
  }
  faults::StatementRef ref{statement.id.session, statement.id.statement};
  crash_faults_->OnAnswer(ref);
  if (stage_directions_ != nullptr) stage_directions_->OnAnswer(ref);
  MaybeStopNode();
}

void RunDriver::CheckProgress() {
  if (judge_->liveness().Overdue(world_.steps())) {
    std::vector<std::string> unfinished;
    for (const auto& client : clients_) {
      if (!client->finished())
        unfinished.push_back("session " + client->name());
    }
    if (unfinished.empty()) unfinished.push_back("shutdown");
    judge_->liveness().OnDeadline(world_.steps(), unfinished,
                                  world_.DescribeTasks());
    Stop(StopCause::kBroken);
    return;
  }
  if (world_.steps() - progress_step_ < kStepsWithoutProgress) return;
  Break("LIVE", "node",
        fmt::format("no statement ended in {} scheduling steps:\n{}",
                    kStepsWithoutProgress, world_.DescribeTasks()));
  Stop(StopCause::kBroken);
}

faults::Evidence RunDriver::evidence() const {
  faults::Evidence evidence;
  evidence.weak_metadata = parts_.disk->options().meta == sim::MetaMode::kWeak;
  evidence.entries_lost = parts_.disk->stats().entries_lost;
  evidence.sync_failures = parts_.disk->stats().sync_failures;
  evidence.late_failures = parts_.disk->stats().late_failures;
  for (const sim::FaultRecord& record : parts_.disk->fault_log().records()) {
    evidence.Add(record);
  }
  return evidence;
}

void RunDriver::CheckLegality() {
  for (const auto& [point, kinds] : crash_faults_->hits()) {
    for (sim::CrashKind kind : faults::kCrashKinds) {
      if (kinds.count(faults::CrashKindName(kind)) == 0) continue;
      const faults::Exclusion* exclusion = faults::FindExclusion(point, kind);
      if (exclusion == nullptr) continue;
      Fail(fmt::format("{} at {}: illegal, {}", faults::CrashKindName(kind),
                       point, exclusion->reason));
    }
  }
}

void RunDriver::FillStats() {
  RunStats& stats = outcome_.stats;
  outcome_.hash = world_.hash();
  stats.steps = world_.steps();
  stats.virtual_ns = world_.now();
  stats.acked_commits = judge_->model().stats().acked_commits;
  stats.statements_predicted = judge_->statements().stats().predicted;
  stats.statements_unpredicted = judge_->statements().stats().unpredicted;
  stats.crash_points = crash_faults_->hits();
  judge_->CountWork(&stats.judged);
  stats.judged["second recoveries"] = second_recovery_->compared();
  CheckLegality();
  bool broken = !outcome_.broken.empty();
  detected_.insert(judge_->detected().begin(), judge_->detected().end());
  for (int i = 0; i < faults::kFamilyCount; ++i) {
    auto family = static_cast<faults::Family>(i);
    RunStats::Family& out = stats.families[faults::FamilyName(family)];
    out = ledger_.Of(family, counters_, broken);
    if (!faults::LeavesDamage(family)) continue;
    uint64_t enabled = out.enabled_runs;
    out = OutcomesOfDamage(family, *parts_.disk, detected_, broken);
    out.enabled_runs = enabled;
  }
  outcome_.unmet_directions = crash_faults_->Unmet();
  if (stage_directions_ != nullptr) {
    for (std::string& text : stage_directions_->Unmet()) {
      outcome_.unmet_directions.push_back(std::move(text));
    }
  }
  outcome_.unmatched_overrides = parts_.choices->UnmatchedOverrides();
  if (!outcome_.broken.empty() || !outcome_.harness_failure.empty()) {
    outcome_.last_events = SplitLines(tail_.Text());
  }
}

}  // namespace properties
