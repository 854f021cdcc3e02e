// \set expressions: the parser against its printer, the evaluator against
// arithmetic in 128 bits; the lexer against pieces that were put together.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "properties/pgbench.h"
#include "properties/pgbench_expr.h"

namespace properties {
namespace {

PgbenchExpr Leaf(int64_t v) {
  PgbenchExpr e;
  e.value = v;
  return e;
}

rc::Gen<PgbenchExpr> Exprs(int depth) {
  auto constants = rc::gen::map(
      rc::gen::weightedOneOf<int64_t>({{4, rc::gen::inRange<int64_t>(0, 20)},
                                       {1, rc::gen::positive<int64_t>()}}),
      Leaf);
  auto variables = rc::gen::map(rc::gen::element<std::string>("x", "y_1"),
                                [](const std::string& name) {
                                  PgbenchExpr e;
                                  e.kind = PgbenchExpr::Kind::kVariable;
                                  e.name = name;
                                  return e;
                                });
  if (depth == 0) return rc::gen::oneOf(constants, variables);
  auto calls = rc::gen::mapcat(
      rc::gen::element<std::string>("+", "-", "*", "/", "%", "abs", "least",
                                    "greatest", "int"),
      [depth](const std::string& name) {
        size_t n = name == "abs" || name == "int" ? 1 : 2;
        return rc::gen::map(
            rc::gen::container<std::vector<PgbenchExpr>>(n, Exprs(depth - 1)),
            [name](std::vector<PgbenchExpr> args) {
              PgbenchExpr e;
              e.kind = PgbenchExpr::Kind::kCall;
              e.name = name;
              e.args = std::move(args);
              return e;
            });
      });
  return rc::gen::weightedOneOf<PgbenchExpr>(
      {{1, constants}, {1, variables}, {3, calls}});
}

// Nothing where pgbench reports an error.
std::optional<__int128> Reference(const PgbenchExpr& e, int64_t x, int64_t y) {
  if (e.kind == PgbenchExpr::Kind::kConstant) return e.value;
  if (e.kind == PgbenchExpr::Kind::kVariable) return e.name == "x" ? x : y;
  std::vector<__int128> a;
  for (const PgbenchExpr& arg : e.args) {
    std::optional<__int128> v = Reference(arg, x, y);
    if (!v) return std::nullopt;
    a.push_back(*v);
  }
  __int128 r = 0;
  if (e.name == "+") r = a[0] + a[1];
  if (e.name == "-") r = a[0] - a[1];
  if (e.name == "*") r = a[0] * a[1];
  if (e.name == "abs") r = a[0] < 0 ? -a[0] : a[0];
  if (e.name == "int") r = a[0];
  if (e.name == "least") r = std::min(a[0], a[1]);
  if (e.name == "greatest") r = std::max(a[0], a[1]);
  if (e.name == "/" || e.name == "%") {
    if (a[1] == 0) return std::nullopt;
    r = e.name == "/" ? a[0] / a[1] : a[0] % a[1];
  }
  if (r > INT64_MAX || r < INT64_MIN) return std::nullopt;
  return r;
}

RC_GTEST_PROP(PgbenchExprProperty, PrintedExpressionsParseBackAndCompute,
              (int64_t x, int8_t y)) {
  PgbenchExpr e = *Exprs(4);
  std::string text = ToText(e);
  env::Result<PgbenchExpr> parsed = ParsePgbenchExpr(text);
  RC_ASSERT(parsed.ok());
  RC_ASSERT(ToText(*parsed) == text);
  env::Result<int64_t> value =
      Evaluate(*parsed, {{"x", x}, {"y_1", y}}, nullptr);
  std::optional<__int128> reference = Reference(e, x, y);
  RC_ASSERT(value.ok() == reference.has_value());
  if (value.ok()) RC_ASSERT(*value == static_cast<int64_t>(*reference));
}

RC_GTEST_PROP(PgbenchExprProperty, AnyTextIsParsedOrRefused,
              (const std::string& text)) {
  env::Result<PgbenchExpr> parsed = ParsePgbenchExpr(text);
  if (parsed.ok()) RC_ASSERT(ParsePgbenchExpr(ToText(*parsed)).ok());
}

RC_GTEST_PROP(PgbenchLexerProperty, StatementsComeOutAsTheyWentIn, ()) {
  // No piece ends a statement by itself, whatever stands next to it.
  auto pieces = rc::gen::element<std::string>(
      "SELECT", "1", "';'", "\";\"", "(;)", "'it''s'", "$$;$$", "$t$ ; $t$",
      "a.b", "::int", "E'\\';'", ":x", "=");
  auto statements = *rc::gen::container<std::vector<std::vector<std::string>>>(
      rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(pieces)));
  std::string text;
  std::vector<std::string> expected;
  for (const auto& statement : statements) {
    std::string sql;
    for (const std::string& piece : statement) {
      if (!sql.empty()) sql += " ";
      sql += piece;
    }
    expected.push_back(sql);
    text += *rc::gen::element<std::string>("", " ", "\n", "-- c;\n", "/*;*/");
    text += sql + *rc::gen::element<std::string>(";", " ;", "\n;", ";;");
  }
  env::Result<PgbenchScript> script = ParsePgbenchScript("f", text);
  RC_ASSERT(script.ok());
  std::vector<std::string> found;
  for (const PgbenchCommand& c : script->commands) found.push_back(c.text);
  RC_ASSERT(found == expected);
}

}  // namespace
}  // namespace properties
