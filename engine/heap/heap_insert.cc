#include "engine/common/sites.h"
#include "engine/heap/heapam.h"
#include "engine/heap/heapam_internal.h"
#include "engine/heap/heapam_xlog.h"
#include "engine/heap/hio.h"
#include "engine/txn/xact.h"

namespace engine {
namespace {

// Everything about transactions in the header of a tuple that xid inserts.
void HeapPrepareInsert(HeapTuple* tuple, TransactionId xid, CommandId cid) {
  HeapTupleHeaderData* header = tuple->header();
  header->t_infomask &= static_cast<uint16_t>(~HEAP_XACT_MASK);
  header->t_infomask2 &= static_cast<uint16_t>(~HEAP2_XACT_MASK);
  header->t_infomask |= HEAP_XMAX_INVALID;
  header->t_xmin = xid;
  header->t_xmax = kInvalidTransactionId;
  HeapTupleHeaderSetCid(header, cid, false);
}

}  // namespace

Status HeapInsert(Backend& be, const RelationData& rel, HeapTuple* tuple,
                  CommandId cid) {
  ASSIGN_OR_RETURN(TransactionId xid, GetCurrentTransactionId(be));
  HeapPrepareInsert(tuple, xid, cid);
  ASSIGN_OR_RETURN(
      BufferGuard buffer,
      RelationGetBufferForTuple(be, rel, tuple->data.size(), nullptr));

  CriticalSection crit(be);
  RelationPutHeapTuple(be, buffer.get(), tuple);
  bool all_visible_cleared = ClearAllVisible(buffer.page());
  bool late = PLANTED(dirty_marked_after_logging);
  if (!late) MarkBufferDirty(be, buffer.get());
  EmitTupleInsert(be, rel, *tuple, cid);
  XLogRecPtr lsn = LogHeapInsert(be, buffer.get(), *tuple, all_visible_cleared);
  if (late) {
    YIELD_POINT(page_not_marked);
    MarkBufferDirty(be, buffer.get());
  }
  PageSetLSN(buffer.page(), lsn);
  return {};
}

}  // namespace engine
