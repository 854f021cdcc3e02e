// ModelExpr: SQL expressions as the reference model evaluates them.
//
//   engine::Expr (names, as written) ──ExprCompiler──► ModelExpr (types,
//   columns)
//                                                         │ Evaluate(row)
//                                                         ▼
//                                                       Value
//
// The rules are PostgreSQL's, written again: types of operators, three-valued
// logic, overflow, assignment casts. Only the statement structures are shared
// with the engine. What the model does not know is refused as not modelled (see
// IsNotModelled), and its statement is then counted as not predicted.
//
// Differs: arguments of AND, OR, CASE and COALESCE that raise errors while
// they are constant are not modelled, because it depends on the planner whether
// they are evaluated.
#ifndef MUSTH_PROPERTIES_MODEL_EVAL_H_
#define MUSTH_PROPERTIES_MODEL_EVAL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/sql/ast.h"
#include "properties/model_types.h"
#include "sim/env/status.h"

namespace properties {

struct ModelExpr {
  enum class Op : uint8_t {
    kConst,       // value
    kColumn,      // index
    kGroupKey,    // index
    kAggregate,   // index
    kArithmetic,  // symbol, two integers of type
    kNegate,
    kCompare,   // symbol; operand_type
    kDistinct,  // operand_type, negated
    kAnd,
    kOr,
    kNot,
    kIsNull,  // negated: IS NOT NULL
    kCase,    // when, then, ..., else
    kCoalesce,
    kNullIf,   // operand_type
    kExtreme,  // negated: least
    kConcat,
    kLike,       // negated: NOT LIKE
    kFunction,   // function
    kTextOf,     // the operand's text form
    kTrimmed,    // char(n) as text
    kRange,      // an integer that must fit type
    kFit,        // text into varchar(n) or char(n): type, typmod
    kFromEvent,  // not computed: taken from what was written (now() and such)
  };
  Op op = Op::kConst;
  uint32_t type = kUnknownType;
  uint32_t operand_type = 0;
  int32_t typmod = -1;
  int index = 0;
  bool negated = false;
  char symbol = 0;  // + - * / %, and for comparisons < l(<=) = n(<>) g(>=) >
  uint8_t function = 0;
  Value value;
  std::vector<ModelExpr> args;
};

struct TableShape {
  std::string name;
  RelationShape columns;
  std::vector<bool> not_null;
};

// What an expression is evaluated on.
struct EvalRow {
  const Row* row = nullptr;
  const std::vector<Value>* keys = nullptr;
  const std::vector<Value>* aggregates = nullptr;
};

// *out points into the row, the expression or *scratch.
// Errors: SQL errors as PostgreSQL raises them; not modelled.
env::Status Evaluate(const ModelExpr& expr, const EvalRow& row, Value* scratch,
                     const Value** out);
// As above, by value.
env::Result<Value> EvaluateValue(const ModelExpr& expr, const EvalRow& row);
// True if the condition holds (null does not).
env::Result<bool> Holds(const ModelExpr& expr, const EvalRow& row);

struct ModelAggregate {
  enum class Kind : uint8_t { kCountStar, kCount, kSum, kMin, kMax };
  Kind kind = Kind::kCountStar;
  bool distinct = false;
  ModelExpr arg;
  uint32_t type = 0;  // of the result
};

class ExprCompiler {
 public:
  // The table (null: no columns) outlives the compiler. refname: what may
  // qualify its columns.
  ExprCompiler(const TableShape* table, std::string refname)
      : table_(table), refname_(std::move(refname)) {}

  env::Result<ModelExpr> Compile(const engine::Expr& e);
  env::Result<ModelExpr> CompileCondition(const engine::Expr& e);
  // The value as column takes it. Errors: constants that do not fit.
  env::Result<ModelExpr> Assign(const engine::Expr& e,
                                const ColumnShape& column);
  env::Result<ModelExpr> AssignCompiled(ModelExpr value,
                                        const ColumnShape& column) const;

  // From here on expressions equal to one of these are group keys, other
  // columns are refused, and aggregates are allowed.
  void SetGroupKeys(const std::vector<engine::Expr>& keys,
                    const std::vector<ModelExpr>& compiled);
  std::vector<ModelAggregate>& aggregates() { return aggregates_; }
  // Whether aggregates may be used (and are collected).
  void AllowAggregates(bool allow) { aggregates_allowed_ = allow; }

 private:
  env::Result<ModelExpr> CompileNode(const engine::Expr& e);
  env::Result<ModelExpr> Fold(ModelExpr node) const;
  env::Result<ModelExpr> CompileConditional(const engine::Expr& e);
  env::Result<ModelExpr> CompileColumn(const engine::Expr& e);
  env::Result<ModelExpr> CompileOp(const engine::Expr& e);
  env::Result<ModelExpr> CompileComparison(char symbol,
                                           const engine::Expr& left,
                                           const engine::Expr& right);
  env::Result<ModelExpr> CompileLogic(const engine::Expr& e);
  env::Result<ModelExpr> CompileBetween(const engine::Expr& e);
  env::Result<ModelExpr> CompileIn(const engine::Expr& e);
  env::Result<ModelExpr> CompileCase(const engine::Expr& e);
  env::Result<ModelExpr> CompileCast(const engine::Expr& e);
  env::Result<ModelExpr> CompileFunction(const engine::Expr& e);
  env::Result<ModelExpr> CompileAggregate(const engine::Expr& e);
  env::Result<ModelExpr> CompileVariadic(const engine::Expr& e);
  env::Result<std::vector<ModelExpr>> CompileAll(
      const std::vector<engine::Expr>& list);
  const TableShape* table_;
  std::string refname_;
  std::vector<std::string> group_texts_;
  std::vector<uint32_t> group_types_;
  bool grouped_ = false;
  bool aggregates_allowed_ = false;
  // Inside an argument that is perhaps never evaluated.
  int conditional_ = 0;
  std::vector<ModelAggregate> aggregates_;
};

// True if the expression uses no column, key or aggregate.
bool IsConstant(const ModelExpr& expr);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_MODEL_EVAL_H_
