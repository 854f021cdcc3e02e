// ConditionVariable: sleep until a condition on shared memory may hold.
//
//   while (!condition) ConditionVariableSleep(be, cv);
//   ConditionVariableCancelSleep(be, cv);
//
// If evaluating the condition may suspend, ConditionVariablePrepareToSleep
// comes before the loop, so that a broadcast in between is not lost. A sleep
// may also end for no reason (another use of the task's wake-up).
// Source: src/backend/storage/lmgr/condition_variable.c, latch.c.
#ifndef MUSTH_ENGINE_IPC_LATCH_H_
#define MUSTH_ENGINE_IPC_LATCH_H_

#include <vector>

#include "engine/common/backend.h"
#include "sim/env/access.h"

namespace engine {

struct ConditionVariable {
  std::vector<env::TaskId> waiters;  // in order of arrival
  // What is waited for is of this group.
  env::AccessGroup group = env::AccessGroup::kOther;

  // For a point after which it is broadcast, or the condition changes.
  env::Access NextChanges() const { return env::Access::Of(this, true, group); }
};

// Joins the waiters without sleeping: from now on a broadcast makes the next
// sleep on cv return at once. Suspends: no.
void ConditionVariablePrepareToSleep(Backend& be, ConditionVariable& cv);
// Suspends: yes.
void ConditionVariableSleep(Backend& be, ConditionVariable& cv);
// Returns false if deadline (absolute) passed first. Suspends: yes.
bool ConditionVariableTimedSleep(Backend& be, ConditionVariable& cv,
                                 env::TimeNs deadline);
// Wakes all waiters. Suspends: no.
void ConditionVariableBroadcast(Backend& be, ConditionVariable& cv);
// Leaves the waiters. Suspends: no.
void ConditionVariableCancelSleep(Backend& be, ConditionVariable& cv);

}  // namespace engine

#endif  // MUSTH_ENGINE_IPC_LATCH_H_
