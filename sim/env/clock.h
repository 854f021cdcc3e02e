// Clock: what time it is on this host.
#ifndef MUSTH_SIM_ENV_CLOCK_H_
#define MUSTH_SIM_ENV_CLOCK_H_

#include "sim/env/ids.h"

namespace env {

class Clock {
 public:
  virtual ~Clock() = default;

  // Monotonic. Suspends: no. Units: nanoseconds since the world began.
  virtual TimeNs Now() = 0;

  // Wall clock. Suspends: no. Units: microseconds since 2000-01-01 00:00 UTC,
  // which is PostgreSQL's timestamp epoch.
  virtual int64_t WallMicros() = 0;
};

}  // namespace env

#endif  // MUSTH_SIM_ENV_CLOCK_H_
