// Heavyweight waits that the node needs: a transaction's end, and the right to
// extend a relation.
// Source: src/backend/storage/lmgr/{lmgr,deadlock}.c.
#ifndef MUSTH_ENGINE_LOCK_LMGR_H_
#define MUSTH_ENGINE_LOCK_LMGR_H_

#include "engine/common/backend.h"

namespace engine {

void LockShmemInit(SharedMemory& shared);

// Waits until the transaction xid has ended. Requires: no LWLock, no content
// lock. Suspends: yes. Errors: 40P01 "deadlock detected" with PostgreSQL's
// DETAIL when, after deadlock_timeout, this waiter is on a cycle of waits;
// the check repeats as long as the wait lasts, so that a cycle never hangs.
Status XactLockTableWait(Backend& be, TransactionId xid);

// Serialises extension of a relation's main fork; outside deadlock detection:
// no heavyweight wait may begin while it is held. Suspends: yes.
void LockRelationForExtension(Backend& be, const RelFileNode& rnode);
void UnlockRelationForExtension(Backend& be, const RelFileNode& rnode);

// Holds the extension lock as an object. Releases at scope exit unless the
// process is being killed.
class RelationExtensionGuard {
 public:
  RelationExtensionGuard(Backend& be, const RelFileNode& rnode)
      : be_(be), rnode_(rnode) {
    LockRelationForExtension(be, rnode);
  }
  ~RelationExtensionGuard() { Release(); }
  RelationExtensionGuard(const RelationExtensionGuard&) = delete;
  RelationExtensionGuard& operator=(const RelationExtensionGuard&) = delete;
  void Release() {
    if (held_ && !be_.Killed()) UnlockRelationForExtension(be_, rnode_);
    held_ = false;
  }

 private:
  Backend& be_;
  const RelFileNode rnode_;
  bool held_ = true;
};

}  // namespace engine

#endif  // MUSTH_ENGINE_LOCK_LMGR_H_
