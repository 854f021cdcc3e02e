// `musth replay --until N`: the run up to an event, for people and for gdb.
#ifndef MUSTH_REPLAY_UNTIL_H_
#define MUSTH_REPLAY_UNTIL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/events.h"
#include "sim/trace.h"

// Called when the event has been told, on the stack of the process that told
// it. Does nothing: a place for a debugger's breakpoint.
extern "C" void MusthReachedEvent(uint64_t seq);

namespace replay {

// Keeps the last events up to one.
class Until : public sim::EventSubscriber {
 public:
  explicit Until(uint64_t seq);

  void OnEvent(const env::Event& event) override;

  bool reached() const { return reached_; }
  // Oldest first, one line each.
  std::string Text() const { return tail_.Text(); }

 private:
  uint64_t seq_;
  bool reached_ = false;
  sim::TraceTail tail_;
};

// Commands for gdb: stop at the event, and `musth-fibers` for a backtrace of
// every suspended process.
std::string GdbScript();

}  // namespace replay

#endif  // MUSTH_REPLAY_UNTIL_H_
