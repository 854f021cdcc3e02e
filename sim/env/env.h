// Env: one host's world as the code on it sees it.
#ifndef MUSTH_SIM_ENV_ENV_H_
#define MUSTH_SIM_ENV_ENV_H_

#include <cstdint>

#include "sim/env/clock.h"
#include "sim/env/current.h"
#include "sim/env/event_sink.h"
#include "sim/env/files.h"
#include "sim/env/ids.h"
#include "sim/env/random.h"
#include "sim/env/site.h"
#include "sim/env/tasks.h"

namespace env {

struct Env {
  HostId host = 0;
  Clock* clock = nullptr;
  Files* files = nullptr;
  Tasks* tasks = nullptr;
  Random* random = nullptr;
  EventSink* events = nullptr;
  // One byte per row of the node's site table, non-zero where a planted bug is
  // switched on. Null when the build has no planted bugs.
  const uint8_t* planted = nullptr;
};

inline bool PlantedOn(SiteId site) {
  const Env* env = Current().env;
  return env != nullptr && env->planted != nullptr && env->planted[site] != 0;
}

}  // namespace env

#endif  // MUSTH_SIM_ENV_ENV_H_
