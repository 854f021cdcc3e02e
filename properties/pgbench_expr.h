// PgbenchExpr: the integer expressions of \set.
//
//   expr    = term   { ("+" | "-") term }
//   term    = factor { ("*" | "/" | "%") factor }
//   factor  = "-" factor | "+" factor | integer | ":" name
//           | name "(" expr { "," expr } ")" | "(" expr ")"
//
// Division truncates towards zero, the remainder has the dividend's sign.
#ifndef MUSTH_PROPERTIES_PGBENCH_EXPR_H_
#define MUSTH_PROPERTIES_PGBENCH_EXPR_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/env/status.h"

namespace properties {

struct PgbenchExpr {
  enum class Kind : uint8_t { kConstant, kVariable, kCall };
  Kind kind = Kind::kConstant;
  int64_t value = 0;
  std::string name;  // of the variable, function or operator ("+")
  std::vector<PgbenchExpr> args;
};

// Errors: kInvalid, saying what was found and expected, without file and line.
env::Result<PgbenchExpr> ParsePgbenchExpr(std::string_view text);

// Fully parenthesised; parses back to an equal expression.
std::string ToText(const PgbenchExpr& expr);

// Where random() gets its values.
class PgbenchRandom {
 public:
  virtual ~PgbenchRandom() = default;
  // A value in [0, bound), or any word if bound is 0.
  virtual uint64_t Below(uint64_t bound) = 0;
};

// Errors: kInvalid: "division by zero", "bigint add out of range" and the
// like, "undefined variable \"x\"", "empty range given to random".
env::Result<int64_t> Evaluate(const PgbenchExpr& expr,
                              const std::map<std::string, int64_t>& variables,
                              PgbenchRandom* random);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_PGBENCH_EXPR_H_
