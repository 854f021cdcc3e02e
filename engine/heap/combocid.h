// Combo command ids: one number for the command that inserted a tuple and the
// command of the same transaction that deleted it.
//
// A tuple has one command id field. It holds cmin, or cmax, or (HEAP_COMBOCID)
// an index into this backend's list of pairs. Only the transaction itself ever
// asks, so the list is private and ends with it.
// Source: src/backend/utils/time/combocid.c.
#ifndef MUSTH_ENGINE_HEAP_COMBOCID_H_
#define MUSTH_ENGINE_HEAP_COMBOCID_H_

#include "engine/common/backend.h"
#include "engine/heap/htup.h"

namespace engine {

// Creates this backend's list.
void ComboCidInit(Backend& be);

// The command that inserted the tuple. Requires: xmin is this transaction.
CommandId HeapTupleHeaderGetCmin(Backend& be, const HeapTupleHeaderData& tuple);
// The command that deleted it. Requires: xmax is this transaction.
CommandId HeapTupleHeaderGetCmax(Backend& be, const HeapTupleHeaderData& tuple);

struct TupleCmax {
  CommandId cid;
  bool is_combo;
};
// What to store in a tuple that command cid of this transaction deletes.
// Suspends: no.
TupleCmax HeapTupleHeaderAdjustCmax(Backend& be,
                                    const HeapTupleHeaderData& tuple,
                                    CommandId cid);

}  // namespace engine

#endif  // MUSTH_ENGINE_HEAP_COMBOCID_H_
