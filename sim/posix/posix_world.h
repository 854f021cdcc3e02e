// PosixWorld: one host in the real world.
//
// The same cooperative fibers as in the simulation, on one OS thread, in turn
// (round-robin); real files, the real clock, random numbers from the system.
// When every task waits, the thread sleeps until the earliest deadline.
// Nothing crashes here unless the process does: a broken check prints its
// condition and aborts, Panic() ends the task as in the simulation.
//
//   auto files = PosixFiles::Open(dir);
//   PosixWorld world(sites, files->get());
//   world.SpawnRoot("postmaster", [&] { ... });
//   world.Run();
#ifndef MUSTH_SIM_POSIX_POSIX_WORLD_H_
#define MUSTH_SIM_POSIX_POSIX_WORLD_H_

#include <functional>
#include <memory>
#include <string_view>

#include "sim/env/env.h"
#include "sim/events.h"

namespace sim::posix {

class PosixWorld {
 public:
  enum class StopReason : uint8_t {
    kIdle,     // no live task is left
    kStopped,  // RequestStop()
    kStuck,    // every live task is parked and none has a deadline
  };

  // files outlives the world.
  PosixWorld(env::SiteTable node_sites, env::Files* files);
  // Ends every task that is left.
  ~PosixWorld();
  PosixWorld(const PosixWorld&) = delete;
  PosixWorld& operator=(const PosixWorld&) = delete;

  env::Env& env();
  env::TaskId SpawnRoot(std::string_view name, std::function<void()> body);
  StopReason Run();
  // From a task: Run returns at its next scheduling point.
  void RequestStop();
  // Ends every task now (a crash of the node). Requires: not from a task.
  void EndAllTasks();
  size_t live_tasks() const;

  // The subscriber outlives the world.
  void Subscribe(EventSubscriber* subscriber);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sim::posix

#endif  // MUSTH_SIM_POSIX_POSIX_WORLD_H_
