// SQL types: what the engine knows of pg_type, input and output functions,
// length coercion and comparison.
//
// Representation (see Datum): bool, int2, int4, int8, oid, xid, cid, "char",
// date (days since 2000-01-01), timestamp and timestamptz (microseconds since
// 2000-01-01 UTC), tid (packed) and float4 (bit pattern) in num; text, varchar,
// bpchar, name (without padding) and numeric (integers as decimal text, results
// only) in bytes. The time zone is UTC and the collation C, always.
#ifndef MUSTH_ENGINE_SQL_TYPES_H_
#define MUSTH_ENGINE_SQL_TYPES_H_

#include <string>
#include <string_view>
#include <vector>

#include "engine/catalog/pg_type.h"
#include "engine/common/arena.h"
#include "engine/common/datum.h"
#include "engine/common/types.h"

namespace engine {

inline bool IsStringType(Oid oid) {
  return oid == TEXTOID || oid == VARCHAROID || oid == BPCHAROID;
}

// "character varying(10)". typmod -1: without a length.
std::string FormatType(Oid oid, int32_t typmod = -1);

// The typmod that "(n)" after a type's name stands for.
// Errors: 22023, 42601, 0A000.
Result<int32_t> TypeModIn(const TypeInfo& type,
                          const std::vector<int64_t>& typmods);

// The value that the type's input function makes of text; bytes are in arena.
// Errors: 22P02, 22003, 22007, 22008, in PostgreSQL's words.
Result<Datum> TypeInput(Oid type, std::string_view text, Arena& arena);
// Appends the text form. Requires: not null.
void TypeOutput(Oid type, const Datum& value, std::string* out);

// varchar(n) and char(n): checks or cuts the length, pads char(n). An explicit
// cast cuts silently, an assignment cuts blanks only.
// Errors: 22001 "value too long for type ...".
Result<Datum> ApplyTypeMod(Oid type, int32_t typmod, bool is_explicit,
                           const Datum& value, Arena& arena);

// Three-way comparison of two values of one type, neither null. Trailing
// blanks of bpchar do not count.
int CompareDatums(Oid type, const Datum& a, const Datum& b);
// True if the type has an order (all but tid, xid, cid and the arrays).
bool HasOrder(Oid type);

// Characters (not bytes) of UTF-8 text.
size_t CharLength(std::string_view text);
// The first n characters.
std::string_view CharPrefix(std::string_view text, size_t n);
// Without trailing blanks, as bpchar compares.
std::string_view TrimBlanks(std::string_view text);

// datetime.cc
Result<Datum> TimestampInput(std::string_view text, bool with_zone);
Result<Datum> DateInput(std::string_view text);
void TimestampOutput(int64_t micros, bool with_zone, std::string* out);
void DateOutput(int64_t days, std::string* out);
// The date that a finite timestamp falls on.
int64_t DaysOfTimestamp(int64_t micros);

inline constexpr int64_t kMicrosPerDay = int64_t{86400} * 1000000;
inline constexpr int64_t kTimestampInfinity = INT64_MAX;
inline constexpr int64_t kTimestampMinusInfinity = INT64_MIN;
inline constexpr int64_t kDateInfinity = INT32_MAX;
inline constexpr int64_t kDateMinusInfinity = INT32_MIN;

}  // namespace engine

#endif  // MUSTH_ENGINE_SQL_TYPES_H_
