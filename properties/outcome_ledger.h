// OutcomeLedger: what became of each injected fault.
//
//   masked    nobody noticed, no promise broke
//   detected  the node refused, or went down, and named it
//   repaired  the node read the damage and wrote the bytes anew
//   silent    a promise broke after it struck and before anything was judged
//   gap       silent, and the contract's row is a known PostgreSQL gap
//
// Every inspection that passes settles the faults that struck before it: a
// promise that breaks later is not theirs. Damage has records of its own and is
// judged one by one. The outcomes of a family add up to what was injected.
#ifndef MUSTH_PROPERTIES_OUTCOME_LEDGER_H_
#define MUSTH_PROPERTIES_OUTCOME_LEDGER_H_

#include <array>
#include <cstdint>
#include <set>

#include "faults/fault_plan.h"
#include "properties/run.h"
#include "sim/disk.h"

namespace properties {

class OutcomeLedger {
 public:
  // The node was inspected and has kept every promise.
  void Settle(const faults::FaultCounters& counters);
  // The node has named the family's faults that struck since it was last
  // settled or reported (a PANIC over a failed fsync names all before it).
  void Report(faults::Family family, const faults::FaultCounters& counters);

  // broken: a promise broke at the end.
  RunStats::Family Of(faults::Family family,
                      const faults::FaultCounters& counters, bool broken) const;

 private:
  static constexpr size_t Index(faults::Family family) {
    return static_cast<size_t>(family);
  }
  // Of each family: faults judged so far, and those among them that were named.
  std::array<uint64_t, faults::kFamilyCount> judged_ = {};
  std::array<uint64_t, faults::kFamilyCount> named_ = {};
};

// As OutcomeLedger::Of for a family that leaves damage, from the disk's fault
// log; detected are the ids of records that justified a refusal.
RunStats::Family OutcomesOfDamage(faults::Family family, const sim::Disk& disk,
                                  const std::set<uint64_t>& detected,
                                  bool broken);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_OUTCOME_LEDGER_H_
