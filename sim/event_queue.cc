#include "sim/event_queue.h"

#include "sim/env/check.h"

namespace sim {

uint64_t EventQueue::Add(env::TimeNs deadline_ns, env::TaskId task) {
  uint64_t handle = ++last_handle_;
  timers_.emplace(std::make_pair(deadline_ns, handle), task);
  deadlines_.Insert(handle, deadline_ns);
  return handle;
}

void EventQueue::Cancel(uint64_t handle) {
  const env::TimeNs* deadline = deadlines_.Find(handle);
  SIM_CHECK(deadline != nullptr);
  timers_.erase({*deadline, handle});
  deadlines_.Erase(handle);
}

EventQueue::Timer EventQueue::PopEarliest() {
  SIM_CHECK(!timers_.empty());
  auto first = timers_.begin();
  Timer timer{first->first.first, first->second};
  deadlines_.Erase(first->first.second);
  timers_.erase(first);
  return timer;
}

}  // namespace sim
