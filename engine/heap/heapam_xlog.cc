#include "engine/heap/heapam_xlog.h"

#include <algorithm>

#include "engine/common/sites.h"
#include "engine/wal/rmgr.h"
#include "engine/wal/xloginsert.h"

namespace engine {
namespace {

// Shorter matches cost as much as they save.
constexpr size_t kLeastMatch = 3;

xl_heap_header HeaderOf(const HeapTupleHeaderData& tuple) {
  return {tuple.t_infomask2, tuple.t_infomask, tuple.t_hoff};
}

// True if the tuple is all that the page holds: redo may then build the page
// from nothing.
bool IsAloneOnPage(Backend& be, Buffer buffer, OffsetNumber offset) {
  return offset == kFirstOffsetNumber && PageGetMaxOffsetNumber(BufferGetPage(
                                             be, buffer)) == kFirstOffsetNumber;
}

uint8_t BufferFlags(bool init) {
  return static_cast<uint8_t>(REGBUF_STANDARD | (init ? REGBUF_WILL_INIT : 0));
}

// Block 0's data of an update: the new version without what the old one has.
void RegisterNewVersion(XLogInsertion* record, std::string_view tuple,
                        const CommonEnds& ends) {
  const HeapTupleHeaderData& header = *AsTupleHeader(tuple);
  xl_heap_header xlhdr = HeaderOf(header);
  if (ends.prefix > 0) record->RegisterBufData(0, &ends.prefix, 2);
  if (ends.suffix > 0) record->RegisterBufData(0, &ends.suffix, 2);
  record->RegisterBufData(0, &xlhdr, SizeOfHeapHeader);
  // The bitmap whole, then the middle.
  std::string_view bitmap = tuple.substr(
      kSizeofHeapTupleHeader, header.t_hoff - kSizeofHeapTupleHeader);
  std::string_view middle = tuple.substr(header.t_hoff + ends.prefix);
  middle.remove_suffix(ends.suffix);
  record->RegisterBufData(0, bitmap.data(), bitmap.size());
  if (!middle.empty()) record->RegisterBufData(0, middle.data(), middle.size());
}

}  // namespace

uint8_t ComputeInfobits(const HeapTupleHeaderData& tuple) {
  uint8_t bits = 0;
  if ((tuple.t_infomask & HEAP_XMAX_IS_MULTI) != 0) bits |= XLHL_XMAX_IS_MULTI;
  if ((tuple.t_infomask & HEAP_XMAX_LOCK_ONLY) != 0) {
    bits |= XLHL_XMAX_LOCK_ONLY;
  }
  if ((tuple.t_infomask & HEAP_XMAX_EXCL_LOCK) != 0) {
    bits |= XLHL_XMAX_EXCL_LOCK;
  }
  if ((tuple.t_infomask & HEAP_XMAX_KEYSHR_LOCK) != 0) {
    bits |= XLHL_XMAX_KEYSHR_LOCK;
  }
  if ((tuple.t_infomask2 & HEAP_KEYS_UPDATED) != 0) bits |= XLHL_KEYS_UPDATED;
  return bits;
}

void FixInfomaskFromInfobits(uint8_t infobits, HeapTupleHeaderData* tuple) {
  uint16_t infomask = 0;
  if ((infobits & XLHL_XMAX_IS_MULTI) != 0) infomask |= HEAP_XMAX_IS_MULTI;
  if ((infobits & XLHL_XMAX_LOCK_ONLY) != 0) infomask |= HEAP_XMAX_LOCK_ONLY;
  if ((infobits & XLHL_XMAX_EXCL_LOCK) != 0) infomask |= HEAP_XMAX_EXCL_LOCK;
  if ((infobits & XLHL_XMAX_KEYSHR_LOCK) != 0) {
    infomask |= HEAP_XMAX_KEYSHR_LOCK;
  }
  bool keys = (infobits & XLHL_KEYS_UPDATED) != 0;
  HeapTupleHeaderSetXmaxBits(tuple, infomask, keys ? HEAP_KEYS_UPDATED : 0);
}

CommonEnds FindCommonEnds(std::string_view old_data,
                          std::string_view new_data) {
  size_t shorter = std::min(old_data.size(), new_data.size());
  size_t prefix = 0;
  while (prefix < shorter && old_data[prefix] == new_data[prefix]) ++prefix;
  if (prefix < kLeastMatch) prefix = 0;
  size_t suffix = 0;
  while (suffix < shorter - prefix &&
         old_data[old_data.size() - suffix - 1] ==
             new_data[new_data.size() - suffix - 1]) {
    ++suffix;
  }
  if (suffix < kLeastMatch) suffix = 0;
  return {static_cast<uint16_t>(prefix), static_cast<uint16_t>(suffix)};
}

XLogRecPtr LogHeapInsert(Backend& be, Buffer buffer, const HeapTuple& tuple,
                         bool all_visible_cleared) {
  OffsetNumber offset = tuple.t_self.offset();
  bool init = IsAloneOnPage(be, buffer, offset);
  xl_heap_insert xlrec = {offset, all_visible_cleared
                                      ? XLH_INSERT_ALL_VISIBLE_CLEARED
                                      : uint8_t{0}};
  xl_heap_header xlhdr = HeaderOf(*tuple.header());
  std::string_view body =
      std::string_view(tuple.data).substr(kSizeofHeapTupleHeader);
  XLogInsertion record(be);
  record.RegisterData(&xlrec, SizeOfHeapInsert);
  record.RegisterBuffer(0, buffer, BufferFlags(init));
  record.RegisterBufData(0, &xlhdr, SizeOfHeapHeader);
  record.RegisterBufData(0, body.data(), body.size());
  return record.Insert(RM_HEAP_ID,
                       XLOG_HEAP_INSERT | (init ? XLOG_HEAP_INIT_PAGE : 0));
}

XLogRecPtr LogHeapDelete(Backend& be, Buffer buffer, OffsetNumber offset,
                         const HeapTupleHeaderData& tuple,
                         bool all_visible_cleared) {
  xl_heap_delete xlrec = {
      tuple.t_xmax, offset, ComputeInfobits(tuple),
      all_visible_cleared ? XLH_DELETE_ALL_VISIBLE_CLEARED : uint8_t{0}};
  XLogInsertion record(be);
  record.RegisterData(&xlrec, SizeOfHeapDelete);
  record.RegisterBuffer(0, buffer, REGBUF_STANDARD);
  return record.Insert(RM_HEAP_ID, XLOG_HEAP_DELETE);
}

XLogRecPtr LogHeapLock(Backend& be, Buffer buffer, OffsetNumber offset,
                       const HeapTupleHeaderData& tuple) {
  xl_heap_lock xlrec = {tuple.t_xmax, offset, ComputeInfobits(tuple), 0};
  XLogInsertion record(be);
  record.RegisterBuffer(0, buffer, REGBUF_STANDARD);
  record.RegisterData(&xlrec, SizeOfHeapLock);
  return record.Insert(RM_HEAP_ID, XLOG_HEAP_LOCK);
}

XLogRecPtr LogHeapUpdate(Backend& be, const HeapUpdateLog& update) {
  const HeapTupleHeaderData& old_header = *AsTupleHeader(update.old_tuple);
  std::string_view new_tuple = update.new_tuple->data;
  const HeapTupleHeaderData& new_header = *update.new_tuple->header();
  bool same_page = update.old_buffer == update.new_buffer;

  // If the page turns out to be logged as an image after all, the data is
  // dropped with the rest; if not, the full tuple was logged in vain.
  CommonEnds ends;
  if (same_page && (!XLogCheckBufferNeedsBackup(be, update.new_buffer) ||
                    PLANTED(delta_update_without_image))) {
    ends = FindCommonEnds(update.old_tuple.substr(old_header.t_hoff),
                          new_tuple.substr(new_header.t_hoff));
  }
  OffsetNumber new_offset = update.new_tuple->t_self.offset();
  bool init = IsAloneOnPage(be, update.new_buffer, new_offset);
  bool hot = (new_header.t_infomask2 & HEAP_ONLY_TUPLE) != 0;

  uint8_t flags = 0;
  if (update.old_all_visible_cleared) {
    flags |= XLH_UPDATE_OLD_ALL_VISIBLE_CLEARED;
  }
  if (update.new_all_visible_cleared) {
    flags |= XLH_UPDATE_NEW_ALL_VISIBLE_CLEARED;
  }
  if (ends.prefix > 0) flags |= XLH_UPDATE_PREFIX_FROM_OLD;
  if (ends.suffix > 0) flags |= XLH_UPDATE_SUFFIX_FROM_OLD;
  xl_heap_update xlrec = {old_header.t_xmax,           update.old_offset,
                          ComputeInfobits(old_header), flags,
                          new_header.t_xmax,           new_offset};
  XLogInsertion record(be);
  uint8_t buffer_flags = BufferFlags(init);
  if (PLANTED(delta_update_without_image) && ends.prefix + ends.suffix > 0) {
    buffer_flags |= REGBUF_NO_IMAGE;
  }
  record.RegisterBuffer(0, update.new_buffer, buffer_flags);
  if (!same_page) record.RegisterBuffer(1, update.old_buffer, REGBUF_STANDARD);
  record.RegisterData(&xlrec, SizeOfHeapUpdate);
  RegisterNewVersion(&record, new_tuple, ends);
  return record.Insert(
      RM_HEAP_ID,
      static_cast<uint8_t>((hot ? XLOG_HEAP_HOT_UPDATE : XLOG_HEAP_UPDATE) |
                           (init ? XLOG_HEAP_INIT_PAGE : 0)));
}

}  // namespace engine
