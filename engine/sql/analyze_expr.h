// Expression analysis: Expr to ExprNode within one scope.
#ifndef MUSTH_ENGINE_SQL_ANALYZE_EXPR_H_
#define MUSTH_ENGINE_SQL_ANALYZE_EXPR_H_

#include <string>
#include <vector>

#include "engine/sql/analyze.h"
#include "engine/sql/coerce.h"

namespace engine {

// The one table (or function) whose columns an expression may name.
struct Scope {
  bool has_table = false;
  std::string refname;  // alias or name
  std::string table;    // the name, if an alias hides it
  TupleDesc columns;
  bool system_columns = false;
  // False where the columns may only be hinted at (VALUES of an INSERT).
  bool visible = true;
  // Filled in by analysis.
  size_t columns_needed = 0;
  bool system_columns_used = false;
};

// Where an expression stands; the construct's name in messages.
struct Place {
  const char* clause = nullptr;
  bool aggregates_allowed = false;
  bool columns_allowed = true;
};

class ExprAnalyzer {
 public:
  ExprAnalyzer(const AnalyzeContext& context, Scope* scope)
      : context_(context), scope_(scope) {}

  Result<ExprNode> Analyze(const Expr& e, const Place& place);
  // A boolean expression. Errors: 42804 "argument of %s must be type boolean".
  Result<ExprNode> AnalyzeCondition(const Expr& e, const Place& place);

  // Aggregate calls seen so far; kAggregate nodes index this.
  std::vector<AggregateCall>& aggregates() { return aggregates_; }

 private:
  Result<ExprNode> Transform(const Expr& e);
  Result<ExprNode> TransformConst(const Expr& e);
  Result<ExprNode> TransformColumn(const Expr& e);
  Result<ExprNode> TransformParam(const Expr& e);
  Result<ExprNode> TransformOp(const Expr& e);
  Result<ExprNode> TransformOperator(std::string_view name, const Expr& e);
  Result<ExprNode> TransformBool(const Expr& e);
  Result<ExprNode> TransformNullTest(const Expr& e);
  Result<ExprNode> TransformBetween(const Expr& e);
  Result<ExprNode> TransformIn(const Expr& e);
  Result<ExprNode> TransformDistinct(const Expr& e);
  Result<ExprNode> TransformCase(const Expr& e);
  Result<ExprNode> TransformCast(const Expr& e);
  Result<ExprNode> TransformFunction(const Expr& e);
  Result<ExprNode> TransformVariadic(const Expr& e);
  Result<ExprNode> TransformNullIf(const Expr& e);
  Result<ExprNode> TransformAggregate(const Expr& e);
  Status NoSuchAggregate(const Expr& e, bool star);
  Result<Oid> AggregateArgType(const Expr& e, AggregateKind kind,
                               const ExprNode& arg);
  Result<ExprNode> BinaryNode(const std::string& op, ExprNode left,
                              ExprNode right, int position);
  Result<ExprNode> BooleanArg(const Expr& e, const char* construct);
  Status UndefinedColumn(const Expr& e) const;
  Status WrongQualifier(const Expr& e) const;

  const AnalyzeContext& context_;
  Scope* scope_;
  Place place_;
  bool in_aggregate_ = false;
  int depth_ = 0;
  size_t transformed_ = 0;
  std::vector<AggregateCall> aggregates_;
};

// The name that a target without alias gets ("?column?" if nothing better).
std::string FigureColumnName(const Expr& e);

}  // namespace engine

#endif  // MUSTH_ENGINE_SQL_ANALYZE_EXPR_H_
