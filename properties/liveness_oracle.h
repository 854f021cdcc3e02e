// LivenessOracle: once faults stop, everything finishes.
//
// The driver tells it what it sees; the oracle words the verdict. Checks:
// 1. After the faults have stopped every session finishes within a bound of
//    virtual time (LIVE).
// 2. The node starts when no injected fault excuses a refusal (REC).
// 3. Nobody panics unless a fault was injected since the node started (REC).
// Does not check: how long a statement may wait while faults go on, fairness.
#ifndef MUSTH_PROPERTIES_LIVENESS_ORACLE_H_
#define MUSTH_PROPERTIES_LIVENESS_ORACLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "properties/oracle.h"
#include "sim/env/event_sink.h"

namespace properties {

class LivenessOracle {
 public:
  // bound_ns: how long sessions may go on after the faults stopped.
  LivenessOracle(VerdictSink* sink, env::TimeNs bound_ns)
      : sink_(sink), bound_ns_(bound_ns) {}

  void OnEvent(const env::Event& event);

  // A fault was injected that may legally make the node panic or refuse.
  void OnExcuse() { excused_ = true; }
  void OnNodeStarts() { excused_ = false; }
  void OnFaultsStopped(env::TimeNs now) { stopped_at_ns_ = now; }
  // Sessions that have not finished, by name, and what the tasks wait for.
  // Empty unfinished: all is well, whenever it happens.
  void OnDeadline(env::TimeNs now, const std::vector<std::string>& unfinished,
                  const std::string& waits);
  void OnRefusedStart(const std::string& why);
  // True if sessions have had their time.
  bool Overdue(env::TimeNs now) const {
    return stopped_at_ns_ >= 0 && now - stopped_at_ns_ > bound_ns_;
  }

 private:
  void Report(const char* promise, std::string subject, std::string message);

  VerdictSink* sink_;
  env::TimeNs bound_ns_;
  env::TimeNs stopped_at_ns_ = -1;
  bool excused_ = false;
  uint64_t seq_ = 0;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_LIVENESS_ORACLE_H_
