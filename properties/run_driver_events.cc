// What the driver learns while a run goes on, from events and clients, and what
// it tells of the run at the end.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "engine/common/errcodes.h"
#include "engine/common/sites.h"
#include "properties/decoders/wal_decoder.h"
#include "properties/run_driver.h"

namespace properties {
namespace {

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

}  // namespace

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
        if (sim::IsFill(static_cast<sim::Damage>(event.a[1]))) {
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
  std::string label = LabelOf(statement.id, parts_.by_session);
  world_.Mark(env::Current().task, label);
  if (parts_.recorder != nullptr) parts_.recorder->OnSent(label);
  faults::StatementRef ref{statement.id.session, statement.id.statement};
  crash_faults_->OnSend(ref);
  if (stage_directions_ != nullptr &&
      stage_directions_->OnSend(env::Current().task, ref)) {
    world_.env(host_).tasks->Yield(SITE_ID(client_sleep));
  }
  judge_->OnStatementSent(env::Current().task, statement);
  if (parts_.knobs.quiet_tail == 0 || faults_stopped_ ||
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
  if (parts_.recorder != nullptr) {
    parts_.recorder->OnAnswered(LabelOf(statement.id, parts_.by_session),
                                results);
  }
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
  if (fan_out_ != nullptr) evidence.Merge(fan_out_->evidence());
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

std::string RunDriver::SchedulerName() const {
  if (parts_.world.strategy.kind == sim::StrategyKind::kRecorded) {
    return "recorded";
  }
  return faults::GetKnob(parts_.knobs, "strategy").value();
}

void RunDriver::TakeFanOut() {
  if (fan_out_ == nullptr) return;
  if (!fan_out_->harness_failure().empty()) Fail(fan_out_->harness_failure());
  if (outcome_.broken.empty()) outcome_.fan_out = fan_out_->address();
  for (Verdict& verdict : fan_out_->TakeVerdicts()) {
    outcome_.broken.push_back(std::move(verdict));
  }
  if (parts_.fan_out.mode == FanOutSpec::Mode::kReplay &&
      !fan_out_->replayed()) {
    outcome_.unmet_directions.push_back("fan-out " + parts_.fan_out.ToString());
  }
  const FanOutStats& did = fan_out_->stats();
  std::map<std::string, uint64_t>& judged = outcome_.stats.judged;
  judged["fan-out: instants"] = did.instants;
  judged["fan-out: images tried"] = did.images;
  judged["fan-out: distinct states"] = did.distinct;
  judged["fan-out: memo hits"] = did.memo_hits;
  if (parts_.fan_out.mode != FanOutSpec::Mode::kExhaustive) return;
  judged["fan-out: process crashes"] = did.process_crashes;
  judged["fan-out: instants of recoveries"] = did.second_instants;
  judged["fan-out: second crashes"] = did.second_images;
  judged["fan-out: states of equal content"] = did.equal_states;
  judged["fan-out: instants cut short"] = did.bounded;
}

void RunDriver::FillStats() {
  ++outcome_.stats.schedulers[SchedulerName()];
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
  TakeFanOut();
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
  for (std::string& text : crash_faults_->Unmet()) {
    outcome_.unmet_directions.push_back(std::move(text));
  }
  if (stage_directions_ != nullptr) {
    for (std::string& text : stage_directions_->Unmet()) {
      outcome_.unmet_directions.push_back(std::move(text));
    }
  }
  for (size_t index : world_.unused_schedule()) {
    outcome_.unused_schedule.push_back(index);
  }
  if (parts_.recorder != nullptr) {
    outcome_.record =
        std::make_shared<const RunRecord>(parts_.recorder->Take());
  }
  outcome_.unmatched_overrides = parts_.choices->UnmatchedOverrides();
  if (!outcome_.broken.empty() || !outcome_.harness_failure.empty()) {
    outcome_.last_events = SplitLines(tail_.Text());
  }
}

}  // namespace properties
