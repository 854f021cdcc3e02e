#include "sim/surw.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "sim/env/lookup_map.h"
#include "sim/strategy_parts.h"

namespace sim {
namespace {

class Surw final : public Strategy {
 public:
  Surw(const StrategyOptions& options, Choices* choices)
      : draw_(options, choices),
        leave_at_(ChanceThreshold(options.switch_numerator,
                                  options.switch_denominator)),
        groups_(options.groups),
        pilot_(options.pilot) {
    uint64_t roles = pilot_.RolesWith(groups_);
    average_ =
        roles == 0 ? 1 : std::max<uint64_t>(pilot_.Total(groups_) / roles, 1);
  }

  bool watches() const override { return true; }

  bool Begin(const SchedulePoint& point, env::TimeNs earliest_ns) override {
    TaskState& state = tasks_[point.last];
    state.interesting = Counts(point.access, groups_);
    polls_ = point.access.polls;
    if (polls_ && point.last == intended_) intended_ = env::kNoTask;
    return draw_.Draw(point, earliest_ns);
  }

  size_t Next(const SchedulePoint& point,
              std::span<const Candidate> candidates) override {
    if (draw_.word() == 0) return kKeepRunning;
    TaskState* tasks = tasks_.UpTo(candidates.back().id);
    Update(point, candidates, tasks);
    // Any but those that would pass somebody else's turn. The intended task is
    // always among them.
    uint64_t word = Mix(draw_.word(), kWho);
    bool stays = !polls_ && (draw_.word() >> 32) < leave_at_;
    uint64_t of_current = stays ? ~uint64_t{0} : kRankStep;
    return Highest(candidates, [&](const Candidate& c) {
      bool waits = (c.id != intended_) & tasks[c.id].interesting;
      uint64_t rank = Mix(word, c.key) | 2 * kRankStep;
      rank = c.id == point.current ? of_current : rank;
      return waits ? 0 : rank;
    });
  }

  void Runs(const Candidate& task) override {
    TaskState& state = tasks_[task.id];
    if (!state.interesting) return;
    state.interesting = state.idles = false;
    uint64_t& left = left_[RoleOf(task, &state)];
    if (left > 0) --left;
    if (task.id == intended_) intended_ = env::kNoTask;
  }

  void TurnTaken(env::TaskId task) override {
    if (task == intended_) intended_ = env::kNoTask;
  }

 private:
  // Points, of all tasks, until who is intended must have passed its own.
  static constexpr uint64_t kPatience = 500;
  static constexpr uint64_t kWho = 1;
  static constexpr uint64_t kIntended = 2;
  static constexpr size_t kUnknown = SIZE_MAX;

  struct TaskState {
    bool interesting = false;  // the step it is about to make
    bool idles = false;        // was intended, and passed none
    size_t role = kUnknown;    // into left_
  };

  // Sees to it that somebody is intended who can run.
  void Update(const SchedulePoint& point, std::span<const Candidate> candidates,
              TaskState* tasks) {
    bool can_run =
        std::any_of(candidates.begin(), candidates.end(),
                    [this](const Candidate& c) { return c.id == intended_; });
    if (can_run && ++waited_ <= kPatience) return;
    // It polls, or its pilot had points that it does not have.
    if (can_run) tasks[intended_].idles = true;
    Intend(point, candidates, tasks);
  }

  size_t RoleOf(const Candidate& task, TaskState* state) {
    if (state->role == kUnknown) [[unlikely]] {
      if (role_.Insert(task.role, left_.size())) {
        left_.push_back(pilot_.Knows(task.role) ? pilot_.Of(task.role, groups_)
                                                : average_);
      }
      state->role = role_[task.role];
    }
    return state->role;
  }

  // Whoever has had all its points may have more: if it does not, it ends or
  // blocks while it is intended, and that changes no other's chances. Who polls
  // is not chosen before the others.
  uint64_t Weight(const Candidate& task, TaskState* state) {
    uint64_t left = left_[RoleOf(task, state)];
    left = std::max<uint64_t>(left, 1);
    return state->idles ? 0 : left;
  }

  void Intend(const SchedulePoint& point, std::span<const Candidate> candidates,
              TaskState* tasks) {
    waited_ = 0;
    env::TaskId polls = polls_ ? point.current : env::kNoTask;
    // sums_[i]: of all before and with the i-th.
    uint64_t total = 0;
    sums_.resize(candidates.size());
    for (size_t i = 0; i < candidates.size(); ++i) {
      const Candidate& c = candidates[i];
      uint64_t weight = Weight(c, &tasks[c.id]);
      total += c.id == polls ? 0 : weight;
      sums_[i] = total;
    }
    size_t chosen = Successor(candidates, point.last);
    if (total != 0) {
      uint64_t at = Bounded(Mix(draw_.word(), kIntended), total);
      chosen = 0;
      for (uint64_t sum : sums_) chosen += sum <= at ? 1 : 0;
    }
    intended_ = candidates[chosen].id;
  }

  PointDraw draw_;
  uint64_t leave_at_;
  uint32_t groups_;
  PilotCounts pilot_;
  uint64_t average_ = 1;
  env::TaskId intended_ = env::kNoTask;
  uint64_t waited_ = 0;
  bool polls_ = false;
  std::vector<uint64_t> left_;  // by role, in the order they were met
  std::vector<uint64_t> sums_;
  env::LookupMap<uint64_t, size_t> role_;
  PerTask<TaskState> tasks_;
};

}  // namespace

std::unique_ptr<Strategy> MakeSurw(const StrategyOptions& options,
                                   Choices* choices) {
  return std::make_unique<Surw>(options, choices);
}

struct PilotRecorder::Pending {
  PerTask<env::AccessGroup> group;
  bool polls = false;
};

PilotRecorder::PilotRecorder() : pending_(std::make_unique<Pending>()) {}
PilotRecorder::~PilotRecorder() = default;

bool PilotRecorder::Begin(const SchedulePoint& point, env::TimeNs) {
  pending_->group[point.last] = point.access.group;
  pending_->polls = point.access.polls;
  return false;
}

size_t PilotRecorder::Next(const SchedulePoint& point,
                           std::span<const Candidate> candidates) {
  return pending_->polls ? Successor(candidates, point.last) : kKeepRunning;
}

void PilotRecorder::Runs(const Candidate& task) {
  env::AccessGroup group =
      std::exchange(pending_->group[task.id], env::AccessGroup::kNone);
  if (group != env::AccessGroup::kNone) counts_.Add(task.role, group);
}

}  // namespace sim
