// Assigning transaction ids and object ids.
// Source: src/backend/access/transam/varsup.c.
#ifndef MUSTH_ENGINE_TXN_VARSUP_H_
#define MUSTH_ENGINE_TXN_VARSUP_H_

#include "engine/common/backend.h"

namespace engine {

// Assigns the next xid, extends the clog for it and advertises it in this
// backend's PGPROC before XidGenLock is released. Suspends: yes.
Result<TransactionId> GetNewTransactionId(Backend& be);
// The next xid to be assigned. Suspends: no.
TransactionId ReadNextTransactionId(Backend& be);
// The same with its epoch in the high half.
uint64_t ReadNextFullTransactionId(Backend& be);
// Redo: the next xid is beyond xid. Suspends: no.
void AdvanceNextTransactionIdPastXid(Backend& be, TransactionId xid);

// Initdb: passes over the ids of the commit log's page but for the last `xids`,
// as if their transactions had left nothing behind. Suspends: no.
void LeaveXidsOnCLOGPage(Backend& be, uint32_t xids);

// The next object id; logs XLOG_NEXTOID ahead in batches of 8192.
// Suspends: yes.
Result<Oid> GetNewObjectId(Backend& be);
// Redo of XLOG_NEXTOID: object ids below next_oid may be in use.
void SetNextObjectId(Backend& be, Oid next_oid);

}  // namespace engine

#endif  // MUSTH_ENGINE_TXN_VARSUP_H_
