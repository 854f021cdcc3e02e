#include "engine/sql/functions.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>

#include "engine/common/errcodes.h"
#include "engine/txn/xact.h"

namespace engine {
namespace {

Status OutOfRange(Oid type) {
  return SqlError(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "{} out of range",
                  FormatType(type));
}
Status DivisionByZero() {
  return SqlError(ERRCODE_DIVISION_BY_ZERO, "division by zero");
}

// The range of an integer type.
template <Oid kType>
struct IntRange {
  static constexpr int64_t kMin = kType == INT2OID   ? INT16_MIN
                                  : kType == INT4OID ? INT32_MIN
                                                     : INT64_MIN;
  static constexpr int64_t kMax = kType == INT2OID   ? INT16_MAX
                                  : kType == INT4OID ? INT32_MAX
                                                     : INT64_MAX;
};

template <Oid kType>
Status IntResult(bool overflow, int64_t value, Datum* result) {
  if (overflow || value < IntRange<kType>::kMin ||
      value > IntRange<kType>::kMax) {
    return OutOfRange(kType);
  }
  *result = Datum::Int(value);
  return {};
}

template <Oid kType>
Status Plus(FunctionContext&, const Datum* a, Datum* result) {
  int64_t value = 0;
  bool overflow = __builtin_add_overflow(a[0].num, a[1].num, &value);
  return IntResult<kType>(overflow, value, result);
}
template <Oid kType>
Status Minus(FunctionContext&, const Datum* a, Datum* result) {
  int64_t value = 0;
  bool overflow = __builtin_sub_overflow(a[0].num, a[1].num, &value);
  return IntResult<kType>(overflow, value, result);
}
template <Oid kType>
Status Times(FunctionContext&, const Datum* a, Datum* result) {
  int64_t value = 0;
  bool overflow = __builtin_mul_overflow(a[0].num, a[1].num, &value);
  return IntResult<kType>(overflow, value, result);
}
template <Oid kType>
Status Divide(FunctionContext&, const Datum* a, Datum* result) {
  if (a[1].num == 0) return DivisionByZero();
  if (a[1].num == -1) {
    int64_t value = 0;
    bool overflow = __builtin_sub_overflow(0, a[0].num, &value);
    return IntResult<kType>(overflow, value, result);
  }
  return IntResult<kType>(false, a[0].num / a[1].num, result);
}
Status Modulo(FunctionContext&, const Datum* a, Datum* result) {
  if (a[1].num == 0) return DivisionByZero();
  // INT64_MIN % -1 traps on some machines.
  *result = Datum::Int(a[1].num == -1 ? 0 : a[0].num % a[1].num);
  return {};
}
template <Oid kType>
Status Negate(FunctionContext&, const Datum* a, Datum* result) {
  int64_t value = 0;
  bool overflow = __builtin_sub_overflow(0, a[0].num, &value);
  return IntResult<kType>(overflow, value, result);
}
Status Identity(FunctionContext&, const Datum* a, Datum* result) {
  *result = a[0];
  return {};
}
template <Oid kType>
Status Abs(FunctionContext& context, const Datum* a, Datum* result) {
  return a[0].num < 0 ? Negate<kType>(context, a, result)
                      : Identity(context, a, result);
}
Status XidEqInt4(FunctionContext&, const Datum* a, Datum* result) {
  *result = Datum::Bool(static_cast<uint32_t>(a[0].num) ==
                        static_cast<uint32_t>(a[1].num));
  return {};
}

Status Concat(FunctionContext& context, const Datum* a, Datum* result) {
  size_t size = a[0].bytes.size() + a[1].bytes.size();
  char* out = context.arena->Allocate(size);
  std::copy(a[0].bytes.begin(), a[0].bytes.end(), out);
  std::copy(a[1].bytes.begin(), a[1].bytes.end(), out + a[0].bytes.size());
  *result = Datum::Bytes({out, size});
  return {};
}

// LIKE: % any run, _ one character, \ takes the next literally. On a mismatch
// only the last % is tried again one character further: an earlier one can
// match nothing more. *bad: the pattern ends in a lone backslash.
bool LikeMatch(std::string_view text, std::string_view pattern, bool* bad) {
  size_t t = 0;
  size_t p = 0;
  size_t after_percent = std::string_view::npos;
  size_t retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '%') {
      after_percent = ++p;
      retry = t;
      continue;
    }
    if (p < pattern.size() && pattern[p] == '_') {
      t += CharPrefix(text.substr(t), 1).size();
      ++p;
      continue;
    }
    size_t literal = p;
    if (p < pattern.size() && pattern[p] == '\\' &&
        ++literal == pattern.size()) {
      *bad = true;
      return false;
    }
    if (literal < pattern.size() && pattern[literal] == text[t]) {
      p = literal + 1;
      ++t;
      continue;
    }
    if (after_percent == std::string_view::npos) return false;
    retry += CharPrefix(text.substr(retry), 1).size();
    t = retry;
    p = after_percent;
  }
  while (p < pattern.size() && pattern[p] == '%') ++p;
  return p == pattern.size();
}

template <bool kNegated>
Status Like(FunctionContext&, const Datum* a, Datum* result) {
  bool bad = false;
  bool match = LikeMatch(a[0].bytes, a[1].bytes, &bad);
  if (bad) {
    return SqlError(ERRCODE_INVALID_ESCAPE_SEQUENCE,
                    "LIKE pattern must not end with escape character");
  }
  *result = Datum::Bool(match != kNegated);
  return {};
}

Status TextLength(FunctionContext&, const Datum* a, Datum* result) {
  *result = Datum::Int(static_cast<int64_t>(CharLength(a[0].bytes)));
  return {};
}
Status BpcharLength(FunctionContext&, const Datum* a, Datum* result) {
  *result =
      Datum::Int(static_cast<int64_t>(CharLength(TrimBlanks(a[0].bytes))));
  return {};
}
Status OctetLength(FunctionContext&, const Datum* a, Datum* result) {
  *result = Datum::Int(static_cast<int64_t>(a[0].bytes.size()));
  return {};
}

// C collation: only ASCII letters have a case.
template <char kFirst, char kLast>
Status MapCase(FunctionContext& context, const Datum* a, Datum* result) {
  std::string_view text = a[0].bytes;
  char* out = context.arena->Allocate(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    out[i] = c >= kFirst && c <= kLast ? static_cast<char>(c ^ 0x20) : c;
  }
  *result = Datum::Bytes({out, text.size()});
  return {};
}

Status Repeat(FunctionContext& context, const Datum* a, Datum* result) {
  std::string_view text = a[0].bytes;
  size_t count = a[1].num > 0 ? static_cast<size_t>(a[1].num) : 0;
  constexpr size_t kMaxAllocSize = 0x3FFFFFFF;
  if (!text.empty() && count > (kMaxAllocSize - 4) / text.size()) {
    return SqlError(ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                    "requested length too large");
  }
  char* out = context.arena->Allocate(text.size() * count);
  for (size_t i = 0; i < count; ++i) {
    std::copy(text.begin(), text.end(), out + i * text.size());
  }
  *result = Datum::Bytes({out, text.size() * count});
  return {};
}

// Characters [start, start + length) of text, 1-based, length -1: to the end.
std::string_view Substr(std::string_view text, int64_t start, int64_t length) {
  int64_t end = length < 0 ? INT64_MAX : start + length;
  if (start < 1) start = 1;
  if (end <= start) return {};
  text.remove_prefix(CharPrefix(text, static_cast<size_t>(start - 1)).size());
  return length < 0 ? text : CharPrefix(text, static_cast<size_t>(end - start));
}

Status Substr2(FunctionContext&, const Datum* a, Datum* result) {
  *result = Datum::Bytes(Substr(a[0].bytes, a[1].num, -1));
  return {};
}
Status Substr3(FunctionContext&, const Datum* a, Datum* result) {
  if (a[2].num < 0) {
    return SqlError(ERRCODE_SUBSTRING_ERROR,
                    "negative substring length not allowed");
  }
  *result = Datum::Bytes(Substr(a[0].bytes, a[1].num, a[2].num));
  return {};
}

// left(t, n): a negative n leaves out the last -n characters.
Status Left(FunctionContext&, const Datum* a, Datum* result) {
  int64_t length = static_cast<int64_t>(CharLength(a[0].bytes));
  int64_t n =
      a[1].num >= 0 ? a[1].num : std::max<int64_t>(0, length + a[1].num);
  *result = Datum::Bytes(CharPrefix(a[0].bytes, static_cast<size_t>(n)));
  return {};
}
Status Right(FunctionContext&, const Datum* a, Datum* result) {
  int64_t length = static_cast<int64_t>(CharLength(a[0].bytes));
  int64_t skip =
      a[1].num >= 0 ? std::max<int64_t>(0, length - a[1].num) : -a[1].num;
  std::string_view text = a[0].bytes;
  text.remove_prefix(CharPrefix(text, static_cast<size_t>(skip)).size());
  *result = Datum::Bytes(text);
  return {};
}

Status LpadWith(FunctionContext& context, std::string_view text, int64_t wanted,
                std::string_view fill, Datum* result) {
  size_t want = wanted > 0 ? static_cast<size_t>(wanted) : 0;
  size_t length = CharLength(text);
  if (length >= want || fill.empty()) {
    *result = Datum::Bytes(CharPrefix(text, want));
    return {};
  }
  constexpr size_t kMaxChars = 0x3FFFFFFF / 4;
  if (want > kMaxChars) {
    return SqlError(ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                    "requested length too large");
  }
  size_t fill_chars = CharLength(fill);
  size_t missing = want - length;
  std::string_view tail = CharPrefix(fill, missing % fill_chars);
  size_t size = missing / fill_chars * fill.size() + tail.size() + text.size();
  char* out = context.arena->Allocate(size);
  char* at = out;
  for (size_t i = 0; i < missing / fill_chars; ++i) {
    at = std::copy(fill.begin(), fill.end(), at);
  }
  at = std::copy(tail.begin(), tail.end(), at);
  std::copy(text.begin(), text.end(), at);
  *result = Datum::Bytes({out, size});
  return {};
}
Status Lpad2(FunctionContext& context, const Datum* a, Datum* result) {
  return LpadWith(context, a[0].bytes, a[1].num, " ", result);
}
Status Lpad3(FunctionContext& context, const Datum* a, Datum* result) {
  return LpadWith(context, a[0].bytes, a[1].num, a[2].bytes, result);
}

Status Now(FunctionContext& context, const Datum*, Datum* result) {
  *result = Datum::Int(GetCurrentTransactionStartTimestamp(*context.be));
  return {};
}
Status ClockTimestamp(FunctionContext& context, const Datum*, Datum* result) {
  *result = Datum::Int(context.be->env->clock->WallMicros());
  return {};
}
Status CurrentDate(FunctionContext& context, const Datum* args, Datum* result) {
  Datum now;
  RETURN_IF_ERROR(Now(context, args, &now));
  *result = Datum::Int(DaysOfTimestamp(now.num));
  return {};
}
Status TxidCurrent(FunctionContext& context, const Datum*, Datum* result) {
  ASSIGN_OR_RETURN(TransactionId xid, GetCurrentTransactionId(*context.be));
  *result = Datum::Int(xid);
  return {};
}

#define COMPARISONS(l, r)                                \
  {"<", 2, {l, r}, BOOLOID, nullptr, FastOp::kLt},       \
      {"<=", 2, {l, r}, BOOLOID, nullptr, FastOp::kLe},  \
      {"=", 2, {l, r}, BOOLOID, nullptr, FastOp::kEq},   \
      {"<>", 2, {l, r}, BOOLOID, nullptr, FastOp::kNe},  \
      {">", 2, {l, r}, BOOLOID, nullptr, FastOp::kGt}, { \
    ">=", 2, {l, r}, BOOLOID, nullptr, FastOp::kGe       \
  }
// Operators of two integer types whose result is the wider one.
#define ARITHMETIC(l, r, result)               \
  {"+", 2, {l, r}, result, Plus<result>},      \
      {"-", 2, {l, r}, result, Minus<result>}, \
      {"*", 2, {l, r}, result, Times<result>}, \
      {"/", 2, {l, r}, result, Divide<result>}, COMPARISONS(l, r)
#define UNARY(type)                                                         \
  {"-", 1, {type}, type, Negate<type>}, {"+", 1, {type}, type, Identity}, { \
    "%", 2, {type, type}, type, Modulo                                      \
  }

constexpr Builtin kOperators[] = {
    ARITHMETIC(INT2OID, INT2OID, INT2OID),
    ARITHMETIC(INT2OID, INT4OID, INT4OID),
    ARITHMETIC(INT2OID, INT8OID, INT8OID),
    ARITHMETIC(INT4OID, INT2OID, INT4OID),
    ARITHMETIC(INT4OID, INT4OID, INT4OID),
    ARITHMETIC(INT4OID, INT8OID, INT8OID),
    ARITHMETIC(INT8OID, INT2OID, INT8OID),
    ARITHMETIC(INT8OID, INT4OID, INT8OID),
    ARITHMETIC(INT8OID, INT8OID, INT8OID),
    UNARY(INT2OID),
    UNARY(INT4OID),
    UNARY(INT8OID),
    COMPARISONS(BOOLOID, BOOLOID),
    COMPARISONS(TEXTOID, TEXTOID),
    COMPARISONS(BPCHAROID, BPCHAROID),
    COMPARISONS(NAMEOID, NAMEOID),
    COMPARISONS(NAMEOID, TEXTOID),
    COMPARISONS(TEXTOID, NAMEOID),
    COMPARISONS(CHAROID, CHAROID),
    COMPARISONS(OIDOID, OIDOID),
    COMPARISONS(TIDOID, TIDOID),
    COMPARISONS(DATEOID, DATEOID),
    COMPARISONS(TIMESTAMPOID, TIMESTAMPOID),
    COMPARISONS(TIMESTAMPTZOID, TIMESTAMPTZOID),
    {"=", 2, {XIDOID, XIDOID}, BOOLOID, nullptr, FastOp::kEq},
    {"<>", 2, {XIDOID, XIDOID}, BOOLOID, nullptr, FastOp::kNe},
    {"=", 2, {XIDOID, INT4OID}, BOOLOID, XidEqInt4},
    {"||", 2, {TEXTOID, TEXTOID}, TEXTOID, Concat},
    {"||", 2, {ANYNONARRAYOID, TEXTOID}, TEXTOID, Concat},
    {"||", 2, {TEXTOID, ANYNONARRAYOID}, TEXTOID, Concat},
    {"~~", 2, {TEXTOID, TEXTOID}, BOOLOID, Like<false>},
    {"~~", 2, {BPCHAROID, TEXTOID}, BOOLOID, Like<false>},
    {"~~", 2, {NAMEOID, TEXTOID}, BOOLOID, Like<false>},
    {"!~~", 2, {TEXTOID, TEXTOID}, BOOLOID, Like<true>},
    {"!~~", 2, {BPCHAROID, TEXTOID}, BOOLOID, Like<true>},
    {"!~~", 2, {NAMEOID, TEXTOID}, BOOLOID, Like<true>},
};
#undef COMPARISONS
#undef ARITHMETIC
#undef UNARY

#define STABLE FastOp::kNone, Volatility::kStable
#define VOLATILE FastOp::kNone, Volatility::kVolatile
constexpr Builtin kFunctions[] = {
    {"abs", 1, {INT2OID}, INT2OID, Abs<INT2OID>},
    {"abs", 1, {INT4OID}, INT4OID, Abs<INT4OID>},
    {"abs", 1, {INT8OID}, INT8OID, Abs<INT8OID>},
    {"mod", 2, {INT2OID, INT2OID}, INT2OID, Modulo},
    {"mod", 2, {INT4OID, INT4OID}, INT4OID, Modulo},
    {"mod", 2, {INT8OID, INT8OID}, INT8OID, Modulo},
    {"length", 1, {TEXTOID}, INT4OID, TextLength},
    {"length", 1, {BPCHAROID}, INT4OID, BpcharLength},
    {"char_length", 1, {TEXTOID}, INT4OID, TextLength},
    {"char_length", 1, {BPCHAROID}, INT4OID, BpcharLength},
    {"character_length", 1, {TEXTOID}, INT4OID, TextLength},
    {"character_length", 1, {BPCHAROID}, INT4OID, BpcharLength},
    {"octet_length", 1, {TEXTOID}, INT4OID, OctetLength},
    {"octet_length", 1, {BPCHAROID}, INT4OID, OctetLength},
    {"lower", 1, {TEXTOID}, TEXTOID, MapCase<'A', 'Z'>},
    {"upper", 1, {TEXTOID}, TEXTOID, MapCase<'a', 'z'>},
    {"repeat", 2, {TEXTOID, INT4OID}, TEXTOID, Repeat},
    {"substr", 2, {TEXTOID, INT4OID}, TEXTOID, Substr2},
    {"substr", 3, {TEXTOID, INT4OID, INT4OID}, TEXTOID, Substr3},
    {"substring", 2, {TEXTOID, INT4OID}, TEXTOID, Substr2},
    {"substring", 3, {TEXTOID, INT4OID, INT4OID}, TEXTOID, Substr3},
    {"left", 2, {TEXTOID, INT4OID}, TEXTOID, Left},
    {"right", 2, {TEXTOID, INT4OID}, TEXTOID, Right},
    {"lpad", 2, {TEXTOID, INT4OID}, TEXTOID, Lpad2},
    {"lpad", 3, {TEXTOID, INT4OID, TEXTOID}, TEXTOID, Lpad3},
    {"now", 0, {}, TIMESTAMPTZOID, Now, STABLE},
    {"transaction_timestamp", 0, {}, TIMESTAMPTZOID, Now, STABLE},
    {"current_timestamp", 0, {}, TIMESTAMPTZOID, Now, STABLE},
    {"localtimestamp", 0, {}, TIMESTAMPOID, Now, STABLE},
    {"current_date", 0, {}, DATEOID, CurrentDate, STABLE},
    {"clock_timestamp", 0, {}, TIMESTAMPTZOID, ClockTimestamp, VOLATILE},
    {"txid_current", 0, {}, INT8OID, TxidCurrent, VOLATILE},
};
#undef STABLE
#undef VOLATILE

constexpr std::string_view kUnsupportedFunctions[] = {"array_agg",
                                                      "avg",
                                                      "bit_and",
                                                      "bit_or",
                                                      "bool_and",
                                                      "bool_or",
                                                      "btrim",
                                                      "ceil",
                                                      "concat",
                                                      "concat_ws",
                                                      "current_setting",
                                                      "date_part",
                                                      "date_trunc",
                                                      "every",
                                                      "exp",
                                                      "extract",
                                                      "floor",
                                                      "format",
                                                      "generate_series",
                                                      "initcap",
                                                      "like_escape",
                                                      "ltrim",
                                                      "md5",
                                                      "nextval",
                                                      "overlay",
                                                      "pg_sleep",
                                                      "position",
                                                      "power",
                                                      "random",
                                                      "replace",
                                                      "reverse",
                                                      "round",
                                                      "row_number",
                                                      "rpad",
                                                      "rtrim",
                                                      "set_config",
                                                      "setseed",
                                                      "split_part",
                                                      "sqrt",
                                                      "stddev",
                                                      "string_agg",
                                                      "strpos",
                                                      "timezone",
                                                      "to_char",
                                                      "to_timestamp",
                                                      "translate",
                                                      "trunc",
                                                      "variance",
                                                      "version",
                                                      "pg_relation_size"};

}  // namespace

std::span<const Builtin> Operators() { return kOperators; }
std::span<const Builtin> Functions() { return kFunctions; }

bool IsUnsupportedFunction(std::string_view name) {
  return std::find(std::begin(kUnsupportedFunctions),
                   std::end(kUnsupportedFunctions),
                   name) != std::end(kUnsupportedFunctions);
}

}  // namespace engine
