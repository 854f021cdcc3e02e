// RecoveryWorld: a world of its own in which a node recovers a crashed disk.
//
// One host, no clients, no faults; it is run until the node accepts sessions.
// Nothing of it touches the world that the disk is a copy of.
#ifndef MUSTH_PROPERTIES_RECOVERY_WORLD_H_
#define MUSTH_PROPERTIES_RECOVERY_WORLD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/common/config.h"
#include "engine/node/node.h"
#include "sim/choices.h"
#include "sim/disk.h"
#include "sim/world.h"

namespace sim {
class StackPool;
}  // namespace sim

namespace properties {

struct RecoveryWorldOptions {
  engine::Config config;
  std::vector<uint8_t> planted;
  sim::StackPool* stacks = nullptr;
  sim::StrategyOptions strategy;
};

class RecoveryWorld : private sim::EventSubscriber {
 public:
  // All outlive the world. fork: sim::WorldOptions::fork.
  RecoveryWorld(const RecoveryWorldOptions& options, sim::Choices* choices,
                uint64_t fork, sim::Disk* disk);
  ~RecoveryWorld() override;

  sim::World& world() { return world_; }
  sim::DeviceHost& device_host() { return world_.device_host(host_); }

  // Until the node is ready, or cannot become so, or somebody asked the world
  // to stop; then it may be called again.
  sim::World::StopReason Run();
  bool ready() const { return ready_; }
  uint64_t recovery_end() const { return end_; }
  // Why the node did not get ready, after Run has returned for that reason.
  std::string Failure(sim::World::StopReason reason) const;

 private:
  void OnEvent(const env::Event& event) override;

  sim::World world_;
  env::HostId host_;
  sim::Disk* disk_;
  std::optional<engine::Node> node_;
  bool started_ = false;
  bool ready_ = false;
  uint64_t end_ = 0;
  std::string panic_;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_RECOVERY_WORLD_H_
