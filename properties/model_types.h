// SQL types as the reference model knows them: layouts, text forms, ranges,
// order. Written from PostgreSQL's documentation of its types, without the
// engine's type code, so that a mistake there is not repeated here.
//
// A value is the decoders' Value: kNull, kNumber (booleans, integers, dates)
// or kBytes (text in UTF-8, numeric results as decimal text). The collation
// is C.
#ifndef MUSTH_PROPERTIES_MODEL_TYPES_H_
#define MUSTH_PROPERTIES_MODEL_TYPES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/sql/ast.h"
#include "properties/decoders/tuple_decoder.h"
#include "sim/env/status.h"

namespace properties {

// OIDs of pg_type.
inline constexpr uint32_t kBoolType = 16;
inline constexpr uint32_t kCharType = 18;  // "char"
inline constexpr uint32_t kNameType = 19;
inline constexpr uint32_t kInt8Type = 20;
inline constexpr uint32_t kInt2Type = 21;
inline constexpr uint32_t kInt4Type = 23;
inline constexpr uint32_t kTextType = 25;
inline constexpr uint32_t kOidType = 26;
inline constexpr uint32_t kUnknownType = 705;  // a quoted literal, or NULL
inline constexpr uint32_t kBpcharType = 1042;
inline constexpr uint32_t kVarcharType = 1043;
inline constexpr uint32_t kDateType = 1082;
inline constexpr uint32_t kTimestampType = 1114;
inline constexpr uint32_t kTimestamptzType = 1184;
inline constexpr uint32_t kNumericType = 1700;

// SQLSTATEs that the model predicts.
inline constexpr uint32_t kStringDataRightTruncation =
    env::MakeSqlState("22001");
inline constexpr uint32_t kNumericValueOutOfRange = env::MakeSqlState("22003");
inline constexpr uint32_t kSubstringError = env::MakeSqlState("22011");
inline constexpr uint32_t kDivisionByZero = env::MakeSqlState("22012");
inline constexpr uint32_t kInvalidTextRepresentation =
    env::MakeSqlState("22P02");
inline constexpr uint32_t kInvalidLimit = env::MakeSqlState("2201W");
inline constexpr uint32_t kInvalidOffset = env::MakeSqlState("2201X");
inline constexpr uint32_t kNotNullViolation = env::MakeSqlState("23502");
inline constexpr uint32_t kSerializationFailure = env::MakeSqlState("40001");
inline constexpr uint32_t kDeadlockDetected = env::MakeSqlState("40P01");
inline constexpr uint32_t kUndefinedTable = env::MakeSqlState("42P01");
inline constexpr uint32_t kDuplicateTable = env::MakeSqlState("42P07");
inline constexpr uint32_t kReadOnlyTransaction = env::MakeSqlState("25006");
inline constexpr uint32_t kFailedTransaction = env::MakeSqlState("25P02");

// What the model does not understand; it then predicts nothing.
env::Status NotModelled(std::string why);
bool IsNotModelled(const env::Status& status);

inline bool IsInteger(uint32_t type) {
  return type == kInt2Type || type == kInt4Type || type == kInt8Type;
}
// text and varchar; bpchar compares by rules of its own.
inline bool IsPlainText(uint32_t type) {
  return type == kTextType || type == kVarcharType;
}
inline bool IsText(uint32_t type) {
  return IsPlainText(type) || type == kBpcharType;
}
// The wider of two integer types.
uint32_t WiderInteger(uint32_t a, uint32_t b);

// How a column is stored; nothing if the model does not know the type.
std::optional<ColumnShape> ShapeOfColumn(const engine::ColumnDef& def);

Value NullValue();
Value IntValue(int64_t number);
Value TextValue(std::string bytes);
inline bool IsNull(const Value& v) { return v.form == ValueForm::kNull; }

// "integer", "bigint", "smallint".
const char* IntegerName(uint32_t type);
// Errors: 22003 if the value does not fit the integer type.
env::Status CheckIntegerRange(uint32_t type, int64_t value);
// A literal as a value of the type. Errors: 22P02, 22003, not modelled.
env::Result<Value> ParseLiteral(uint32_t type, std::string_view text);

// Characters of UTF-8 text, the first n of them, and text without trailing
// blanks.
size_t CountChars(std::string_view text);
std::string_view FirstChars(std::string_view text, size_t n);
std::string_view WithoutTrailingBlanks(std::string_view text);

// varchar(n) and char(n) at an assignment: blanks in excess are cut, char(n)
// is padded. typmod as in pg_attribute. Errors: 22001.
env::Result<std::string> FitText(uint32_t type, int32_t typmod,
                                 std::string_view text);

// Three-way. Requires: neither is null, both of the type.
int CompareValues(uint32_t type, const Value& a, const Value& b);
// True if CompareValues knows the type.
bool IsComparable(uint32_t type);

// As psql shows it. Requires: not null.
std::string OutputText(uint32_t type, const Value& value);
// True if OutputText knows the type.
bool HasOutput(uint32_t type);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_MODEL_TYPES_H_
