#include "engine/ipc/latch.h"

#include <algorithm>

#include "engine/common/sites.h"
#include "engine/ipc/ipc_local.h"
#include "sim/env/race.h"

namespace engine {
namespace {

bool IsWaiting(const ConditionVariable& cv, env::TaskId task) {
  return std::find(cv.waiters.begin(), cv.waiters.end(), task) !=
         cv.waiters.end();
}

void Join(Backend& be, ConditionVariable& cv) {
  env::NoteAccess(&cv, true);
  if (!IsWaiting(cv, be.pid)) cv.waiters.push_back(be.pid);
  LocalIpc(be).sleep_target = &cv;
}

// True if a broadcast came since this backend joined cv.
bool AlreadyWoken(Backend& be, const ConditionVariable& cv) {
  return LocalIpc(be).sleep_target == &cv && !IsWaiting(cv, be.pid);
}

}  // namespace

void ConditionVariablePrepareToSleep(Backend& be, ConditionVariable& cv) {
  env::Unwatched unwatched;
  Join(be, cv);
}

void ConditionVariableSleep(Backend& be, ConditionVariable& cv) {
  ConditionVariableTimedSleep(be, cv, env::kForever);
}

bool ConditionVariableTimedSleep(Backend& be, ConditionVariable& cv,
                                 env::TimeNs deadline) {
  env::Unwatched unwatched;
  bool woken = AlreadyWoken(be, cv);
  Join(be, cv);
  if (woken) {
    env::RaceAcquire(&cv);
    return true;
  }
  env::Access looks = env::Access::Of(&cv, false, cv.group);
  if (deadline == env::kForever) {
    be.env->tasks->Park(SITE_ID(latch_wait), looks);
    woken = true;
  } else {
    woken = be.env->tasks->ParkUntil(SITE_ID(latch_wait), deadline, looks);
  }
  // Stay among the waiters, as a broadcast may come while the caller looks.
  bool signalled = !IsWaiting(cv, be.pid);
  Join(be, cv);
  if (signalled) env::RaceAcquire(&cv);
  return woken || signalled;
}

void ConditionVariableBroadcast(Backend& be, ConditionVariable& cv) {
  env::Unwatched unwatched;
  env::RaceRelease(&cv);
  env::NoteAccess(&cv, true);
  std::vector<env::TaskId> waiters;
  waiters.swap(cv.waiters);
  for (env::TaskId task : waiters) be.env->tasks->Unpark(task);
}

void ConditionVariableCancelSleep(Backend& be, ConditionVariable& cv) {
  env::Unwatched unwatched;
  env::NoteAccess(&cv, true);
  cv.waiters.erase(std::remove(cv.waiters.begin(), cv.waiters.end(), be.pid),
                   cv.waiters.end());
  LocalIpc(be).sleep_target = nullptr;
}

}  // namespace engine
