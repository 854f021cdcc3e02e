// The rows of pg_cast and the code behind them.
#include <string>

#include "engine/common/errcodes.h"
#include "engine/sql/functions.h"

namespace engine {
namespace {

// Narrowing casts.
template <Oid kType>
Status ToInt(FunctionContext&, const Datum* a, Datum* result) {
  constexpr int64_t kMin = kType == INT2OID ? INT16_MIN : INT32_MIN;
  constexpr int64_t kMax = kType == INT2OID ? INT16_MAX : INT32_MAX;
  if (a[0].num < kMin || a[0].num > kMax) {
    return SqlError(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "{} out of range",
                    FormatType(kType));
  }
  *result = Datum::Int(a[0].num);
  return {};
}
Status ToOid(FunctionContext&, const Datum* a, Datum* result) {
  if (a[0].num < 0 || a[0].num > UINT32_MAX) {
    return SqlError(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "OID out of range");
  }
  *result = Datum::Int(a[0].num);
  return {};
}
// Same 32 bits, other sign.
Status Int4ToOid(FunctionContext&, const Datum* a, Datum* result) {
  *result = Datum::Int(static_cast<uint32_t>(a[0].num));
  return {};
}
Status OidToInt4(FunctionContext&, const Datum* a, Datum* result) {
  *result = Datum::Int(static_cast<int32_t>(a[0].num));
  return {};
}
Status IntToBool(FunctionContext&, const Datum* a, Datum* result) {
  *result = Datum::Bool(a[0].num != 0);
  return {};
}
Status BoolToText(FunctionContext&, const Datum* a, Datum* result) {
  *result = Datum::Bytes(a[0].num != 0 ? "true" : "false");
  return {};
}

// Casts among string types.
Status TrimCast(FunctionContext&, const Datum* a, Datum* result) {
  *result = Datum::Bytes(TrimBlanks(a[0].bytes));
  return {};
}
Status ToName(FunctionContext& context, const Datum* a, Datum* result) {
  ASSIGN_OR_RETURN(*result, TypeInput(NAMEOID, a[0].bytes, *context.arena));
  return {};
}
Status BpcharToName(FunctionContext& context, const Datum* a, Datum* result) {
  ASSIGN_OR_RETURN(*result,
                   TypeInput(NAMEOID, TrimBlanks(a[0].bytes), *context.arena));
  return {};
}
Status CharToText(FunctionContext& context, const Datum* a, Datum* result) {
  std::string text;
  TypeOutput(CHAROID, a[0], &text);
  *result = Datum::Bytes(context.arena->Copy(text));
  return {};
}
Status TextToChar(FunctionContext&, const Datum* a, Datum* result) {
  *result = Datum::Int(a[0].bytes.empty() ? 0 : a[0].bytes[0]);
  return {};
}

Status DateToTimestamp(FunctionContext&, const Datum* a, Datum* result) {
  int64_t days = a[0].num;
  if (days == kDateInfinity || days == kDateMinusInfinity) {
    *result =
        Datum::Int(days > 0 ? kTimestampInfinity : kTimestampMinusInfinity);
    return {};
  }
  int64_t micros = 0;
  if (__builtin_mul_overflow(days, kMicrosPerDay, &micros)) {
    return SqlError(ERRCODE_DATETIME_FIELD_OVERFLOW,
                    "date out of range for timestamp");
  }
  *result = Datum::Int(micros);
  return {};
}
Status TimestampToDate(FunctionContext&, const Datum* a, Datum* result) {
  int64_t micros = a[0].num;
  if (micros == kTimestampInfinity || micros == kTimestampMinusInfinity) {
    *result = Datum::Int(micros > 0 ? kDateInfinity : kDateMinusInfinity);
    return {};
  }
  *result = Datum::Int(DaysOfTimestamp(micros));
  return {};
}

constexpr CastContext kI = CastContext::kImplicit;
constexpr CastContext kA = CastContext::kAssignment;
constexpr CastContext kE = CastContext::kExplicit;

// Source: src/include/catalog/pg_cast.dat.
constexpr CastRow kCasts[] = {
    {INT8OID, INT2OID, kA, ToInt<INT2OID>},
    {INT8OID, INT4OID, kA, ToInt<INT4OID>},
    {INT4OID, INT2OID, kA, ToInt<INT2OID>},
    {INT2OID, INT4OID, kI, nullptr},
    {INT2OID, INT8OID, kI, nullptr},
    {INT4OID, INT8OID, kI, nullptr},
    {INT4OID, BOOLOID, kE, IntToBool},
    {BOOLOID, INT4OID, kE, nullptr},
    {INT8OID, OIDOID, kI, ToOid},
    {INT2OID, OIDOID, kI, Int4ToOid},
    {INT4OID, OIDOID, kI, Int4ToOid},
    {OIDOID, INT8OID, kA, nullptr},
    {OIDOID, INT4OID, kA, OidToInt4},
    {TEXTOID, VARCHAROID, kI, nullptr},
    {TEXTOID, BPCHAROID, kI, nullptr},
    {VARCHAROID, TEXTOID, kI, nullptr},
    {VARCHAROID, BPCHAROID, kI, nullptr},
    {BPCHAROID, TEXTOID, kI, TrimCast},
    {BPCHAROID, VARCHAROID, kI, TrimCast},
    {NAMEOID, TEXTOID, kI, nullptr},
    {NAMEOID, VARCHAROID, kA, nullptr},
    {NAMEOID, BPCHAROID, kA, nullptr},
    {TEXTOID, NAMEOID, kI, ToName},
    {VARCHAROID, NAMEOID, kI, ToName},
    {BPCHAROID, NAMEOID, kI, BpcharToName},
    {CHAROID, TEXTOID, kI, CharToText},
    {CHAROID, VARCHAROID, kA, CharToText},
    {CHAROID, BPCHAROID, kA, CharToText},
    {CHAROID, INT4OID, kE, nullptr},
    {TEXTOID, CHAROID, kA, TextToChar},
    {VARCHAROID, CHAROID, kA, TextToChar},
    {BPCHAROID, CHAROID, kA, TextToChar},
    {BOOLOID, TEXTOID, kA, BoolToText},
    {BOOLOID, VARCHAROID, kA, BoolToText},
    {BOOLOID, BPCHAROID, kA, BoolToText},
    {DATEOID, TIMESTAMPOID, kI, DateToTimestamp},
    {DATEOID, TIMESTAMPTZOID, kI, DateToTimestamp},
    {TIMESTAMPOID, TIMESTAMPTZOID, kI, nullptr},
    {TIMESTAMPOID, DATEOID, kA, TimestampToDate},
    {TIMESTAMPTZOID, TIMESTAMPOID, kA, nullptr},
    {TIMESTAMPTZOID, DATEOID, kA, TimestampToDate},
};

}  // namespace

const CastRow* FindCast(Oid from, Oid to) {
  for (const CastRow& row : kCasts) {
    if (row.from == from && row.to == to) return &row;
  }
  return nullptr;
}

}  // namespace engine
