// Random: values that a program may legitimately draw (SQL random(), ids).
#ifndef MUSTH_SIM_ENV_RANDOM_H_
#define MUSTH_SIM_ENV_RANDOM_H_

#include <cstdint>

#include "sim/env/ids.h"

namespace env {

class Random {
 public:
  virtual ~Random() = default;

  // A value in [0, bound), or any 64-bit value when bound is 0. Keyed by the
  // running task, the site and how often this task drew there before.
  // Suspends: no.
  virtual uint64_t Draw(SiteId site, uint64_t bound) = 0;
};

}  // namespace env

#endif  // MUSTH_SIM_ENV_RANDOM_H_
