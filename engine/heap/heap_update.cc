#include "engine/common/errcodes.h"
#include "engine/common/sites.h"
#include "engine/heap/combocid.h"
#include "engine/heap/heapam.h"
#include "engine/heap/heapam_internal.h"
#include "engine/heap/heapam_xlog.h"
#include "engine/heap/hio.h"
#include "engine/txn/xact.h"

namespace engine {
namespace {

// One update that nothing stands in the way of any more.
struct UpdateInProgress {
  const RelationData& rel;
  TransactionId xid;
  CommandId cid;        // of the command, stored as the new tuple's cmin
  ItemPointerData tid;  // of the old tuple
  PageTuple old_tuple;  // stays where it is while its buffer is pinned
  TupleCmax old_cmax;   // what the old tuple gets
  HeapTuple* new_tuple;
};

// The new version's header, apart from its place in the chain.
void PrepareNewTuple(const UpdateInProgress& u) {
  HeapTupleHeaderData* header = u.new_tuple->header();
  const HeapTupleHeaderData& old_header = *u.old_tuple.header;
  header->t_infomask &= static_cast<uint16_t>(~HEAP_XACT_MASK);
  header->t_infomask2 &= static_cast<uint16_t>(~HEAP2_XACT_MASK);
  header->t_infomask |= HEAP_UPDATED;
  header->t_xmin = u.xid;
  HeapTupleHeaderSetCid(header, u.cid, false);
  bool own_lock = (old_header.t_infomask & HEAP_XMAX_INVALID) == 0 &&
                  HEAP_XMAX_IS_LOCKED_ONLY(old_header.t_infomask) &&
                  old_header.t_xmax == u.xid;
  if (own_lock) {
    // The transaction's own lock moves on to the new version.
    header->t_xmax = u.xid;
    header->t_infomask |= HEAP_XMAX_KEYSHR_LOCK | HEAP_XMAX_LOCK_ONLY;
  } else {
    header->t_xmax = kInvalidTransactionId;
    header->t_infomask |= HEAP_XMAX_INVALID;
  }
}

// Marks the old version locked, not yet updated, and logs that: its page is
// about to be unlocked in search of room, and nobody else may change it then.
// Requires: buffer exclusively locked.
void LockOldTuple(Backend& be, const UpdateInProgress& u, Buffer buffer) {
  CriticalSection crit(be);
  HeapTupleHeaderData* old_header = u.old_tuple.header;
  HeapTupleHeaderSetXmaxBits(old_header,
                             HEAP_XMAX_LOCK_ONLY | HEAP_XMAX_EXCL_LOCK, 0);
  HeapTupleHeaderSetFlag2(old_header, HEAP_HOT_UPDATED, false);
  old_header->t_xmax = u.xid;
  HeapTupleHeaderSetCid(old_header, u.old_cmax.cid, u.old_cmax.is_combo);
  old_header->t_ctid = u.tid;
  MarkBufferDirty(be, buffer);
  constexpr uint64_t kNoKeyExclusive = 2;
  be.env->events->Emit(env::EventKind::kTupleLock, u.xid, u.rel.rd_node.relNode,
                       u.tid.Packed(), kNoKeyExclusive);
  XLogRecPtr lsn = LogHeapLock(be, buffer, u.tid.offset(), *old_header);
  PageSetLSN(BufferGetPage(be, buffer), lsn);
}

// Puts the new version in new_buffer and links the old one, in old_buffer, to
// it. Requires: both exclusively locked, with room.
void ReplaceTuple(Backend& be, const UpdateInProgress& u, Buffer old_buffer,
                  Buffer new_buffer) {
  // No index exists that could point at the old version alone, so every
  // update that stays on its page is a heap-only one.
  bool hot = old_buffer == new_buffer;
  char* old_page = BufferGetPage(be, old_buffer);
  char* new_page = BufferGetPage(be, new_buffer);
  HeapTupleHeaderData* old_header = u.old_tuple.header;

  CriticalSection crit(be);
  if (!hot) PageSetFull(old_page);  // a hint that pruning would help
  PageSetPrunable(old_page, u.xid);
  HeapTupleHeaderSetFlag2(old_header, HEAP_HOT_UPDATED, hot);
  HeapTupleHeaderSetFlag2(u.new_tuple->header(), HEAP_ONLY_TUPLE, hot);
  RelationPutHeapTuple(be, new_buffer, u.new_tuple);
  HeapTupleHeaderSetXmaxBits(old_header, 0, 0);
  old_header->t_xmax = u.xid;
  HeapTupleHeaderSetCid(old_header, u.old_cmax.cid, u.old_cmax.is_combo);
  old_header->t_ctid = u.new_tuple->t_self;
  bool old_cleared = ClearAllVisible(old_page);
  bool new_cleared = !hot && ClearAllVisible(new_page);
  if (!hot) MarkBufferDirty(be, new_buffer);
  bool late = PLANTED(dirty_marked_after_logging);
  if (!late) MarkBufferDirty(be, old_buffer);
  EmitTupleUpdate(be, u.rel, u.tid, *u.new_tuple, u.cid);
  XLogRecPtr lsn = LogHeapUpdate(
      be, {old_buffer, new_buffer, u.tid.offset(), u.old_tuple.bytes,
           u.new_tuple, old_cleared, new_cleared});
  if (late) {
    YIELD_POINT(page_not_marked);
    MarkBufferDirty(be, old_buffer);
  }
  if (!hot) PageSetLSN(new_page, lsn);
  PageSetLSN(old_page, lsn);
}

// Finds room and replaces. Requires: buffer exclusively locked.
Status UpdateLocked(Backend& be, const UpdateInProgress& u,
                    BufferGuard* buffer) {
  PrepareNewTuple(u);
  size_t len = u.new_tuple->data.size();
  if (MaxAlign(len) <= PageGetHeapFreeSpace(buffer->page())) {
    ReplaceTuple(be, u, buffer->get(), buffer->get());
    return {};
  }
  if (!PLANTED(update_unlocked_page_switch)) {
    LockOldTuple(be, u, buffer->get());
  }
  buffer->Unlock();
  INJECTION_POINT(heap_page_switch);
  ASSIGN_OR_RETURN(BufferGuard target,
                   RelationGetBufferForTuple(be, u.rel, len, buffer));
  if (PLANTED(update_leaks_pin) && target.valid()) {
    IncrBufferRefCount(be, target.get());
  }
  // An empty guard: meanwhile the old page has the room after all.
  ReplaceTuple(be, u, buffer->get(),
               target.valid() ? target.get() : buffer->get());
  return {};
}

}  // namespace

Result<TmResult> HeapUpdate(Backend& be, const RelationData& rel,
                            ItemPointerData tid, HeapTuple* tuple,
                            CommandId cid, bool wait, TmFailure* failure) {
  // Before any lock: it may extend the clog.
  ASSIGN_OR_RETURN(TransactionId xid, GetCurrentTransactionId(be));
  for (;;) {
    ASSIGN_OR_RETURN(Buffer pinned, ReadBuffer(be, rel.rd_node, tid.block()));
    BufferGuard buffer(be, pinned);
    PageTuple old_tuple;
    bool waited = false;
    ASSIGN_OR_RETURN(TmResult result,
                     LockTupleForChange(be, rel, &buffer, tid, cid, wait,
                                        &old_tuple, &waited));
    if (result == TmResult::kInvisible) {
      return SqlError(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                      "attempted to update invisible tuple");
    }
    if (result == TmResult::kOk) {
      TupleCmax cmax = HeapTupleHeaderAdjustCmax(be, *old_tuple.header, cid);
      RETURN_IF_ERROR(UpdateLocked(
          be, {rel, xid, cid, tid, old_tuple, cmax, tuple}, &buffer));
      return result;
    }
    *failure = DescribeFailure(be, *old_tuple.header, result);
    if (PLANTED(recheck_skipped_after_wait) && waited &&
        result == TmResult::kUpdated) {
      // The row that the caller computed overwrites whatever is newest.
      tid = failure->ctid;
      continue;
    }
    return result;
  }
}

}  // namespace engine
