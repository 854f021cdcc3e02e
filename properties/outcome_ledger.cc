#include "properties/outcome_ledger.h"

#include <algorithm>
#include <vector>

#include "faults/atlas.h"
#include "sim/env/check.h"

namespace properties {
namespace {

bool StillThere(const sim::Disk& disk, const sim::FaultRecord& record) {
  std::vector<sim::FaultRecord> live =
      disk.FaultsIn(record.path, record.offset, record.bytes);
  return std::any_of(
      live.begin(), live.end(),
      [&](const sim::FaultRecord& other) { return other.id == record.id; });
}

}  // namespace

void OutcomeLedger::Settle(const faults::FaultCounters& counters) {
  for (int i = 0; i < faults::kFamilyCount; ++i) {
    auto family = static_cast<faults::Family>(i);
    judged_[Index(family)] = counters.of(family).injected;
  }
}

void OutcomeLedger::Report(faults::Family family,
                           const faults::FaultCounters& counters) {
  uint64_t injected = counters.of(family).injected;
  named_[Index(family)] += injected - judged_[Index(family)];
  judged_[Index(family)] = injected;
}

RunStats::Family OutcomeLedger::Of(faults::Family family,
                                   const faults::FaultCounters& counters,
                                   bool broken) const {
  const faults::FamilyCount& count = counters.of(family);
  SIM_CHECK(count.injected >= judged_[Index(family)]);
  RunStats::Family out;
  out.enabled_runs = count.enabled ? 1 : 0;
  out.injected = count.injected;
  out.detected = named_[Index(family)];
  out.silent = broken ? count.injected - judged_[Index(family)] : 0;
  out.masked = out.injected - out.detected - out.silent;
  return out;
}

RunStats::Family OutcomesOfDamage(faults::Family family, const sim::Disk& disk,
                                  const std::set<uint64_t>& detected,
                                  bool broken) {
  RunStats::Family out;
  for (const sim::FaultRecord& record : disk.fault_log().records()) {
    if (faults::FamilyOf(record.damage) != family) continue;
    ++out.injected;
    if (detected.count(record.id) != 0) {
      ++out.detected;
    } else if (!record.seen) {
      ++out.masked;
    } else if (!StillThere(disk, record)) {
      ++out.repaired;
    } else {
      ++(broken ? out.silent : out.masked);
    }
  }
  return out;
}

}  // namespace properties
