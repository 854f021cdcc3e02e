// Events: where everything that code tells the world ends up.
//
// The hub stamps an event with time, task and sequence number, folds it into
// the rolling hash, then hands it to the subscribers in the order in which
// they subscribed. The hash covers every event of a run: two runs with equal
// hashes did the same things in the same order.
#ifndef MUSTH_SIM_EVENTS_H_
#define MUSTH_SIM_EVENTS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/clock.h"
#include "sim/env/event_sink.h"

namespace sim {

// Is told every event, on the stack of whoever emits it.
class EventSubscriber {
 public:
  virtual ~EventSubscriber() = default;
  // Must not suspend and must not emit. event.bytes is valid for the call.
  virtual void OnEvent(const env::Event& event) = 0;
};

// The 64-bit hash of a run so far: kind, host, task, time, arguments and bytes
// of every event, in order. Equal on every compiler, build mode and layout.
class RollingHash {
 public:
  void Add(const env::Event& event);
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0x9e3779b97f4a7c15ULL;
};

// A hash of bytes, 16 at a time; also what kFileWrite and kFileRead carry.
uint64_t HashBytes(std::string_view bytes, uint64_t seed = 0);

class EventHub {
 public:
  explicit EventHub(const VirtualClock* clock) : clock_(clock) {}
  EventHub(const EventHub&) = delete;
  EventHub& operator=(const EventHub&) = delete;

  // Suspends: no.
  void Emit(env::HostId host, env::TaskId task, env::Event* event);

  // The subscriber outlives the hub.
  void Subscribe(EventSubscriber* subscriber) {
    subscribers_.push_back(subscriber);
  }
  void Unsubscribe(EventSubscriber* subscriber);

  uint64_t hash() const { return hash_.value(); }
  uint64_t count() const { return count_; }

 private:
  const VirtualClock* clock_;
  RollingHash hash_;
  uint64_t count_ = 0;
  std::vector<EventSubscriber*> subscribers_;
};

}  // namespace sim

#endif  // MUSTH_SIM_EVENTS_H_
