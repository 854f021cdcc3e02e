// The words that every layer of the node shares.
// Source: src/include/postgres_ext.h, c.h, access/transam.h,
// access/xlogdefs.h, storage/{block,off,itemptr,relfilenode,buf_internals}.h.
#ifndef MUSTH_ENGINE_COMMON_TYPES_H_
#define MUSTH_ENGINE_COMMON_TYPES_H_

#include <compare>
#include <cstddef>
#include <cstdint>

#include "sim/env/status.h"

namespace engine {

using env::Result;
using env::Status;

using Oid = uint32_t;
using TransactionId = uint32_t;
using CommandId = uint32_t;
using XLogRecPtr = uint64_t;  // byte position in the write-ahead log
using XLogSegNo = uint64_t;
using TimeLineID = uint32_t;
using BlockNumber = uint32_t;
using OffsetNumber = uint16_t;
using RmgrId = uint8_t;
using TimestampTz = int64_t;  // microseconds since 2000-01-01 UTC

inline constexpr int BLCKSZ = 8192;
inline constexpr int XLOG_BLCKSZ = 8192;
inline constexpr int RELSEG_SIZE = 131072;  // blocks of one segment file

inline constexpr Oid kInvalidOid = 0;
inline constexpr Oid kFirstNormalObjectId = 16384;
inline constexpr BlockNumber kInvalidBlockNumber = 0xFFFFFFFF;
inline constexpr OffsetNumber kInvalidOffsetNumber = 0;
inline constexpr OffsetNumber kFirstOffsetNumber = 1;
inline constexpr XLogRecPtr kInvalidXLogRecPtr = 0;
inline constexpr CommandId kFirstCommandId = 0;
inline constexpr CommandId kInvalidCommandId = 0xFFFFFFFF;

inline constexpr TransactionId kInvalidTransactionId = 0;
inline constexpr TransactionId kBootstrapTransactionId = 1;
inline constexpr TransactionId kFrozenTransactionId = 2;
inline constexpr TransactionId kFirstNormalTransactionId = 3;

inline bool TransactionIdIsValid(TransactionId xid) {
  return xid != kInvalidTransactionId;
}
inline bool TransactionIdIsNormal(TransactionId xid) {
  return xid >= kFirstNormalTransactionId;
}
// Modulo-2^32 order among normal xids; permanent ones precede all of them.
inline bool TransactionIdPrecedes(TransactionId a, TransactionId b) {
  if (!TransactionIdIsNormal(a) || !TransactionIdIsNormal(b)) return a < b;
  return static_cast<int32_t>(a - b) < 0;
}
inline bool TransactionIdPrecedesOrEquals(TransactionId a, TransactionId b) {
  return a == b || TransactionIdPrecedes(a, b);
}
inline bool TransactionIdFollowsOrEquals(TransactionId a, TransactionId b) {
  return !TransactionIdPrecedes(a, b);
}
// The next xid after xid, skipping the permanent ones.
inline TransactionId TransactionIdNext(TransactionId xid) {
  ++xid;
  return xid < kFirstNormalTransactionId ? kFirstNormalTransactionId : xid;
}

inline constexpr size_t MaxAlign(size_t n) { return (n + 7) & ~size_t{7}; }
inline constexpr size_t MaxAlignDown(size_t n) { return n & ~size_t{7}; }

enum ForkNumber : int8_t {
  kMainFork = 0,
  kFsmFork = 1,
  kVisibilityMapFork = 2,
  kInitFork = 3,
};

// On-disk identity of a relation (in WAL records: 12 bytes, this order).
struct RelFileNode {
  Oid spcNode = 0;
  Oid dbNode = 0;
  Oid relNode = 0;
  auto operator<=>(const RelFileNode&) const = default;
};
static_assert(sizeof(RelFileNode) == 12);

struct BufferTag {
  RelFileNode rnode;
  ForkNumber forkNum = kMainFork;
  BlockNumber blockNum = kInvalidBlockNumber;
  auto operator<=>(const BufferTag&) const = default;
};

// A tuple's address. Six bytes on disk: block high, block low, offset.
struct ItemPointerData {
  uint16_t bi_hi = 0xFFFF;
  uint16_t bi_lo = 0xFFFF;
  uint16_t ip_posid = 0;

  ItemPointerData() = default;
  ItemPointerData(BlockNumber block, OffsetNumber offset)
      : bi_hi(static_cast<uint16_t>(block >> 16)),
        bi_lo(static_cast<uint16_t>(block)),
        ip_posid(offset) {}
  BlockNumber block() const {
    return (static_cast<BlockNumber>(bi_hi) << 16) | bi_lo;
  }
  OffsetNumber offset() const { return ip_posid; }
  bool IsValid() const { return ip_posid != 0; }
  // block << 16 | offset: the form in events.
  uint64_t Packed() const {
    return (static_cast<uint64_t>(block()) << 16) | ip_posid;
  }
  bool operator==(const ItemPointerData&) const = default;
};
static_assert(sizeof(ItemPointerData) == 6);

// Well-known tablespaces and the one database of a fresh cluster.
inline constexpr Oid kDefaultTableSpaceOid = 1663;
inline constexpr Oid kGlobalTableSpaceOid = 1664;
inline constexpr Oid kDatabaseOid = 5;

// Type OIDs. Source: src/include/catalog/pg_type.dat.
inline constexpr Oid BOOLOID = 16;
inline constexpr Oid BYTEAOID = 17;
inline constexpr Oid CHAROID = 18;
inline constexpr Oid NAMEOID = 19;
inline constexpr Oid INT8OID = 20;
inline constexpr Oid INT2OID = 21;
inline constexpr Oid INT4OID = 23;
inline constexpr Oid TEXTOID = 25;
inline constexpr Oid OIDOID = 26;
inline constexpr Oid TIDOID = 27;
inline constexpr Oid XIDOID = 28;
inline constexpr Oid CIDOID = 29;
inline constexpr Oid FLOAT4OID = 700;
inline constexpr Oid FLOAT8OID = 701;
inline constexpr Oid UNKNOWNOID = 705;
inline constexpr Oid BPCHAROID = 1042;
inline constexpr Oid VARCHAROID = 1043;
inline constexpr Oid DATEOID = 1082;
inline constexpr Oid TIMESTAMPOID = 1114;
inline constexpr Oid TIMESTAMPTZOID = 1184;
inline constexpr Oid NUMERICOID = 1700;

}  // namespace engine

#endif  // MUSTH_ENGINE_COMMON_TYPES_H_
