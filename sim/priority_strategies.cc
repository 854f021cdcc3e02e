#include "sim/priority_strategies.h"

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "sim/env/check.h"
#include "sim/env/site.h"
#include "sim/strategy_parts.h"

namespace sim {
namespace {

class Pos final : public Strategy {
 public:
  Pos(const StrategyOptions& options, Choices* choices)
      : choices_(choices),
        draw_(options, choices),
        start_site_(env::SiteHash("pos_start")) {}

  bool Begin(const SchedulePoint& point, env::TimeNs earliest_ns) override {
    bool fires = draw_.Draw(point, earliest_ns);
    Pending& pending = pending_[point.last];
    pending.resource = ResourceOf(point.access);
    pending.changes = point.access.changes;
    pending.rank = point.access.polls ? NextPoll() : RankOf(draw_.word());
    return fires;
  }

  size_t Next(const SchedulePoint&,
              std::span<const Candidate> candidates) override {
    if (draw_.word() == 0) return kKeepRunning;
    Pending* pending = pending_.UpTo(candidates.back().id);
    size_t chosen = Highest(candidates, [&](const Candidate& c) {
      uint64_t& rank = pending[c.id].rank;
      if (rank == kUnknown) [[unlikely]] {
        // It has not reached a point yet.
        rank = RankOf(
            choices_->DrawKey(Stream::kSchedule, c.key, start_site_, 0, 0));
      }
      return rank;
    });
    const Pending& runs = pending[candidates[chosen].id];
    if (runs.resource != 0) RedrawRacing(pending, runs, candidates);
    return chosen;
  }

  void TurnTaken(env::TaskId task) override {
    pending_[task].rank = NextPoll();
  }

 private:
  // Ranks: below kPolls who polls, the latest lowest; with the highest bit the
  // others. The word 0 is the highest.
  static constexpr uint64_t kUnknown = 0;
  static constexpr uint64_t kPolls = uint64_t{1} << 56;
  static uint64_t RankOf(uint64_t word) { return ~word | uint64_t{1} << 63; }

  struct Pending {
    uint64_t rank = kUnknown;
    uint64_t resource = 0;  // 0: none
    uint64_t changes = 0;   // 0 or 1
  };

  // Never 0 if there is any.
  static uint64_t ResourceOf(const env::Access& access) {
    if (!access.any()) return 0;
    return Mix(access.resource, access.stable ? 1 : 2) | 1;
  }
  uint64_t NextPoll() { return lowest_ -= kRankStep; }

  // The new ranks come out of the point's own draw. First who races, without
  // branches, as that is hard to foresee. The chosen one does so with itself,
  // but is about to draw anew anyway.
  void RedrawRacing(Pending* pending, const Pending& runs,
                    std::span<const Candidate> candidates) {
    const uint64_t resource = runs.resource;
    const uint64_t changes = runs.changes;
    while (!candidates.empty()) {
      size_t count = std::min<size_t>(candidates.size(), 64);
      uint64_t racing = 0;
      for (size_t i = 0; i < count; ++i) {
        const Pending& other = pending[candidates[i].id];
        uint64_t races =
            (other.resource == resource ? 1 : 0) & (other.changes | changes);
        racing |= races << i;
      }
      for (; racing != 0; racing &= racing - 1) {
        const Candidate& c =
            candidates[static_cast<size_t>(std::countr_zero(racing))];
        pending[c.id].rank = RankOf(Mix(draw_.word(), c.key));
      }
      candidates = candidates.subspan(count);
    }
  }

  Choices* choices_;
  PointDraw draw_;
  uint64_t start_site_;
  uint64_t lowest_ = kPolls;
  PerTask<Pending> pending_;
};

class Pct final : public Strategy {
 public:
  Pct(const StrategyOptions& options, Choices* choices, const Scope& world)
      : choices_(choices),
        draw_(options, choices),
        rank_site_(env::SiteHash("pct_priority")),
        changes_(options, choices, world.Child("pct_change"),
                 options.depth - 1) {}

  bool watches() const override { return true; }

  bool Begin(const SchedulePoint& point, env::TimeNs earliest_ns) override {
    changes_.Reached(point.last, point.access);
    if (point.access.polls) ranks_[point.last] = NextPoll();
    return draw_.Draw(point, earliest_ns);
  }

  size_t Next(const SchedulePoint&,
              std::span<const Candidate> candidates) override {
    if (draw_.word() == 0) return kKeepRunning;
    size_t i = Pick(candidates);
    while (Change(candidates[i])) i = Pick(candidates);
    return i;
  }

  // A change where there was no choice lowers the task all the same.
  void Runs(const Candidate& task) override {
    while (Change(task)) {
    }
    changes_.Passed(task);
  }

  void TurnTaken(env::TaskId task) override { ranks_[task] = NextPoll(); }

 private:
  // Ranks: below this who polls, the latest lowest; from here on changes; with
  // the highest bit tasks.
  static constexpr uint64_t kChanges = uint64_t{1} << 56;
  static constexpr uint64_t kTasks = uint64_t{1} << 63;

  size_t Pick(std::span<const Candidate> candidates) {
    uint64_t* ranks = ranks_.UpTo(candidates.back().id);
    return Highest(candidates, [&](const Candidate& c) {
      uint64_t& rank = ranks[c.id];
      if (rank == 0) [[unlikely]] {
        rank = kTasks |
               ~choices_->DrawKey(Stream::kSchedule, c.key, rank_site_, 0, 0);
      }
      return rank;
    });
  }
  uint64_t NextPoll() { return lowest_ -= kRankStep; }

  bool Change(const Candidate& task) {
    size_t change = changes_.Take(task);
    if (change == Deviations::kNone) return false;
    ranks_[task.id] = kChanges + change * kRankStep;
    return true;
  }

  Choices* choices_;
  PointDraw draw_;
  uint64_t rank_site_;
  Deviations changes_;
  uint64_t lowest_ = kChanges;
  PerTask<uint64_t> ranks_;
};

}  // namespace

std::unique_ptr<Strategy> MakePos(const StrategyOptions& options,
                                  Choices* choices) {
  return std::make_unique<Pos>(options, choices);
}

std::unique_ptr<Strategy> MakePct(const StrategyOptions& options,
                                  Choices* choices, const Scope& world_scope) {
  SIM_CHECK(options.depth >= 1);
  return std::make_unique<Pct>(options, choices, world_scope);
}

}  // namespace sim
