// What the parts of the heap access method share. For this directory only.
#ifndef MUSTH_ENGINE_HEAP_HEAPAM_INTERNAL_H_
#define MUSTH_ENGINE_HEAP_HEAPAM_INTERNAL_H_

#include <string_view>

#include "engine/heap/heapam.h"

namespace engine {

// A tuple where it lies on its page.
struct PageTuple {
  HeapTupleHeaderData* header = nullptr;
  std::string_view bytes;
};

// The tuple behind a line pointer; header null if there is none. relname is
// for messages. Errors: ERRCODE_DATA_CORRUPTED if the pointer or the header is
// damaged.
Result<PageTuple> HeapPageGetTuple(std::string_view relname, char* page,
                                   ItemPointerData tid);

// Locks the buffer and finds out what a change of the tuple by command cid
// meets. kOk: the caller may change it now. With wait, waits for a writer of
// the tuple and then looks again from the start; *waited says that it did.
// The buffer is left exclusively locked. Requires: pinned, not locked.
Result<TmResult> LockTupleForChange(Backend& be, const RelationData& rel,
                                    BufferGuard* buffer, ItemPointerData tid,
                                    CommandId cid, bool wait, PageTuple* tuple,
                                    bool* waited);

// Describes the change that was met. Source: TM_FailureData.
TmFailure DescribeFailure(Backend& be, const HeapTupleHeaderData& tuple,
                          TmResult result);

// Clears PD_ALL_VISIBLE; true if it was set.
bool ClearAllVisible(char* page);

// Emits kTupleInsert, kTupleUpdate or kTupleDelete.
void EmitTupleInsert(Backend& be, const RelationData& rel,
                     const HeapTuple& tuple, CommandId cid);
void EmitTupleUpdate(Backend& be, const RelationData& rel,
                     ItemPointerData old_tid, const HeapTuple& tuple,
                     CommandId cid);
void EmitTupleDelete(Backend& be, const RelationData& rel, ItemPointerData tid,
                     TransactionId xid, CommandId cid);
void EmitTupleRead(Backend& be, const RelationData& rel, ItemPointerData tid,
                   const HeapTupleHeaderData& tuple);

}  // namespace engine

#endif  // MUSTH_ENGINE_HEAP_HEAPAM_INTERNAL_H_
