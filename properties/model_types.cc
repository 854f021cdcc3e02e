#include "properties/model_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace properties {
namespace {

using env::Code;
using env::Status;

struct TypeLayout {
  const char* name;
  uint32_t type;
  int16_t length;
  char align;
};
constexpr TypeLayout kLayouts[] = {
    {"bool", kBoolType, 1, 'c'},
    {"int2", kInt2Type, 2, 's'},
    {"int4", kInt4Type, 4, 'i'},
    {"int8", kInt8Type, 8, 'd'},
    {"oid", kOidType, 4, 'i'},
    {"text", kTextType, -1, 'i'},
    {"varchar", kVarcharType, -1, 'i'},
    {"bpchar", kBpcharType, -1, 'i'},
    {"date", kDateType, 4, 'i'},
    {"timestamp", kTimestampType, 8, 'd'},
    {"timestamptz", kTimestamptzType, 8, 'd'},
};

// A typmod counts the varlena header's four bytes too.
constexpr int32_t kTypmodExtra = 4;

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\r\v\f";
  size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  size_t last = text.find_last_not_of(kSpace);
  return text.substr(first, last - first + 1);
}

env::Result<Value> ParseInteger(uint32_t type, std::string_view text) {
  std::string_view digits = Trim(text);
  if (!digits.empty() && digits[0] == '+') digits.remove_prefix(1);
  int64_t number = 0;
  auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc::result_out_of_range) {
    return Status::Sql(kNumericValueOutOfRange,
                       fmt::format("value \"{}\" is out of range for type {}",
                                   text, IntegerName(type)));
  }
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return Status::Sql(kInvalidTextRepresentation,
                       fmt::format("invalid input syntax for type {}: \"{}\"",
                                   IntegerName(type), text));
  }
  if (!CheckIntegerRange(type, number).ok()) {
    return Status::Sql(kNumericValueOutOfRange,
                       fmt::format("value \"{}\" is out of range for type {}",
                                   text, IntegerName(type)));
  }
  return IntValue(number);
}

}  // namespace

Status NotModelled(std::string why) {
  return Status(Code::kInvalid, std::move(why));
}
bool IsNotModelled(const Status& status) {
  return status.code() == Code::kInvalid;
}

uint32_t WiderInteger(uint32_t a, uint32_t b) {
  if (a == kInt8Type || b == kInt8Type) return kInt8Type;
  if (a == kInt4Type || b == kInt4Type) return kInt4Type;
  return kInt2Type;
}

std::optional<ColumnShape> ShapeOfColumn(const engine::ColumnDef& def) {
  for (const TypeLayout& layout : kLayouts) {
    if (def.type.name != layout.name) continue;
    ColumnShape shape;
    shape.name = def.name;
    shape.type = layout.type;
    shape.length = layout.length;
    shape.align = layout.align;
    if (!def.type.typmods.empty()) {
      if (!IsText(layout.type)) return std::nullopt;
      shape.typmod = static_cast<int32_t>(def.type.typmods[0]) + kTypmodExtra;
    }
    return shape;
  }
  return std::nullopt;
}

Value NullValue() { return Value(); }
Value IntValue(int64_t number) {
  Value v;
  v.form = ValueForm::kNumber;
  v.number = number;
  return v;
}
Value TextValue(std::string bytes) {
  Value v;
  v.form = ValueForm::kBytes;
  v.bytes = std::move(bytes);
  return v;
}

const char* IntegerName(uint32_t type) {
  return type == kInt2Type   ? "smallint"
         : type == kInt4Type ? "integer"
                             : "bigint";
}

Status CheckIntegerRange(uint32_t type, int64_t value) {
  bool fits = type == kInt2Type   ? value >= INT16_MIN && value <= INT16_MAX
              : type == kInt4Type ? value >= INT32_MIN && value <= INT32_MAX
                                  : true;
  if (fits) return {};
  return Status::Sql(kNumericValueOutOfRange,
                     fmt::format("{} out of range", IntegerName(type)));
}

env::Result<Value> ParseLiteral(uint32_t type, std::string_view text) {
  if (IsInteger(type)) return ParseInteger(type, text);
  if (IsText(type)) return TextValue(std::string(text));
  if (type == kBoolType) {
    for (std::string_view yes : {"t", "true", "on", "yes", "1"}) {
      if (text == yes) return IntValue(1);
    }
    for (std::string_view no : {"f", "false", "off", "no", "0"}) {
      if (text == no) return IntValue(0);
    }
  }
  return NotModelled("a literal of this type");
}

size_t CountChars(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(),
      [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string_view FirstChars(std::string_view text, size_t n) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    bool starts = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (starts && n-- == 0) break;
  }
  return text.substr(0, at);
}

std::string_view WithoutTrailingBlanks(std::string_view text) {
  size_t end = text.find_last_not_of(' ');
  return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

env::Result<std::string> FitText(uint32_t type, int32_t typmod,
                                 std::string_view text) {
  if (typmod < kTypmodExtra) return std::string(text);
  auto limit = static_cast<size_t>(typmod - kTypmodExtra);
  size_t chars = CountChars(text);
  if (chars > limit) {
    std::string_view kept = FirstChars(text, limit);
    if (text.find_first_not_of(' ', kept.size()) != std::string_view::npos) {
      return Status::Sql(
          kStringDataRightTruncation,
          fmt::format("value too long for type {}({})",
                      type == kBpcharType ? "character" : "character varying",
                      limit));
    }
    return std::string(kept);
  }
  std::string fitted(text);
  if (type == kBpcharType) fitted.append(limit - chars, ' ');
  return fitted;
}

int CompareValues(uint32_t type, const Value& a, const Value& b) {
  if (a.form == ValueForm::kNumber) {
    if (type == kOidType) {
      auto x = static_cast<uint32_t>(a.number);
      auto y = static_cast<uint32_t>(b.number);
      return x < y ? -1 : x > y ? 1 : 0;
    }
    return a.number < b.number ? -1 : a.number > b.number ? 1 : 0;
  }
  int order =
      type == kBpcharType
          ? WithoutTrailingBlanks(a.bytes).compare(
                WithoutTrailingBlanks(b.bytes))
          : std::string_view(a.bytes).compare(std::string_view(b.bytes));
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

bool IsComparable(uint32_t type) {
  switch (type) {
    case kBoolType:
    case kOidType:
    case kDateType:
    case kTimestampType:
    case kTimestamptzType:
      return true;
    default:
      return IsInteger(type) || IsText(type);
  }
}

std::string OutputText(uint32_t type, const Value& value) {
  if (type == kNumericType) return value.bytes;
  ColumnShape shape;
  shape.type = type;
  return ValueToText(shape, value);
}

bool HasOutput(uint32_t type) {
  return type == kBoolType || type == kOidType || type == kTimestampType ||
         type == kNumericType || IsInteger(type) || IsText(type);
}

}  // namespace properties
