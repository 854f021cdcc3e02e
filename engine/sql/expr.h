// Expressions ready to run: names resolved, types and casts settled.
//
// A tree of ExprNode, evaluated by a recursive switch. Values are Datums in
// registers; bytes that a function makes go to the context's Arena. The depth
// is bounded by the parser (kMaxSqlNesting) and the analyzer.
// Source: src/backend/executor/execExpr.c, execExprInterp.c.
#ifndef MUSTH_ENGINE_SQL_EXPR_H_
#define MUSTH_ENGINE_SQL_EXPR_H_

#include <vector>

#include "engine/sql/functions.h"

namespace engine {

enum class ExprOp : uint8_t {
  kConst,      // value
  kColumn,     // row[index]
  kSystem,     // index: a SystemColumn
  kGroupKey,   // group_keys[index]
  kAggregate,  // aggregates[index]
  kCall,       // builtin function of args, null if any is null
  kCompare,    // fast_op on two values of compare_type
  kDistinct,   // IS [NOT] DISTINCT FROM on compare_type
  kAnd,
  kOr,
  kNot,
  kIsNull,
  kIsNotNull,
  kCase,  // when, then, ..., else (always present)
  kCoalesce,
  kNullIf,   // args[0], or null if args[0] = args[1] on compare_type
  kExtreme,  // greatest (negated: least) of args, nulls ignored
  kRelabel,  // args[0] under another type
  kViaIO,    // text of args[0], read as type
  kTypeMod,  // args[0] with the length of type(typmod)
};

enum class SystemColumn : int { kCtid, kXmin, kXmax, kTableOid };

struct ExprNode {
  ExprOp op = ExprOp::kConst;
  FastOp fast_op = FastOp::kNone;
  bool negated = false;
  bool is_explicit = false;  // kTypeMod
  bool immutable = true;     // of this node alone
  Oid type = UNKNOWNOID;     // of the result
  int32_t typmod = -1;
  Oid compare_type = 0;
  int index = 0;
  Datum value;
  const Builtin* builtin = nullptr;
  BuiltinFunction function = nullptr;
  std::vector<ExprNode> args;
  int position = 0;
};

// Two trees that always have the same value.
bool EqualExpr(const ExprNode& a, const ExprNode& b);

// What a tree is evaluated against.
struct EvalContext {
  FunctionContext function;
  const Datum* row = nullptr;
  const Datum* group_keys = nullptr;
  const Datum* aggregates = nullptr;
  // System columns of the current row.
  ItemPointerData ctid;
  TransactionId xmin = 0;
  TransactionId xmax = 0;
  Oid tableoid = 0;
};

// Errors: those of the functions. Suspends: as they do (txid_current() only).
Status Eval(const ExprNode& node, EvalContext& context, Datum* result);
// A condition: null counts as false.
Status EvalCondition(const ExprNode& node, EvalContext& context, bool* result);

// Replaces what does not depend on a row by its value, as the planner does:
// an error in it is the statement's even if no row needs it.
// Source: src/backend/optimizer/util/clauses.c eval_const_expressions().
Status FoldConstants(ExprNode* node, Arena& arena);

}  // namespace engine

#endif  // MUSTH_ENGINE_SQL_EXPR_H_
