// Tuple visibility against snapshots, and hint bits.
//
// Order that must not change: own transaction, then snapshot, then clog. Hint
// bits are set under share lock; for a commit only if its WAL is flushed.
// Source: src/backend/access/heap/heapam_visibility.c.
#ifndef MUSTH_ENGINE_HEAP_VISIBILITY_H_
#define MUSTH_ENGINE_HEAP_VISIBILITY_H_

#include "engine/buffer/bufmgr.h"
#include "engine/heap/htup.h"
#include "engine/txn/snapshot.h"

namespace engine {

// Outcome of trying to change a tuple. Source: src/include/access/tableam.h.
enum class TmResult : uint8_t {
  kOk,
  kInvisible,
  kSelfModified,
  kUpdated,
  kDeleted,
  kBeingModified,
};

// Both require: buffer pinned and at least share-locked, tuple points into
// its page. They may set hint bits (MarkBufferDirtyHint) and may suspend in
// clog reads; the content lock stays held.
Result<bool> HeapTupleSatisfiesMVCC(Backend& be, HeapTupleHeaderData* tuple,
                                    const SnapshotData& snapshot,
                                    Buffer buffer);
Result<TmResult> HeapTupleSatisfiesUpdate(Backend& be,
                                          HeapTupleHeaderData* tuple,
                                          CommandId curcid, Buffer buffer,
                                          ItemPointerData self);

}  // namespace engine

#endif  // MUSTH_ENGINE_HEAP_VISIBILITY_H_
