#include "properties/cluster_template.h"

#include <utility>

#include "engine/common/sites.h"
#include "engine/node/node.h"
#include "sim/env/race.h"
#include "sim/world.h"

namespace properties {
namespace {

// What shapes a fresh cluster, and nothing else: another run would start from
// what the first one's settings left.
engine::Config InitDbConfig(const engine::Config& config) {
  engine::Config initdb;
  initdb.data_checksums = config.data_checksums;
  initdb.wal_segment_size = config.wal_segment_size;
  initdb.full_page_writes = config.full_page_writes;
  initdb.max_connections = config.max_connections;
  initdb.detect_zeroed_pages = config.detect_zeroed_pages;
  initdb.checksum_relation = config.checksum_relation;
  initdb.clog_checksums = config.clog_checksums;
  initdb.wal_flush_watermark = config.wal_flush_watermark;
  initdb.min_wal_size_bytes = int64_t{2} * config.wal_segment_size;
  return initdb;
}

env::Result<std::unique_ptr<sim::Disk>> Build(const engine::Config& config,
                                              const sim::DiskOptions& options,
                                              const engine::InitDbRoom& room,
                                              sim::StackPool* stacks) {
  auto disk = std::make_unique<sim::Disk>(options);
  sim::Choices choices(0);
  sim::WorldOptions world_options;
  world_options.choices = &choices;
  world_options.strategy.kind = sim::StrategyKind::kRoundRobin;
  world_options.stacks = stacks;
  sim::World world(world_options);
  env::HostId host = world.AddHost(engine::EngineSites(), {});
  disk->Attach(&world.device_host(host), nullptr);
  world.AttachFiles(host, disk.get());
  env::Status status(env::Code::kInterrupted, "initdb did not finish");
  // Not on the stack: race checks would take the next template's node, in the
  // same place, for this one.
  auto node = std::make_unique<engine::Node>(&world.env(host), config);
  world.SpawnRoot(host, "initdb", [&] {
    env::Status made = node->InitDb(room);
    env::Unwatched unwatched;
    status = std::move(made);
  });
  sim::World::StopReason reason = world.Run();
  if (reason != sim::World::StopReason::kIdle) {
    std::string why = sim::StopReasonName(reason);
    if (world.check_failure() != nullptr) {
      why += ": " + world.check_failure()->condition;
    }
    status = env::Status(env::Code::kInterrupted, "initdb: " + why);
  }
  if (!status.ok()) return status;
  disk->Attach(nullptr, nullptr);
  // The visible state, all of it durable: nothing of the template's own
  // history may reappear in a run's crash images.
  return disk->ImageCopy();
}

}  // namespace

env::Result<std::unique_ptr<sim::Disk>> ClusterTemplates::Fresh(
    const engine::Config& config, const sim::DiskOptions& options,
    const engine::InitDbRoom& room) {
  Key key{InitDbConfig(config), options, room};
  std::unique_ptr<sim::Disk>& slot = templates_[key];
  if (slot == nullptr) {
    ASSIGN_OR_RETURN(slot, Build(key.initdb, options, room, stacks_));
  }
  return slot->Clone();
}

}  // namespace properties
