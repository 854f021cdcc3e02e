#include "sim/clock.h"

#include "sim/env/check.h"

namespace sim {

int64_t VirtualClock::WallMicros() {
  return kWallStartMicros + now_ns_ / env::kMicrosecond;
}

void VirtualClock::AdvanceTo(env::TimeNs time_ns) {
  SIM_CHECK(time_ns != env::kForever);
  if (time_ns > now_ns_) now_ns_ = time_ns;
}

}  // namespace sim
