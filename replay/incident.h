// Incident: what one seed of a campaign came to that must not be, in few words.
#ifndef MUSTH_REPLAY_INCIDENT_H_
#define MUSTH_REPLAY_INCIDENT_H_

#include <cstdint>
#include <string>

namespace replay {

struct Incident {
  uint64_t seed = 0;
  // "DUR"; empty: a harness failure.
  std::string promise;
  std::string oracle;   // that saw it broken
  std::string subject;  // of the promise
  std::string message;
  std::string recipe;   // its file
  bool shrunk = false;  // the shrinker has had it

  bool harness() const { return promise.empty(); }
};

}  // namespace replay

#endif  // MUSTH_REPLAY_INCIDENT_H_
