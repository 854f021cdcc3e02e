#include "engine/common/errcodes.h"
#include "engine/common/sites.h"
#include "engine/heap/heapam.h"
#include "engine/heap/heapam_internal.h"
#include "engine/ipc/proc.h"
#include "engine/lock/lmgr.h"
#include "engine/smgr/smgr.h"
#include "engine/txn/xact.h"

namespace engine {
namespace {

HeapTuple CopyTuple(ItemPointerData tid, std::string_view bytes) {
  HeapTuple copy;
  copy.t_self = tid;
  copy.data = std::string(bytes);
  return copy;
}

// Where a walk along an update chain goes next.
struct ChainStep {
  enum class Kind : uint8_t { kFound, kGone, kNext, kWait } kind;
  TransactionId xid = kInvalidTransactionId;  // kWait, kNext
  ItemPointerData ctid;                       // kNext
};

ChainStep Gone() { return {ChainStep::Kind::kGone, 0, {}}; }

ChainStep Follow(const HeapTupleHeaderData& tuple, ItemPointerData tid) {
  if (tuple.t_ctid == tid) return Gone();  // deleted
  return {ChainStep::Kind::kNext, tuple.t_xmax, tuple.t_ctid};
}

// Requires: the tuple's buffer share-locked.
Result<ChainStep> StepAlongChain(Backend& be, const PageTuple& tuple,
                                 ItemPointerData tid, CommandId cid,
                                 Buffer buffer) {
  HeapTupleHeaderData* header = tuple.header;
  ASSIGN_OR_RETURN(TmResult result,
                   HeapTupleSatisfiesUpdate(be, header, cid, buffer, tid));
  bool own_xmax = TransactionIdIsCurrentTransactionId(be, header->t_xmax);
  switch (result) {
    case TmResult::kOk:
      return ChainStep{ChainStep::Kind::kFound, 0, {}};
    case TmResult::kBeingModified:
      if (own_xmax) return ChainStep{ChainStep::Kind::kFound, 0, {}};
      return ChainStep{ChainStep::Kind::kWait, header->t_xmax, {}};
    case TmResult::kUpdated:
      return Follow(*header, tid);
    case TmResult::kInvisible:
      // An earlier command of this transaction changed it, or its insertion
      // came to nothing.
      if (own_xmax && (header->t_infomask & HEAP_XMAX_INVALID) == 0) {
        return Follow(*header, tid);
      }
      return Gone();
    case TmResult::kSelfModified:  // by this command: not to be done twice
    case TmResult::kDeleted:
      return Gone();
  }
  SIM_UNREACHABLE();
}

}  // namespace

Result<HeapTuple> HeapFetch(Backend& be, const RelationData& rel,
                            ItemPointerData tid, const SnapshotData& snapshot) {
  ASSIGN_OR_RETURN(Buffer pinned, ReadBuffer(be, rel.rd_node, tid.block()));
  BufferGuard buffer(be, pinned);
  buffer.Lock(BufferLockMode::kShare);
  ASSIGN_OR_RETURN(PageTuple tuple,
                   HeapPageGetTuple(rel.relname, buffer.page(), tid));
  if (tuple.header == nullptr) return HeapTuple{};
  ASSIGN_OR_RETURN(bool visible,
                   HeapTupleSatisfiesMVCC(be, tuple.header, snapshot, pinned));
  if (!visible) return HeapTuple{};
  EmitTupleRead(be, rel, tid, *tuple.header);
  return CopyTuple(tid, tuple.bytes);
}

Result<HeapTuple> HeapFetchLatest(Backend& be, const RelationData& rel,
                                  ItemPointerData tid, TransactionId prior_xmax,
                                  CommandId cid) {
  for (;;) {
    ASSIGN_OR_RETURN(Buffer pinned, ReadBuffer(be, rel.rd_node, tid.block()));
    BufferGuard buffer(be, pinned);
    buffer.Lock(BufferLockMode::kShare);
    ASSIGN_OR_RETURN(PageTuple tuple,
                     HeapPageGetTuple(rel.relname, buffer.page(), tid));
    if (tuple.header == nullptr) return HeapTuple{};
    // Another tuple in the place of one that was removed.
    if (TransactionIdIsValid(prior_xmax) &&
        tuple.header->t_xmin != prior_xmax) {
      return HeapTuple{};
    }
    ASSIGN_OR_RETURN(ChainStep step,
                     StepAlongChain(be, tuple, tid, cid, pinned));
    switch (step.kind) {
      case ChainStep::Kind::kFound:
        EmitTupleRead(be, rel, tid, *tuple.header);
        return CopyTuple(tid, tuple.bytes);
      case ChainStep::Kind::kGone:
        return HeapTuple{};
      case ChainStep::Kind::kNext:
        if (PLANTED(unpinned_tuple_access)) {
          // Whatever lies there by now is taken for the tuple.
          buffer.Release();
          YIELD_POINT(unpinned_tuple);
          step.ctid = tuple.header->t_ctid;
          step.xid = tuple.header->t_xmax;
        }
        tid = step.ctid;
        prior_xmax = step.xid;
        break;
      case ChainStep::Kind::kWait:
        buffer.Release();
        RETURN_IF_ERROR(XactLockTableWait(be, step.xid));
        break;
    }
  }
}

HeapScan::HeapScan(Backend& be, const RelationData& rel,
                   const SnapshotData& snapshot)
    : be_(be), rel_(rel), snapshot_(snapshot) {}

HeapScan::~HeapScan() = default;

// Collects the visible tuples of block_ under a share lock; they stay put
// under the pin alone, because only a cleanup lock may move them.
Status HeapScan::LoadPage() {
  visible_.clear();
  next_ = 0;
  RETURN_IF_ERROR(CheckForInterrupts(be_));
  ASSIGN_OR_RETURN(Buffer pinned, ReadBuffer(be_, rel_.rd_node, block_));
  buffer_ = BufferGuard(be_, pinned);
  buffer_.Lock(BufferLockMode::kShare);
  char* page = buffer_.page();
  OffsetNumber last = PageGetMaxOffsetNumber(page);
  for (OffsetNumber offset = kFirstOffsetNumber; offset <= last; ++offset) {
    ASSIGN_OR_RETURN(
        PageTuple tuple,
        HeapPageGetTuple(rel_.relname, page, ItemPointerData(block_, offset)));
    if (tuple.header == nullptr) continue;
    ASSIGN_OR_RETURN(bool visible, HeapTupleSatisfiesMVCC(be_, tuple.header,
                                                          snapshot_, pinned));
    if (visible) visible_.push_back(offset);
  }
  buffer_.Unlock();
  YIELD_POINT(heap_scan_page);
  return {};
}

Result<const HeapScan::Row*> HeapScan::Next() {
  if (!started_) {
    ASSIGN_OR_RETURN(nblocks_, SmgrNblocks(be_, rel_.rd_node, kMainFork));
    started_ = true;
    block_ = kInvalidBlockNumber;
  }
  while (next_ >= visible_.size()) {
    buffer_.Release();
    BlockNumber next_block = block_ + 1;  // wraps to 0 at the start
    if (next_block >= nblocks_) return static_cast<const Row*>(nullptr);
    block_ = next_block;
    Status loaded = LoadPage();
    if (!loaded.ok()) {
      buffer_.Release();
      visible_.clear();
      return loaded;
    }
  }
  char* page = buffer_.page();
  row_.tid = ItemPointerData(block_, visible_[next_++]);
  const ItemIdData& lp = *PageGetItemId(page, row_.tid.offset());
  row_.tuple = PageGetItemBytes(page, lp);
  EmitTupleRead(be_, rel_, row_.tid, *AsTupleHeader(row_.tuple));
  return &row_;
}

}  // namespace engine
