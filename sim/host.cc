#include "sim/host.h"

#include <utility>

#include "sim/env/check.h"

namespace sim {
namespace {

Scope ScopeOf(const Scope& world, env::HostId id, uint32_t incarnation) {
  return world.Child("h", id).Child("i", incarnation);
}

}  // namespace

Host::Host(HostShared* shared, env::HostId id, env::SiteTable sites,
           std::vector<uint8_t> planted)
    : shared_(shared),
      planted_(std::move(planted)),
      scope_(ScopeOf(shared->world_scope, id, 0)) {
  SIM_CHECK(planted_.empty() || planted_.size() == sites.size());
  for (const env::SiteInfo& info : sites) {
    Site site;
    site.hash = env::SiteHash(info.name);
    if (info.kind == env::SiteKind::kInjection) {
      site.place = CrashPlace::kInjection;
    }
    sites_.push_back(site);
  }
  env_.host = id;
  env_.clock = shared->clock;
  env_.tasks = this;
  env_.random = this;
  env_.events = this;
  env_.planted = planted_.empty() ? nullptr : planted_.data();
  race_.Wrap(&env_);
}

uint64_t Host::site_hits(env::SiteId site) const {
  SIM_CHECK(site < sites_.size());
  return sites_[site].hits;
}

void Host::NextIncarnation() {
  ++incarnation_;
  started_ = false;
  scope_ = ScopeOf(shared_->world_scope, env_.host, incarnation_);
  draws_.Clear();
  shared_->scheduler->RootExits(env_.host).clear();
}

env::TaskId Host::SpawnRoot(std::string_view name, std::function<void()> body) {
  return StartRoot(name, race_.WrapBody(std::move(body)));
}

env::TaskId Host::StartRoot(std::string_view name, std::function<void()> body) {
  if (!std::exchange(started_, true)) {
    Emit(env::EventKind::kHostStart, incarnation_);
  }
  return shared_->scheduler
      ->Spawn(&env_, env::kNoTask, scope_, name, std::move(body))
      ->id;
}

Operation Host::Pass(env::SiteId site, const env::Access& next) {
  SIM_CHECK(site < sites_.size());
  Site& s = sites_[site];
  ++s.hits;
  Operation op;
  op.place = s.place;
  op.site = site;
  op.node_site = true;
  op.site_key = s.hash;
  op.next = next;
  return op;
}

env::TaskId Host::Spawn(std::string_view name, std::function<void()> body) {
  Task* self = shared_->scheduler->current();
  if (self == nullptr || self->host != env_.host) {
    return StartRoot(name, std::move(body));
  }
  return shared_->scheduler
      ->Spawn(&env_, self->id, self->scope, name, std::move(body))
      ->id;
}

env::TaskId Host::Self() {
  Task* self = shared_->scheduler->current();
  return self == nullptr ? env::kNoTask : self->id;
}

void Host::Yield(env::SiteId site, env::Access next) {
  shared_->scheduler->Yield(Pass(site, next));
  StayWhileHeld();
}

void Host::StayWhileHeld() {
  if (shared_->hold_hooks == nullptr) return;
  while (shared_->hold_hooks->Held(Self())) {
    ++shared_->sim_site_hits[kSimSite_task_hold];
    Operation op;
    op.site = kSimSite_task_hold;
    shared_->scheduler->Hold(op);
  }
}

void Host::Park(env::SiteId site, env::Access next) {
  shared_->scheduler->Park(Pass(site, next));
}

bool Host::ParkUntil(env::SiteId site, env::TimeNs deadline, env::Access next) {
  return shared_->scheduler->ParkUntil(Pass(site, next), deadline);
}

void Host::Unpark(env::TaskId task) { shared_->scheduler->Unpark(task); }

void Host::Kill(env::TaskId task) { shared_->scheduler->Kill(task); }

std::optional<env::ChildExit> Host::ReapChild() {
  Task* self = shared_->scheduler->current();
  std::deque<env::ChildExit>& exits =
      self == nullptr ? shared_->scheduler->RootExits(env_.host)
                      : self->exited_children;
  if (exits.empty()) return std::nullopt;
  env::ChildExit exit = exits.front();
  exits.pop_front();
  return exit;
}

void Host::Panic(std::string message) {
  env::Event event;
  event.kind = env::EventKind::kPanic;
  event.bytes = message;
  Emit(event);
  shared_->scheduler->EndCurrent(env::ExitReason::kPanicked);
}

bool Host::Killed() {
  Task* self = shared_->scheduler->current();
  return self != nullptr && self->unwinding;
}

void Host::CallOnMainStack(const std::function<void()>& fn) {
  shared_->scheduler->CallOnMainStack(fn);
}

uint64_t Host::Draw(env::SiteId site, uint64_t bound) {
  SIM_CHECK(site < sites_.size());
  Task* self = shared_->scheduler->current();
  const Scope& scope = self == nullptr ? scope_ : self->scope;
  uint64_t n = (self == nullptr ? draws_ : self->draws)[site]++;
  return shared_->choices->DrawKey(Stream::kWorkload, scope.key(),
                                   sites_[site].hash, n, bound);
}

void Host::Emit(env::Event event) {
  shared_->hub->Emit(env_.host, Self(), &event);
}

// What a device call does after this step. Inode 0 stands for the tree.
env::Access Host::NextOnDevice(DeviceStep step, uint64_t inode) const {
  bool reads = step == DeviceStep::kPlain;
  bool syncs =
      step == DeviceStep::kSyncStart || step == DeviceStep::kSyncMiddle;
  if (!reads && !syncs) return env::Access();
  return env::Access::Numbered(Mix(scope_.key(), inode), syncs,
                               env::AccessGroup::kFile);
}

void Host::DevicePoint(DeviceStep step, uint64_t inode) {
  if (shared_->scheduler->current() == nullptr) return;
  if (step == DeviceStep::kWrite || step == DeviceStep::kMetadata) {
    // It has happened, before this point.
    uint64_t what = step == DeviceStep::kMetadata ? 0 : inode;
    env::NoteAccess(env::Access::Numbered(Mix(scope_.key(), what), true,
                                          env::AccessGroup::kFile));
  }
  SimSite site = SiteOf(step);
  ++shared_->sim_site_hits[site];
  Operation op;
  op.place = CrashPlace::kDevice;
  op.site = site;
  op.site_key = SimSiteHash(site);
  op.device_step = step;
  op.next = NextOnDevice(step, inode);
  shared_->scheduler->Yield(op);
  StayWhileHeld();
}

void Host::DeviceDelay(env::TimeNs duration_ns) {
  if (duration_ns <= 0 || shared_->scheduler->current() == nullptr) return;
  ++shared_->sim_site_hits[kSimSite_device_delay];
  Operation op;
  op.site = kSimSite_device_delay;
  shared_->scheduler->Sleep(op, duration_ns);
}

env::TimeNs Host::Now() { return shared_->clock->now_ns(); }

Choices& Host::choices() { return *shared_->choices; }

}  // namespace sim
