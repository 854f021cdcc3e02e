// RaceEnv: env interfaces that keep the world out of race checks.
//
// In a build with ThreadSanitizer (sim/env/race.h) a host's interfaces are
// wrapped: each call is unwatched, the buffers of a read or a write count as
// touched by the caller, and what a kernel orders is ordered:
//
//   Spawn ──► the child's first step      Unpark ──► the return of Park
//   a task's end ──► its parent's ReapChild
//
// Elsewhere nothing is wrapped.
#ifndef MUSTH_SIM_RACE_ENV_H_
#define MUSTH_SIM_RACE_ENV_H_

#include <functional>
#include <memory>

#include "sim/env/env.h"

namespace sim {

class RaceEnv {
 public:
  RaceEnv();
  ~RaceEnv();
  RaceEnv(const RaceEnv&) = delete;
  RaceEnv& operator=(const RaceEnv&) = delete;

  // Wraps what is set in env, files apart.
  void Wrap(env::Env* env);
  env::Files* WrapFiles(env::Files* files);
  // The body of a task without parent. The world's other tasks come from
  // env.tasks.
  std::function<void()> WrapBody(std::function<void()> body);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sim

#endif  // MUSTH_SIM_RACE_ENV_H_
