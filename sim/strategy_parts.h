// What several strategies are made of.
#ifndef MUSTH_SIM_STRATEGY_PARTS_H_
#define MUSTH_SIM_STRATEGY_PARTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/choices.h"
#include "sim/env/site.h"
#include "sim/pilot.h"
#include "sim/sim_sites.h"
#include "sim/strategies.h"

namespace sim {

// The one draw of a scheduling point. Its low half says whether the earliest
// timer fires; the rest is the strategy's. The word 0 keeps running and fires
// nothing.
class PointDraw {
 public:
  PointDraw(const StrategyOptions& options, Choices* choices)
      : choices_(choices),
        site_(env::SiteHash(SimSites()[kSimSite_switch].name)),
        fire_at_(ChanceThreshold(options.timer_numerator,
                                 options.timer_denominator)) {}

  // Call once per point. Returns whether the timer fires.
  bool Draw(const SchedulePoint& point, env::TimeNs earliest_ns) {
    word_ = choices_->DrawKey(Stream::kSchedule, point.scope_key, site_,
                              point.n, 0);
    return earliest_ns != env::kForever && (word_ & 0xffffffff) >= fire_at_;
  }
  uint64_t word() const { return word_; }

 private:
  Choices* choices_;
  uint64_t site_;
  uint64_t fire_at_;
  uint64_t word_ = 0;
};

// What a strategy knows of each task. Ids are dense.
template <typename State>
class PerTask {
 public:
  State& operator[](env::TaskId id) {
    if (id >= states_.size()) [[unlikely]] {
      states_.resize(size_t{id} + 16);
    }
    return states_[id];
  }
  // All up to id, by id; valid until the next call.
  State* UpTo(env::TaskId id) { return &(*this)[id] - id; }

 private:
  std::vector<State> states_;
};

// Whether the point counts for a strategy that looks at some groups only.
inline bool Counts(const env::Access& access, uint32_t groups) {
  return (groups & GroupBit(access.group)) != 0;
}

// A word as a number below bound.
inline uint64_t Bounded(uint64_t word, uint64_t bound) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(word) * bound) >>
                               64);
}

// Ranks differ above their low 16 bits, which Highest uses.
inline constexpr uint64_t kRankStep = uint64_t{1} << 16;

// The index of the highest rank, the first of equals. A plain maximum without
// branches to mispredict. Requires: fewer than 2^16 candidates.
template <typename Rank>
size_t Highest(std::span<const Candidate> candidates, Rank rank) {
  constexpr uint64_t kIndexBits = kRankStep - 1;
  uint64_t best = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    uint64_t r = rank(candidates[i]);
    best = std::max(best, (r | kIndexBits) - i);
  }
  return kIndexBits - static_cast<size_t>(best & kIndexBits);
}

// A few points, drawn before the run among all that count: those of the
// options' groups, of tasks that the pilot knows (without a pilot, of all
// tasks). Each is drawn alone from 0, which never comes, to the pilot's total;
// without a pilot evenly over powers of two.
class Deviations {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  Deviations(const StrategyOptions& options, Choices* choices,
             const Scope& scope, uint32_t count);

  // The task has reached a point, and this is what it does next.
  void Reached(env::TaskId task, const env::Access& access) {
    tasks_[task].at_point = Counts(access, groups_);
  }
  // If the task passed its point now, would that be a drawn one? Then its
  // index, in the order of the draws; each is returned once.
  size_t Take(const Candidate& task) {
    if (!IsAtPoint(task)) return kNone;
    for (size_t i = 0; i < points_.size(); ++i) {
      if (points_[i] != passed_ + 1) continue;
      points_[i] = 0;
      return i;
    }
    return kNone;
  }
  // The task goes on.
  void Passed(const Candidate& task) {
    passed_ += IsAtPoint(task) ? 1 : 0;
    tasks_[task.id].at_point = false;
  }

 private:
  enum class Known : uint8_t { kUnasked, kYes, kNo };
  struct State {
    bool at_point = false;
    Known known = Known::kUnasked;
  };

  bool IsAtPoint(const Candidate& task) {
    State& state = tasks_[task.id];
    if (!state.at_point) return false;
    if (state.known == Known::kUnasked) [[unlikely]] {
      bool known = pilot_.empty() || pilot_.Knows(task.role);
      state.known = known ? Known::kYes : Known::kNo;
    }
    return state.known == Known::kYes;
  }

  uint32_t groups_;
  PilotCounts pilot_;
  std::vector<uint64_t> points_;
  uint64_t passed_ = 0;  // points that count, of all tasks
  PerTask<State> tasks_;
};

}  // namespace sim

#endif  // MUSTH_SIM_STRATEGY_PARTS_H_
