// Oracle: judges a run from its events and from bytes on the simulated disk,
// never from the engine's state.
#ifndef MUSTH_PROPERTIES_ORACLE_H_
#define MUSTH_PROPERTIES_ORACLE_H_

#include <string_view>
#include <vector>

#include "properties/verdict.h"
#include "sim/disk.h"
#include "sim/env/event_sink.h"
#include "sim/fault_hooks.h"

namespace properties {

// Collects verdicts of all oracles of one run.
class VerdictSink {
 public:
  void Report(Verdict verdict) { verdicts_.push_back(std::move(verdict)); }
  // seq: the event after which it was seen.
  void Report(std::string_view promise, std::string_view oracle,
              std::string subject, std::string message, uint64_t seq) {
    Verdict v;
    v.promise = promise;
    v.oracle = oracle;
    v.subject = std::move(subject);
    v.message = std::move(message);
    v.event_seq = seq;
    verdicts_.push_back(std::move(v));
  }
  const std::vector<Verdict>& verdicts() const { return verdicts_; }

 private:
  std::vector<Verdict> verdicts_;
};

class Oracle {
 public:
  virtual ~Oracle() = default;
  // A short fixed name, as in Verdict::oracle.
  virtual std::string_view name() const = 0;
  // Every event of the run, synchronously. Must not suspend.
  virtual void OnEvent(const env::Event& event) = 0;
  // The host crashed (after its tasks were unwound, before the disk forgets).
  virtual void OnCrash(sim::CrashKind kind) = 0;
  // Recovery has finished and no session runs; the disk is frozen.
  virtual void OnRecovered(const sim::Disk& disk) = 0;
  // Clean shutdown has finished; the disk is frozen.
  virtual void OnShutdown(const sim::Disk& disk) = 0;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_ORACLE_H_
