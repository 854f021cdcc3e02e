// Verdict: a broken promise, said so that a reader can act at once.
#ifndef MUSTH_PROPERTIES_VERDICT_H_
#define MUSTH_PROPERTIES_VERDICT_H_

#include <cstdint>
#include <string>

namespace properties {

struct Verdict {
  std::string promise;  // a tag: "DUR", "ATOM", "VIS", "WAL", "REC", "LIVE" ...
  std::string oracle;   // who saw it: "ack", "content", "wal_before_data" ...
  std::string subject;  // "transaction 731 (s2.t4)", "page base/5/16384:3"
  std::string message;  // one sentence: expected and found
  uint64_t event_seq = 0;  // after which event
  std::string ToString() const;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_VERDICT_H_
