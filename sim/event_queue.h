// EventQueue: pending timers, ordered by (deadline, order of arming).
#ifndef MUSTH_SIM_EVENT_QUEUE_H_
#define MUSTH_SIM_EVENT_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "sim/env/ids.h"
#include "sim/env/lookup_map.h"

namespace sim {

class EventQueue {
 public:
  struct Timer {
    env::TimeNs deadline_ns = 0;
    env::TaskId task = env::kNoTask;
  };

  bool empty() const { return timers_.empty(); }
  size_t size() const { return timers_.size(); }
  // kForever if there is none.
  env::TimeNs EarliestDeadline() const {
    return timers_.empty() ? env::kForever : timers_.begin()->first.first;
  }

  // Arms a timer for the task; returns its handle, which is never 0.
  uint64_t Add(env::TimeNs deadline_ns, env::TaskId task);
  // Requires: the handle's timer is pending.
  void Cancel(uint64_t handle);
  // The earliest timer. Requires: not empty.
  Timer PopEarliest();

 private:
  // Key: deadline, then handle; handles count upwards.
  std::map<std::pair<env::TimeNs, uint64_t>, env::TaskId> timers_;
  env::LookupMap<uint64_t, env::TimeNs> deadlines_;
  uint64_t last_handle_ = 0;
};

}  // namespace sim

#endif  // MUSTH_SIM_EVENT_QUEUE_H_
