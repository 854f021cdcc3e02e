#include "sim/deviation_strategies.h"

#include <algorithm>
#include <span>
#include <utility>

#include "sim/env/check.h"
#include "sim/env/lookup_map.h"
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

class Stall final : public Strategy {
 public:
  Stall(const StrategyOptions& options, Choices* choices, const Scope& world)
      : draw_(options, choices),
        where_(choices->DrawKey(Stream::kSchedule, world.Child("stall").key(),
                                env::SiteHash("stall_where"), 0, 0)),
        counts_at_(ChanceThreshold(
            1, uint32_t{4} << std::min(options.depth, kMaxDepth))),
        leave_at_(ChanceThreshold(options.switch_numerator,
                                  options.switch_denominator)) {}

  bool watches() const override { return true; }

  bool Begin(const SchedulePoint& point, env::TimeNs earliest_ns) override {
    ++passed_;
    polls_ = point.access.polls;
    bool fires = draw_.Draw(point, earliest_ns);
    if (point.current != env::kNoTask && Stops(point)) {
      last_until_ = std::max(last_until_, passed_ + Length());
      tasks_[point.current].until = passed_ + Length();
    }
    if (passed_ >= last_until_ || earliest_ns == env::kForever) return fires;
    return fires || (NobodyIsAwake(point) && Bounded(Part(kTime), kWaits) != 0);
  }

  size_t Next(const SchedulePoint& point,
              std::span<const Candidate> candidates) override {
    uint64_t word = draw_.word();
    if (word == 0) return kKeepRunning;
    bool stays = !polls_ && (word >> 32) < leave_at_;
    // Who leaves makes way for all who are awake.
    uint64_t of_current = stays ? ~uint64_t{0} : kAwake;
    return Highest(candidates, [&](const Candidate& c) {
      uint64_t rank = Mix(word, c.key) | kAwake;
      if (c.id == point.current) rank = of_current;
      return Stands(c) ? rank & ~kAwake : rank;
    });
  }

  // Who goes on although it should stand still was alone.
  void Runs(const Candidate& task) override {
    tasks_[task.id] = {0, task.role};
  }

 private:
  static constexpr uint32_t kMaxDepth = 16;
  static constexpr uint64_t kShortest = 16;
  static constexpr uint64_t kLengths = 9;
  static constexpr uint64_t kAwake = uint64_t{1} << 63;
  // Visits of a place of which every second one counts; from then on the
  // chance falls with their number.
  static constexpr uint64_t kOften = 8;
  // So many timers fire, on average, before the last who stands still goes on.
  static constexpr uint64_t kWaits = 32;
  // What is drawn from the word of a point.
  enum : uint64_t { kStop = 1, kLength, kTime };

  struct State {
    uint64_t until = 0;  // 0: does not stand still
    uint64_t role = 0;
  };

  bool Stands(const Candidate& task) { return tasks_[task.id].until > passed_; }
  bool NobodyIsAwake(const SchedulePoint& point) {
    return std::all_of(point.runnable.begin(), point.runnable.end(),
                       [this](const Candidate& c) { return Stands(c); });
  }

  uint64_t Part(uint64_t what) const {
    return draw_.word() == 0 ? 0 : Mix(draw_.word(), what);
  }
  uint64_t Length() const {
    return kShortest << Bounded(Part(kLength), kLengths);
  }

  bool Stops(const SchedulePoint& point) {
    if (where_ == 0) return false;
    uint64_t place = Mix(tasks_[point.current].role, point.site_key);
    if ((Mix(where_, place) >> 32) < counts_at_) return false;
    uint64_t visits = ++visits_[place];
    uint64_t chance = std::max(visits, kOften);
    return draw_.word() != 0 && Bounded(Part(kStop), 2 * chance) < kOften;
  }

  PointDraw draw_;
  uint64_t where_;
  uint64_t counts_at_;
  uint64_t leave_at_;
  uint64_t passed_ = 0;
  uint64_t last_until_ = 0;  // nobody stands still for longer
  bool polls_ = false;
  env::LookupMap<uint64_t, uint64_t> visits_;  // by place
  PerTask<State> tasks_;
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

std::unique_ptr<Strategy> MakeStall(const StrategyOptions& options,
                                    Choices* choices,
                                    const Scope& world_scope) {
  SIM_CHECK(options.depth >= 1);
  return std::make_unique<Stall>(options, choices, world_scope);
}

}  // namespace sim
