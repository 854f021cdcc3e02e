#include "sim/deviation_strategies.h"

#include <span>
#include <utility>

#include "sim/env/check.h"
#include "sim/env/site.h"
#include "sim/strategy_parts.h"

namespace sim {
namespace {

class Delay final : public Strategy {
 public:
  Delay(const StrategyOptions& options, Choices* choices, const Scope& world)
      : draw_(options, choices),
        delays_(options, choices, world.Child("delay"), options.depth) {}

  bool watches() const override { return true; }

  bool Begin(const SchedulePoint& point, env::TimeNs earliest_ns) override {
    delays_.Reached(point.last, point.access);
    polls_ = point.access.polls;
    return draw_.Draw(point, earliest_ns);
  }

  size_t Next(const SchedulePoint& point,
              std::span<const Candidate> candidates) override {
    if (draw_.word() == 0) return kKeepRunning;
    size_t i = Undelayed(point, candidates);
    while (delays_.Take(candidates[i]) != Deviations::kNone) {
      i = Successor(candidates, candidates[i].id);
    }
    return i;
  }

  // A delay where nobody else could run is over.
  void Runs(const Candidate& task) override {
    while (delays_.Take(task) != Deviations::kNone) {
    }
    delays_.Passed(task);
  }

 private:
  size_t Undelayed(const SchedulePoint& point,
                   std::span<const Candidate> candidates) const {
    for (size_t i = 0; i < candidates.size() && !polls_; ++i) {
      if (candidates[i].id == point.current) return i;
    }
    return Successor(candidates, point.last);
  }

  PointDraw draw_;
  Deviations delays_;
  bool polls_ = false;
};

class Starve final : public Strategy {
 public:
  Starve(const StrategyOptions& options, Choices* choices, const Scope& world)
      : choices_(choices),
        draw_(options, choices),
        world_key_(world.Child("starve").key()),
        who_site_(env::SiteHash("starve_who")),
        leave_at_(ChanceThreshold(options.switch_numerator,
                                  options.switch_denominator)) {}

  bool Begin(const SchedulePoint& point, env::TimeNs earliest_ns) override {
    if (left_ == 0) {
      who_ = choices_->DrawKey(Stream::kSchedule, world_key_, who_site_,
                               choice_++, 0);
      left_ = kShortest << (who_ % kLengths);
      last_victim_ = std::exchange(victim_, env::kNoTask);
    }
    --left_;
    polls_ = point.access.polls;
    return draw_.Draw(point, earliest_ns);
  }

  size_t Next(const SchedulePoint& point,
              std::span<const Candidate> candidates) override {
    uint64_t word = draw_.word();
    if (word == 0) return kKeepRunning;
    if (victim_ == env::kNoTask && who_ != 0) ChooseVictim(candidates);
    bool stays = !polls_ && (word >> 32) < leave_at_;
    // Who leaves makes way for all but the victim.
    uint64_t of_current = stays ? ~uint64_t{0} : kRankStep;
    return Highest(candidates, [&](const Candidate& c) {
      uint64_t rank = Mix(word, c.key) | 2 * kRankStep;
      rank = c.id == point.current ? of_current : rank;
      return c.id == victim_ ? 0 : rank;
    });
  }

 private:
  static constexpr uint64_t kShortest = 64;
  static constexpr uint64_t kLengths = 7;

  void ChooseVictim(std::span<const Candidate> candidates) {
    size_t i = Highest(candidates, [this](const Candidate& c) {
      return c.id == last_victim_ ? 0 : Mix(who_, c.key);
    });
    victim_ = candidates[i].id;
  }

  Choices* choices_;
  PointDraw draw_;
  uint64_t world_key_;
  uint64_t who_site_;
  uint64_t leave_at_;
  uint64_t who_ = 0;
  uint64_t choice_ = 0;
  uint64_t left_ = 0;  // points until the next choice
  env::TaskId victim_ = env::kNoTask;
  env::TaskId last_victim_ = env::kNoTask;
  bool polls_ = false;
};

}  // namespace

std::unique_ptr<Strategy> MakeDelay(const StrategyOptions& options,
                                    Choices* choices,
                                    const Scope& world_scope) {
  SIM_CHECK(options.depth >= 1);
  return std::make_unique<Delay>(options, choices, world_scope);
}

std::unique_ptr<Strategy> MakeStarve(const StrategyOptions& options,
                                     Choices* choices,
                                     const Scope& world_scope) {
  return std::make_unique<Starve>(options, choices, world_scope);
}

}  // namespace sim
