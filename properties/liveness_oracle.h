// LivenessOracle: once faults stop, everything finishes.
//
// The driver tells it what it sees; the oracle words the verdict. Checks:
// 1. After the faults have stopped every session, and at the end the shutdown,
//    finishes within a bound of scheduling steps (LIVE). Not of virtual time:
//    in explore mode a timer may fire while others run, so that hours can pass
//    before a runnable task's next step.
// 2. The node starts when no injected fault excuses a refusal (REC).
// 3. Nobody panics unless a fault was injected since the node started (REC).
// Does not check: how long a statement may wait while faults go on, fairness.
#ifndef MUSTH_PROPERTIES_LIVENESS_ORACLE_H_
#define MUSTH_PROPERTIES_LIVENESS_ORACLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "properties/oracle.h"
#include "sim/env/event_sink.h"

namespace properties {

class LivenessOracle {
 public:
  // bound_steps: how long sessions may go on after the faults stopped.
  LivenessOracle(VerdictSink* sink, uint64_t bound_steps)
      : sink_(sink), bound_steps_(bound_steps) {}

  // A copy that reports elsewhere.
  LivenessOracle(const LivenessOracle& other, VerdictSink* sink)
      : LivenessOracle(other) {
    sink_ = sink;
  }

  void OnEvent(const env::Event& event);

  // A fault was injected that may legally make the node panic or refuse.
  void OnExcuse() { excused_ = true; }
  void OnNodeStarts() { excused_ = false; }
  void OnFaultsStopped(uint64_t step) { stopped_at_ = step; }
  // Another fault struck after all.
  void OnFaultsGoOn() { stopped_at_.reset(); }
  // Who has not finished, by name, and what the tasks wait for. Empty
  // unfinished: all is well, whenever it happens.
  void OnDeadline(uint64_t step, const std::vector<std::string>& unfinished,
                  const std::string& waits);
  void OnRefusedStart(const std::string& why);
  // True if sessions have had their time.
  bool Overdue(uint64_t step) const {
    return stopped_at_.has_value() && step - *stopped_at_ > bound_steps_;
  }

 private:
  void Report(const char* promise, std::string subject, std::string message);

  VerdictSink* sink_;
  uint64_t bound_steps_;
  std::optional<uint64_t> stopped_at_;
  bool excused_ = false;
  uint64_t seq_ = 0;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_LIVENESS_ORACLE_H_
