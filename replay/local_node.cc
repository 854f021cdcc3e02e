#include "replay/local_node.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "engine/common/sites.h"
#include "engine/node/node.h"
#include "sim/disk.h"
#include "sim/posix/posix_files.h"
#include "sim/posix/posix_world.h"
#include "sim/world.h"

namespace replay {
namespace {

env::Status WorldError(const sim::World& world, sim::World::StopReason reason) {
  std::string why = sim::StopReasonName(reason);
  if (world.check_failure() != nullptr) {
    why += ": " + world.check_failure()->condition;
  }
  return env::Status(env::Code::kInterrupted, "the world ended early: " + why);
}

}  // namespace

env::Status RunSimulated(const engine::Config& config,
                         std::function<void(engine::Session&)> body) {
  sim::Choices choices(0, sim::Base::kZero);
  sim::Disk disk((sim::DiskOptions()));
  sim::WorldOptions options;
  options.choices = &choices;
  options.strategy.kind = sim::StrategyKind::kRoundRobin;
  options.strategy.quantum = UINT32_MAX;
  options.max_steps = UINT64_MAX;
  sim::World world(options);
  env::HostId host = world.AddHost(engine::EngineSites(), {});
  disk.Attach(&world.device_host(host), nullptr);
  world.AttachFiles(host, &disk);
  env::Status status(env::Code::kInterrupted, "initdb did not finish");
  {
    engine::Node initdb(&world.env(host), config);
    world.SpawnRoot(host, "initdb", [&] { status = initdb.InitDb(); });
    sim::World::StopReason reason = world.Run();
    if (reason != sim::World::StopReason::kIdle) {
      status = WorldError(world, reason);
    }
    if (!status.ok()) {
      world.EndAllTasks();
      return status;
    }
  }
  engine::Node node(&world.env(host), config);
  node.AddClient("client", std::move(body));
  node.RequestShutdown();
  world.SpawnRoot(host, "postmaster", [&node] { node.Main(); });
  sim::World::StopReason reason = world.Run();
  if (reason != sim::World::StopReason::kIdle) {
    status = WorldError(world, reason);
  } else {
    status = node.failure();
  }
  world.EndAllTasks();
  return status;
}

namespace {

// Creates the cluster if the directory is empty.
env::Status PrepareDirectory(sim::posix::PosixFiles* files,
                             const engine::Config& config) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, files->List(""));
  if (!names.empty()) return env::Status();
  sim::posix::PosixWorld world(engine::EngineSites(), files);
  engine::Node node(&world.env(), config);
  env::Status status(env::Code::kInterrupted, "initdb did not finish");
  world.SpawnRoot("initdb", [&] { status = node.InitDb(); });
  world.Run();
  world.EndAllTasks();
  return status;
}

}  // namespace

env::Status RunOnDirectory(const std::string& directory,
                           const engine::Config& config,
                           std::function<void(engine::Session&)> body,
                           bool crash) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return env::Status(env::Code::kIo,
                       fmt::format("could not create directory \"{}\": {}",
                                   directory, error.message()));
  }
  ASSIGN_OR_RETURN(auto files, sim::posix::PosixFiles::Open(directory));
  RETURN_IF_ERROR(PrepareDirectory(files.get(), config));
  sim::posix::PosixWorld world(engine::EngineSites(), files.get());
  engine::Node node(&world.env(), config);
  node.AddClient("client", [&](engine::Session& session) {
    body(session);
    if (crash) world.RequestStop();
  });
  if (!crash) node.RequestShutdown();
  world.SpawnRoot("postmaster", [&node] { node.Main(); });
  sim::posix::PosixWorld::StopReason reason = world.Run();
  env::Status status = node.failure();
  if (reason == sim::posix::PosixWorld::StopReason::kStuck) {
    status = env::Status(env::Code::kInterrupted,
                         "every process waits and nothing will wake it");
  }
  world.EndAllTasks();
  return status;
}

}  // namespace replay
