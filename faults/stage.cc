#include "faults/stage.h"

#include <utility>

#include "sim/env/check.h"

namespace faults {
namespace {

// Scheduling steps after which nobody believes any more that what a hold waits
// for will happen.
constexpr uint64_t kPatienceSteps = 100'000;

Family FamilyOf(DirectedFailure::What what) {
  switch (what) {
    case DirectedFailure::What::kSync:
      return Family::kSyncFailure;
    case DirectedFailure::What::kExtend:
      return Family::kDiskFull;
    case DirectedFailure::What::kWrite:
      return Family::kShortTransfer;
  }
  SIM_UNREACHABLE();
}

}  // namespace

Stage::Stage(Options options)
    : options_(std::move(options)),
      holds_(options_.holds.size()),
      calls_(options_.failures.size(), 0) {
  for (size_t i = 0; i < holds_.size(); ++i) {
    holds_[i].until_seen.resize(options_.holds[i].until.size());
  }
  for (const DirectedFailure& failure : options_.failures) {
    options_.counters->Enable(FamilyOf(failure.what));
  }
}

void Stage::OnCrash() {
  for (HoldState& hold : holds_) hold.task = env::kNoTask;
}

void Stage::Begin(size_t i, env::TaskId task) {
  holds_[i].begun = true;
  if (holds_[i].until_met) return;
  holds_[i].task = task;
  holds_[i].since_step = step_;
}

void Stage::Release(size_t i) {
  env::TaskId task = std::exchange(holds_[i].task, env::kNoTask);
  if (task != env::kNoTask) options_.release(task);
}

void Stage::MeetUntil(size_t i) {
  holds_[i].until_met = true;
  Release(i);
}

bool Stage::OnSend(env::TaskId task, const StatementRef& statement) {
  for (size_t i = 0; i < holds_.size(); ++i) {
    const Moment& at = options_.holds[i].at;
    if (at.kind != Moment::Kind::kStatement || at.statement != statement) {
      continue;
    }
    Begin(i, task);
  }
  return Held(task);
}

void Stage::OnAnswer(const StatementRef& statement) {
  for (size_t i = 0; i < holds_.size(); ++i) {
    for (const Moment& until : options_.holds[i].until) {
      if (until.kind == Moment::Kind::kStatement &&
          until.statement == statement) {
        MeetUntil(i);
      }
    }
  }
}

void Stage::OnInspection() {
  for (size_t i = 0; i < holds_.size(); ++i) {
    if (!holds_[i].begun) continue;
    for (const Moment& until : options_.holds[i].until) {
      if (until.kind == Moment::Kind::kInspection) MeetUntil(i);
    }
  }
}

sim::CrashKind Stage::OnPoint(const sim::CrashPoint& point) {
  step_ = point.step;
  for (size_t i = 0; i < holds_.size() && running_; ++i) {
    const DirectedHold& hold = options_.holds[i];
    HoldState& state = holds_[i];
    for (size_t k = 0; k < hold.until.size(); ++k) {
      const Moment& until = hold.until[k];
      if (until.Counts(point) && ++state.until_seen[k] == until.nth) {
        MeetUntil(i);
      }
    }
    if (hold.at.Counts(point) && ++state.seen == hold.at.nth) {
      Begin(i, point.task);
    }
    if (state.task != env::kNoTask &&
        step_ - state.since_step > kPatienceSteps) {
      Release(i);
    }
  }
  return options_.next_crash->OnPoint(point);
}

bool Stage::Held(env::TaskId task) {
  for (const HoldState& hold : holds_) {
    if (hold.task == task) return true;
  }
  return false;
}

sim::TransferFault Stage::OnTransfer(sim::Transfer transfer,
                                     std::string_view path, int64_t offset,
                                     int64_t length) {
  if (transfer == sim::Transfer::kWrite && length > 1 &&
      Fails(DirectedFailure::What::kWrite, path)) {
    options_.counters->Inject(Family::kShortTransfer);
    return {sim::TransferOutcome::kShort, length / 2, 0};
  }
  return options_.next_disk->OnTransfer(transfer, path, offset, length);
}

bool Stage::Fails(DirectedFailure::What what, std::string_view path) {
  bool fails = false;
  for (size_t i = 0; i < calls_.size() && running_; ++i) {
    const DirectedFailure& failure = options_.failures[i];
    if (failure.what != what || failure.path != path) continue;
    fails |= ++calls_[i] == failure.nth;
  }
  return fails;
}

sim::FsHealth Stage::Health(bool changes) {
  return options_.next_disk->Health(changes);
}

int64_t Stage::Capacity(std::string_view path, int64_t used, int64_t more) {
  if (Fails(DirectedFailure::What::kExtend, path)) {
    options_.counters->Inject(Family::kDiskFull);
    return used;
  }
  return options_.next_disk->Capacity(path, used, more);
}

sim::SyncFailure Stage::OnSync(std::string_view path, uint64_t inode) {
  bool fails = Fails(DirectedFailure::What::kSync, path);
  sim::SyncFailure drawn = options_.next_disk->OnSync(path, inode);
  if (drawn != sim::SyncFailure::kNone || !fails) return drawn;
  options_.counters->Inject(Family::kSyncFailure);
  return options_.sync_failure;
}

env::TimeNs Stage::Latency(sim::DeviceStep step, std::string_view path) {
  return options_.next_disk->Latency(step, path);
}

std::vector<std::string> Stage::Unmet() const {
  std::vector<std::string> unmet;
  for (size_t i = 0; i < holds_.size(); ++i) {
    const HoldState& hold = holds_[i];
    if (options_.holds[i].optional && !hold.begun) continue;
    if (!hold.begun || !hold.until_met) {
      unmet.push_back(options_.holds[i].text);
    }
  }
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i] < options_.failures[i].nth) {
      unmet.push_back(options_.failures[i].text);
    }
  }
  return unmet;
}

}  // namespace faults
