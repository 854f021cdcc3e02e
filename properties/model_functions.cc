#include "properties/model_functions.h"

#include <algorithm>
#include <string>

namespace properties {
namespace {

using env::Result;
using env::Status;

// More text than any run writes.
constexpr int64_t kLongestText = 1 << 20;

enum Number : uint8_t {
  kAbs,
  kMod,
  kLength,
  kBpcharLength,
  kOctetLength,
  kLower,
  kUpper,
  kRepeat,
  kSubstr2,
  kSubstr3,
  kLeft,
  kRight,
  kLpad2,
  kLpad3,
  kFunctions,
};

const std::vector<ModelFunction>& Table() {
  static const std::vector<ModelFunction> kTable = {
      {"abs", {kInt8Type}, kInt8Type},
      {"mod", {kInt8Type, kInt8Type}, kInt8Type},
      {"length", {kTextType}, kInt4Type},
      {"length", {kBpcharType}, kInt4Type},
      {"octet_length", {kTextType}, kInt4Type},
      {"lower", {kTextType}, kTextType},
      {"upper", {kTextType}, kTextType},
      {"repeat", {kTextType, kInt4Type}, kTextType},
      {"substr", {kTextType, kInt4Type}, kTextType},
      {"substr", {kTextType, kInt4Type, kInt4Type}, kTextType},
      {"left", {kTextType, kInt4Type}, kTextType},
      {"right", {kTextType, kInt4Type}, kTextType},
      {"lpad", {kTextType, kInt4Type}, kTextType},
      {"lpad", {kTextType, kInt4Type, kTextType}, kTextType},
  };
  return kTable;
}

bool Accepts(uint32_t want, uint32_t type) {
  switch (want) {
    case kInt8Type:
      return IsInteger(type);
    case kInt4Type:
      return type == kInt4Type || type == kInt2Type;
    case kTextType:
      return IsPlainText(type) || type == kUnknownType;
    default:
      return want == type;
  }
}

// Text without its first n characters.
std::string_view AfterChars(std::string_view text, int64_t n) {
  if (n <= 0) return text;
  return text.substr(FirstChars(text, static_cast<size_t>(n)).size());
}

Result<Value> Substr(std::string_view text, int64_t start, int64_t length) {
  if (length < 0) {
    return Status::Sql(kSubstringError,
                       "negative substring length not allowed");
  }
  int64_t end = start + length;  // 1-based, exclusive
  int64_t from = std::max<int64_t>(start, 1);
  if (end <= from) return TextValue("");
  std::string_view rest = AfterChars(text, from - 1);
  return TextValue(
      std::string(FirstChars(rest, static_cast<size_t>(end - from))));
}

Result<Value> Lpad(std::string_view text, int64_t want, std::string_view fill) {
  if (want > kLongestText) return NotModelled("lpad of so many characters");
  auto chars = static_cast<int64_t>(CountChars(text));
  int64_t length = std::max<int64_t>(want, 0);
  if (chars >= length || fill.empty()) {
    return TextValue(
        std::string(FirstChars(text, static_cast<size_t>(length))));
  }
  std::string out;
  auto missing = static_cast<size_t>(length - chars);
  size_t fill_chars = CountChars(fill);
  for (; missing >= fill_chars; missing -= fill_chars) out += fill;
  out += FirstChars(fill, missing);
  out += text;
  return TextValue(std::move(out));
}

std::string MapCase(std::string text, char first, char last, int shift) {
  for (char& c : text) {
    if (c >= first && c <= last) c = static_cast<char>(c + shift);
  }
  return text;
}

Result<Value> LeftOrRight(bool left, std::string_view text, int64_t n) {
  auto chars = static_cast<int64_t>(CountChars(text));
  int64_t kept = n >= 0 ? std::min(n, chars) : std::max<int64_t>(0, chars + n);
  if (left)
    return TextValue(std::string(FirstChars(text, static_cast<size_t>(kept))));
  return TextValue(std::string(AfterChars(text, chars - kept)));
}

Result<Value> IntegerFunction(uint8_t number, uint32_t type,
                              const std::vector<Value>& args) {
  int64_t x = args[0].number;
  if (number == kMod) {
    if (args[1].number == 0) {
      return Status::Sql(kDivisionByZero, "division by zero");
    }
    return IntValue(args[1].number == -1 ? 0 : x % args[1].number);
  }
  if (x == INT64_MIN) {
    return Status::Sql(kNumericValueOutOfRange, "bigint out of range");
  }
  x = x < 0 ? -x : x;
  RETURN_IF_ERROR(CheckIntegerRange(type, x));
  return IntValue(x);
}

}  // namespace

std::optional<uint8_t> FindModelFunction(std::string_view name,
                                         const std::vector<uint32_t>& types) {
  if (name == "char_length" || name == "character_length") name = "length";
  if (name == "substring") name = "substr";
  const std::vector<ModelFunction>& table = Table();
  for (size_t i = 0; i < table.size(); ++i) {
    if (name != table[i].name || types.size() != table[i].args.size()) continue;
    bool fits = std::equal(
        types.begin(), types.end(), table[i].args.begin(),
        [](uint32_t have, uint32_t want) { return Accepts(want, have); });
    if (fits) return static_cast<uint8_t>(i);
  }
  return std::nullopt;
}

const ModelFunction& ModelFunctionAt(uint8_t number) { return Table()[number]; }

Result<Value> CallModelFunction(uint8_t number, uint32_t result_type,
                                const std::vector<Value>& args) {
  if (number == kAbs || number == kMod) {
    return IntegerFunction(number, result_type, args);
  }
  const std::string& text = args[0].bytes;
  int64_t n = args.size() > 1 ? args[1].number : 0;
  switch (number) {
    case kLength:
      return IntValue(static_cast<int64_t>(CountChars(text)));
    case kBpcharLength:
      return IntValue(
          static_cast<int64_t>(CountChars(WithoutTrailingBlanks(text))));
    case kOctetLength:
      return IntValue(static_cast<int64_t>(text.size()));
    case kLower:
      return TextValue(MapCase(text, 'A', 'Z', 'a' - 'A'));
    case kUpper:
      return TextValue(MapCase(text, 'a', 'z', 'A' - 'a'));
    case kRepeat: {
      int64_t times = std::max<int64_t>(n, 0);
      if (times * static_cast<int64_t>(text.size()) > kLongestText) {
        return NotModelled("repeat of so many characters");
      }
      std::string out;
      for (int64_t i = 0; i < times; ++i) out += text;
      return TextValue(std::move(out));
    }
    case kSubstr2: {
      return TextValue(std::string(AfterChars(text, n - 1)));
    }
    case kSubstr3:
      return Substr(text, n, args[2].number);
    case kLeft:
    case kRight:
      return LeftOrRight(number == kLeft, text, n);
    case kLpad2:
      return Lpad(text, n, " ");
    default:
      return Lpad(text, n, args[2].bytes);
  }
}

// By the definition: % is nothing, or one character and % again.
Result<bool> MatchesLike(std::string_view text, std::string_view pattern) {
  // matches[i]: the first i characters of the text match the pattern so far.
  std::vector<std::string_view> chars;
  for (std::string_view rest = text; !rest.empty();) {
    chars.push_back(FirstChars(rest, 1));
    rest.remove_prefix(chars.back().size());
  }
  std::vector<bool> matches(chars.size() + 1, false);
  matches[0] = true;
  while (!pattern.empty()) {
    std::string_view want = FirstChars(pattern, 1);
    pattern.remove_prefix(want.size());
    bool literal = want == "\\";
    if (literal) {
      if (pattern.empty()) return NotModelled("a pattern that ends in \\");
      want = FirstChars(pattern, 1);
      pattern.remove_prefix(want.size());
    }
    if (!literal && want == "%") {
      for (size_t i = 1; i < matches.size(); ++i) {
        matches[i] = matches[i] || matches[i - 1];
      }
      continue;
    }
    bool any = !literal && want == "_";
    for (size_t i = matches.size() - 1; i > 0; --i) {
      matches[i] = matches[i - 1] && (any || chars[i - 1] == want);
    }
    matches[0] = false;
  }
  return static_cast<bool>(matches.back());
}

bool IsTimeFunction(std::string_view name) {
  for (const char* time :
       {"now", "transaction_timestamp", "current_timestamp", "localtimestamp",
        "current_date", "clock_timestamp", "statement_timestamp"}) {
    if (name == time) return true;
  }
  return false;
}

}  // namespace properties
