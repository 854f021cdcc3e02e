// LWLock: short-term shared/exclusive locks on shared memory.
//
// Between suspensions code is atomic, so an LWLock matters only where it is
// held across one (I/O, another lock). Waiters queue in order and nobody passes
// them: a request that finds the queue non-empty joins it. A release hands the
// lock over to the first exclusive waiter or to the leading run of shared ones.
// No deadlock detection: acquire in the documented order.
// Source: src/backend/storage/lmgr/lwlock.c.
// Differs: handed over at release instead of competed for after waking; a
// compatible request does not pass waiters.
#ifndef MUSTH_ENGINE_IPC_LWLOCK_H_
#define MUSTH_ENGINE_IPC_LWLOCK_H_

#include <vector>

#include "engine/common/backend.h"
#include "sim/env/access.h"
#include "sim/env/race.h"

namespace engine {

enum class LWLockMode : uint8_t { kExclusive, kShared };

class LWLock {
 public:
  // What it guards is of this group; PostgreSQL's tranche.
  explicit LWLock(env::AccessGroup group = env::AccessGroup::kOther)
      : group_(group) {}
  LWLock(const LWLock&) = delete;
  LWLock& operator=(const LWLock&) = delete;

  bool held_exclusive() const { return exclusive_holder_ != env::kNoTask; }
  int shared_holders() const { return shared_holders_; }
  // For a point after which its holder gives it up, or changes what it guards.
  env::Access NextChanges() const {
    return env::Access::Of(this, true, group_);
  }
  // For a point after which somebody looks at what it guards.
  env::Access NextReads() const { return env::Access::Of(this, false, group_); }

  bool free() const { return !held_exclusive() && shared_holders_ == 0; }

 private:
  friend void LWLockAcquire(Backend&, LWLock&, LWLockMode);
  friend bool LWLockConditionalAcquire(Backend&, LWLock&, LWLockMode);
  friend void LWLockRelease(Backend&, LWLock&);
  friend bool LWLockHeldByMe(Backend&, const LWLock&);
  friend class LWLockMoment;

  // By value: a waiter may be killed, and then its stack is gone. Whoever is
  // no longer in the queue holds the lock.
  struct Waiter {
    env::TaskId task;
    LWLockMode mode;
  };
  // Whether the holders leave room for mode.
  bool CanGrant(LWLockMode mode) const;
  void Grant(env::TaskId task, LWLockMode mode);
  bool IsQueued(env::TaskId task) const;
  // For race checks (sim/env/race.h).
  void TellAcquired(LWLockMode mode) const;
  void TellReleased(LWLockMode mode) const;

  const env::AccessGroup group_;
  env::TaskId exclusive_holder_ = env::kNoTask;
  int shared_holders_ = 0;
  std::vector<Waiter> queue_;
};

// Suspends: yes (a scheduling point even when the lock is free).
void LWLockAcquire(Backend& be, LWLock& lock, LWLockMode mode);
// Suspends: no. Returns false if the lock is not free for the mode.
bool LWLockConditionalAcquire(Backend& be, LWLock& lock, LWLockMode mode);
// Requires: held by this backend. Suspends: no.
void LWLockRelease(Backend& be, LWLock& lock);
bool LWLockHeldByMe(Backend& be, const LWLock& lock);
// Releases all that this backend holds (transaction abort). Suspends: no.
void LWLockReleaseAll(Backend& be);
// How many LWLocks this backend holds; 0 between statements.
int LWLocksHeld(Backend& be);

// RAII. Releases at scope exit unless the process is being killed.
class LWLockGuard {
 public:
  LWLockGuard(Backend& be, LWLock& lock, LWLockMode mode)
      : be_(be), lock_(&lock) {
    LWLockAcquire(be, lock, mode);
  }
  ~LWLockGuard() { Release(); }
  LWLockGuard(const LWLockGuard&) = delete;
  LWLockGuard& operator=(const LWLockGuard&) = delete;
  void Release() {
    if (lock_ != nullptr && !be_.Killed()) LWLockRelease(be_, *lock_);
    lock_ = nullptr;
  }

 private:
  Backend& be_;
  LWLock* lock_;
};

// Marks a stretch of code that PostgreSQL runs under a lock which is not taken
// here, because nothing in it suspends and whoever holds the lock keeps what it
// guards whole across suspensions (README.md of engine, rule 2). To race checks
// it is as if it had been taken.
class LWLockMoment {
 public:
#ifdef MUSTH_TSAN
  LWLockMoment(const LWLock& lock, LWLockMode mode);
  ~LWLockMoment();
#else
  LWLockMoment(const LWLock& lock, LWLockMode mode) {
    env::NoteAccess(&lock, mode == LWLockMode::kExclusive);
  }
  ~LWLockMoment() {}
#endif
  LWLockMoment(const LWLockMoment&) = delete;
  LWLockMoment& operator=(const LWLockMoment&) = delete;

#ifdef MUSTH_TSAN
 private:
  const LWLock& lock_;
  const LWLockMode mode_;
#endif
};

}  // namespace engine

#endif  // MUSTH_ENGINE_IPC_LWLOCK_H_
