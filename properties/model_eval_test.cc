#include "properties/model_eval.h"

#include <gtest/gtest.h>

#include "properties/model_query.h"

namespace properties {
namespace {

using engine::Binary;
using engine::Call;
using engine::Column;
using engine::Expr;
using engine::IntConst;
using engine::NullConst;
using engine::StringConst;

const TableShape& Shape() {
  static const TableShape kShape = [] {
    TableShape shape;
    shape.name = "t";
    shape.columns = {{"id", kInt4Type, 4, 'i', -1, false},
                     {"big", kInt8Type, 8, 'd', -1, false},
                     {"name", kVarcharType, -1, 'i', 4 + 5, false},
                     {"pad", kBpcharType, -1, 'i', 4 + 4, false}};
    shape.not_null = {true, false, false, false};
    return shape;
  }();
  return kShape;
}

Row MakeRow() {
  return {IntValue(7), IntValue(int64_t{1} << 40), TextValue("ab"),
          TextValue("x   ")};
}

// The text of the value on MakeRow(), "null", or the SQLSTATE; "-" if it is
// not modelled.
std::string Eval(const Expr& e) {
  ExprCompiler compiler(&Shape(), "t");
  env::Result<ModelExpr> expr = compiler.Compile(e);
  env::Status status = expr.status();
  if (expr.ok()) {
    Row row = MakeRow();
    EvalRow at;
    at.row = &row;
    env::Result<Value> value = EvaluateValue(*expr, at);
    if (value.ok()) {
      uint32_t type = expr->type == kUnknownType ? kTextType : expr->type;
      return IsNull(*value) ? "null" : OutputText(type, *value);
    }
    status = value.status();
  }
  if (IsNotModelled(status)) return "-";
  return env::SqlStateToString(status.sqlstate());
}

std::string AssignTo(size_t column, const Expr& e) {
  ExprCompiler compiler(&Shape(), "t");
  env::Result<ModelExpr> expr = compiler.Assign(e, Shape().columns[column]);
  if (!expr.ok()) {
    return IsNotModelled(expr.status())
               ? "-"
               : env::SqlStateToString(expr.status().sqlstate());
  }
  Row row = MakeRow();
  EvalRow at;
  at.row = &row;
  env::Result<Value> value = EvaluateValue(*expr, at);
  if (!value.ok()) return env::SqlStateToString(value.status().sqlstate());
  return IsNull(*value) ? "null" : OutputText(expr->type, *value);
}

TEST(ModelEval, IntegersHaveTheRangeOfTheWiderOperand) {
  EXPECT_EQ(Eval(Binary("+", Column("id"), IntConst(2))), "9");
  EXPECT_EQ(Eval(Binary("+", Column("id"), IntConst(INT32_MAX))), "22003");
  EXPECT_EQ(Eval(Binary("+", Column("big"), IntConst(INT32_MAX))),
            "1101659111423");
  EXPECT_EQ(Eval(Binary("*", Column("big"), Column("big"))), "22003");
  EXPECT_EQ(Eval(Binary("/", IntConst(-7), IntConst(2))), "-3");
  EXPECT_EQ(Eval(Binary("%", IntConst(-7), IntConst(2))), "-1");
  EXPECT_EQ(Eval(Binary("/", Column("id"), IntConst(0))), "22012");
  EXPECT_EQ(Eval(Binary("+", Column("id"), StringConst(" 3 "))), "10");
  EXPECT_EQ(Eval(Binary("+", Column("id"), StringConst("x"))), "22P02");
}

TEST(ModelEval, LogicHasThreeValues) {
  Expr unknown = Binary("=", Column("id"), NullConst());
  Expr yes = Binary("=", Column("id"), IntConst(7));
  Expr no = Binary("<>", Column("id"), IntConst(7));
  EXPECT_EQ(Eval(unknown), "null");
  EXPECT_EQ(Eval(engine::And({unknown, no})), "f");
  EXPECT_EQ(Eval(engine::And({unknown, yes})), "null");
  EXPECT_EQ(Eval(engine::Or({unknown, yes})), "t");
  EXPECT_EQ(Eval(engine::Not(unknown)), "null");
  EXPECT_EQ(Eval(engine::IsNull(unknown)), "t");
  EXPECT_EQ(Eval(engine::In(Column("id"), {IntConst(1), NullConst()})), "null");
  EXPECT_EQ(Eval(engine::In(Column("id"), {NullConst(), IntConst(7)})), "t");
  Expr outside = engine::Between(Column("id"), IntConst(8), NullConst());
  EXPECT_EQ(Eval(outside), "f");
}

TEST(ModelEval, BlanksOfCharDoNotCount) {
  EXPECT_EQ(Eval(Binary("=", Column("pad"), StringConst("x"))), "t");
  EXPECT_EQ(Eval(Binary("||", Column("pad"), StringConst("y"))), "xy");
  EXPECT_EQ(Eval(Call("length", {Column("pad")})), "1");
  EXPECT_EQ(Eval(Binary("=", Column("name"), StringConst("ab "))), "f");
  EXPECT_EQ(Eval(Binary("||", Column("id"), Column("name"))), "7ab");
  EXPECT_EQ(Eval(Binary("||", StringConst("n"), Column("id"))), "n7");
  EXPECT_EQ(Eval(Binary("||", Column("id"), Column("big"))), "-");
}

TEST(ModelEval, FunctionsOfText) {
  EXPECT_EQ(Eval(Call("repeat", {StringConst("xy"), IntConst(3)})), "xyxyxy");
  EXPECT_EQ(
      Eval(Call("lpad", {StringConst("7"), IntConst(3), StringConst("ab")})),
      "ab7");
  EXPECT_EQ(
      Eval(Call("substr", {StringConst("häuser"), IntConst(2), IntConst(3)})),
      "äus");
  EXPECT_EQ(
      Eval(Call("substr", {StringConst("abc"), IntConst(-1), IntConst(3)})),
      "a");
  EXPECT_EQ(Eval(Call("right", {StringConst("abc"), IntConst(-1)})), "bc");
  EXPECT_EQ(Eval(Call("coalesce", {NullConst(), IntConst(4)})), "4");
  EXPECT_EQ(Eval(Call("greatest", {IntConst(1), NullConst(), IntConst(3)})),
            "3");
  EXPECT_EQ(Eval(Call("nullif", {Column("id"), IntConst(7)})), "null");
}

TEST(ModelEval, LikeMatchesCharacters) {
  auto like = [](const char* text, const char* pattern) {
    return Eval(Binary("~~", StringConst(text), StringConst(pattern)));
  };
  EXPECT_EQ(like("abc", "a%"), "t");
  EXPECT_EQ(like("abc", "%b%"), "t");
  EXPECT_EQ(like("abc", "_c"), "f");
  EXPECT_EQ(like("häu", "h_u"), "t");
  EXPECT_EQ(like("aab", "%ab"), "t");
  EXPECT_EQ(like("", "%"), "t");
  EXPECT_EQ(like("a%", "a\\%"), "t");
  EXPECT_EQ(like("ab", "a\\%"), "f");
  EXPECT_EQ(Eval(Binary("!~~", Column("name"), StringConst("a_"))), "f");
  EXPECT_EQ(Eval(Binary("~~", Column("pad"), StringConst("x   "))), "t");
}

TEST(ModelEval, AssignmentsFitTheColumn) {
  EXPECT_EQ(AssignTo(0, Column("big")), "22003");
  EXPECT_EQ(AssignTo(0, StringConst("99999999999")), "22003");
  EXPECT_EQ(AssignTo(2, StringConst("abcde   ")), "abcde");
  EXPECT_EQ(AssignTo(2, StringConst("abcdef")), "22001");
  EXPECT_EQ(AssignTo(3, StringConst("ä")), "ä   ");
  EXPECT_EQ(AssignTo(3, Column("name")), "ab  ");
  EXPECT_EQ(AssignTo(2, IntConst(12)), "12");
}

TEST(ModelEval, WhatIsNotKnownIsRefused) {
  EXPECT_EQ(Eval(Call("random", {})), "-");
  EXPECT_EQ(Eval(Column("xmin")), "-");
  EXPECT_EQ(Eval(Call("now", {})), "-");
  EXPECT_EQ(Eval(Binary("+", Column("name"), IntConst(1))), "-");
  // PostgreSQL evaluates it or not, as the planner likes.
  EXPECT_EQ(Eval(engine::Or({Binary("=", Column("id"), IntConst(7)),
                             Binary("=", Binary("/", IntConst(1), IntConst(0)),
                                    IntConst(1))})),
            "-");
}

ExpectedRows RowsOf(const engine::SelectStmt& select) {
  static const std::vector<Row> kRows = {
      {IntValue(1), IntValue(10), TextValue("b"), NullValue()},
      {IntValue(2), IntValue(10), TextValue("a"), NullValue()},
      {IntValue(3), NullValue(), TextValue("a"), NullValue()}};
  std::vector<const Row*> rows;
  for (const Row& row : kRows) rows.push_back(&row);
  env::Result<ModelQuery> query = CompileQuery(select, &Shape(), {});
  EXPECT_TRUE(query.ok()) << query.status().ToString();
  return std::move(RunQuery(*query, rows)).value();
}

engine::SelectStmt Select(std::vector<Expr> targets) {
  engine::SelectStmt select;
  select.from = engine::FromItem{};
  select.from->table = "t";
  for (Expr& e : targets) {
    select.targets.emplace_back();
    select.targets.back().expr = std::move(e);
  }
  return select;
}

TEST(ModelQuery, RowsThatSortEqualMayComeInAnyOrder) {
  engine::SelectStmt select = Select({Column("id")});
  select.order_by.push_back({Column("big"), true, std::nullopt});
  ExpectedRows rows = RowsOf(select);
  EXPECT_FALSE(FirstDifference(rows, {{"3"}, {"1"}, {"2"}}));
  EXPECT_FALSE(FirstDifference(rows, {{"3"}, {"2"}, {"1"}}));
  EXPECT_TRUE(FirstDifference(rows, {{"1"}, {"2"}, {"3"}}));
  EXPECT_TRUE(FirstDifference(rows, {{"3"}, {"2"}, {"2"}}));
  select.limit = IntConst(2);
  rows = RowsOf(select);
  EXPECT_FALSE(FirstDifference(rows, {{"3"}, {"2"}}));
  EXPECT_FALSE(FirstDifference(rows, {{"3"}, {"1"}}));
  EXPECT_TRUE(FirstDifference(rows, {{"2"}, {"1"}}));
  EXPECT_TRUE(FirstDifference(rows, {{"3"}}));
}

TEST(ModelQuery, GroupsAndAggregates) {
  engine::SelectStmt select =
      Select({Column("name"), Call("count", {engine::Star()}),
              Call("sum", {Column("big")}), Call("min", {Column("id")})});
  select.group_by.push_back(Column("name"));
  ExpectedRows rows = RowsOf(select);
  EXPECT_FALSE(
      FirstDifference(rows, {{"b", "1", "10", "1"}, {"a", "2", "10", "2"}}));
  EXPECT_TRUE(
      FirstDifference(rows, {{"b", "1", "10", "1"}, {"a", "2", "10", "3"}}));
  Expr distinct = Call("count", {Column("big")});
  distinct.distinct = true;
  EXPECT_FALSE(FirstDifference(RowsOf(Select({distinct})), {{"1"}}));
  engine::SelectStmt none = Select({Call("sum", {Column("id")})});
  none.where = Binary("=", Column("id"), IntConst(99));
  EXPECT_FALSE(FirstDifference(RowsOf(none), {{std::nullopt}}));
  EXPECT_TRUE(FirstDifference(RowsOf(none), {{"0"}}));
}

}  // namespace
}  // namespace properties
