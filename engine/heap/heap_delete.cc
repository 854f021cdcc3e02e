#include "engine/common/errcodes.h"
#include "engine/heap/combocid.h"
#include "engine/heap/heapam.h"
#include "engine/heap/heapam_internal.h"
#include "engine/heap/heapam_xlog.h"
#include "engine/txn/xact.h"

namespace engine {

Result<TmResult> HeapDelete(Backend& be, const RelationData& rel,
                            ItemPointerData tid, CommandId cid, bool wait,
                            TmFailure* failure) {
  // Before any lock: it may extend the clog.
  ASSIGN_OR_RETURN(TransactionId xid, GetCurrentTransactionId(be));
  ASSIGN_OR_RETURN(Buffer pinned, ReadBuffer(be, rel.rd_node, tid.block()));
  BufferGuard buffer(be, pinned);
  PageTuple tuple;
  bool waited = false;
  ASSIGN_OR_RETURN(
      TmResult result,
      LockTupleForChange(be, rel, &buffer, tid, cid, wait, &tuple, &waited));
  if (result == TmResult::kInvisible) {
    return SqlError(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                    "attempted to delete invisible tuple");
  }
  if (result != TmResult::kOk) {
    *failure = DescribeFailure(be, *tuple.header, result);
    return result;
  }
  TupleCmax cmax = HeapTupleHeaderAdjustCmax(be, *tuple.header, cid);

  CriticalSection crit(be);
  char* page = buffer.page();
  PageSetPrunable(page, xid);
  bool all_visible_cleared = ClearAllVisible(page);
  // A delete counts as a change of the key.
  HeapTupleHeaderSetXmaxBits(tuple.header, 0, HEAP_KEYS_UPDATED);
  HeapTupleHeaderSetFlag2(tuple.header, HEAP_HOT_UPDATED, false);
  tuple.header->t_xmax = xid;
  HeapTupleHeaderSetCid(tuple.header, cmax.cid, cmax.is_combo);
  tuple.header->t_ctid = tid;
  MarkBufferDirty(be, buffer.get());
  EmitTupleDelete(be, rel, tid, xid, cid);
  XLogRecPtr lsn = LogHeapDelete(be, buffer.get(), tid.offset(), *tuple.header,
                                 all_visible_cleared);
  PageSetLSN(page, lsn);
  return TmResult::kOk;
}

}  // namespace engine
