#include "properties/model_eval.h"

#include "properties/model_functions.h"
#include "sim/env/check.h"

namespace properties {
namespace {

using env::Result;
using env::Status;
using Op = ModelExpr::Op;

// Results without a row to live in.
const Value& True() {
  static const Value kTrue = IntValue(1);
  return kTrue;
}
const Value& False() {
  static const Value kFalse = IntValue(0);
  return kFalse;
}
const Value& Null() {
  static const Value kNull;
  return kNull;
}
const Value* Bool(bool b) { return b ? &True() : &False(); }

bool Satisfies(char symbol, int order) {
  switch (symbol) {
    case '<':
      return order < 0;
    case 'l':
      return order <= 0;
    case '=':
      return order == 0;
    case 'n':
      return order != 0;
    case 'g':
      return order >= 0;
    default:
      return order > 0;
  }
}

// Evaluates two arguments.
struct Pair {
  Value scratch[2];
  const Value* a = nullptr;
  const Value* b = nullptr;

  Status Evaluate(const ModelExpr& expr, const EvalRow& row) {
    RETURN_IF_ERROR(properties::Evaluate(expr.args[0], row, &scratch[0], &a));
    return properties::Evaluate(expr.args[1], row, &scratch[1], &b);
  }
  bool AnyNull() const { return IsNull(*a) || IsNull(*b); }
};

Status Arithmetic(const ModelExpr& expr, int64_t a, int64_t b, Value* out) {
  int64_t result = 0;
  bool overflow = false;
  switch (expr.symbol) {
    case '+':
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case '-':
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case '*':
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    default:
      if (b == 0) return Status::Sql(kDivisionByZero, "division by zero");
      if (b == -1) {
        overflow = expr.symbol == '/' && a == INT64_MIN;
        result = expr.symbol == '%' || overflow ? 0 : -a;
      } else {
        result = expr.symbol == '/' ? a / b : a % b;
      }
  }
  if (overflow) {
    return Status::Sql(kNumericValueOutOfRange,
                       std::string(IntegerName(expr.type)) + " out of range");
  }
  RETURN_IF_ERROR(CheckIntegerRange(expr.type, result));
  *out = IntValue(result);
  return {};
}

Status EvaluateLogic(const ModelExpr& expr, const EvalRow& row,
                     const Value** out) {
  bool decides = expr.op == Op::kOr;  // the value that settles it
  bool unknown = false;
  for (const ModelExpr& arg : expr.args) {
    Value scratch;
    const Value* v = nullptr;
    RETURN_IF_ERROR(Evaluate(arg, row, &scratch, &v));
    if (IsNull(*v)) {
      unknown = true;
    } else if ((v->number != 0) == decides) {
      *out = Bool(decides);
      return {};
    }
  }
  *out = unknown ? &Null() : Bool(!decides);
  return {};
}

Status EvaluateCase(const ModelExpr& expr, const EvalRow& row, Value* scratch,
                    const Value** out) {
  size_t i = 0;
  for (; i + 1 < expr.args.size(); i += 2) {
    ASSIGN_OR_RETURN(bool holds, Holds(expr.args[i], row));
    if (holds) return Evaluate(expr.args[i + 1], row, scratch, out);
  }
  return Evaluate(expr.args[i], row, scratch, out);
}

Status EvaluateVariadic(const ModelExpr& expr, const EvalRow& row,
                        Value* scratch, const Value** out) {
  Value best;
  for (const ModelExpr& arg : expr.args) {
    ASSIGN_OR_RETURN(Value v, EvaluateValue(arg, row));
    if (IsNull(v)) continue;
    bool first = IsNull(best);
    if (expr.op == Op::kCoalesce) {
      best = std::move(v);
      break;
    }
    int order = first ? 0 : CompareValues(expr.operand_type, v, best);
    if (first || (expr.negated ? order < 0 : order > 0)) best = std::move(v);
  }
  *scratch = std::move(best);
  *out = scratch;
  return {};
}

Status EvaluateFunction(const ModelExpr& expr, const EvalRow& row,
                        Value* scratch, const Value** out) {
  std::vector<Value> args;
  for (const ModelExpr& arg : expr.args) {
    ASSIGN_OR_RETURN(Value v, EvaluateValue(arg, row));
    if (IsNull(v)) {
      *out = &Null();
      return {};
    }
    args.push_back(std::move(v));
  }
  ASSIGN_OR_RETURN(*scratch, CallModelFunction(expr.function, expr.type, args));
  *out = scratch;
  return {};
}

// Operations on two values that are null if one of them is.
Status EvaluateStrictPair(const ModelExpr& expr, const EvalRow& row,
                          Value* scratch, const Value** out) {
  Pair pair;
  RETURN_IF_ERROR(pair.Evaluate(expr, row));
  if (pair.AnyNull()) {
    *out = &Null();
    return {};
  }
  if (expr.op == Op::kCompare) {
    *out = Bool(Satisfies(expr.symbol,
                          CompareValues(expr.operand_type, *pair.a, *pair.b)));
    return {};
  }
  if (expr.op == Op::kLike) {
    ASSIGN_OR_RETURN(bool matches, MatchesLike(pair.a->bytes, pair.b->bytes));
    *out = Bool(matches != expr.negated);
    return {};
  }
  *out = scratch;
  if (expr.op == Op::kConcat) {
    *scratch = TextValue(pair.a->bytes + pair.b->bytes);
    return {};
  }
  return Arithmetic(expr, pair.a->number, pair.b->number, scratch);
}

// Operations on one value that are null if it is.
Status EvaluateStrict(const ModelExpr& expr, const EvalRow& row, Value* scratch,
                      const Value** out) {
  Value held;
  const Value* v = nullptr;
  RETURN_IF_ERROR(Evaluate(expr.args[0], row, &held, &v));
  *out = scratch;
  if (IsNull(*v)) {
    *out = &Null();
    return {};
  }
  switch (expr.op) {
    case Op::kNot:
      *out = Bool(v->number == 0);
      return {};
    case Op::kNegate: {
      ModelExpr minus;
      minus.symbol = '-';
      minus.type = expr.type;
      return Arithmetic(minus, 0, v->number, scratch);
    }
    case Op::kTextOf:
      *scratch = TextValue(OutputText(expr.operand_type, *v));
      return {};
    case Op::kTrimmed:
      *scratch = TextValue(std::string(WithoutTrailingBlanks(v->bytes)));
      return {};
    case Op::kRange:
      RETURN_IF_ERROR(CheckIntegerRange(expr.type, v->number));
      *scratch = *v;
      return {};
    default: {
      SIM_CHECK(expr.op == Op::kFit);
      ASSIGN_OR_RETURN(std::string fitted,
                       FitText(expr.type, expr.typmod, v->bytes));
      *scratch = TextValue(std::move(fitted));
      return {};
    }
  }
}

// DISTINCT FROM, NULLIF: nulls are compared.
Status EvaluateNullAware(const ModelExpr& expr, const EvalRow& row,
                         Value* scratch, const Value** out) {
  Pair pair;
  RETURN_IF_ERROR(pair.Evaluate(expr, row));
  bool equal = !pair.AnyNull() &&
               CompareValues(expr.operand_type, *pair.a, *pair.b) == 0;
  if (expr.op == Op::kNullIf) {
    *scratch = equal ? Null() : *pair.a;
    *out = scratch;
    return {};
  }
  bool distinct = pair.AnyNull() ? IsNull(*pair.a) != IsNull(*pair.b) : !equal;
  *out = Bool(distinct != expr.negated);
  return {};
}

}  // namespace

Status Evaluate(const ModelExpr& expr, const EvalRow& row, Value* scratch,
                const Value** out) {
  auto index = static_cast<size_t>(expr.index);
  switch (expr.op) {
    case Op::kConst:
      *out = &expr.value;
      return {};
    case Op::kColumn:
      *out = &(*row.row)[index];
      return {};
    case Op::kGroupKey:
      *out = &(*row.keys)[index];
      return {};
    case Op::kAggregate:
      *out = &(*row.aggregates)[index];
      return {};
    case Op::kAnd:
    case Op::kOr:
      return EvaluateLogic(expr, row, out);
    case Op::kIsNull: {
      const Value* v = nullptr;
      RETURN_IF_ERROR(Evaluate(expr.args[0], row, scratch, &v));
      *out = Bool(IsNull(*v) != expr.negated);
      return {};
    }
    case Op::kCase:
      return EvaluateCase(expr, row, scratch, out);
    case Op::kCoalesce:
    case Op::kExtreme:
      return EvaluateVariadic(expr, row, scratch, out);
    case Op::kDistinct:
    case Op::kNullIf:
      return EvaluateNullAware(expr, row, scratch, out);
    case Op::kFunction:
      return EvaluateFunction(expr, row, scratch, out);
    case Op::kArithmetic:
    case Op::kCompare:
    case Op::kConcat:
    case Op::kLike:
      return EvaluateStrictPair(expr, row, scratch, out);
    case Op::kFromEvent:
      return NotModelled("a value that only the node knows");
    default:
      return EvaluateStrict(expr, row, scratch, out);
  }
}

Result<Value> EvaluateValue(const ModelExpr& expr, const EvalRow& row) {
  Value scratch;
  const Value* out = nullptr;
  RETURN_IF_ERROR(Evaluate(expr, row, &scratch, &out));
  return out == &scratch ? std::move(scratch) : *out;
}

Result<bool> Holds(const ModelExpr& expr, const EvalRow& row) {
  Value scratch;
  const Value* out = nullptr;
  RETURN_IF_ERROR(Evaluate(expr, row, &scratch, &out));
  return !IsNull(*out) && out->number != 0;
}

bool IsConstant(const ModelExpr& expr) {
  switch (expr.op) {
    case Op::kColumn:
    case Op::kGroupKey:
    case Op::kAggregate:
    case Op::kFromEvent:
      return false;
    default:
      for (const ModelExpr& arg : expr.args) {
        if (!IsConstant(arg)) return false;
      }
      return true;
  }
}

}  // namespace properties
