// Instants: where a run is stopped to look at other crashes.
//
// Sits before the run's own crash hooks. At an instant it asks the world to
// stop; the world stops before anything comes of the point, and goes on as if
// it had not. Nothing is drawn at a point, so that a run is the same with and
// without it.
#ifndef MUSTH_FAULTS_INSTANTS_H_
#define MUSTH_FAULTS_INSTANTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "faults/crash_faults.h"
#include "sim/env/site.h"
#include "sim/fault_hooks.h"

namespace faults {

struct Instant {
  uint64_t step = 0;  // scheduling steps so far
  std::string point;  // "fsync middle", a site's name, "step"
  // Only a write became visible since the last durability event.
  bool write = false;
};

class Instants : public sim::CrashHooks {
 public:
  enum class Which : uint8_t {
    kPlanned,     // those of `plan`, each once
    kDurability,  // every write, fsync step and metadata change
    kStep,        // the scheduling step `step`
  };
  struct Options {
    Which which = Which::kPlanned;
    std::vector<PlannedCrash> plan;
    uint64_t step = 0;
    env::SiteTable sites;             // the node's
    sim::CrashHooks* next = nullptr;  // may be null
    std::function<void()> stop;       // World::RequestStop
  };
  explicit Instants(Options options);

  // As for CrashFaults. kStep is not bound to a phase.
  void SetPhase(Phase phase);
  sim::CrashKind OnPoint(const sim::CrashPoint& point) override;

  // The instant that the world was stopped for; nothing if it was not.
  std::optional<Instant> Take();

 private:
  bool Due(const sim::CrashPoint& point);

  Options options_;
  Phase phase_ = Phase::kDone;
  std::vector<PlaceCounter> counters_;  // of plan
  std::vector<bool> over_;
  std::optional<Instant> due_;
};

}  // namespace faults

#endif  // MUSTH_FAULTS_INSTANTS_H_
