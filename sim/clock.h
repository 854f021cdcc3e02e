// VirtualClock: the time of a simulated world.
//
// CPU is free in `explore` mode: time stands still while tasks run and jumps
// to the deadline of each timer that fires. All hosts share one clock.
#ifndef MUSTH_SIM_CLOCK_H_
#define MUSTH_SIM_CLOCK_H_

#include "sim/env/clock.h"
#include "sim/env/ids.h"

namespace sim {

// 2023-01-01 00:00 UTC in microseconds since 2000-01-01 00:00 UTC: the wall
// clock of every world starts here.
inline constexpr int64_t kWallStartMicros =
    int64_t{8401} * 24 * 3600 * 1000 * 1000;

class VirtualClock final : public env::Clock {
 public:
  env::TimeNs Now() override { return now_ns_; }
  int64_t WallMicros() override;

  env::TimeNs now_ns() const { return now_ns_; }

  // Moves time forward; an earlier time leaves the clock as it is.
  void AdvanceTo(env::TimeNs time_ns);

 private:
  env::TimeNs now_ns_ = 0;
};

}  // namespace sim

#endif  // MUSTH_SIM_CLOCK_H_
