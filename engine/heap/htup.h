// Heap tuples: the on-disk header, and forming and taking apart tuples.
// Source: src/include/access/htup_details.h,
// src/backend/access/common/heaptuple.c.
#ifndef MUSTH_ENGINE_HEAP_HTUP_H_
#define MUSTH_ENGINE_HEAP_HTUP_H_

#include <span>
#include <string>
#include <string_view>

#include "engine/common/datum.h"
#include "engine/common/types.h"
#include "engine/heap/tupdesc.h"
#include "engine/page/bufpage.h"

namespace engine {

// 23 bytes on disk, then the null bitmap, padding to t_hoff, data.
struct HeapTupleHeaderData {
  TransactionId t_xmin;
  TransactionId t_xmax;
  uint32_t t_cid;
  ItemPointerData t_ctid;
  uint16_t t_infomask2;
  uint16_t t_infomask;
  uint8_t t_hoff;
};
inline constexpr size_t kSizeofHeapTupleHeader = 23;
// The compiler's size has one byte of tail padding, which on disk is the first
// byte of the bitmap or data.
static_assert(sizeof(HeapTupleHeaderData) == 24);
static_assert(offsetof(HeapTupleHeaderData, t_ctid) == 12);
static_assert(offsetof(HeapTupleHeaderData, t_infomask2) == 18);
static_assert(offsetof(HeapTupleHeaderData, t_infomask) == 20);
static_assert(offsetof(HeapTupleHeaderData, t_hoff) == 22);

// t_infomask.
inline constexpr uint16_t HEAP_HASNULL = 0x0001;
inline constexpr uint16_t HEAP_HASVARWIDTH = 0x0002;
inline constexpr uint16_t HEAP_HASEXTERNAL = 0x0004;
inline constexpr uint16_t HEAP_XMAX_KEYSHR_LOCK = 0x0010;
inline constexpr uint16_t HEAP_COMBOCID = 0x0020;
inline constexpr uint16_t HEAP_XMAX_EXCL_LOCK = 0x0040;
inline constexpr uint16_t HEAP_XMAX_LOCK_ONLY = 0x0080;
inline constexpr uint16_t HEAP_XMIN_COMMITTED = 0x0100;
inline constexpr uint16_t HEAP_XMIN_INVALID = 0x0200;
inline constexpr uint16_t HEAP_XMIN_FROZEN = 0x0300;
inline constexpr uint16_t HEAP_XMAX_COMMITTED = 0x0400;
inline constexpr uint16_t HEAP_XMAX_INVALID = 0x0800;
inline constexpr uint16_t HEAP_XMAX_IS_MULTI = 0x1000;
inline constexpr uint16_t HEAP_UPDATED = 0x2000;
// t_infomask2.
inline constexpr uint16_t HEAP_NATTS_MASK = 0x07FF;
inline constexpr uint16_t HEAP_KEYS_UPDATED = 0x2000;
inline constexpr uint16_t HEAP_HOT_UPDATED = 0x4000;
inline constexpr uint16_t HEAP_ONLY_TUPLE = 0x8000;

// All of t_infomask that is about transactions, and its parts.
inline constexpr uint16_t HEAP_MOVED = 0xC000;
inline constexpr uint16_t HEAP_LOCK_MASK =
    HEAP_XMAX_KEYSHR_LOCK | HEAP_XMAX_EXCL_LOCK;
inline constexpr uint16_t HEAP_XMAX_BITS =
    HEAP_XMAX_COMMITTED | HEAP_XMAX_INVALID | HEAP_XMAX_IS_MULTI |
    HEAP_LOCK_MASK | HEAP_XMAX_LOCK_ONLY;
inline constexpr uint16_t HEAP_XACT_MASK = 0xFFF0;
inline constexpr uint16_t HEAP2_XACT_MASK = 0xE000;

// Bytes of a null bitmap.
constexpr size_t BITMAPLEN(size_t natts) { return (natts + 7) / 8; }
// So that t_hoff fits in its byte.
inline constexpr size_t MaxTupleAttributeNumber = 1664;

inline constexpr size_t MaxHeapTupleSize = BLCKSZ - MaxAlign(24 + 4);

inline const HeapTupleHeaderData* AsTupleHeader(std::string_view tuple) {
  return reinterpret_cast<const HeapTupleHeaderData*>(tuple.data());
}

// xmax only locked the tuple. (The second form is what servers before 9.3
// wrote for SELECT FOR UPDATE.)
inline bool HEAP_XMAX_IS_LOCKED_ONLY(uint16_t infomask) {
  return (infomask & HEAP_XMAX_LOCK_ONLY) != 0 ||
         (infomask & (HEAP_XMAX_IS_MULTI | HEAP_LOCK_MASK)) ==
             HEAP_XMAX_EXCL_LOCK;
}
inline bool HeapTupleHeaderXminCommitted(const HeapTupleHeaderData& t) {
  return (t.t_infomask & HEAP_XMIN_COMMITTED) != 0;
}
inline bool HeapTupleHeaderXminInvalid(const HeapTupleHeaderData& t) {
  return (t.t_infomask & HEAP_XMIN_FROZEN) == HEAP_XMIN_INVALID;
}
inline bool HeapTupleHeaderXminFrozen(const HeapTupleHeaderData& t) {
  return (t.t_infomask & HEAP_XMIN_FROZEN) == HEAP_XMIN_FROZEN;
}
// Sets a command id; is_combo: it names a pair (combocid.h).
inline void HeapTupleHeaderSetCid(HeapTupleHeaderData* t, CommandId cid,
                                  bool is_combo) {
  t->t_cid = cid;
  t->t_infomask &= static_cast<uint16_t>(~HEAP_COMBOCID);
  if (is_combo) t->t_infomask |= HEAP_COMBOCID;
}
// Drops all of xmax's bits and puts in the given ones.
inline void HeapTupleHeaderSetXmaxBits(HeapTupleHeaderData* t,
                                       uint16_t infomask, uint16_t infomask2) {
  t->t_infomask &= static_cast<uint16_t>(~(HEAP_XMAX_BITS | HEAP_MOVED));
  t->t_infomask2 &= static_cast<uint16_t>(~HEAP_KEYS_UPDATED);
  t->t_infomask |= infomask;
  t->t_infomask2 |= infomask2;
}
inline void HeapTupleHeaderSetFlag2(HeapTupleHeaderData* t, uint16_t flag,
                                    bool on) {
  t->t_infomask2 &= static_cast<uint16_t>(~flag);
  if (on) t->t_infomask2 |= flag;
}

// A tuple outside a page: a copy with its address.
struct HeapTuple {
  ItemPointerData t_self;
  std::string data;  // header and all; empty: no tuple

  HeapTupleHeaderData* header() {
    return reinterpret_cast<HeapTupleHeaderData*>(data.data());
  }
  const HeapTupleHeaderData* header() const {
    return reinterpret_cast<const HeapTupleHeaderData*>(data.data());
  }
};

// Forms a tuple. Values of fixed-width types come from Datum::num (name and
// other fixed bytes from Datum::bytes); varlena payloads up to 126 bytes get a
// one-byte header unless attstorage is 'p'.
// Errors: 54000 "row is too big: size %zu, maximum size %zu".
Result<HeapTuple> HeapFormTuple(const TupleDesc& desc,
                                std::span<const Datum> values);

// Checks that the header's own lengths fit the tuple's bytes.
// Errors: ERRCODE_DATA_CORRUPTED.
Status HeapTupleHeaderCheck(std::string_view tuple);

// Takes a tuple (its bytes, header first) apart into values, one per
// attribute; bytes point into the tuple. Attributes beyond the stored count
// are null. The bytes may come from disk: lengths are verified.
// Errors: ERRCODE_DATA_CORRUPTED.
Status HeapDeformTuple(const TupleDesc& desc, std::string_view tuple,
                       std::span<Datum> values);

}  // namespace engine

#endif  // MUSTH_ENGINE_HEAP_HTUP_H_
