// WAL records of the heap: bytes, and the code that writes them.
//
//   INSERT   main  xl_heap_insert
//            blk 0 xl_heap_header, tuple from byte 23 on
//   DELETE   main  xl_heap_delete
//   UPDATE   main  xl_heap_update
//            blk 0 (new page) [prefix u16] [suffix u16] xl_heap_header,
//                  bitmap and padding, data without prefix and suffix
//            blk 1 (old page) only if it is another one
//   LOCK     main  xl_heap_lock
//
// Source: src/include/access/heapam_xlog.h,
// src/backend/access/heap/heapam.c log_heap_update().
// Differs: no logical decoding, so no old keys and no full new tuples.
#ifndef MUSTH_ENGINE_HEAP_HEAPAM_XLOG_H_
#define MUSTH_ENGINE_HEAP_HEAPAM_XLOG_H_

#include <string_view>

#include "engine/buffer/bufmgr.h"
#include "engine/heap/htup.h"

namespace engine {

inline constexpr uint8_t XLOG_HEAP_INSERT = 0x00;
inline constexpr uint8_t XLOG_HEAP_DELETE = 0x10;
inline constexpr uint8_t XLOG_HEAP_UPDATE = 0x20;
inline constexpr uint8_t XLOG_HEAP_HOT_UPDATE = 0x40;
inline constexpr uint8_t XLOG_HEAP_LOCK = 0x60;
inline constexpr uint8_t XLOG_HEAP_OPMASK = 0x70;
inline constexpr uint8_t XLOG_HEAP_INIT_PAGE = 0x80;

inline constexpr uint8_t XLH_INSERT_ALL_VISIBLE_CLEARED = 1 << 0;
inline constexpr uint8_t XLH_DELETE_ALL_VISIBLE_CLEARED = 1 << 0;
inline constexpr uint8_t XLH_UPDATE_OLD_ALL_VISIBLE_CLEARED = 1 << 0;
inline constexpr uint8_t XLH_UPDATE_NEW_ALL_VISIBLE_CLEARED = 1 << 1;
inline constexpr uint8_t XLH_UPDATE_PREFIX_FROM_OLD = 1 << 5;
inline constexpr uint8_t XLH_UPDATE_SUFFIX_FROM_OLD = 1 << 6;

// infobits_set: xmax's infomask bits, packed.
inline constexpr uint8_t XLHL_XMAX_IS_MULTI = 0x01;
inline constexpr uint8_t XLHL_XMAX_LOCK_ONLY = 0x02;
inline constexpr uint8_t XLHL_XMAX_EXCL_LOCK = 0x04;
inline constexpr uint8_t XLHL_XMAX_KEYSHR_LOCK = 0x08;
inline constexpr uint8_t XLHL_KEYS_UPDATED = 0x10;

// The structs' tail padding is never logged: the SizeOf constants count.
struct xl_heap_insert {
  OffsetNumber offnum;
  uint8_t flags;
};
inline constexpr size_t SizeOfHeapInsert = 3;
static_assert(offsetof(xl_heap_insert, flags) == 2);

struct xl_heap_delete {
  TransactionId xmax;
  OffsetNumber offnum;
  uint8_t infobits_set;
  uint8_t flags;
};
inline constexpr size_t SizeOfHeapDelete = 8;
static_assert(offsetof(xl_heap_delete, flags) == 7);

struct xl_heap_update {
  TransactionId old_xmax;
  OffsetNumber old_offnum;
  uint8_t old_infobits_set;
  uint8_t flags;
  TransactionId new_xmax;
  OffsetNumber new_offnum;
};
inline constexpr size_t SizeOfHeapUpdate = 14;
static_assert(offsetof(xl_heap_update, new_offnum) == 12);

struct xl_heap_lock {
  TransactionId locking_xid;
  OffsetNumber offnum;
  uint8_t infobits_set;
  uint8_t flags;
};
inline constexpr size_t SizeOfHeapLock = 8;
static_assert(offsetof(xl_heap_lock, flags) == 7);

// What of a tuple's header an insert or update logs.
struct xl_heap_header {
  uint16_t t_infomask2;
  uint16_t t_infomask;
  uint8_t t_hoff;
};
inline constexpr size_t SizeOfHeapHeader = 5;
static_assert(offsetof(xl_heap_header, t_hoff) == 4);

uint8_t ComputeInfobits(const HeapTupleHeaderData& tuple);
// Sets xmax's bits of the tuple to what the record says.
void FixInfomaskFromInfobits(uint8_t infobits, HeapTupleHeaderData* tuple);

// Leading and trailing bytes that two tuples' data areas share. They do not
// overlap in either; each is 0 if it is shorter than three bytes.
struct CommonEnds {
  uint16_t prefix = 0;
  uint16_t suffix = 0;
};
CommonEnds FindCommonEnds(std::string_view old_data, std::string_view new_data);

// Each writes its record and returns the end; the caller sets the pages' LSN.
// Require: critical section, pages changed and dirty, exclusive locks.
XLogRecPtr LogHeapInsert(Backend& be, Buffer buffer, const HeapTuple& tuple,
                         bool all_visible_cleared);
XLogRecPtr LogHeapDelete(Backend& be, Buffer buffer, OffsetNumber offset,
                         const HeapTupleHeaderData& tuple,
                         bool all_visible_cleared);
XLogRecPtr LogHeapLock(Backend& be, Buffer buffer, OffsetNumber offset,
                       const HeapTupleHeaderData& tuple);

struct HeapUpdateLog {
  Buffer old_buffer;
  Buffer new_buffer;  // may be the same
  OffsetNumber old_offset;
  std::string_view old_tuple;  // on its page, already marked updated
  const HeapTuple* new_tuple;
  bool old_all_visible_cleared;
  bool new_all_visible_cleared;
};
XLogRecPtr LogHeapUpdate(Backend& be, const HeapUpdateLog& update);

}  // namespace engine

#endif  // MUSTH_ENGINE_HEAP_HEAPAM_XLOG_H_
