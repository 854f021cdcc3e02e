#include "faults/crash_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/env/check.h"

namespace faults {
namespace {

using sim::CrashKind;
using sim::CrashPlace;
using sim::DeviceStep;
using Place = PlannedCrash::Place;

constexpr std::array<const char*, 6> kStepNames = {
    "device call",  "write",      "fsync start",
    "fsync middle", "fsync done", "metadata change"};

bool IsSync(DeviceStep step) {
  return step == DeviceStep::kSyncStart || step == DeviceStep::kSyncMiddle ||
         step == DeviceStep::kSyncDone;
}

// A number from 1, each power of two as likely as the next: [2^low, 2^high).
uint64_t LogUniform(sim::Drawer& drawer, std::string_view site, int64_t low,
                    int64_t high) {
  std::string scale = fmt::format("{}.scale", site);
  uint64_t least = uint64_t{1} << drawer.Between(scale, low, high - 1);
  return least + drawer.Below(site, least);
}

// Which point is drawn by rank, so that a new point in the table moves no other
// plan but those that get it.
std::string DrawPoint(sim::Drawer& drawer, env::SiteTable sites, bool rare,
                      bool in_recovery) {
  std::span<const std::string_view> few = RarePoints(in_recovery);
  uint64_t word = drawer.Below("point", uint64_t{1} << 32);
  std::string_view best;
  uint64_t best_rank = 0;
  for (const env::SiteInfo& site : sites) {
    if (site.kind != env::SiteKind::kInjection) continue;
    // Passed by the startup process only.
    bool elsewhere =
        !in_recovery && std::string_view(site.name).starts_with("recovery_");
    bool listed = std::find(few.begin(), few.end(), site.name) != few.end();
    if (elsewhere || (rare && !listed)) continue;
    uint64_t rank = sim::Mix(word, env::SiteHash(site.name));
    if (!best.empty() && rank >= best_rank) continue;
    best = site.name;
    best_rank = rank;
  }
  SIM_CHECK(!best.empty());
  return std::string(best);
}

// The ranges fit short runs: most points that are drawn come.
void DrawPlace(sim::Drawer& drawer, env::SiteTable sites, PlannedCrash* crash) {
  // In the order of Place.
  static constexpr uint32_t kShares[] = {30, 10, 30, 2, 2, 16};
  crash->place = static_cast<Place>(drawer.Weighted("place", kShares));
  bool recovery = crash->in_recovery;
  switch (crash->place) {
    case Place::kSyncEvent:
      crash->n = LogUniform(drawer, "n", 0, recovery ? 4 : 6);
      break;
    case Place::kDeviceChange:
      crash->n = LogUniform(drawer, "n", 0, recovery ? 5 : 7);
      break;
    case Place::kStep:
      crash->n = LogUniform(drawer, "n", 0, recovery ? 9 : 12);
      break;
    case Place::kInjection:
      crash->n = LogUniform(drawer, "n", 0, recovery ? 5 : 7);
      break;
    case Place::kNewInjection:
      crash->n = LogUniform(drawer, "n", 0, recovery ? 4 : 5);
      crash->hits = LogUniform(drawer, "hits", 0, recovery ? 1 : 3);
      break;
    case Place::kNamedInjection: {
      bool rare = drawer.Chance("rare", 1, 2);
      crash->point = DrawPoint(drawer, sites, rare, recovery);
      crash->hits = LogUniform(drawer, "hits", 0, recovery || rare ? 1 : 3);
      break;
    }
    case Place::kMoment:
      SIM_UNREACHABLE();  // named, never drawn
  }
}

// Mostly power loss; at named points as often the other.
CrashKind DrawHostKind(sim::Drawer& drawer, const FaultPlan& plan, bool named) {
  bool power = plan.Has(Family::kPowerLoss);
  bool process = plan.Has(Family::kProcessCrash);
  if (power && process) {
    return drawer.Chance("process_crash", 1, named ? 2 : 3)
               ? CrashKind::kProcess
               : CrashKind::kPowerLoss;
  }
  return process ? CrashKind::kProcess : CrashKind::kPowerLoss;
}

PlannedCrash DrawCrash(sim::Drawer& drawer, const FaultPlan& plan,
                       env::SiteTable sites, bool first, bool doubled) {
  PlannedCrash crash;
  crash.doubled = doubled;
  // A quarter of the crashes after the first, and a tenth of the others.
  crash.in_recovery = doubled || (!first && plan.Has(Family::kRecoveryCrash) &&
                                  drawer.Chance("in_recovery", 325, 1000));
  DrawPlace(drawer, sites, &crash);
  if (doubled) {
    crash.kind = crash.forced_kind = CrashKind::kPowerLoss;
    return crash;
  }
  bool named = crash.place == Place::kNamedInjection;
  crash.kind = crash.forced_kind = DrawHostKind(drawer, plan, named);
  // Recovery that loses its process ends its postmaster: a process crash.
  if (!crash.in_recovery && plan.Has(Family::kTaskKill) &&
      drawer.Chance("task_kill", 1, named ? 2 : 4)) {
    crash.kind = CrashKind::kTaskKill;
  }
  return crash;
}

}  // namespace

const char* CrashKindName(CrashKind kind) {
  static constexpr std::array<const char*, 4> kNames = {
      "none", "task kill", "process crash", "power loss"};
  return kNames[static_cast<size_t>(kind)];
}

std::span<const std::string_view> RarePoints(bool in_recovery) {
  static constexpr std::string_view kRunning[] = {
      "buffer_evict_dirty", "heap_page_switch", "wal_segment_install",
      "wal_segment_recycle", "wal_segment_remove"};
  static constexpr std::string_view kRecovery[] = {"recovery_before_production",
                                                   "wal_segment_recycle",
                                                   "wal_segment_remove"};
  if (in_recovery) return kRecovery;
  return kRunning;
}

std::span<const char* const> DeviceStepNames() { return kStepNames; }

std::string PlannedCrash::ToString() const {
  if (place == Place::kMoment) return direction;
  static constexpr std::array<const char*, 5> kPlaces = {
      "fsync event", "device change", "step", "injection point",
      "distinct injection point"};
  const char* when = in_recovery ? "in recovery" : "while running";
  if (place == Place::kNamedInjection) {
    return fmt::format("{} at {} {}, hit {}", CrashKindName(kind), point, when,
                       hits);
  }
  std::string text = fmt::format("{} at {} {} {}", CrashKindName(kind),
                                 kPlaces[static_cast<size_t>(place)], n, when);
  if (place == Place::kNewInjection) text += fmt::format(", hit {}", hits);
  return text;
}

std::vector<PlannedCrash> DrawCrashPlan(sim::Choices& choices,
                                        const sim::Scope& host,
                                        const FaultPlan& plan,
                                        env::SiteTable sites) {
  std::vector<PlannedCrash> crashes;
  if (!plan.Has(Family::kPowerLoss) && !plan.Has(Family::kProcessCrash)) {
    return crashes;
  }
  sim::Drawer drawer(&choices, sim::Stream::kCrashPoint, host);
  // None, 1, 2, 3 or 4.
  static constexpr uint32_t kShares[] = {3, 20, 34, 27, 16};
  size_t count = drawer.Weighted("crashes", kShares);
  bool doubled = false;
  while (crashes.size() < count || doubled) {
    sim::Drawer crash_drawer = drawer.Child("c", crashes.size());
    crashes.push_back(
        DrawCrash(crash_drawer, plan, sites, crashes.empty(), doubled));
    doubled = crashes.back().kind == CrashKind::kProcess &&
              plan.Has(Family::kDoubleCrash) &&
              crash_drawer.Chance("power_loss_follows", 1, 4);
  }
  return crashes;
}

std::vector<PlannedCrash> DrawInstants(sim::Choices& choices,
                                       const sim::Scope& host, uint32_t count,
                                       env::SiteTable sites) {
  sim::Drawer drawer(&choices, sim::Stream::kCrashPoint, host);
  std::vector<PlannedCrash> instants;
  for (uint32_t i = 0; i < count; ++i) {
    sim::Drawer one = drawer.Child("f", i);
    PlannedCrash instant;
    instant.kind = instant.forced_kind = CrashKind::kPowerLoss;
    instant.in_recovery = one.Chance("in_recovery", 1, 10);
    DrawPlace(one, sites, &instant);
    instants.push_back(std::move(instant));
  }
  return instants;
}

std::vector<PlannedCrash> DirectedCrashPlan(
    const std::vector<DirectedCrash>& crashes) {
  std::vector<PlannedCrash> plan;
  for (const DirectedCrash& directed : crashes) {
    PlannedCrash crash;
    crash.kind = directed.kind;
    crash.forced_kind = directed.kind == CrashKind::kTaskKill
                            ? CrashKind::kProcess
                            : directed.kind;
    crash.in_recovery = directed.in_recovery;
    crash.place = Place::kMoment;
    crash.n = directed.at.nth;
    crash.moment = directed.at;
    crash.image = directed.image;
    crash.direction = directed.text;
    plan.push_back(std::move(crash));
  }
  return plan;
}

CrashFaults::CrashFaults(std::vector<PlannedCrash> plan, env::SiteTable sites,
                         FaultCounters* counters)
    : plan_(std::move(plan)), sites_(sites), counters_(counters) {
  for (const PlannedCrash& crash : plan_) {
    if (crash.kind == CrashKind::kTaskKill) {
      counters_->Enable(Family::kTaskKill);
    }
    counters_->Enable(crash.forced_kind == CrashKind::kProcess
                          ? Family::kProcessCrash
                          : Family::kPowerLoss);
    if (crash.in_recovery) counters_->Enable(Family::kRecoveryCrash);
    if (crash.doubled) counters_->Enable(Family::kDoubleCrash);
  }
}

void CrashFaults::BeginCounting() {
  counter_.Clear();
  moments_ = 0;
  armed_ = next_ < plan_.size() && phase_ != Phase::kDone &&
           plan_[next_].in_recovery == (phase_ == Phase::kRecovery);
  counting_ = !armed_ || plan_[next_].moment.during.session == 0;
}

void CrashFaults::SetPhase(Phase phase) {
  phase_ = phase;
  if (phase == Phase::kRunning && next_ < plan_.size() &&
      plan_[next_].place != Place::kMoment) {
    plan_[next_].in_recovery = false;
  }
  BeginCounting();
}

void CrashFaults::ProtectTask(env::TaskId task) { protected_[task] = true; }

bool CrashFaults::Due(const sim::CrashPoint& point) {
  const PlannedCrash& crash = plan_[next_];
  if (crash.place != Place::kMoment) {
    return counter_.Due(crash, point, sites_);
  }
  if (answered_) return true;
  if (!counting_ || !crash.moment.Counts(point)) return false;
  return ++moments_ >= crash.n;
}

void PlaceCounter::Clear() {
  seen_ = 0;
  distinct_sites_ = 0;
  site_hits_.Clear();
}

bool PlaceCounter::Due(const PlannedCrash& crash, const sim::CrashPoint& point,
                       env::SiteTable sites) {
  bool device = point.place == CrashPlace::kDevice;
  switch (crash.place) {
    case Place::kSyncEvent:
      if (!device || !IsSync(point.device_step)) return false;
      break;
    case Place::kDeviceChange:
      if (!device || point.device_step == DeviceStep::kPlain) return false;
      break;
    case Place::kStep:
      break;
    case Place::kInjection:
      if (point.place != CrashPlace::kInjection) return false;
      break;
    case Place::kNewInjection: {
      if (point.place != CrashPlace::kInjection) return false;
      uint64_t hits = ++site_hits_[point.site];
      if (hits == 1 && ++distinct_sites_ == crash.n) target_site_ = point.site;
      // The task may be protected: a later passing of the site will do.
      return distinct_sites_ >= crash.n && point.site == target_site_ &&
             hits >= crash.hits;
    }
    case Place::kNamedInjection:
      if (point.place != CrashPlace::kInjection ||
          sites[point.site].name != crash.point) {
        return false;
      }
      return ++seen_ >= crash.hits;
    case Place::kMoment:
      SIM_UNREACHABLE();
  }
  return ++seen_ >= crash.n;
}

void CrashFaults::OnSend(const StatementRef& statement) {
  if (!armed_ || plan_[next_].place != Place::kMoment) return;
  if (plan_[next_].moment.during == statement) counting_ = true;
}

void CrashFaults::OnAnswer(const StatementRef& statement) {
  if (!armed_) return;
  const PlannedCrash& crash = plan_[next_];
  answered_ = answered_ || (crash.place == Place::kMoment &&
                            crash.moment.kind == Moment::Kind::kStatement &&
                            crash.moment.statement == statement);
}

std::vector<std::string> CrashFaults::Unmet() const {
  std::vector<std::string> unmet = unmet_;
  for (size_t i = next_; i < plan_.size(); ++i) {
    if (plan_[i].place == Place::kMoment) unmet.push_back(plan_[i].direction);
  }
  return unmet;
}

CrashKind CrashFaults::OnPoint(const sim::CrashPoint& point) {
  if (!armed_ || !Due(point)) return CrashKind::kNone;
  CrashKind kind = plan_[next_].kind;
  if (kind == CrashKind::kTaskKill && protected_.Contains(point.task)) {
    return CrashKind::kNone;
  }
  Count(kind, PointName(point, sites_));
  return kind;
}

CrashKind CrashFaults::ForcedCrash() {
  if (next_ >= plan_.size()) return CrashKind::kNone;
  const PlannedCrash& crash = plan_[next_];
  // The answer may have been the last thing to happen.
  bool met = answered_ || crash.moment.kind == Moment::Kind::kEnd;
  if (crash.place == Place::kMoment && (crash.in_recovery || !met)) {
    unmet_.push_back(crash.direction);
  }
  CrashKind kind = crash.forced_kind;
  Count(kind, "end of plan");
  return kind;
}

// The next planned crash has struck.
void CrashFaults::Count(CrashKind kind, std::string point_name) {
  SIM_CHECK(next_ < plan_.size());
  const PlannedCrash& crash = plan_[next_];
  last_in_recovery_ = phase_ == Phase::kRecovery;
  if (kind == CrashKind::kTaskKill) counters_->Inject(Family::kTaskKill);
  if (kind == CrashKind::kProcess) counters_->Inject(Family::kProcessCrash);
  if (kind == CrashKind::kPowerLoss) counters_->Inject(Family::kPowerLoss);
  if (last_in_recovery_) {
    counters_->Inject(Family::kRecoveryCrash);
    if (crash.doubled) counters_->Inject(Family::kDoubleCrash);
  }
  ++hits_[point_name][CrashKindName(kind)];
  last_point_ = std::move(point_name);
  last_image_ = crash.image;
  answered_ = false;
  ++next_;
  armed_ = false;  // until the driver names the phase of the node's restart
}

std::string PointName(const sim::CrashPoint& point, env::SiteTable sites) {
  switch (point.place) {
    case CrashPlace::kStep:
      return "step";
    case CrashPlace::kDevice:
      return kStepNames[static_cast<size_t>(point.device_step)];
    case CrashPlace::kInjection:
      SIM_CHECK(point.site < sites.size());
      return sites[point.site].name;
  }
  SIM_UNREACHABLE();
}

}  // namespace faults
