#include "properties/pilot_run.h"

#include <string>
#include <utility>

#include "engine/common/sites.h"
#include "engine/node/node.h"
#include "properties/client.h"
#include "sim/env/race.h"
#include "sim/surw.h"
#include "sim/world.h"

namespace properties {
namespace {

// Ten times what the longest plans of the swarm take.
constexpr uint64_t kMaxSteps = 1'000'000;

class NobodyLooks final : public ClientObserver {
 public:
  void OnStatementSent(const PlanStatement&) override {}
  void OnStatementResult(const PlanStatement&,
                         const std::vector<engine::StatementResult>&) override {
  }
};

class Pilot {
 public:
  explicit Pilot(PilotParts parts)
      : parts_(std::move(parts)),
        choices_(parts_.seed, parts_.base),
        world_(Options()) {
    host_ = world_.AddHost(engine::EngineSites(), parts_.planted);
    parts_.disk->Attach(&world_.device_host(host_), nullptr);
    world_.AttachFiles(host_, parts_.disk.get());
    for (const PlanSession& session : parts_.plan->sessions) {
      clients_.push_back(std::make_unique<Client>(&session, &nobody_));
    }
  }
  ~Pilot() { world_.EndAllTasks(); }

  sim::PilotCounts Run() {
    node_ = std::make_unique<engine::Node>(&world_.env(host_), parts_.config);
    world_.SpawnRoot(host_, "postmaster", [this] { node_->Main(); });
    node_->AddClient("setup", [this](engine::Session& session) {
      env::Unwatched unwatched;
      set_up_ = RunSetup(*parts_.plan, &nobody_, session).ok();
      world_.RequestStop();
    });
    world_.Run();
    if (!set_up_) return {};
    recorder_.Restart();
    for (const auto& client : clients_) {
      Client* c = client.get();
      node_->AddClient(c->name(), [this, c](engine::Session& session) {
        env::Unwatched unwatched;
        c->Run(session);
        bool all_done = true;
        for (const auto& other : clients_) all_done &= other->finished();
        if (all_done) world_.RequestStop();
      });
    }
    if (!clients_.empty()) world_.Run();
    return recorder_.counts();
  }

 private:
  sim::WorldOptions Options() {
    sim::WorldOptions options;
    options.choices = &choices_;
    options.custom_strategy = &recorder_;
    options.stacks = parts_.stacks;
    options.max_steps = kMaxSteps;
    return options;
  }

  PilotParts parts_;
  sim::Choices choices_;
  sim::PilotRecorder recorder_;
  NobodyLooks nobody_;
  sim::World world_;
  env::HostId host_ = 0;
  std::unique_ptr<engine::Node> node_;
  std::vector<std::unique_ptr<Client>> clients_;
  bool set_up_ = false;
};

}  // namespace

sim::PilotCounts RunPilot(PilotParts parts) {
  return Pilot(std::move(parts)).Run();
}

}  // namespace properties
