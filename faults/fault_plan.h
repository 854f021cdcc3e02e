// FaultPlan: which fault families one run has, and how often each strikes.
//
// Swarm testing: each family of the profile is on with probability one half,
// then gets a rate from a small set. A family that is off draws nothing, so
// that switching one off moves no draw of another. All draws are keyed
// (Stream::kKnobs, scope "w0/faults", site = the family's name).
#ifndef MUSTH_FAULTS_FAULT_PLAN_H_
#define MUSTH_FAULTS_FAULT_PLAN_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "faults/profile.h"
#include "sim/choices.h"
#include "sim/env/ids.h"
#include "sim/fault_hooks.h"

namespace faults {

struct FaultPlan {
  std::array<bool, kFamilyCount> on = {};

  // One fsync of a dirty file in so many fails, at most so many times.
  uint32_t sync_failure_denominator = 1;
  uint32_t sync_failure_budget = 0;
  // Steps between two write-backs, evictions: up to twice as many.
  uint32_t writeback_gap = 1;
  uint32_t eviction_gap = 1;
  // One device call in so many is delayed; the delay is the least one plus an
  // exponential part with this mean.
  uint32_t latency_denominator = 1;
  env::TimeNs latency_min_ns = 0;
  env::TimeNs latency_mean_ns = 0;
  env::TimeNs latency_sync_mean_ns = 0;
  // The device freezes at its stall_at-th call.
  uint32_t stall_at = 0;
  env::TimeNs stall_ns = 0;
  // One read or write in so many is cut short or interrupted, at most so many.
  uint32_t short_transfer_denominator = 1;
  uint32_t short_transfer_budget = 0;
  // From the disk_full_at-th call that needs space on, only disk_full_slack
  // bytes are free; after so many refusals somebody makes room.
  uint32_t disk_full_at = 0;
  int64_t disk_full_slack_bytes = 0;
  uint32_t disk_full_refusals = 0;
  // One read in so many fails, or reads another page, for that call; at most
  // so many of each.
  uint32_t bad_read_denominator = 1;
  uint32_t bad_read_budget = 0;
  // Steps between two strikes at stored sectors, up to twice as many; at most
  // media_budget strikes. Every further one is ten times as likely.
  uint32_t media_gap = 1;
  uint32_t media_budget = 0;
  // A misdirected write may miss its own place, too.
  bool misdirected_misses = false;
  // One fsync of a dirty file in so many lies, at most so many times.
  uint32_t lying_flush_denominator = 1;
  uint32_t lying_flush_budget = 0;
  // The file system stops at its fs_failure_at-th changing call.
  uint32_t fs_failure_at = 0;
  sim::FsHealth fs_failure = sim::FsHealth::kReadOnly;

  bool Has(Family family) const { return on[static_cast<size_t>(family)]; }
  // "power_loss latency(1/16, 50us)": for reports.
  std::string ToString() const;
};

// Names under which a FaultPlan is drawn.
std::vector<std::string_view> FaultDrawNames();

FaultPlan DrawFaultPlan(sim::Choices& choices, const Profile& profile);

struct FamilyCount {
  bool enabled = false;  // this run could have it
  uint64_t injected = 0;
};

// Counted by the hooks, read by the driver when the run is over.
class FaultCounters {
 public:
  void Enable(Family family) { at(family).enabled = true; }
  void Inject(Family family) { ++at(family).injected; }
  const FamilyCount& of(Family family) const {
    return counts_[static_cast<size_t>(family)];
  }
  // How many faults the engine was told of so far (see MayRefuse).
  uint64_t Refusals() const {
    uint64_t sum = 0;
    for (int i = 0; i < kFamilyCount; ++i) {
      Family family = static_cast<Family>(i);
      if (MayRefuse(family)) sum += of(family).injected;
    }
    return sum;
  }

 private:
  FamilyCount& at(Family family) {
    return counts_[static_cast<size_t>(family)];
  }
  std::array<FamilyCount, kFamilyCount> counts_ = {};
};

}  // namespace faults

#endif  // MUSTH_FAULTS_FAULT_PLAN_H_
