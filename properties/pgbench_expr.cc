#include "properties/pgbench_expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace properties {
namespace {

using env::Code;
using env::Result;
using env::Status;

// Deeper nesting is refused rather than risking the stack.
constexpr int kMaxDepth = 200;

Status Invalid(std::string message) {
  return Status(Code::kInvalid, std::move(message));
}

struct FunctionInfo {
  std::string_view name;
  std::string_view meaning;  // the name under which it is evaluated
  int min_args;
  int max_args;  // -1: any number
};
constexpr FunctionInfo kFunctions[] = {
    {"random", "random", 2, 2}, {"abs", "abs", 1, 1},
    {"mod", "%", 2, 2},         {"int", "int", 1, 1},
    {"least", "least", 1, -1},  {"greatest", "greatest", 1, -1},
    {"min", "least", 1, -1},    {"max", "greatest", 1, -1},
};
// What pgbench has and this interpreter has not.
constexpr std::string_view kUnsupported[] = {"debug",
                                             "double",
                                             "exp",
                                             "hash",
                                             "hash_fnv1a",
                                             "hash_murmur2",
                                             "ln",
                                             "permute",
                                             "pi",
                                             "pow",
                                             "power",
                                             "random_exponential",
                                             "sqrt",
                                             "random_gaussian",
                                             "random_zipfian",
                                             "now",
                                             "is",
                                             "case",
                                             "not",
                                             "and",
                                             "or",
                                             "null",
                                             "true",
                                             "false"};

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

PgbenchExpr MakeCall(std::string name, std::vector<PgbenchExpr> args) {
  PgbenchExpr e;
  e.kind = PgbenchExpr::Kind::kCall;
  e.name = std::move(name);
  e.args = std::move(args);
  return e;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<PgbenchExpr> ParseAll() {
    ASSIGN_OR_RETURN(PgbenchExpr e, ParseSum(0));
    SkipSpace();
    if (at_ < text_.size()) {
      return Invalid(
          fmt::format("found {}, expected an operator or the end of "
                      "the line",
                      Found()));
    }
    return e;
  }

 private:
  static bool IsNameChar(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  }
  void SkipSpace() {
    while (at_ < text_.size() &&
           std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
      ++at_;
    }
  }
  char Peek() {
    SkipSpace();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  // What stands at the current position, for messages.
  std::string Found() {
    SkipSpace();
    if (at_ >= text_.size()) return "the end of the line";
    size_t end = at_;
    while (end < text_.size() && IsNameChar(text_[end])) ++end;
    if (end == at_) ++end;
    return fmt::format("\"{}\"", text_.substr(at_, end - at_));
  }
  std::string_view TakeName() {
    size_t begin = at_;
    while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  Result<PgbenchExpr> ParseSum(int depth) {
    if (depth > kMaxDepth) return Invalid("expression nested too deeply");
    ASSIGN_OR_RETURN(PgbenchExpr left, ParseTerm(depth + 1));
    for (char c = Peek(); c == '+' || c == '-'; c = Peek()) {
      ++at_;
      ASSIGN_OR_RETURN(PgbenchExpr right, ParseTerm(depth + 1));
      std::vector<PgbenchExpr> args;
      args.push_back(std::move(left));
      args.push_back(std::move(right));
      left = MakeCall(std::string(1, c), std::move(args));
    }
    return left;
  }

  Result<PgbenchExpr> ParseTerm(int depth) {
    ASSIGN_OR_RETURN(PgbenchExpr left, ParseFactor(depth + 1));
    for (char c = Peek(); c == '*' || c == '/' || c == '%'; c = Peek()) {
      ++at_;
      ASSIGN_OR_RETURN(PgbenchExpr right, ParseFactor(depth + 1));
      std::vector<PgbenchExpr> args;
      args.push_back(std::move(left));
      args.push_back(std::move(right));
      left = MakeCall(std::string(1, c), std::move(args));
    }
    return left;
  }

  Result<PgbenchExpr> ParseFactor(int depth) {
    if (depth > kMaxDepth) return Invalid("expression nested too deeply");
    char c = Peek();
    if (c == '-' || c == '+') {
      ++at_;
      ASSIGN_OR_RETURN(PgbenchExpr operand, ParseFactor(depth + 1));
      if (c == '+') return operand;
      std::vector<PgbenchExpr> args(2);  // 0 - operand
      args[1] = std::move(operand);
      return MakeCall("-", std::move(args));
    }
    if (c == '(') {
      ++at_;
      ASSIGN_OR_RETURN(PgbenchExpr inner, ParseSum(depth + 1));
      RETURN_IF_ERROR(Expect(')'));
      return inner;
    }
    if (c == ':') return ParseVariable();
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') {
      return ParseNumber();
    }
    if (IsNameChar(c)) return ParseCall(depth);
    return Invalid(
        fmt::format("found {}, expected a number, a :variable, a "
                    "function or \"(\"",
                    Found()));
  }

  Status Expect(char wanted) {
    if (Peek() != wanted) {
      return Invalid(fmt::format("found {}, expected \"{}\"", Found(), wanted));
    }
    ++at_;
    return {};
  }

  Result<PgbenchExpr> ParseVariable() {
    ++at_;
    PgbenchExpr e;
    e.kind = PgbenchExpr::Kind::kVariable;
    e.name = std::string(TakeName());
    if (e.name.empty()) {
      return Invalid(
          fmt::format("found {}, expected a variable's name behind "
                      "\":\"",
                      Found()));
    }
    return e;
  }

  Result<PgbenchExpr> ParseNumber() {
    size_t begin = at_;
    TakeName();
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      TakeName();
    }
    std::string_view digits = text_.substr(begin, at_ - begin);
    if (digits.find_first_not_of("0123456789") != std::string_view::npos) {
      return Invalid(
          fmt::format("found \"{}\", expected an integer (double "
                      "constants are not supported)",
                      digits));
    }
    PgbenchExpr e;
    for (char d : digits) {
      if (__builtin_mul_overflow(e.value, 10, &e.value) ||
          __builtin_add_overflow(e.value, d - '0', &e.value)) {
        return Invalid(
            fmt::format("\"{}\" is out of range for type bigint", digits));
      }
    }
    return e;
  }

  Result<PgbenchExpr> ParseCall(int depth) {
    std::string name = Lower(TakeName());
    for (std::string_view other : kUnsupported) {
      if (name == other) {
        return Invalid(fmt::format("\"{}\" is not supported in \\set", name));
      }
    }
    const FunctionInfo* info = nullptr;
    for (const FunctionInfo& f : kFunctions) {
      if (f.name == name) info = &f;
    }
    if (info == nullptr) {
      return Invalid(
          fmt::format("unexpected function name \"{}\", expected "
                      "random, abs, mod, int, least or greatest",
                      name));
    }
    RETURN_IF_ERROR(Expect('('));
    std::vector<PgbenchExpr> args;
    while (Peek() != ')') {
      if (!args.empty()) RETURN_IF_ERROR(Expect(','));
      ASSIGN_OR_RETURN(PgbenchExpr arg, ParseSum(depth + 1));
      args.push_back(std::move(arg));
    }
    ++at_;
    auto count = static_cast<int>(args.size());
    if (count < info->min_args ||
        (info->max_args >= 0 && count > info->max_args)) {
      return Invalid(fmt::format(
          "unexpected number of arguments ({}) for "
          "function \"{}\", expected {}{}",
          count, name, info->min_args, info->max_args < 0 ? " or more" : ""));
    }
    return MakeCall(std::string(info->meaning), std::move(args));
  }

  std::string_view text_;
  size_t at_ = 0;
};

Result<int64_t> Arithmetic(char op, int64_t a, int64_t b) {
  int64_t out = 0;
  switch (op) {
    case '+':
      if (!__builtin_add_overflow(a, b, &out)) return out;
      return Invalid("bigint add out of range");
    case '-':
      if (!__builtin_sub_overflow(a, b, &out)) return out;
      return Invalid("bigint sub out of range");
    case '*':
      if (!__builtin_mul_overflow(a, b, &out)) return out;
      return Invalid("bigint mul out of range");
    default:
      break;
  }
  if (b == 0) return Invalid("division by zero");
  if (op == '%') return b == -1 ? 0 : a % b;
  if (b != -1) return a / b;
  if (a == INT64_MIN) return Invalid("bigint div out of range");
  return -a;
}

Result<int64_t> DrawRandom(int64_t low, int64_t high, PgbenchRandom* random) {
  if (low > high) return Invalid("empty range given to random");
  int64_t width = 0;
  if (__builtin_sub_overflow(high, low, &width) || width == INT64_MAX) {
    return Invalid("random range is too large");
  }
  uint64_t drawn = random->Below(static_cast<uint64_t>(width) + 1);
  return low + static_cast<int64_t>(drawn);
}

Result<int64_t> Call(const std::string& name, const std::vector<int64_t>& args,
                     PgbenchRandom* random) {
  if (name == "random") return DrawRandom(args[0], args[1], random);
  if (name == "int") return args[0];
  if (name == "least") return *std::min_element(args.begin(), args.end());
  if (name == "greatest") return *std::max_element(args.begin(), args.end());
  if (name == "abs") {
    if (args[0] == INT64_MIN) return Invalid("bigint abs out of range");
    return args[0] < 0 ? -args[0] : args[0];
  }
  return Arithmetic(name[0], args[0], args[1]);
}

}  // namespace

Result<PgbenchExpr> ParsePgbenchExpr(std::string_view text) {
  return Parser(text).ParseAll();
}

std::string ToText(const PgbenchExpr& expr) {
  switch (expr.kind) {
    case PgbenchExpr::Kind::kConstant:
      return fmt::format("{}", expr.value);
    case PgbenchExpr::Kind::kVariable:
      return ":" + expr.name;
    case PgbenchExpr::Kind::kCall:
      break;
  }
  if (std::isalpha(static_cast<unsigned char>(expr.name[0])) == 0) {
    return fmt::format("({} {} {})", ToText(expr.args[0]), expr.name,
                       ToText(expr.args[1]));
  }
  std::string out = expr.name + "(";
  for (size_t i = 0; i < expr.args.size(); ++i) {
    if (i > 0) out += ", ";
    out += ToText(expr.args[i]);
  }
  return out + ")";
}

Result<int64_t> Evaluate(const PgbenchExpr& expr,
                         const std::map<std::string, int64_t>& variables,
                         PgbenchRandom* random) {
  switch (expr.kind) {
    case PgbenchExpr::Kind::kConstant:
      return expr.value;
    case PgbenchExpr::Kind::kVariable: {
      auto it = variables.find(expr.name);
      if (it != variables.end()) return it->second;
      return Invalid(fmt::format("undefined variable \"{}\"", expr.name));
    }
    case PgbenchExpr::Kind::kCall:
      break;
  }
  std::vector<int64_t> args;
  for (const PgbenchExpr& arg : expr.args) {
    ASSIGN_OR_RETURN(int64_t value, Evaluate(arg, variables, random));
    args.push_back(value);
  }
  return Call(expr.name, args, random);
}

}  // namespace properties
