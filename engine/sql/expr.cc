#include "engine/sql/expr.h"

#include <algorithm>
#include <utility>

namespace engine {
namespace {

bool Compare(FastOp op, int order) {
  switch (op) {
    case FastOp::kLt:
      return order < 0;
    case FastOp::kLe:
      return order <= 0;
    case FastOp::kEq:
      return order == 0;
    case FastOp::kNe:
      return order != 0;
    case FastOp::kGt:
      return order > 0;
    default:
      return order >= 0;
  }
}

// The value of a node; columns and constants are not copied.
Status Operand(const ExprNode& node, EvalContext& context, Datum* scratch,
               const Datum** result) {
  const ExprNode* n = &node;
  while (n->op == ExprOp::kRelabel) n = &n->args[0];
  if (n->op == ExprOp::kColumn) {
    *result = &context.row[n->index];
    return {};
  }
  if (n->op == ExprOp::kConst) {
    *result = &n->value;
    return {};
  }
  *result = scratch;
  return Eval(*n, context, scratch);
}

Status EvalCompare(const ExprNode& node, EvalContext& context, Datum* result) {
  Datum scratch[2];
  const Datum* a = nullptr;
  const Datum* b = nullptr;
  RETURN_IF_ERROR(Operand(node.args[0], context, &scratch[0], &a));
  RETURN_IF_ERROR(Operand(node.args[1], context, &scratch[1], &b));
  if (a->isnull || b->isnull) {
    *result = Datum::Null();
    return {};
  }
  *result = Datum::Bool(
      Compare(node.fast_op, CompareDatums(node.compare_type, *a, *b)));
  return {};
}

Status EvalDistinct(const ExprNode& node, EvalContext& context, Datum* result) {
  Datum a;
  Datum b;
  RETURN_IF_ERROR(Eval(node.args[0], context, &a));
  RETURN_IF_ERROR(Eval(node.args[1], context, &b));
  bool distinct = a.isnull || b.isnull
                      ? a.isnull != b.isnull
                      : CompareDatums(node.compare_type, a, b) != 0;
  *result = Datum::Bool(distinct != node.negated);
  return {};
}

Status EvalCall(const ExprNode& node, EvalContext& context, Datum* result) {
  Datum args[kMaxBuiltinArgs];
  for (size_t i = 0; i < node.args.size(); ++i) {
    RETURN_IF_ERROR(Eval(node.args[i], context, &args[i]));
    if (args[i].isnull) {
      *result = Datum::Null();
      return {};
    }
  }
  return node.function(context.function, args, result);
}

// AND stops at the first false, OR at the first true.
Status EvalAndOr(const ExprNode& node, EvalContext& context, Datum* result) {
  bool stop_at = node.op == ExprOp::kOr;
  bool null_seen = false;
  for (const ExprNode& arg : node.args) {
    Datum value;
    RETURN_IF_ERROR(Eval(arg, context, &value));
    if (value.isnull) {
      null_seen = true;
    } else if ((value.num != 0) == stop_at) {
      *result = Datum::Bool(stop_at);
      return {};
    }
  }
  *result = null_seen ? Datum::Null() : Datum::Bool(!stop_at);
  return {};
}

Status EvalCase(const ExprNode& node, EvalContext& context, Datum* result) {
  size_t i = 0;
  for (; i + 1 < node.args.size(); i += 2) {
    bool holds = false;
    RETURN_IF_ERROR(EvalCondition(node.args[i], context, &holds));
    if (holds) return Eval(node.args[i + 1], context, result);
  }
  return Eval(node.args[i], context, result);
}

Status EvalCoalesce(const ExprNode& node, EvalContext& context, Datum* result) {
  for (const ExprNode& arg : node.args) {
    RETURN_IF_ERROR(Eval(arg, context, result));
    if (!result->isnull) return {};
  }
  return {};
}

Status EvalExtreme(const ExprNode& node, EvalContext& context, Datum* result) {
  *result = Datum::Null();
  for (const ExprNode& arg : node.args) {
    Datum value;
    RETURN_IF_ERROR(Eval(arg, context, &value));
    if (value.isnull) continue;
    int order =
        result->isnull ? 0 : CompareDatums(node.compare_type, value, *result);
    bool better = node.negated ? order < 0 : order > 0;
    if (result->isnull || better) *result = value;
  }
  return {};
}

Status EvalNullIf(const ExprNode& node, EvalContext& context, Datum* result) {
  Datum other;
  RETURN_IF_ERROR(Eval(node.args[0], context, result));
  RETURN_IF_ERROR(Eval(node.args[1], context, &other));
  if (result->isnull || other.isnull) return {};
  if (CompareDatums(node.compare_type, *result, other) == 0) {
    *result = Datum::Null();
  }
  return {};
}

Status EvalViaIO(const ExprNode& node, EvalContext& context, Datum* result) {
  Datum value;
  RETURN_IF_ERROR(Eval(node.args[0], context, &value));
  if (value.isnull) {
    *result = value;
    return {};
  }
  std::string text;
  TypeOutput(node.args[0].type, value, &text);
  ASSIGN_OR_RETURN(*result,
                   TypeInput(node.type, text, *context.function.arena));
  return {};
}

Datum SystemValue(const ExprNode& node, const EvalContext& context) {
  switch (static_cast<SystemColumn>(node.index)) {
    case SystemColumn::kCtid:
      return Datum::Int(static_cast<int64_t>(context.ctid.Packed()));
    case SystemColumn::kXmin:
      return Datum::Int(context.xmin);
    case SystemColumn::kXmax:
      return Datum::Int(context.xmax);
    default:
      return Datum::Int(context.tableoid);
  }
}

}  // namespace

Status Eval(const ExprNode& node, EvalContext& context, Datum* result) {
  switch (node.op) {
    case ExprOp::kConst:
      *result = node.value;
      return {};
    case ExprOp::kColumn:
      *result = context.row[node.index];
      return {};
    case ExprOp::kSystem:
      *result = SystemValue(node, context);
      return {};
    case ExprOp::kGroupKey:
      *result = context.group_keys[node.index];
      return {};
    case ExprOp::kAggregate:
      *result = context.aggregates[node.index];
      return {};
    case ExprOp::kCall:
      return EvalCall(node, context, result);
    case ExprOp::kCompare:
      return EvalCompare(node, context, result);
    case ExprOp::kDistinct:
      return EvalDistinct(node, context, result);
    case ExprOp::kAnd:
    case ExprOp::kOr:
      return EvalAndOr(node, context, result);
    case ExprOp::kNot:
      RETURN_IF_ERROR(Eval(node.args[0], context, result));
      if (!result->isnull) *result = Datum::Bool(result->num == 0);
      return {};
    case ExprOp::kIsNull:
    case ExprOp::kIsNotNull:
      RETURN_IF_ERROR(Eval(node.args[0], context, result));
      *result = Datum::Bool(result->isnull == (node.op == ExprOp::kIsNull));
      return {};
    case ExprOp::kCase:
      return EvalCase(node, context, result);
    case ExprOp::kCoalesce:
      return EvalCoalesce(node, context, result);
    case ExprOp::kNullIf:
      return EvalNullIf(node, context, result);
    case ExprOp::kExtreme:
      return EvalExtreme(node, context, result);
    case ExprOp::kRelabel:
      return Eval(node.args[0], context, result);
    case ExprOp::kViaIO:
      return EvalViaIO(node, context, result);
    case ExprOp::kTypeMod: {
      RETURN_IF_ERROR(Eval(node.args[0], context, result));
      ASSIGN_OR_RETURN(*result,
                       ApplyTypeMod(node.type, node.typmod, node.is_explicit,
                                    *result, *context.function.arena));
      return {};
    }
  }
  SIM_UNREACHABLE();
}

Status EvalCondition(const ExprNode& node, EvalContext& context, bool* result) {
  Datum value;
  RETURN_IF_ERROR(Eval(node, context, &value));
  *result = !value.isnull && value.num != 0;
  return {};
}

bool EqualExpr(const ExprNode& a, const ExprNode& b) {
  if (a.op != b.op || a.fast_op != b.fast_op || a.negated != b.negated ||
      a.type != b.type || a.typmod != b.typmod ||
      a.compare_type != b.compare_type || a.index != b.index ||
      a.function != b.function || a.value.isnull != b.value.isnull ||
      a.value.num != b.value.num || a.value.bytes != b.value.bytes ||
      a.args.size() != b.args.size()) {
    return false;
  }
  for (size_t i = 0; i < a.args.size(); ++i) {
    if (!EqualExpr(a.args[i], b.args[i])) return false;
  }
  return true;
}

namespace {

bool IsConst(const ExprNode& node) { return node.op == ExprOp::kConst; }

void MakeConst(ExprNode* node, const Datum& value) {
  node->op = ExprOp::kConst;
  node->value = value;
  node->args.clear();
  node->builtin = nullptr;
  node->function = nullptr;
}

// The node becomes its i-th argument.
void MakeArg(ExprNode* node, size_t i) {
  ExprNode arg = std::move(node->args[i]);
  arg.type = node->type;
  arg.typmod = node->typmod;
  *node = std::move(arg);
}

Status EvaluateNow(ExprNode* node, Arena& arena) {
  EvalContext context;
  context.function.arena = &arena;
  Datum value;
  RETURN_IF_ERROR(Eval(*node, context, &value));
  MakeConst(node, value);
  return {};
}

// Arguments after a deciding constant are dropped unseen, so that they cannot
// raise an error.
Status FoldAndOr(ExprNode* node, Arena& arena) {
  bool stop_at = node->op == ExprOp::kOr;
  bool null_seen = false;
  std::vector<ExprNode> kept;
  for (ExprNode& arg : node->args) {
    RETURN_IF_ERROR(FoldConstants(&arg, arena));
    if (!IsConst(arg)) {
      kept.push_back(std::move(arg));
    } else if (arg.value.isnull) {
      null_seen = true;
    } else if ((arg.value.num != 0) == stop_at) {
      MakeConst(node, Datum::Bool(stop_at));
      return {};
    }
  }
  if (kept.empty()) {
    MakeConst(node, null_seen ? Datum::Null() : Datum::Bool(!stop_at));
    return {};
  }
  if (null_seen) {
    ExprNode null;
    null.type = BOOLOID;
    kept.push_back(std::move(null));
  }
  node->args = std::move(kept);
  if (node->args.size() == 1) MakeArg(node, 0);
  return {};
}

Status FoldCase(ExprNode* node, Arena& arena) {
  std::vector<ExprNode> kept;
  size_t i = 0;
  for (; i + 1 < node->args.size(); i += 2) {
    RETURN_IF_ERROR(FoldConstants(&node->args[i], arena));
    const ExprNode& when = node->args[i];
    bool always = IsConst(when) && !when.value.isnull && when.value.num != 0;
    if (IsConst(when) && !always) continue;  // never
    RETURN_IF_ERROR(FoldConstants(&node->args[i + 1], arena));
    if (always) break;
    kept.push_back(std::move(node->args[i]));
    kept.push_back(std::move(node->args[i + 1]));
  }
  // Either ELSE or the branch of a condition that always holds.
  size_t otherwise = i + 1 < node->args.size() ? i + 1 : i;
  if (otherwise == i) RETURN_IF_ERROR(FoldConstants(&node->args[i], arena));
  kept.push_back(std::move(node->args[otherwise]));
  node->args = std::move(kept);
  if (node->args.size() == 1) MakeArg(node, 0);
  return {};
}

Status FoldCoalesce(ExprNode* node, Arena& arena) {
  std::vector<ExprNode> kept;
  for (ExprNode& arg : node->args) {
    RETURN_IF_ERROR(FoldConstants(&arg, arena));
    if (IsConst(arg) && arg.value.isnull) continue;
    bool last = IsConst(arg);
    kept.push_back(std::move(arg));
    if (last) break;
  }
  if (kept.empty()) {
    MakeConst(node, Datum::Null());
    return {};
  }
  node->args = std::move(kept);
  if (node->args.size() == 1) MakeArg(node, 0);
  return {};
}

}  // namespace

Status FoldConstants(ExprNode* node, Arena& arena) {
  switch (node->op) {
    case ExprOp::kConst:
    case ExprOp::kColumn:
    case ExprOp::kSystem:
    case ExprOp::kGroupKey:
    case ExprOp::kAggregate:
      return {};
    case ExprOp::kAnd:
    case ExprOp::kOr:
      return FoldAndOr(node, arena);
    case ExprOp::kCase:
      return FoldCase(node, arena);
    case ExprOp::kCoalesce:
      return FoldCoalesce(node, arena);
    default:
      break;
  }
  for (ExprNode& arg : node->args) RETURN_IF_ERROR(FoldConstants(&arg, arena));
  bool constant = node->immutable &&
                  std::all_of(node->args.begin(), node->args.end(), IsConst);
  return constant ? EvaluateNow(node, arena) : Status();
}

}  // namespace engine
