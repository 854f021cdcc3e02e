// A world with one host and three sites, for tests of the simulated world.
#ifndef MUSTH_SIM_TEST_WORLD_H_
#define MUSTH_SIM_TEST_WORLD_H_

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "sim/choices.h"
#include "sim/env/env.h"
#include "sim/world.h"

namespace sim {

enum TestSite : env::SiteId { kTestYield, kTestInjection, kTestDraw };

inline constexpr env::SiteInfo kTestSites[] = {
    {"test_yield", env::SiteKind::kYield, "a plain point"},
    {"test_injection", env::SiteKind::kInjection, "a place to crash at"},
    {"test_draw", env::SiteKind::kDraw, "a value"},
};

class TestWorld {
 public:
  explicit TestWorld(uint64_t seed) : TestWorld(seed, WorldOptions()) {}
  TestWorld(uint64_t seed, WorldOptions options)
      : TestWorld(Choices(seed), std::move(options)) {}
  TestWorld(Choices choices, WorldOptions options)
      : choices_(std::make_unique<Choices>(std::move(choices))) {
    options.choices = choices_.get();
    world_ = std::make_unique<World>(options);
    host_ = world_->AddHost(kTestSites, {});
  }

  World* operator->() { return world_.get(); }
  World& operator*() { return *world_; }
  env::HostId host() const { return host_; }
  env::Tasks& tasks() { return *world_->env(host_).tasks; }
  env::TaskId Spawn(std::string_view name, std::function<void()> body) {
    return world_->SpawnRoot(host_, name, std::move(body));
  }

 private:
  std::unique_ptr<Choices> choices_;
  std::unique_ptr<World> world_;
  env::HostId host_ = 0;
};

// What code on a host writes to reach a point.
inline void PassPoint(env::SiteId site = kTestYield) {
  env::Current().env->tasks->Yield(site);
}

}  // namespace sim

#endif  // MUSTH_SIM_TEST_WORLD_H_
