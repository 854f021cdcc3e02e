#include "engine/ipc/lwlock.h"

#include <algorithm>

#include "engine/common/sites.h"
#include "engine/ipc/ipc_local.h"
#include "sim/env/race.h"

namespace engine {

bool LWLock::CanGrant(LWLockMode mode) const {
  if (held_exclusive()) return false;
  return mode == LWLockMode::kShared || shared_holders_ == 0;
}

void LWLock::Grant(env::TaskId task, LWLockMode mode) {
  SIM_CHECK(CanGrant(mode));
  if (mode == LWLockMode::kExclusive) {
    exclusive_holder_ = task;
  } else {
    ++shared_holders_;
  }
}

bool LWLock::IsQueued(env::TaskId task) const {
  return std::any_of(queue_.begin(), queue_.end(),
                     [task](const Waiter& w) { return w.task == task; });
}

// Shared holders are ordered after exclusive ones, exclusive holders after
// both.
void LWLock::TellAcquired(LWLockMode mode) const {
  env::RaceAcquire(&exclusive_holder_);
  if (mode == LWLockMode::kExclusive) env::RaceAcquire(&shared_holders_);
}

void LWLock::TellReleased(LWLockMode mode) const {
  bool exclusive = mode == LWLockMode::kExclusive;
  env::RaceRelease(exclusive ? static_cast<const void*>(&exclusive_holder_)
                             : &shared_holders_);
}

void LWLockAcquire(Backend& be, LWLock& lock, LWLockMode mode) {
  env::Unwatched unwatched;
  SIM_CHECK(lock.exclusive_holder_ != be.pid);  // would wait for itself
  env::Access takes =
      mode == LWLockMode::kExclusive ? lock.NextChanges() : lock.NextReads();
  be.env->tasks->Yield(SITE_ID(lwlock_acquire), takes);
  env::NoteAccess(takes);
  if (lock.queue_.empty() && lock.CanGrant(mode)) {
    lock.Grant(be.pid, mode);
  } else {
    lock.queue_.push_back({be.pid, mode});
    // Wake-ups that were meant for another wait are given back afterwards.
    int wakeups = 0;
    while (lock.IsQueued(be.pid)) {
      be.env->tasks->Park(SITE_ID(lwlock_wait), takes);
      ++wakeups;
    }
    if (wakeups > 1) be.env->tasks->Unpark(be.pid);
  }
  lock.TellAcquired(mode);
  LocalIpc(be).held.push_back(&lock);
}

bool LWLockConditionalAcquire(Backend& be, LWLock& lock, LWLockMode mode) {
  env::Unwatched unwatched;
  env::NoteAccess(&lock, true);
  if (!lock.queue_.empty() || !lock.CanGrant(mode)) return false;
  lock.Grant(be.pid, mode);
  lock.TellAcquired(mode);
  LocalIpc(be).held.push_back(&lock);
  return true;
}

void LWLockRelease(Backend& be, LWLock& lock) {
  env::Unwatched unwatched;
  std::vector<LWLock*>& held = LocalIpc(be).held;
  auto newest = std::find(held.rbegin(), held.rend(), &lock);
  SIM_CHECK(newest != held.rend());
  held.erase(std::next(newest).base());
  env::NoteAccess(&lock, true);

  if (lock.exclusive_holder_ == be.pid) {
    lock.TellReleased(LWLockMode::kExclusive);
    lock.exclusive_holder_ = env::kNoTask;
  } else {
    SIM_CHECK(lock.shared_holders_ > 0);
    lock.TellReleased(LWLockMode::kShared);
    --lock.shared_holders_;
  }
  while (!lock.queue_.empty() && lock.CanGrant(lock.queue_.front().mode)) {
    LWLock::Waiter next = lock.queue_.front();
    lock.queue_.erase(lock.queue_.begin());
    lock.Grant(next.task, next.mode);
    be.env->tasks->Unpark(next.task);
  }
}

bool LWLockHeldByMe(Backend& be, const LWLock& lock) {
  const std::vector<LWLock*>& held = LocalIpc(be).held;
  return std::find(held.begin(), held.end(), &lock) != held.end();
}

void LWLockReleaseAll(Backend& be) {
  std::vector<LWLock*>& held = LocalIpc(be).held;
  while (!held.empty()) LWLockRelease(be, *held.back());
}

int LWLocksHeld(Backend& be) {
  return static_cast<int>(LocalIpc(be).held.size());
}

#ifdef MUSTH_TSAN
LWLockMoment::LWLockMoment(const LWLock& lock, LWLockMode mode)
    : lock_(lock), mode_(mode) {
  env::CountAtomicSection(1);
  env::NoteAccess(&lock, mode == LWLockMode::kExclusive);
  lock.TellAcquired(mode);
}

LWLockMoment::~LWLockMoment() {
  lock_.TellReleased(mode_);
  env::CountAtomicSection(-1);
}
#endif

}  // namespace engine
