// TupleDecoder: a heap tuple's header and its column values.
//
//   t_xmin 4 | t_xmax 4 | t_cid 4 | t_ctid 6 | t_infomask2 2 | t_infomask 2 |
//   t_hoff 1 | null bitmap ... padding to t_hoff | columns
//
// "Body" means the bytes from t_infomask2 on: what events carry and what a
// transaction's outcome cannot change, apart from hint bits.
// Source: src/include/access/htup_details.h, src/include/postgres.h.
#ifndef MUSTH_PROPERTIES_DECODERS_TUPLE_DECODER_H_
#define MUSTH_PROPERTIES_DECODERS_TUPLE_DECODER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/env/status.h"

namespace properties {

inline constexpr size_t kTupleHeaderBytes = 23;
inline constexpr size_t kTupleBodyOffset = 18;

// Bits of t_infomask, in PostgreSQL's names.
inline constexpr uint16_t kHeapHasNull = 0x0001;
inline constexpr uint16_t kHeapHasVarWidth = 0x0002;
inline constexpr uint16_t kHeapHasExternal = 0x0004;
inline constexpr uint16_t kHeapXmaxLockOnly = 0x0080;
inline constexpr uint16_t kHeapXminCommitted = 0x0100;
inline constexpr uint16_t kHeapXminInvalid = 0x0200;
inline constexpr uint16_t kHeapXminFrozen = 0x0300;
inline constexpr uint16_t kHeapXmaxCommitted = 0x0400;
inline constexpr uint16_t kHeapXmaxInvalid = 0x0800;
inline constexpr uint16_t kHeapXmaxIsMulti = 0x1000;

struct TupleHeader {
  uint32_t xmin = 0;
  uint32_t xmax = 0;
  uint32_t cid = 0;
  uint64_t ctid = 0;  // block << 16 | offset
  uint16_t infomask2 = 0;
  uint16_t infomask = 0;
  uint8_t hoff = 0;
  uint16_t natts() const { return infomask2 & 0x07FF; }
};

// Errors: kCorrupted if the header's parts do not fit each other.
env::Result<TupleHeader> DecodeTupleHeader(std::string_view tuple);

// How a relation's tuples are laid out.
struct ColumnShape {
  std::string name;
  uint32_t type = 0;   // OID
  int16_t length = 0;  // bytes; -1 varlena
  char align = 'i';    // 'c' 1, 's' 2, 'i' 4, 'd' 8
  int32_t typmod = -1;
  bool dropped = false;
};
using RelationShape = std::vector<ColumnShape>;

enum class ValueForm : uint8_t {
  kNull,
  kNumber,      // a fixed-width value of 1, 2, 4 or 8 bytes, sign extended
  kBytes,       // a plain varlena's payload, or other fixed-width bytes
  kCompressed,  // the stored bytes, compression header included
  kExternal,    // a toast pointer's 16 bytes
};

struct Value {
  ValueForm form = ValueForm::kNull;
  int64_t number = 0;
  std::string bytes;
  bool operator==(const Value&) const = default;
};
using Row = std::vector<Value>;

// The columns of a tuple body. Columns beyond the stored ones are null.
// Errors: kCorrupted if lengths run past the tuple, padding is not zero, the
// tuple has more columns than the shape, or bytes are left over.
env::Result<Row> DecodeTupleBody(const RelationShape& shape,
                                 std::string_view body);
// The same into a row that serves for many tuples. After an error *row is
// unspecified.
env::Status DecodeTupleBodyInto(const RelationShape& shape,
                                std::string_view body, Row* row);

// True if both bodies hold the same columns' bytes: bitmap and data are equal,
// whatever the hint and HOT bits say.
bool SameTupleData(std::string_view body_a, std::string_view body_b);

// As psql shows it; for reports and for comparing with result rows. Types
// beyond bool, integers, oid, text-like ones and timestamp print as hex.
std::string ValueToText(const ColumnShape& column, const Value& value);
// "(1, 2, 'abc', null)"; long values are cut.
std::string RowToText(const RelationShape& shape, const Row& row);

// Who is committed, for reading a page as of a judged moment.
class CommittedXids {
 public:
  virtual ~CommittedXids() = default;
  virtual bool IsCommitted(uint32_t xid) const = 0;
};

// The visibility rule when no transaction runs: the inserter committed, and no
// committed transaction deleted or replaced the version. Hint bits are not
// trusted, except that a frozen xmin counts as committed.
bool IsVisibleAtRest(const TupleHeader& header, const CommittedXids& xids);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_DECODERS_TUPLE_DECODER_H_
