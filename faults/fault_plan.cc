#include "faults/fault_plan.h"

#include <fmt/format.h>

namespace faults {
namespace {

using env::kMicrosecond;
using env::kMillisecond;

// One of `values`, the first being the simplest.
template <typename T, size_t n>
T Pick(sim::Drawer& drawer, std::string_view site, const T (&values)[n]) {
  return values[drawer.Below(site, n)];
}

// Evenly over the powers of two: early is as likely as late.
uint32_t DrawOrdinal(sim::Drawer& drawer, std::string_view scale,
                     std::string_view at, uint32_t scales) {
  uint32_t exponent = static_cast<uint32_t>(drawer.Below(scale, scales));
  return (1u << exponent) +
         static_cast<uint32_t>(drawer.Below(at, uint64_t{1} << exponent));
}

void DrawErrorRates(sim::Drawer& drawer, FaultPlan* plan) {
  if (plan->Has(Family::kShortTransfer)) {
    plan->short_transfer_denominator =
        Pick<uint32_t>(drawer, "short_transfer.one_in", {64, 16, 256, 4});
    plan->short_transfer_budget =
        Pick<uint32_t>(drawer, "short_transfer.budget", {1, 3, 8, 20});
  }
  if (plan->Has(Family::kDiskFull)) {
    plan->disk_full_at =
        DrawOrdinal(drawer, "disk_full.scale", "disk_full.at", 7);
    plan->disk_full_slack_bytes = Pick<int64_t>(
        drawer, "disk_full.slack", {64 << 10, 0, 4 << 10, 12 << 10, 256 << 10});
    plan->disk_full_refusals =
        Pick<uint32_t>(drawer, "disk_full.refusals", {1, 3, 8, 24});
  }
}

// Families that strike at stored sectors; they share rate and budget.
bool StrikesMedia(const FaultPlan& plan) {
  return plan.Has(Family::kReadError) || plan.Has(Family::kBitRot) ||
         plan.Has(Family::kGarbage) || plan.Has(Family::kZeroed) ||
         plan.Has(Family::kMisdirected) || plan.Has(Family::kLostWrite) ||
         plan.Has(Family::kShornSector);
}

void DrawMediaRates(sim::Drawer& drawer, FaultPlan* plan) {
  if (plan->Has(Family::kReadError) || plan->Has(Family::kMisread)) {
    plan->bad_read_denominator =
        Pick<uint32_t>(drawer, "bad_read.one_in", {256, 64, 1024, 16});
    plan->bad_read_budget =
        Pick<uint32_t>(drawer, "bad_read.budget", {1, 2, 4});
  }
  if (StrikesMedia(*plan)) {
    plan->media_gap =
        Pick<uint32_t>(drawer, "media.gap", {1024, 256, 4096, 64});
    plan->media_budget = Pick<uint32_t>(drawer, "media.budget", {1, 1, 2, 4});
  }
  plan->misdirected_misses =
      plan->Has(Family::kMisdirected) && plan->Has(Family::kLostWrite);
  if (plan->Has(Family::kLyingFlush)) {
    plan->lying_flush_denominator =
        Pick<uint32_t>(drawer, "lying_flush.one_in", {16, 4, 64});
    plan->lying_flush_budget =
        Pick<uint32_t>(drawer, "lying_flush.budget", {1, 2, 8});
  }
  if (plan->Has(Family::kReadOnlyFs)) {
    plan->fs_failure_at =
        DrawOrdinal(drawer, "fs_failure.scale", "fs_failure.at", 9);
    plan->fs_failure = Pick<sim::FsHealth>(
        drawer, "fs_failure.kind",
        {sim::FsHealth::kReadOnly, sim::FsHealth::kShutDown});
  }
}

void DrawRates(sim::Drawer& drawer, FaultPlan* plan) {
  if (plan->Has(Family::kSyncFailure)) {
    plan->sync_failure_denominator =
        Pick<uint32_t>(drawer, "sync_failure.one_in", {32, 8, 64, 2});
    plan->sync_failure_budget =
        Pick<uint32_t>(drawer, "sync_failure.budget", {1, 1, 2, 3});
  }
  if (plan->Has(Family::kWriteback)) {
    plan->writeback_gap =
        Pick<uint32_t>(drawer, "writeback.gap", {256, 64, 1024, 16});
  }
  if (plan->Has(Family::kEviction)) {
    plan->eviction_gap = Pick<uint32_t>(drawer, "eviction.gap", {256, 64, 16});
  }
  if (plan->Has(Family::kLatency)) {
    plan->latency_denominator =
        Pick<uint32_t>(drawer, "latency.one_in", {16, 4, 64, 1});
    plan->latency_min_ns = Pick<env::TimeNs>(
        drawer, "latency.min",
        {10 * kMicrosecond, 50 * kMicrosecond, 500 * kMicrosecond});
    plan->latency_mean_ns = Pick<env::TimeNs>(
        drawer, "latency.mean",
        {20 * kMicrosecond, 200 * kMicrosecond, 5 * kMillisecond});
    plan->latency_sync_mean_ns = Pick<env::TimeNs>(
        drawer, "latency.sync_mean",
        {500 * kMicrosecond, 5 * kMillisecond, 50 * kMillisecond});
  }
  if (plan->Has(Family::kStall)) {
    plan->stall_at = DrawOrdinal(drawer, "stall.scale", "stall.at", 8);
    plan->stall_ns = Pick<env::TimeNs>(drawer, "stall.duration",
                                       {100 * kMillisecond, env::kSecond,
                                        10 * env::kSecond, 60 * env::kSecond});
  }
  DrawErrorRates(drawer, plan);
  DrawMediaRates(drawer, plan);
}

// Which crash kinds a run has: power loss, both, or process crashes only. A
// run without any would test no recovery.
void DrawCrashFamilies(sim::Drawer& drawer, const Profile& profile,
                       FaultPlan* plan) {
  static constexpr uint32_t kShares[] = {35, 50, 15};
  size_t kinds = drawer.Weighted("crash_kinds", kShares);
  bool power = kinds <= 1;
  bool process = kinds >= 1;
  plan->on[static_cast<size_t>(Family::kPowerLoss)] =
      power && profile.Has(Family::kPowerLoss);
  plan->on[static_cast<size_t>(Family::kProcessCrash)] =
      process && profile.Has(Family::kProcessCrash);
}

}  // namespace

std::vector<std::string_view> FaultDrawNames() {
  std::vector<std::string_view> names = {
      "crash_kinds",           "short_transfer.one_in",
      "short_transfer.budget", "disk_full.scale",
      "disk_full.at",          "disk_full.slack",
      "disk_full.refusals",    "bad_read.one_in",
      "bad_read.budget",       "media.gap",
      "media.budget",          "lying_flush.one_in",
      "lying_flush.budget",    "fs_failure.scale",
      "fs_failure.at",         "fs_failure.kind",
      "sync_failure.one_in",   "sync_failure.budget",
      "writeback.gap",         "eviction.gap",
      "latency.one_in",        "latency.min",
      "latency.mean",          "latency.sync_mean",
      "stall.scale",           "stall.at",
      "stall.duration"};
  for (int i = 0; i < kFamilyCount; ++i) {
    names.emplace_back(FamilyName(static_cast<Family>(i)));
  }
  return names;
}

FaultPlan DrawFaultPlan(sim::Choices& choices, const Profile& profile) {
  FaultPlan plan;
  sim::Drawer drawer(&choices, sim::Stream::kKnobs,
                     sim::Scope::FromPath("w0/faults"));
  DrawCrashFamilies(drawer, profile, &plan);
  for (int i = 0; i < kFamilyCount; ++i) {
    Family family = static_cast<Family>(i);
    if (!profile.Has(family)) continue;
    bool* on = &plan.on[static_cast<size_t>(i)];
    switch (family) {
      case Family::kPowerLoss:
      case Family::kProcessCrash:
        break;
      case Family::kRecoveryCrash:
        *on = true;  // a share of the crashes of every run (SFM-17)
        break;
      case Family::kFill:
        break;  // a property of the disk: the knob `fill` has it
      case Family::kDoubleCrash:
        *on = plan.Has(Family::kPowerLoss) && plan.Has(Family::kProcessCrash);
        break;
      case Family::kSyncFailure:
        *on = drawer.Chance(FamilyName(family), profile.sync_failure_percent,
                            100);
        break;
      case Family::kReadOnlyFs:
        // It ends what else could happen until the host restarts.
        *on = drawer.Chance(FamilyName(family), 20, 100);
        break;
      default:
        *on = drawer.Chance(FamilyName(family), 50, 100);
    }
  }
  // An eviction shows nothing unless an fsync failed before.
  if (!plan.Has(Family::kSyncFailure)) {
    plan.on[static_cast<size_t>(Family::kEviction)] = false;
  }
  DrawRates(drawer, &plan);
  return plan;
}

std::string FaultPlan::ToString() const {
  std::string text;
  for (int i = 0; i < kFamilyCount; ++i) {
    if (!on[static_cast<size_t>(i)]) continue;
    if (!text.empty()) text += ' ';
    text += FamilyName(static_cast<Family>(i));
  }
  return text.empty() ? "none" : text;
}

}  // namespace faults
