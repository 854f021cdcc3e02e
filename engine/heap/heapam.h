// Heap access method: insert, update, delete, fetch, scan.
// Source: src/backend/access/heap/heapam.c, hio.c.
#ifndef MUSTH_ENGINE_HEAP_HEAPAM_H_
#define MUSTH_ENGINE_HEAP_HEAPAM_H_

#include "engine/buffer/buffer_guard.h"
#include "engine/heap/htup.h"
#include "engine/heap/relation.h"
#include "engine/heap/visibility.h"
#include "engine/wal/xlogreader.h"

namespace engine {

void HeapInit(Backend& be);  // this backend's local state (combo CIDs)

// Where a failed change leads. Source: TM_FailureData.
struct TmFailure {
  ItemPointerData ctid;  // the next version, or itself if deleted
  TransactionId xmax = kInvalidTransactionId;
  CommandId cmax = kInvalidCommandId;
};

// Inserts a formed tuple; tuple->t_self gets its address.
// Suspends: yes. Errors: I/O, 53100. WAL: XLOG_HEAP_INSERT.
Status HeapInsert(Backend& be, const RelationData& rel, HeapTuple* tuple,
                  CommandId cid);

// Marks the tuple at tid deleted. With wait, waits for a running writer of it
// first. kUpdated/kDeleted/kSelfModified fill *failure and change nothing.
// Suspends: yes. Errors: 40P01, I/O. WAL: XLOG_HEAP_DELETE.
Result<TmResult> HeapDelete(Backend& be, const RelationData& rel,
                            ItemPointerData tid, CommandId cid, bool wait,
                            TmFailure* failure);

// Replaces the tuple at tid by *tuple, whose t_self gets the new address.
// WAL: XLOG_HEAP_UPDATE or XLOG_HEAP_HOT_UPDATE. Otherwise as HeapDelete.
Result<TmResult> HeapUpdate(Backend& be, const RelationData& rel,
                            ItemPointerData tid, HeapTuple* tuple,
                            CommandId cid, bool wait, TmFailure* failure);

// Fetches the version at tid if the snapshot sees it; an empty tuple if not.
Result<HeapTuple> HeapFetch(Backend& be, const RelationData& rel,
                            ItemPointerData tid, const SnapshotData& snapshot);

// From tid along the update chain to the newest version, waiting for running
// writers, for the re-check under read committed (EvalPlanQual). An empty
// tuple means that the row is gone. prior_xmax is TmFailure::xmax.
// Suspends: yes. Errors: 40P01, I/O.
Result<HeapTuple> HeapFetchLatest(Backend& be, const RelationData& rel,
                                  ItemPointerData tid, TransactionId prior_xmax,
                                  CommandId cid);

// Sequential scan, page by page.
class HeapScan {
 public:
  // The relation and snapshot must outlive the scan. Blocks that are appended
  // after the scan began are not visited. Suspends: no.
  HeapScan(Backend& be, const RelationData& rel, const SnapshotData& snapshot);
  ~HeapScan();
  HeapScan(const HeapScan&) = delete;
  HeapScan& operator=(const HeapScan&) = delete;

  struct Row {
    ItemPointerData tid;
    std::string_view tuple;  // header first; valid until the next Next()
  };
  // The next visible tuple, or nothing at the end. Suspends: yes.
  Result<const Row*> Next();

 private:
  Status LoadPage();
  Backend& be_;
  const RelationData& rel_;
  const SnapshotData& snapshot_;
  BufferGuard buffer_;
  bool started_ = false;
  BlockNumber block_ = 0;
  BlockNumber nblocks_ = 0;
  std::vector<OffsetNumber> visible_;  // of the current page
  size_t next_ = 0;
  Row row_;
};

Status HeapRedo(Backend& be, XLogReaderState& record);
Status Heap2Redo(Backend& be, XLogReaderState& record);

}  // namespace engine

#endif  // MUSTH_ENGINE_HEAP_HEAPAM_H_
