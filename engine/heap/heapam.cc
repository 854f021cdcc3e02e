#include "engine/heap/heapam.h"

#include "engine/common/errcodes.h"
#include "engine/common/sites.h"
#include "engine/heap/combocid.h"
#include "engine/heap/heapam_internal.h"
#include "engine/lock/lmgr.h"
#include "engine/txn/xact.h"
#include "sim/env/race.h"

namespace engine {
namespace {

// The part of a tuple that events carry: from t_infomask2 on.
std::string_view EventBytes(const HeapTuple& tuple) {
  return std::string_view(tuple.data)
      .substr(offsetof(HeapTupleHeaderData, t_infomask2));
}

void EmitTupleEvent(Backend& be, env::EventKind kind,
                    std::initializer_list<uint64_t> args,
                    std::string_view bytes) {
  env::Event event;
  event.kind = kind;
  size_t i = 0;
  for (uint64_t arg : args) event.a[i++] = arg;
  event.bytes = bytes;
  be.env->events->Emit(event);
}

// The tuple at tid, as it is now. Requires: buffer locked.
Result<PageTuple> ExistingTuple(const RelationData& rel, char* page,
                                ItemPointerData tid) {
  ASSIGN_OR_RETURN(PageTuple tuple, HeapPageGetTuple(rel.relname, page, tid));
  if (tuple.header != nullptr) return tuple;
  return SqlError(ERRCODE_DATA_CORRUPTED,
                  "no tuple at ({},{}) of relation \"{}\"", tid.block(),
                  tid.offset(), rel.relname);
}

}  // namespace

void HeapInit(Backend& be) { ComboCidInit(be); }

Result<PageTuple> HeapPageGetTuple(std::string_view relname, char* page,
                                   ItemPointerData tid) {
  OffsetNumber offset = tid.offset();
  if (offset == kInvalidOffsetNumber || offset > PageGetMaxOffsetNumber(page)) {
    return PageTuple{};
  }
  const ItemIdData& lp = *PageGetItemId(page, offset);
  if (!ItemIdIsNormal(lp)) return PageTuple{};
  std::string_view bytes = PageGetItemBytes(page, lp);
  if (!ItemIdIsWithinPage(lp) || !HeapTupleHeaderCheck(bytes).ok() ||
      lp.lp_off % 8 != 0) {
    return SqlError(ERRCODE_DATA_CORRUPTED,
                    "invalid tuple at ({},{}) of relation \"{}\"", tid.block(),
                    offset, relname);
  }
  return PageTuple{
      reinterpret_cast<HeapTupleHeaderData*>(PageGetItem(page, lp)), bytes};
}

Result<TmResult> LockTupleForChange(Backend& be, const RelationData& rel,
                                    BufferGuard* buffer, ItemPointerData tid,
                                    CommandId cid, bool wait, PageTuple* tuple,
                                    bool* waited) {
  *waited = false;
  for (;;) {
    buffer->Lock(BufferLockMode::kExclusive);
    ASSIGN_OR_RETURN(*tuple, ExistingTuple(rel, buffer->page(), tid));
    ASSIGN_OR_RETURN(
        TmResult result,
        HeapTupleSatisfiesUpdate(be, tuple->header, cid, buffer->get(), tid));
    if (result != TmResult::kBeingModified) return result;
    TransactionId xwait = tuple->header->t_xmax;
    // This transaction's own lock does not stand in its way.
    if (TransactionIdIsCurrentTransactionId(be, xwait)) return TmResult::kOk;
    if (!wait) return result;
    bool only_locked = HEAP_XMAX_IS_LOCKED_ONLY(tuple->header->t_infomask);
    buffer->Unlock();
    *waited = true;
    RETURN_IF_ERROR(XactLockTableWait(be, xwait));
    if (PLANTED(lock_upgrade_unnoticed) && only_locked) {
      // The same xmax is taken for the same lock; the transaction may have
      // updated the tuple since.
      buffer->Lock(BufferLockMode::kExclusive);
      ASSIGN_OR_RETURN(*tuple, ExistingTuple(rel, buffer->page(), tid));
      if (tuple->header->t_xmax == xwait) return TmResult::kOk;
      buffer->Unlock();
    }
  }
}

TmFailure DescribeFailure(Backend& be, const HeapTupleHeaderData& tuple,
                          TmResult result) {
  TmFailure failure;
  failure.ctid = tuple.t_ctid;
  failure.xmax = tuple.t_xmax;
  if (result == TmResult::kSelfModified) {
    failure.cmax = HeapTupleHeaderGetCmax(be, tuple);
  }
  return failure;
}

bool ClearAllVisible(char* page) {
  bool was_set = PageIsAllVisible(page);
  PageClearAllVisible(page);
  return was_set;
}

void EmitTupleInsert(Backend& be, const RelationData& rel,
                     const HeapTuple& tuple, CommandId cid) {
  EmitTupleEvent(
      be, env::EventKind::kTupleInsert,
      {tuple.header()->t_xmin, rel.rd_node.relNode, tuple.t_self.Packed(), cid},
      EventBytes(tuple));
}

void EmitTupleUpdate(Backend& be, const RelationData& rel,
                     ItemPointerData old_tid, const HeapTuple& tuple,
                     CommandId cid) {
  EmitTupleEvent(be, env::EventKind::kTupleUpdate,
                 {tuple.header()->t_xmin, rel.rd_node.relNode, old_tid.Packed(),
                  tuple.t_self.Packed(), cid},
                 EventBytes(tuple));
}

void EmitTupleDelete(Backend& be, const RelationData& rel, ItemPointerData tid,
                     TransactionId xid, CommandId cid) {
  be.env->events->Emit(env::EventKind::kTupleDelete, xid, rel.rd_node.relNode,
                       tid.Packed(), cid);
}

void EmitTupleRead(Backend& be, const RelationData& rel, ItemPointerData tid,
                   const HeapTupleHeaderData& tuple) {
  TransactionId xmax = env::UnlockedRead(
      tuple.t_xmax, "a scan holds a pin alone; the event says what it met");
  be.env->events->Emit(env::EventKind::kTupleRead, rel.rd_node.relNode,
                       tid.Packed(), tuple.t_xmin, xmax);
}

}  // namespace engine
