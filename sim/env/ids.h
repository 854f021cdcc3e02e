// Small identifier types shared by every room.
#ifndef MUSTH_SIM_ENV_IDS_H_
#define MUSTH_SIM_ENV_IDS_H_

#include <cstdint>

namespace env {

// Virtual (or, on sim/posix, monotonic) time in nanoseconds since the world
// began. Signed so that differences need no care.
using TimeNs = int64_t;

inline constexpr TimeNs kMicrosecond = 1000;
inline constexpr TimeNs kMillisecond = 1000 * kMicrosecond;
inline constexpr TimeNs kSecond = 1000 * kMillisecond;
inline constexpr TimeNs kForever = INT64_MAX;

// One simulated machine. Every device, event and draw carries it.
using HostId = uint16_t;

// One process of a node; unique in a world, never reused, 0 is none.
using TaskId = uint32_t;
inline constexpr TaskId kNoTask = 0;

// A row of a site table (see site.h): dense, usable as an array index.
using SiteId = uint16_t;

}  // namespace env

#endif  // MUSTH_SIM_ENV_IDS_H_
