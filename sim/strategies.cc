#include "sim/strategies.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/deviation_strategies.h"
#include "sim/env/check.h"
#include "sim/env/lookup_map.h"
#include "sim/priority_strategies.h"
#include "sim/sim_sites.h"
#include "sim/surw.h"

namespace sim {
namespace {

// One draw per point. Its high half decides whether to leave the task, its low
// half whether the timer fires, the whole word ranks the candidates by their
// scopes. The word 0 keeps running and fires nothing.
class RandomWalk final : public Strategy {
 public:
  RandomWalk(const StrategyOptions& options, Choices* choices)
      : choices_(choices),
        site_(env::SiteHash(SimSites()[kSimSite_switch].name)),
        leave_at_(ChanceThreshold(options.switch_numerator,
                                  options.switch_denominator)),
        fire_at_(ChanceThreshold(options.timer_numerator,
                                 options.timer_denominator)) {}

  bool Begin(const SchedulePoint& point, env::TimeNs earliest_ns) override {
    word_ = choices_->DrawKey(Stream::kSchedule, point.scope_key, site_,
                              point.n, 0);
    return earliest_ns != env::kForever && (word_ & 0xffffffff) >= fire_at_;
  }

  size_t Next(const SchedulePoint& point,
              std::span<const Candidate> candidates) override {
    bool can_stay = point.current != env::kNoTask;
    if (word_ == 0 || (can_stay && (word_ >> 32) < leave_at_)) {
      return kKeepRunning;
    }
    // The highest rank wins. The low bits carry the index, so that the loop
    // is a plain maximum without branches to mispredict.
    constexpr uint64_t kIndexBits = 0xffff;
    SIM_CHECK(candidates.size() < kIndexBits);
    uint64_t best = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
      uint64_t rank = Mix(word_, candidates[i].key) | kIndexBits;
      rank -= kIndexBits - (i + 1);
      uint64_t eligible = candidates[i].id == point.current ? 0 : ~uint64_t{0};
      best = std::max(best, rank & eligible);
    }
    return static_cast<size_t>(best & kIndexBits) - 1;
  }

 private:
  Choices* choices_;
  uint64_t site_;
  uint64_t leave_at_;
  uint64_t fire_at_;
  uint64_t word_ = 0;
};

class RoundRobin final : public Strategy {
 public:
  explicit RoundRobin(const StrategyOptions& options)
      : quantum_(options.quantum) {
    SIM_CHECK(quantum_ != 0);
  }

  bool Begin(const SchedulePoint&, env::TimeNs) override { return false; }

  size_t Next(const SchedulePoint& point,
              std::span<const Candidate> candidates) override {
    if (point.current != env::kNoTask && ++used_ < quantum_) {
      return kKeepRunning;
    }
    used_ = 0;
    return Successor(candidates, point.last);
  }

 private:
  uint32_t quantum_;
  uint32_t used_ = 0;
};

uint64_t PointKey(uint64_t scope_key, uint64_t mark_key, uint64_t n) {
  return Mix(mark_key == 0 ? scope_key : Mix(scope_key, mark_key), n);
}

class Recorded final : public Strategy {
 public:
  explicit Recorded(const StrategyOptions& options) {
    for (const ScheduleEntry& entry : options.schedule) {
      uint64_t mark = entry.mark.empty() ? 0 : env::SiteHash(entry.mark);
      uint64_t key = PointKey(Scope::FromPath(entry.task).key(), mark, entry.n);
      size_t index = used_.size();
      used_.push_back(false);
      if (entry.next == kTimerName) {
        at_[key].fire = index;
      } else {
        at_[key].next = index;
        at_[key].next_key = Scope::FromPath(entry.next).key();
      }
    }
  }

  bool Begin(const SchedulePoint& point, env::TimeNs earliest_ns) override {
    const Decision* decision = Find(point);
    if (decision == nullptr || decision->fire == kNone) return false;
    if (earliest_ns == env::kForever) {
      ++misses_;
    } else {
      used_[decision->fire] = true;
    }
    return true;
  }

  size_t Next(const SchedulePoint& point,
              std::span<const Candidate> candidates) override {
    const Decision* decision = Find(point);
    if (decision == nullptr || decision->next == kNone) return kKeepRunning;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].key != decision->next_key) continue;
      used_[decision->next] = true;
      return i;
    }
    ++misses_;
    return kKeepRunning;
  }

  uint64_t misses() const override { return misses_; }

  std::vector<size_t> Unused() const override {
    std::vector<size_t> unused;
    for (size_t i = 0; i < used_.size(); ++i) {
      if (!used_[i]) unused.push_back(i);
    }
    return unused;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Decision {
    size_t fire = kNone;  // the entry's index
    size_t next = kNone;
    uint64_t next_key = 0;
  };
  const Decision* Find(const SchedulePoint& point) {
    if (point.mark_key == 0) {
      return at_.Find(PointKey(point.scope_key, 0, point.n));
    }
    return at_.Find(PointKey(point.scope_key, point.mark_key, point.mark_n));
  }

  env::LookupMap<uint64_t, Decision> at_;
  std::vector<bool> used_;
  uint64_t misses_ = 0;
};

env::Status BadEntry(std::string_view text) {
  return env::Status(
      env::Code::kInvalid,
      fmt::format("expected \"SCOPE[@MARK] N -> SCOPE\", found \"{}\"", text));
}

}  // namespace

uint64_t ChanceThreshold(uint32_t numerator, uint32_t denominator) {
  SIM_CHECK(denominator != 0 && numerator <= denominator);
  return (uint64_t{1} << 32) - (uint64_t{numerator} << 32) / denominator;
}

std::string ScheduleEntry::ToString() const {
  if (mark.empty()) return fmt::format("{} {} -> {}", task, n, next);
  return fmt::format("{}@{} {} -> {}", task, mark, n, next);
}

env::Result<ScheduleEntry> ScheduleEntry::Parse(std::string_view text) {
  constexpr std::string_view kArrow = " -> ";
  size_t arrow = text.find(kArrow);
  if (arrow == std::string_view::npos) return BadEntry(text);
  std::string_view left = text.substr(0, arrow);
  std::string_view next = text.substr(arrow + kArrow.size());
  size_t blank = left.find(' ');
  if (blank == std::string_view::npos || blank == 0 || next.empty() ||
      next.find(' ') != std::string_view::npos) {
    return BadEntry(text);
  }
  ScheduleEntry entry;
  std::string_view task = left.substr(0, blank);
  size_t at = task.find('@');
  if (at == 0) return BadEntry(text);
  entry.task = task.substr(0, at);
  if (at != std::string_view::npos) entry.mark = task.substr(at + 1);
  if (at != std::string_view::npos && entry.mark.empty()) return BadEntry(text);
  entry.next = next;
  std::string_view n = left.substr(blank + 1);
  auto [end, error] = std::from_chars(n.data(), n.data() + n.size(), entry.n);
  if (n.empty() || error != std::errc() || end != n.data() + n.size()) {
    return BadEntry(text);
  }
  return entry;
}

size_t Successor(std::span<const Candidate> candidates, env::TaskId id) {
  SIM_CHECK(!candidates.empty());
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].id > id) return i;
  }
  return 0;
}

std::unique_ptr<Strategy> MakeStrategy(const StrategyOptions& options,
                                       Choices* choices,
                                       const Scope& world_scope) {
  SIM_CHECK(choices != nullptr);
  switch (options.kind) {
    case StrategyKind::kRandomWalk:
      return std::make_unique<RandomWalk>(options, choices);
    case StrategyKind::kRoundRobin:
      return std::make_unique<RoundRobin>(options);
    case StrategyKind::kPos:
      return MakePos(options, choices);
    case StrategyKind::kPct:
      return MakePct(options, choices, world_scope);
    case StrategyKind::kSurw:
      return MakeSurw(options, choices);
    case StrategyKind::kDelay:
      return MakeDelay(options, choices, world_scope);
    case StrategyKind::kStarve:
      return MakeStarve(options, choices, world_scope);
    case StrategyKind::kStall:
      return MakeStall(options, choices, world_scope);
    case StrategyKind::kRecorded:
      return std::make_unique<Recorded>(options);
  }
  SIM_UNREACHABLE();
}

}  // namespace sim
