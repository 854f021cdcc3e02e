// Function calls, aggregates, and what a column of a result is called.
#include <utility>

#include "engine/common/errcodes.h"
#include "engine/sql/analyze_expr.h"

namespace engine {
namespace {

bool IsAggregateName(const std::string& name) {
  return name == "count" || name == "sum" || name == "min" || name == "max";
}

}  // namespace

Result<ExprNode> ExprAnalyzer::TransformVariadic(const Expr& e) {
  ExprNode node;
  node.op = e.name == "coalesce" ? ExprOp::kCoalesce : ExprOp::kExtreme;
  node.negated = e.name == "least";
  node.position = e.position;
  std::vector<ExprNode> args;
  for (const Expr& arg : e.args) {
    ASSIGN_OR_RETURN(ExprNode value, Transform(arg));
    args.push_back(std::move(value));
  }
  const char* construct = e.name == "coalesce"   ? "COALESCE"
                          : e.name == "greatest" ? "GREATEST"
                                                 : "LEAST";
  ASSIGN_OR_RETURN(node.type, SelectCommonType(args, construct));
  node.compare_type = node.type;
  if (node.op == ExprOp::kExtreme && !HasOrder(node.type)) {
    return SqlError(ERRCODE_UNDEFINED_FUNCTION,
                    "could not identify a comparison function for type {}",
                    FormatType(node.type))
        .WithCursor(e.position);
  }
  for (ExprNode& arg : args) {
    ASSIGN_OR_RETURN(ExprNode value,
                     CoerceType(std::move(arg), node.type, *context_.arena));
    node.args.push_back(std::move(value));
  }
  return node;
}

// The comparison with other eyes: its left side, unless it holds.
Result<ExprNode> ExprAnalyzer::TransformNullIf(const Expr& e) {
  ASSIGN_OR_RETURN(ExprNode node, TransformOperator("=", e));
  if (node.op != ExprOp::kCompare) {
    return SqlError(ERRCODE_FEATURE_NOT_SUPPORTED,
                    "NULLIF on these types is not supported")
        .WithCursor(e.position);
  }
  node.op = ExprOp::kNullIf;
  node.type = node.args[0].type;
  node.typmod = node.args[0].typmod;
  return node;
}

Result<ExprNode> ExprAnalyzer::TransformFunction(const Expr& e) {
  if (e.name == "coalesce" || e.name == "greatest" || e.name == "least") {
    return TransformVariadic(e);
  }
  if (e.name == "nullif" && e.args.size() == 2) return TransformNullIf(e);
  if (IsAggregateName(e.name)) return TransformAggregate(e);
  if (e.distinct) {
    return SqlError(ERRCODE_WRONG_OBJECT_TYPE,
                    "DISTINCT specified, but {} is not an aggregate function",
                    e.name)
        .WithCursor(e.position);
  }
  std::vector<ExprNode> args;
  std::vector<Oid> types;
  for (const Expr& arg : e.args) {
    if (arg.kind == ExprKind::kStar) {
      return SqlError(ERRCODE_WRONG_OBJECT_TYPE,
                      "{}(*) specified, but {} is not an aggregate function",
                      e.name, e.name)
          .WithCursor(e.position);
    }
    ASSIGN_OR_RETURN(ExprNode node, Transform(arg));
    types.push_back(node.type);
    args.push_back(std::move(node));
  }
  ASSIGN_OR_RETURN(const Builtin* builtin,
                   ResolveBuiltin(Functions(), e.name, types, e.position));
  return MakeCall(*builtin, std::move(args), *context_.arena, e.position);
}

// The type that the aggregate works on, or why there is none.
Result<Oid> ExprAnalyzer::AggregateArgType(const Expr& e, AggregateKind kind,
                                           const ExprNode& arg) {
  Oid type = arg.type;
  if (kind == AggregateKind::kCount) {
    return type == UNKNOWNOID ? Oid{TEXTOID} : type;
  }
  if (type == NUMERICOID || type == FLOAT4OID) {
    return SqlError(ERRCODE_FEATURE_NOT_SUPPORTED,
                    "function {}({}) is not supported", e.name,
                    FormatType(type))
        .WithCursor(e.position);
  }
  bool integer = type == INT2OID || type == INT4OID || type == INT8OID;
  if (integer) return type;
  if (kind == AggregateKind::kSum) {
    if (type == UNKNOWNOID) {
      return SqlError(ERRCODE_AMBIGUOUS_FUNCTION,
                      "function sum(unknown) is not unique")
          .WithHint(
              "Could not choose a best candidate function. You might "
              "need to add explicit type casts.")
          .WithCursor(e.position);
    }
  } else if (type == BPCHAROID || type == OIDOID || type == TIDOID ||
             type == DATEOID || type == TIMESTAMPOID ||
             type == TIMESTAMPTZOID) {
    return type;
  } else if (CanCoerce(type, TEXTOID, CastContext::kImplicit)) {
    return Oid{TEXTOID};
  }
  return SqlError(ERRCODE_UNDEFINED_FUNCTION, "function {}({}) does not exist",
                  e.name, FormatType(type))
      .WithHint(
          "No function matches the given name and argument types. You "
          "might need to add explicit type casts.")
      .WithCursor(e.position);
}

// The error for a wrong number of arguments.
Status ExprAnalyzer::NoSuchAggregate(const Expr& e, bool star) {
  std::vector<Oid> types;
  for (size_t i = 0; i < e.args.size() && !star; ++i) {
    ASSIGN_OR_RETURN(ExprNode arg, Transform(e.args[i]));
    types.push_back(arg.type);
  }
  return ResolveBuiltin(Functions(), e.name, types, e.position).status();
}

Result<ExprNode> ExprAnalyzer::TransformAggregate(const Expr& e) {
  if (in_aggregate_) {
    return SqlError(ERRCODE_GROUPING_ERROR,
                    "aggregate function calls cannot be nested")
        .WithCursor(e.position);
  }
  if (!place_.aggregates_allowed) {
    return SqlError(ERRCODE_GROUPING_ERROR,
                    "aggregate functions are not allowed in {}", place_.clause)
        .WithCursor(e.position);
  }
  AggregateCall call;
  call.distinct = e.distinct;
  bool star = e.args.size() == 1 && e.args[0].kind == ExprKind::kStar;
  call.kind = e.name == "sum"   ? AggregateKind::kSum
              : e.name == "min" ? AggregateKind::kMin
              : e.name == "max" ? AggregateKind::kMax
              : star            ? AggregateKind::kCountStar
                                : AggregateKind::kCount;
  call.result = INT8OID;
  if (e.name == "count" && e.args.empty()) {
    return SqlError(ERRCODE_WRONG_OBJECT_TYPE,
                    "count(*) must be used to call a parameterless aggregate "
                    "function")
        .WithCursor(e.position);
  }
  if (call.kind != AggregateKind::kCountStar) {
    if (e.args.size() != 1 || star) return NoSuchAggregate(e, star);
    in_aggregate_ = true;
    Result<ExprNode> arg = Transform(e.args[0]);
    in_aggregate_ = false;
    if (!arg.ok()) return arg;
    ASSIGN_OR_RETURN(Oid type, AggregateArgType(e, call.kind, *arg));
    ASSIGN_OR_RETURN(call.arg,
                     CoerceType(std::move(arg).value(), type, *context_.arena));
    if (call.kind == AggregateKind::kSum) {
      call.result = type == INT8OID ? NUMERICOID : INT8OID;
    } else if (call.kind != AggregateKind::kCount) {
      call.result = type;
    }
  }
  ExprNode node;
  node.op = ExprOp::kAggregate;
  node.index = static_cast<int>(aggregates_.size());
  node.type = call.result;
  node.position = e.position;
  aggregates_.push_back(std::move(call));
  return node;
}

namespace {

// Returns how good the name is: 0 none, 1 a fallback, 2 the expression's own.
// Source: parse_target.c FigureColnameInternal().
int FigureName(const Expr& e, std::string* name) {
  switch (e.kind) {
    case ExprKind::kColumn:
    case ExprKind::kFunction:
      *name = e.name;
      return 2;
    case ExprKind::kCast: {
      int strength = FigureName(e.args[0], name);
      if (strength > 1) return strength;
      *name = e.type.name;
      return 1;
    }
    case ExprKind::kCase: {
      int strength =
          e.args.size() % 2 == 1 ? FigureName(e.args.back(), name) : 0;
      if (strength > 1) return strength;
      *name = "case";
      return 1;
    }
    default:
      return 0;
  }
}

}  // namespace

std::string FigureColumnName(const Expr& e) {
  std::string name;
  return FigureName(e, &name) > 0 ? name : "?column?";
}

}  // namespace engine
