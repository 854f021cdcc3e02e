#include "engine/sql/types.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>

#include "engine/common/errcodes.h"

namespace engine {
namespace {

constexpr int32_t kVarHdrSz = 4;
constexpr int64_t kMaxAttrSize = 10 * 1024 * 1024;

bool IsSpace(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

std::string_view TrimSpace(std::string_view s) {
  while (!s.empty() && IsSpace(s.front())) s.remove_prefix(1);
  while (!s.empty() && IsSpace(s.back())) s.remove_suffix(1);
  return s;
}

Status InvalidSyntax(std::string_view type, std::string_view text) {
  return SqlError(ERRCODE_INVALID_TEXT_REPRESENTATION,
                  "invalid input syntax for type {}: \"{}\"", type, text);
}

Result<Datum> IntegerInput(std::string_view type, std::string_view text,
                           int64_t min, int64_t max) {
  std::string_view s = TrimSpace(text);
  bool negative = !s.empty() && s[0] == '-';
  if (!s.empty() && (s[0] == '-' || s[0] == '+')) s.remove_prefix(1);
  if (s.empty()) return InvalidSyntax(type, text);
  for (char c : s) {
    if (c < '0' || c > '9') return InvalidSyntax(type, text);
  }
  // Accumulated as a negative number, whose range is the larger one.
  int64_t value = 0;
  bool overflow = false;
  for (char c : s) {
    overflow = overflow || __builtin_mul_overflow(value, 10, &value) ||
               __builtin_sub_overflow(value, c - '0', &value);
  }
  if (!negative)
    overflow = overflow || __builtin_sub_overflow(0, value, &value);
  if (overflow || value < min || value > max) {
    return SqlError(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                    "value \"{}\" is out of range for type {}", text, type);
  }
  return Datum::Int(value);
}

// Any unambiguous prefix of true, false, yes, no; on, off; 1, 0.
Result<Datum> BoolInput(std::string_view text) {
  std::string s;
  for (char c : TrimSpace(text)) {
    s += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  auto prefix_of = [&s](std::string_view word, size_t least) {
    return s.size() >= least && word.substr(0, s.size()) == s;
  };
  if (prefix_of("true", 1) || prefix_of("yes", 1) || s == "on" || s == "1") {
    return Datum::Bool(true);
  }
  if (prefix_of("false", 1) || prefix_of("no", 1) || prefix_of("off", 2) ||
      s == "0") {
    return Datum::Bool(false);
  }
  return InvalidSyntax("boolean", text);
}

// {a,"b c",NULL}: the one-dimensional arrays of text that catalogs hold.
void TextArrayOutput(std::string_view array, std::string* out) {
  *out += '{';
  auto word = [&array](size_t at) {
    int32_t v = 0;
    if (at + 4 <= array.size()) std::memcpy(&v, array.data() + at, 4);
    return v;
  };
  int32_t n = word(0) == 1 ? word(12) : 0;
  size_t at = 20;
  for (int32_t i = 0; i < n; ++i) {
    at = (at + 3) & ~size_t{3};
    size_t length = static_cast<uint32_t>(word(at)) >> 2;
    if (length < 4 || at + length > array.size()) break;
    if (i > 0) *out += ',';
    *out += array.substr(at + 4, length - 4);
    at += length;
  }
  *out += '}';
}

}  // namespace

std::string FormatType(Oid oid, int32_t typmod) {
  const TypeInfo* type = FindType(oid);
  if (type == nullptr) return fmt::format("type {}", oid);
  if (typmod < 0 || !IsStringType(oid)) return type->sql_name;
  return fmt::format("{}({})", type->sql_name, typmod - kVarHdrSz);
}

Result<int32_t> TypeModIn(const TypeInfo& type,
                          const std::vector<int64_t>& typmods) {
  if (typmods.empty()) return -1;
  if (type.oid != VARCHAROID && type.oid != BPCHAROID) {
    if (type.oid == TIMESTAMPOID || type.oid == TIMESTAMPTZOID ||
        type.oid == NUMERICOID) {
      return SqlError(ERRCODE_FEATURE_NOT_SUPPORTED,
                      "precision of type {} is not supported", type.typname);
    }
    return SqlError(ERRCODE_SYNTAX_ERROR,
                    "type modifier is not allowed for type \"{}\"",
                    type.typname);
  }
  const char* name = type.oid == VARCHAROID ? "varchar" : "char";
  if (typmods.size() != 1) {
    return SqlError(ERRCODE_INVALID_PARAMETER_VALUE, "invalid type modifier");
  }
  if (typmods[0] < 1) {
    return SqlError(ERRCODE_INVALID_PARAMETER_VALUE,
                    "length for type {} must be at least 1", name);
  }
  if (typmods[0] > kMaxAttrSize) {
    return SqlError(ERRCODE_INVALID_PARAMETER_VALUE,
                    "length for type {} cannot exceed {}", name, kMaxAttrSize);
  }
  return static_cast<int32_t>(typmods[0]) + kVarHdrSz;
}

Result<Datum> TypeInput(Oid type, std::string_view text, Arena& arena) {
  switch (type) {
    case BOOLOID:
      return BoolInput(text);
    case INT2OID:
      return IntegerInput("smallint", text, INT16_MIN, INT16_MAX);
    case INT4OID:
      return IntegerInput("integer", text, INT32_MIN, INT32_MAX);
    case INT8OID:
      return IntegerInput("bigint", text, INT64_MIN, INT64_MAX);
    case OIDOID:
      return IntegerInput("oid", text, 0, UINT32_MAX);
    case XIDOID:
      return IntegerInput("xid", text, 0, UINT32_MAX);
    case CIDOID:
      return IntegerInput("cid", text, 0, UINT32_MAX);
    case CHAROID:
      return Datum::Int(text.empty() ? 0 : text[0]);
    case DATEOID:
      return DateInput(text);
    case TIMESTAMPOID:
      return TimestampInput(text, false);
    case TIMESTAMPTZOID:
      return TimestampInput(text, true);
    case NAMEOID: {
      size_t end = std::min(text.size(), NAMEDATALEN - 1);
      while (end < text.size() &&
             (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
        --end;  // cut before a character, not inside it
      }
      return Datum::Bytes(arena.Copy(text.substr(0, end)));
    }
    case TEXTOID:
    case VARCHAROID:
    case BPCHAROID:
    case UNKNOWNOID:
      return Datum::Bytes(arena.Copy(text));
    default:
      return SqlError(ERRCODE_FEATURE_NOT_SUPPORTED,
                      "input of type {} is not supported", FormatType(type));
  }
}

void TypeOutput(Oid type, const Datum& value, std::string* out) {
  switch (type) {
    case BOOLOID:
      *out += value.num != 0 ? 't' : 'f';
      return;
    case INT2OID:
    case INT4OID:
    case INT8OID:
      fmt::format_to(std::back_inserter(*out), "{}", value.num);
      return;
    case OIDOID:
    case XIDOID:
    case CIDOID:
      fmt::format_to(std::back_inserter(*out), "{}",
                     static_cast<uint32_t>(value.num));
      return;
    case CHAROID:
      if (value.num != 0) *out += static_cast<char>(value.num);
      return;
    case TIDOID:
      fmt::format_to(std::back_inserter(*out), "({},{})", value.num >> 16,
                     value.num & 0xFFFF);
      return;
    case FLOAT4OID:
      fmt::format_to(std::back_inserter(*out), "{:g}",
                     std::bit_cast<float>(static_cast<uint32_t>(value.num)));
      return;
    case DATEOID:
      DateOutput(value.num, out);
      return;
    case TIMESTAMPOID:
    case TIMESTAMPTZOID:
      TimestampOutput(value.num, type == TIMESTAMPTZOID, out);
      return;
    case TEXTARRAYOID:
      TextArrayOutput(value.bytes, out);
      return;
    default:
      *out += value.bytes;
      return;
  }
}

size_t CharLength(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(),
      [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string_view CharPrefix(std::string_view text, size_t n) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    bool starts = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (starts && n-- == 0) break;
  }
  return text.substr(0, at);
}

std::string_view TrimBlanks(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Result<Datum> ApplyTypeMod(Oid type, int32_t typmod, bool is_explicit,
                           const Datum& value, Arena& arena) {
  bool sized = type == VARCHAROID || type == BPCHAROID;
  if (value.isnull || typmod < kVarHdrSz || !sized) return value;
  size_t limit = static_cast<size_t>(typmod - kVarHdrSz);
  std::string_view text = value.bytes;
  // As many bytes as characters are allowed: short text needs no counting.
  size_t length = text.size() <= limit && type == VARCHAROID ? text.size()
                                                             : CharLength(text);
  if (length > limit) {
    std::string_view cut = CharPrefix(text, limit);
    bool blanks = TrimBlanks(text.substr(cut.size())).empty();
    if (!is_explicit && !blanks) {
      return SqlError(ERRCODE_STRING_DATA_RIGHT_TRUNCATION,
                      "value too long for type {}", FormatType(type, typmod));
    }
    return Datum::Bytes(cut);
  }
  if (type == VARCHAROID || length == limit) return value;
  size_t size = text.size() + (limit - length);
  char* padded = arena.Allocate(size);
  if (!text.empty()) std::memcpy(padded, text.data(), text.size());
  std::memset(padded + text.size(), ' ', size - text.size());
  return Datum::Bytes({padded, size});
}

int CompareDatums(Oid type, const Datum& a, const Datum& b) {
  switch (type) {
    case BPCHAROID:
      return TrimBlanks(a.bytes).compare(TrimBlanks(b.bytes));
    case TEXTOID:
    case VARCHAROID:
    case NAMEOID:
    case UNKNOWNOID:
      return a.bytes.compare(b.bytes);
    case OIDOID:
    case XIDOID:
    case CIDOID: {
      uint32_t x = static_cast<uint32_t>(a.num);
      uint32_t y = static_cast<uint32_t>(b.num);
      return x < y ? -1 : x > y ? 1 : 0;
    }
    case CHAROID: {
      uint8_t x = static_cast<uint8_t>(a.num);
      uint8_t y = static_cast<uint8_t>(b.num);
      return x < y ? -1 : x > y ? 1 : 0;
    }
    case NUMERICOID: {  // integers in decimal, without leading zeros
      bool a_minus = !a.bytes.empty() && a.bytes[0] == '-';
      bool b_minus = !b.bytes.empty() && b.bytes[0] == '-';
      if (a_minus != b_minus) return a_minus ? -1 : 1;
      int order = a.bytes.size() != b.bytes.size()
                      ? (a.bytes.size() < b.bytes.size() ? -1 : 1)
                      : a.bytes.compare(b.bytes);
      return a_minus ? -order : order;
    }
    default:
      return a.num < b.num ? -1 : a.num > b.num ? 1 : 0;
  }
}

bool HasOrder(Oid type) {
  switch (type) {
    case XIDOID:
    case CIDOID:
    case FLOAT4OID:
    case TEXTARRAYOID:
    case ACLITEMARRAYOID:
    case PG_NODE_TREEOID:
    case ANYARRAYOID:
      return false;
    default:
      return true;
  }
}

}  // namespace engine
