// Finding a page for a new tuple.
//
// Order of candidates: the block this backend used last, the relation's last
// block, a new block. Whoever waited for the extension lock looks at the last
// block again before adding one, so that a crowd of inserters adds one block,
// not one each.
// Rules
// 1. Two heap buffers are locked in block order.
// 2. No buffer lock is held while the extension lock is waited for.
// 3. An all-zero page (a crash during an extension) is initialised by its
//    first user; the insertion's record then has INIT_PAGE.
// Source: src/backend/access/heap/hio.c.
// Differs: no free space map yet; space inside older pages is not found again.
#ifndef MUSTH_ENGINE_HEAP_HIO_H_
#define MUSTH_ENGINE_HEAP_HIO_H_

#include "engine/buffer/buffer_guard.h"
#include "engine/heap/htup.h"
#include "engine/heap/relation.h"

namespace engine {

// Free space that a page must have to take a tuple of len bytes, so that
// fillfactor percent of it stay for updates.
size_t HeapTargetFreeSpace(const RelationData& rel, size_t len);

// Returns a buffer with room for a tuple of len bytes, exclusively locked.
// other, unless null, is a pinned, unlocked buffer of the relation (the old
// tuple's); it comes back locked as well. If it has the room itself the
// returned guard is empty.
// Suspends: yes. Errors: 54000, I/O; other is then unlocked.
Result<BufferGuard> RelationGetBufferForTuple(Backend& be,
                                              const RelationData& rel,
                                              size_t len, BufferGuard* other);

// Puts the tuple on the page and its address into t_self and t_ctid (also of
// the copy). PANICs if it does not fit. Requires: exclusive lock, critical
// section.
void RelationPutHeapTuple(Backend& be, Buffer buffer, HeapTuple* tuple);

}  // namespace engine

#endif  // MUSTH_ENGINE_HEAP_HIO_H_
