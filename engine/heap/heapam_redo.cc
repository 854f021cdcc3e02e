// Redo of heap records. Everything a record says is input: what does not fit
// the page it is for ends recovery with an error, never with a check.
#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "engine/common/sites.h"
#include "engine/heap/heapam.h"
#include "engine/heap/heapam_internal.h"
#include "engine/heap/heapam_xlog.h"
#include "engine/wal/xlogutils.h"

namespace engine {
namespace {

Status BadRecord(const XLogReaderState& record, std::string_view why) {
  return Status(
      env::Code::kCorrupted,
      fmt::format("heap redo at {:X}/{:X}: {}", record.ReadRecPtr() >> 32,
                  record.ReadRecPtr() & 0xFFFFFFFF, why));
}

// Reads the first size bytes of data into *out and drops them from data.
bool Take(std::string_view* data, void* out, size_t size) {
  if (data->size() < size) return false;
  std::memcpy(out, data->data(), size);
  data->remove_prefix(size);
  return true;
}

// The block of a record, ready to change; page is null if there is nothing to
// do there.
struct RedoPage {
  BufferGuard buffer;
  char* page = nullptr;
};

Result<RedoPage> GetRedoPage(Backend& be, XLogReaderState& record,
                             uint8_t block_id, bool init) {
  if (!record.HasBlock(block_id)) return BadRecord(record, "block missing");
  RedoPage result;
  if (init) {
    ASSIGN_OR_RETURN(Buffer buffer,
                     XLogInitBufferForRedo(be, record, block_id));
    result.buffer = BufferGuard(be, buffer, true);
    result.page = result.buffer.page();
    PageInit(result.page, 0);
    return result;
  }
  ASSIGN_OR_RETURN(RedoBuffer redo,
                   XLogReadBufferForRedo(be, record, block_id));
  if (redo.buffer != kInvalidBuffer) {
    result.buffer = BufferGuard(be, redo.buffer, true);
  }
  if (redo.action == XLogRedoAction::BLK_NEEDS_REDO) {
    result.page = result.buffer.page();
  }
  return result;
}

void FinishPage(Backend& be, const XLogReaderState& record,
                const RedoPage& redo) {
  PageSetLSN(redo.page, record.EndRecPtr());
  MarkBufferDirty(be, redo.buffer.get());
}

Result<PageTuple> TupleToChange(const XLogReaderState& record, char* page,
                                ItemPointerData tid) {
  auto tuple = HeapPageGetTuple("", page, tid);
  if (!tuple.ok() || tuple->header == nullptr) {
    return BadRecord(record, "invalid lp");
  }
  return tuple;
}

// Adds a rebuilt tuple at its recorded place.
Status AddTuple(const XLogReaderState& record, char* page, OffsetNumber offset,
                const std::string& tuple) {
  if (offset == 0 || PageGetMaxOffsetNumber(page) + 1 < offset) {
    return BadRecord(record, "invalid max offset number");
  }
  if (!HeapTupleHeaderCheck(tuple).ok() || tuple.size() > MaxHeapTupleSize) {
    return BadRecord(record, "invalid tuple");
  }
  if (PageAddItem(page, tuple, offset, true, true) == kInvalidOffsetNumber) {
    return BadRecord(record, "failed to add tuple");
  }
  return {};
}

// A tuple of header fields and what follows them on disk.
std::string MakeTuple(const xl_heap_header& header, TransactionId xmin,
                      TransactionId xmax, ItemPointerData ctid,
                      std::string_view body) {
  std::string tuple(kSizeofHeapTupleHeader, '\0');
  tuple.append(body);
  auto* t = reinterpret_cast<HeapTupleHeaderData*>(tuple.data());
  t->t_infomask2 = header.t_infomask2;
  t->t_infomask = header.t_infomask;
  t->t_hoff = header.t_hoff;
  t->t_xmin = xmin;
  t->t_xmax = xmax;
  t->t_ctid = ctid;
  HeapTupleHeaderSetCid(t, kFirstCommandId, false);
  return tuple;
}

Status RedoInsert(Backend& be, XLogReaderState& record) {
  xl_heap_insert xlrec = {};
  std::string_view main = record.main_data();
  if (!Take(&main, &xlrec, SizeOfHeapInsert)) {
    return BadRecord(record, "short insert");
  }
  bool init = (record.info() & XLOG_HEAP_INIT_PAGE) != 0;
  ASSIGN_OR_RETURN(RedoPage redo, GetRedoPage(be, record, 0, init));
  if (redo.page == nullptr) return {};
  std::string_view data = record.block(0).data;
  xl_heap_header xlhdr = {};
  if (!Take(&data, &xlhdr, SizeOfHeapHeader)) {
    return BadRecord(record, "short tuple");
  }
  ItemPointerData tid(record.block(0).tag.blockNum, xlrec.offnum);
  RETURN_IF_ERROR(AddTuple(
      record, redo.page, xlrec.offnum,
      MakeTuple(xlhdr, record.xid(), kInvalidTransactionId, tid, data)));
  if ((xlrec.flags & XLH_INSERT_ALL_VISIBLE_CLEARED) != 0) {
    PageClearAllVisible(redo.page);
  }
  FinishPage(be, record, redo);
  return {};
}

Status RedoDelete(Backend& be, XLogReaderState& record) {
  xl_heap_delete xlrec = {};
  std::string_view main = record.main_data();
  if (!Take(&main, &xlrec, SizeOfHeapDelete)) {
    return BadRecord(record, "short delete");
  }
  ASSIGN_OR_RETURN(RedoPage redo, GetRedoPage(be, record, 0, false));
  if (redo.page == nullptr) return {};
  ItemPointerData tid(record.block(0).tag.blockNum, xlrec.offnum);
  ASSIGN_OR_RETURN(PageTuple tuple, TupleToChange(record, redo.page, tid));
  FixInfomaskFromInfobits(xlrec.infobits_set, tuple.header);
  HeapTupleHeaderSetFlag2(tuple.header, HEAP_HOT_UPDATED, false);
  if (!PLANTED(delete_redo_keeps_xmax)) tuple.header->t_xmax = xlrec.xmax;
  HeapTupleHeaderSetCid(tuple.header, kFirstCommandId, false);
  tuple.header->t_ctid = tid;
  if (TransactionIdIsNormal(record.xid())) {
    PageSetPrunable(redo.page, record.xid());
  }
  if ((xlrec.flags & XLH_DELETE_ALL_VISIBLE_CLEARED) != 0) {
    PageClearAllVisible(redo.page);
  }
  FinishPage(be, record, redo);
  return {};
}

Status RedoLock(Backend& be, XLogReaderState& record) {
  xl_heap_lock xlrec = {};
  std::string_view main = record.main_data();
  if (!Take(&main, &xlrec, SizeOfHeapLock)) {
    return BadRecord(record, "short lock");
  }
  ASSIGN_OR_RETURN(RedoPage redo, GetRedoPage(be, record, 0, false));
  if (redo.page == nullptr) return {};
  ItemPointerData tid(record.block(0).tag.blockNum, xlrec.offnum);
  ASSIGN_OR_RETURN(PageTuple tuple, TupleToChange(record, redo.page, tid));
  FixInfomaskFromInfobits(xlrec.infobits_set, tuple.header);
  if (HEAP_XMAX_IS_LOCKED_ONLY(tuple.header->t_infomask)) {
    HeapTupleHeaderSetFlag2(tuple.header, HEAP_HOT_UPDATED, false);
    tuple.header->t_ctid = tid;
  }
  tuple.header->t_xmax = xlrec.locking_xid;
  HeapTupleHeaderSetCid(tuple.header, kFirstCommandId, false);
  FinishPage(be, record, redo);
  return {};
}

// The new tuple's bytes from 23 on: the record's, with prefix and suffix taken
// from the old tuple, if the record refers to one.
Result<std::string> RebuildBody(const XLogReaderState& record,
                                const xl_heap_update& xlrec,
                                const PageTuple& old_tuple,
                                xl_heap_header* xlhdr) {
  std::string_view data = record.block(0).data;
  CommonEnds ends;
  bool ok = true;
  if ((xlrec.flags & XLH_UPDATE_PREFIX_FROM_OLD) != 0) {
    ok = ok && Take(&data, &ends.prefix, sizeof(ends.prefix));
  }
  if ((xlrec.flags & XLH_UPDATE_SUFFIX_FROM_OLD) != 0) {
    ok = ok && Take(&data, &ends.suffix, sizeof(ends.suffix));
  }
  if (!ok || !Take(&data, xlhdr, SizeOfHeapHeader)) {
    return BadRecord(record, "short tuple");
  }
  if (ends.prefix == 0 && ends.suffix == 0) return std::string(data);

  if (old_tuple.header == nullptr) {
    return BadRecord(record, "old tuple on another page");
  }
  std::string_view old_data = old_tuple.bytes.substr(old_tuple.header->t_hoff);
  size_t bitmap_size = xlhdr->t_hoff - kSizeofHeapTupleHeader;
  if (xlhdr->t_hoff < kSizeofHeapTupleHeader || bitmap_size > data.size() ||
      size_t{ends.prefix} + ends.suffix > old_data.size()) {
    return BadRecord(record, "invalid prefix or suffix");
  }
  std::string body(data.substr(0, bitmap_size));
  body.append(old_data.substr(0, ends.prefix));
  body.append(data.substr(bitmap_size));
  size_t suffix_at = old_data.size() - ends.suffix;
  if (PLANTED(update_redo_wrong_suffix)) {
    // From the padded length of the item instead of its own; the padding
    // reads as zeros.
    size_t padding = MaxAlign(old_tuple.bytes.size()) - old_tuple.bytes.size();
    std::string padded = std::string(old_data) + std::string(padding, '\0');
    body.append(padded.substr(suffix_at + padding));
    return body;
  }
  body.append(old_data.substr(suffix_at));
  return body;
}

// Marks the old version updated. Requires: redo.page.
Status RedoOldVersion(XLogReaderState& record, const xl_heap_update& xlrec,
                      bool hot, ItemPointerData new_tid, const RedoPage& redo,
                      const PageTuple& tuple) {
  FixInfomaskFromInfobits(xlrec.old_infobits_set, tuple.header);
  HeapTupleHeaderSetFlag2(tuple.header, HEAP_HOT_UPDATED, hot);
  tuple.header->t_xmax = xlrec.old_xmax;
  HeapTupleHeaderSetCid(tuple.header, kFirstCommandId, false);
  tuple.header->t_ctid = new_tid;
  if (TransactionIdIsNormal(record.xid())) {
    PageSetPrunable(redo.page, record.xid());
  }
  if ((xlrec.flags & XLH_UPDATE_OLD_ALL_VISIBLE_CLEARED) != 0) {
    PageClearAllVisible(redo.page);
  }
  return {};
}

Status RedoUpdate(Backend& be, XLogReaderState& record, bool hot) {
  xl_heap_update xlrec = {};
  std::string_view main = record.main_data();
  if (!Take(&main, &xlrec, SizeOfHeapUpdate)) {
    return BadRecord(record, "short update");
  }
  if (!record.HasBlock(0)) return BadRecord(record, "block missing");
  bool same_page = !record.HasBlock(1);
  bool init = (record.info() & XLOG_HEAP_INIT_PAGE) != 0;
  if (same_page && init) return BadRecord(record, "old tuple on a new page");
  uint8_t old_id = same_page ? 0 : 1;
  ItemPointerData old_tid(record.block(old_id).tag.blockNum, xlrec.old_offnum);
  ItemPointerData new_tid(record.block(0).tag.blockNum, xlrec.new_offnum);

  // The old page stays locked until the new version is in, so that a reader
  // who finds the link finds its end.
  ASSIGN_OR_RETURN(RedoPage old_redo, GetRedoPage(be, record, old_id, false));
  PageTuple old_tuple;
  if (old_redo.page != nullptr) {
    ASSIGN_OR_RETURN(old_tuple, TupleToChange(record, old_redo.page, old_tid));
    RETURN_IF_ERROR(
        RedoOldVersion(record, xlrec, hot, new_tid, old_redo, old_tuple));
    if (!same_page) FinishPage(be, record, old_redo);
  }
  RedoPage other_redo;
  if (!same_page) {
    ASSIGN_OR_RETURN(other_redo, GetRedoPage(be, record, 0, init));
  }
  const RedoPage& new_redo = same_page ? old_redo : other_redo;
  if (new_redo.page == nullptr) return {};
  xl_heap_header xlhdr = {};
  ASSIGN_OR_RETURN(
      std::string body,
      RebuildBody(record, xlrec, same_page ? old_tuple : PageTuple{}, &xlhdr));
  RETURN_IF_ERROR(
      AddTuple(record, new_redo.page, xlrec.new_offnum,
               MakeTuple(xlhdr, record.xid(), xlrec.new_xmax, new_tid, body)));
  if ((xlrec.flags & XLH_UPDATE_NEW_ALL_VISIBLE_CLEARED) != 0) {
    PageClearAllVisible(new_redo.page);
  }
  FinishPage(be, record, new_redo);
  return {};
}

}  // namespace

Status HeapRedo(Backend& be, XLogReaderState& record) {
  switch (record.info() & XLOG_HEAP_OPMASK) {
    case XLOG_HEAP_INSERT:
      return RedoInsert(be, record);
    case XLOG_HEAP_DELETE:
      return RedoDelete(be, record);
    case XLOG_HEAP_UPDATE:
      return RedoUpdate(be, record, false);
    case XLOG_HEAP_HOT_UPDATE:
      return RedoUpdate(be, record, true);
    case XLOG_HEAP_LOCK:
      return RedoLock(be, record);
    default:
      return BadRecord(record,
                       fmt::format("unknown op code {}", record.info()));
  }
}

Status Heap2Redo(Backend&, XLogReaderState& record) {
  return BadRecord(record,
                   fmt::format("heap2: unknown op code {}", record.info()));
}

}  // namespace engine
