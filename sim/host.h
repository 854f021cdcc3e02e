// Host: one machine of a simulated world: its Env and what its device needs.
//
// The members below are thin: they translate env's calls into operations of
// the scheduler and count the sites that are passed.
#ifndef MUSTH_SIM_HOST_H_
#define MUSTH_SIM_HOST_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/choices.h"
#include "sim/device_host.h"
#include "sim/env/env.h"
#include "sim/events.h"
#include "sim/race_env.h"
#include "sim/scheduler.h"
#include "sim/sim_sites.h"

namespace sim {

// What the hosts of a world share.
struct HostShared {
  Scheduler* scheduler = nullptr;
  EventHub* hub = nullptr;
  Choices* choices = nullptr;
  VirtualClock* clock = nullptr;
  HoldHooks* hold_hooks = nullptr;
  Scope world_scope;
  uint64_t sim_site_hits[kSimSiteCount] = {};
};

class Host final : public env::Tasks,
                   public env::Random,
                   public env::EventSink,
                   public DeviceHost {
 public:
  // shared outlives the host.
  Host(HostShared* shared, env::HostId id, env::SiteTable sites,
       std::vector<uint8_t> planted);

  env::Env& env() { return env_; }
  void AttachFiles(env::Files* files) { env_.files = race_.WrapFiles(files); }
  uint32_t incarnation() const { return incarnation_; }
  uint64_t site_hits(env::SiteId site) const;
  // Discards what belongs to this incarnation and begins the next one.
  void NextIncarnation();
  env::TaskId SpawnRoot(std::string_view name, std::function<void()> body);

  // env::Tasks
  env::TaskId Spawn(std::string_view name, std::function<void()> body) override;
  env::TaskId Self() override;
  using env::Tasks::Park;
  using env::Tasks::ParkUntil;
  using env::Tasks::Yield;
  void Yield(env::SiteId site, env::Access next) override;
  void Park(env::SiteId site, env::Access next) override;
  bool ParkUntil(env::SiteId site, env::TimeNs deadline,
                 env::Access next) override;
  void Unpark(env::TaskId task) override;
  void Kill(env::TaskId task) override;
  std::optional<env::ChildExit> ReapChild() override;
  [[noreturn]] void Panic(std::string message) override;
  bool Killed() override;
  void CallOnMainStack(const std::function<void()>& fn) override;

  // env::Random
  uint64_t Draw(env::SiteId site, uint64_t bound) override;

  // env::EventSink
  using env::EventSink::Emit;
  void Emit(env::Event event) override;

  // DeviceHost
  void DevicePoint(DeviceStep step, uint64_t inode) override;
  void DeviceDelay(env::TimeNs duration_ns) override;
  env::TimeNs Now() override;
  Choices& choices() override;
  const Scope& scope() override { return scope_; }
  env::EventSink& events() override { return *this; }

 private:
  struct Site {
    uint64_t hash = 0;
    uint64_t hits = 0;
    CrashPlace place = CrashPlace::kStep;
  };

  env::TaskId StartRoot(std::string_view name, std::function<void()> body);
  // Counts the site and returns the operation that passes it.
  Operation Pass(env::SiteId site, const env::Access& next);
  void StayWhileHeld();
  env::Access NextOnDevice(DeviceStep step, uint64_t inode) const;

  HostShared* shared_;
  std::vector<Site> sites_;
  std::vector<uint8_t> planted_;
  uint32_t incarnation_ = 0;
  bool started_ = false;  // this incarnation has had a task
  Scope scope_;
  env::LookupMap<env::SiteId, uint64_t> draws_;  // outside of tasks
  env::Env env_;
  RaceEnv race_;
};

}  // namespace sim

#endif  // MUSTH_SIM_HOST_H_
