#include "engine/sql/analyze_expr.h"

#include <algorithm>
#include <utility>

#include "engine/common/errcodes.h"

namespace engine {
namespace {

// Deeper trees than any the parser lets through.
constexpr int kMaxExprDepth = 100;

struct SystemColumnName {
  const char* name;
  SystemColumn column;
  Oid type;
};
constexpr SystemColumnName kSystemColumns[] = {
    {"ctid", SystemColumn::kCtid, TIDOID},
    {"xmin", SystemColumn::kXmin, XIDOID},
    {"xmax", SystemColumn::kXmax, XIDOID},
    {"tableoid", SystemColumn::kTableOid, OIDOID},
};

// Edit distance with unit costs.
int Levenshtein(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      int change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

ExprNode BoolNode(ExprOp op, std::vector<ExprNode> args) {
  ExprNode node;
  node.op = op;
  node.type = BOOLOID;
  node.args = std::move(args);
  return node;
}

bool IsAggregateName(const std::string& name) {
  return name == "count" || name == "sum" || name == "min" || name == "max";
}

}  // namespace

Result<ExprNode> ExprAnalyzer::Analyze(const Expr& e, const Place& place) {
  place_ = place;
  return Transform(e);
}

Result<ExprNode> ExprAnalyzer::AnalyzeCondition(const Expr& e,
                                                const Place& place) {
  place_ = place;
  return BooleanArg(e, place.clause);
}

Result<ExprNode> ExprAnalyzer::Transform(const Expr& e) {
  if (depth_ >= kMaxExprDepth) {
    return SqlError(ERRCODE_STATEMENT_TOO_COMPLEX,
                    "stack depth limit exceeded");
  }
  ++depth_;
  Result<ExprNode> out = [&]() -> Result<ExprNode> {
    switch (e.kind) {
      case ExprKind::kConst:
        return TransformConst(e);
      case ExprKind::kColumn:
        return TransformColumn(e);
      case ExprKind::kParam:
        return TransformParam(e);
      case ExprKind::kOp:
        return TransformOp(e);
      case ExprKind::kFunction:
        return TransformFunction(e);
      case ExprKind::kCast:
        return TransformCast(e);
      case ExprKind::kAnd:
      case ExprKind::kOr:
      case ExprKind::kNot:
        return TransformBool(e);
      case ExprKind::kIsNull:
      case ExprKind::kIsNotNull:
        return TransformNullTest(e);
      case ExprKind::kBetween:
        return TransformBetween(e);
      case ExprKind::kIn:
        return TransformIn(e);
      case ExprKind::kDistinctFrom:
        return TransformDistinct(e);
      case ExprKind::kCase:
        return TransformCase(e);
      case ExprKind::kDefault:
        return SqlError(ERRCODE_SYNTAX_ERROR,
                        "DEFAULT is not allowed in this context")
            .WithCursor(e.position);
      case ExprKind::kStar:
        break;
    }
    return SqlError(ERRCODE_SYNTAX_ERROR, "row expansion via \"*\" is not "
                    "supported here")
        .WithCursor(e.position);
  }();
  --depth_;
  if (out.ok() && out->position == 0) out->position = e.position;
  return out;
}

Result<ExprNode> ExprAnalyzer::TransformConst(const Expr& e) {
  ExprNode node;
  node.type = e.const_type;
  node.position = e.position;
  if (e.isnull) {
    node.value = Datum::Null();
  } else if (e.const_type == UNKNOWNOID || e.const_type == TEXTOID ||
             e.const_type == NUMERICOID) {
    node.value = Datum::Bytes(context_.arena->Copy(e.name));
  } else {
    node.value = Datum::Int(e.num);
  }
  return node;
}

Result<ExprNode> ExprAnalyzer::TransformParam(const Expr& e) {
  if (e.num < 1 || static_cast<size_t>(e.num) > context_.params.size()) {
    return SqlError(ERRCODE_UNDEFINED_PARAMETER, "there is no parameter ${}",
                    e.num)
        .WithCursor(e.position);
  }
  const Expr& value = context_.params[static_cast<size_t>(e.num - 1)];
  SIM_CHECK(value.kind == ExprKind::kConst);
  return TransformConst(value);
}

Status ExprAnalyzer::UndefinedColumn(const Expr& e) const {
  Status error =
      e.qualifier.empty()
          ? SqlError(ERRCODE_UNDEFINED_COLUMN, "column \"{}\" does not exist",
                     e.name)
          : SqlError(ERRCODE_UNDEFINED_COLUMN, "column {}.{} does not exist",
                     e.qualifier, e.name);
  // The nearest names, unless more than half of the letters differ.
  constexpr int kMaxFuzzyDistance = 3;
  int best = kMaxFuzzyDistance + 1;
  std::vector<const Attribute*> near;
  for (const Attribute& att : scope_->columns) {
    int distance = Levenshtein(att.attname, e.name);
    if (distance > static_cast<int>(e.name.size() / 2)) continue;
    if (distance < best) {
      best = distance;
      near.clear();
    }
    if (distance == best) near.push_back(&att);
  }
  std::string hint;
  if (best == 0 && !scope_->visible) {
    hint = fmt::format("There is a column named \"{}\" in table \"{}\", but it "
                       "cannot be referenced from this part of the query.",
                       e.name, scope_->refname);
  } else if (near.size() == 1) {
    hint = fmt::format("Perhaps you meant to reference the column \"{}.{}\".",
                       scope_->refname, near[0]->attname);
  } else if (near.size() == 2) {
    hint = fmt::format(
        "Perhaps you meant to reference the column \"{}.{}\" or the column "
        "\"{}.{}\".",
        scope_->refname, near[0]->attname, scope_->refname, near[1]->attname);
  }
  if (!hint.empty()) error = std::move(error).WithHint(hint);
  return std::move(error).WithCursor(e.position);
}

Status ExprAnalyzer::WrongQualifier(const Expr& e) const {
  if (scope_->has_table && scope_->table == e.qualifier) {
    return SqlError(ERRCODE_UNDEFINED_TABLE,
                    "invalid reference to FROM-clause entry for table \"{}\"",
                    e.qualifier)
        .WithHint(fmt::format(
            "Perhaps you meant to reference the table alias \"{}\".",
            scope_->refname))
        .WithCursor(e.position);
  }
  return SqlError(ERRCODE_UNDEFINED_TABLE,
                  "missing FROM-clause entry for table \"{}\"", e.qualifier)
      .WithCursor(e.position);
}

Result<ExprNode> ExprAnalyzer::TransformColumn(const Expr& e) {
  if (!e.qualifier.empty() &&
      (!scope_->has_table || e.qualifier != scope_->refname)) {
    return WrongQualifier(e);
  }
  if (!scope_->visible) return UndefinedColumn(e);
  ExprNode node;
  node.position = e.position;
  for (size_t i = 0; i < scope_->columns.size(); ++i) {
    const Attribute& att = scope_->columns[i];
    if (att.attisdropped || att.attname != e.name) continue;
    if (!place_.columns_allowed) {
      return SqlError(ERRCODE_INVALID_COLUMN_REFERENCE,
                      "argument of {} must not contain variables",
                      place_.clause)
          .WithCursor(e.position);
    }
    node.op = ExprOp::kColumn;
    node.index = static_cast<int>(i);
    node.type = att.atttypid;
    node.typmod = att.atttypmod;
    scope_->columns_needed = std::max(scope_->columns_needed, i + 1);
    return node;
  }
  for (const SystemColumnName& system : kSystemColumns) {
    if (!scope_->system_columns || e.name != system.name) continue;
    node.op = ExprOp::kSystem;
    node.index = static_cast<int>(system.column);
    node.type = system.type;
    scope_->system_columns_used = true;
    return node;
  }
  if (scope_->system_columns && (e.name == "cmin" || e.name == "cmax")) {
    return SqlError(ERRCODE_FEATURE_NOT_SUPPORTED,
                    "system column {} is not supported", e.name)
        .WithCursor(e.position);
  }
  if (scope_->has_table && e.qualifier.empty() && e.name == scope_->refname) {
    return SqlError(ERRCODE_FEATURE_NOT_SUPPORTED,
                    "whole-row reference is not supported")
        .WithCursor(e.position);
  }
  return UndefinedColumn(e);
}

Result<ExprNode> ExprAnalyzer::BinaryNode(const std::string& op, ExprNode left,
                                          ExprNode right, int position) {
  Oid types[2] = {left.type, right.type};
  ASSIGN_OR_RETURN(const Builtin* builtin,
                   ResolveBuiltin(Operators(), op, types, position));
  std::vector<ExprNode> args;
  args.push_back(std::move(left));
  args.push_back(std::move(right));
  return MakeCall(*builtin, std::move(args), *context_.arena, position);
}

Result<ExprNode> ExprAnalyzer::TransformOp(const Expr& e) {
  ASSIGN_OR_RETURN(ExprNode first, Transform(e.args[0]));
  if (e.args.size() == 2) {
    ASSIGN_OR_RETURN(ExprNode second, Transform(e.args[1]));
    return BinaryNode(e.name == "!=" ? "<>" : e.name, std::move(first),
                      std::move(second), e.position);
  }
  Oid types[1] = {first.type};
  ASSIGN_OR_RETURN(const Builtin* builtin,
                   ResolveBuiltin(Operators(), e.name, types, e.position));
  std::vector<ExprNode> args;
  args.push_back(std::move(first));
  return MakeCall(*builtin, std::move(args), *context_.arena, e.position);
}

Result<ExprNode> ExprAnalyzer::BooleanArg(const Expr& e,
                                          const char* construct) {
  ASSIGN_OR_RETURN(ExprNode node, Transform(e));
  if (!CanCoerce(node.type, BOOLOID, CastContext::kAssignment)) {
    return SqlError(ERRCODE_DATATYPE_MISMATCH,
                    "argument of {} must be type boolean, not type {}",
                    construct, FormatType(node.type))
        .WithCursor(node.position);
  }
  return CoerceType(std::move(node), BOOLOID, *context_.arena);
}

Result<ExprNode> ExprAnalyzer::TransformBool(const Expr& e) {
  ExprOp op = e.kind == ExprKind::kAnd  ? ExprOp::kAnd
              : e.kind == ExprKind::kOr ? ExprOp::kOr
                                        : ExprOp::kNot;
  const char* name = op == ExprOp::kAnd  ? "AND"
                     : op == ExprOp::kOr ? "OR"
                                         : "NOT";
  std::vector<ExprNode> args;
  for (const Expr& arg : e.args) {
    ASSIGN_OR_RETURN(ExprNode node, BooleanArg(arg, name));
    args.push_back(std::move(node));
  }
  return BoolNode(op, std::move(args));
}

Result<ExprNode> ExprAnalyzer::TransformNullTest(const Expr& e) {
  ASSIGN_OR_RETURN(ExprNode arg, Transform(e.args[0]));
  std::vector<ExprNode> args;
  args.push_back(std::move(arg));
  return BoolNode(
      e.kind == ExprKind::kIsNull ? ExprOp::kIsNull : ExprOp::kIsNotNull,
      std::move(args));
}

// a BETWEEN b AND c is a >= b AND a <= c.
Result<ExprNode> ExprAnalyzer::TransformBetween(const Expr& e) {
  std::vector<ExprNode> args;
  for (size_t i = 1; i <= 2; ++i) {
    ASSIGN_OR_RETURN(ExprNode value, Transform(e.args[0]));
    ASSIGN_OR_RETURN(ExprNode bound, Transform(e.args[i]));
    bool low = i == 1;
    const char* op = e.negated ? (low ? "<" : ">") : (low ? ">=" : "<=");
    ASSIGN_OR_RETURN(ExprNode test, BinaryNode(op, std::move(value),
                                               std::move(bound), e.position));
    args.push_back(std::move(test));
  }
  return BoolNode(e.negated ? ExprOp::kOr : ExprOp::kAnd, std::move(args));
}

// a IN (x, y) is a = x OR a = y; NOT IN is a <> x AND a <> y.
Result<ExprNode> ExprAnalyzer::TransformIn(const Expr& e) {
  std::vector<ExprNode> args;
  for (size_t i = 1; i < e.args.size(); ++i) {
    ASSIGN_OR_RETURN(ExprNode value, Transform(e.args[0]));
    ASSIGN_OR_RETURN(ExprNode item, Transform(e.args[i]));
    ASSIGN_OR_RETURN(ExprNode test,
                     BinaryNode(e.negated ? "<>" : "=", std::move(value),
                                std::move(item), e.position));
    args.push_back(std::move(test));
  }
  if (args.size() == 1) return std::move(args[0]);
  return BoolNode(e.negated ? ExprOp::kAnd : ExprOp::kOr, std::move(args));
}

Result<ExprNode> ExprAnalyzer::TransformDistinct(const Expr& e) {
  ASSIGN_OR_RETURN(ExprNode left, Transform(e.args[0]));
  ASSIGN_OR_RETURN(ExprNode right, Transform(e.args[1]));
  ASSIGN_OR_RETURN(ExprNode node, BinaryNode("=", std::move(left),
                                             std::move(right), e.position));
  if (node.op != ExprOp::kCompare) {
    return SqlError(ERRCODE_FEATURE_NOT_SUPPORTED,
                    "IS DISTINCT FROM on these types is not supported")
        .WithCursor(e.position);
  }
  node.op = ExprOp::kDistinct;
  node.negated = e.negated;
  return node;
}

Result<ExprNode> ExprAnalyzer::TransformCase(const Expr& e) {
  ExprNode node;
  node.op = ExprOp::kCase;
  node.position = e.position;
  std::vector<ExprNode> results;
  for (size_t i = 0; i + 1 < e.args.size(); i += 2) {
    ASSIGN_OR_RETURN(ExprNode when, BooleanArg(e.args[i], "CASE/WHEN"));
    ASSIGN_OR_RETURN(ExprNode then, Transform(e.args[i + 1]));
    node.args.push_back(std::move(when));
    node.args.emplace_back();
    results.push_back(std::move(then));
  }
  ExprNode otherwise;  // NULL unless there is an ELSE
  if (e.args.size() % 2 == 1) {
    ASSIGN_OR_RETURN(otherwise, Transform(e.args.back()));
  }
  results.push_back(std::move(otherwise));
  ASSIGN_OR_RETURN(node.type, SelectCommonType(results, "CASE"));
  for (size_t i = 0; i < results.size(); ++i) {
    ASSIGN_OR_RETURN(ExprNode result,
                     CoerceType(std::move(results[i]), node.type,
                                *context_.arena));
    if (2 * i + 1 < node.args.size()) {
      node.args[2 * i + 1] = std::move(result);
    } else {
      node.args.push_back(std::move(result));
    }
  }
  return node;
}

Result<ExprNode> ExprAnalyzer::TransformCast(const Expr& e) {
  const TypeInfo* type = FindTypeByName(e.type.name);
  if (type == nullptr) {
    return SqlError(ERRCODE_UNDEFINED_OBJECT, "type \"{}\" does not exist",
                    e.type.name)
        .WithCursor(e.type.position);
  }
  Result<int32_t> typmod = TypeModIn(*type, e.type.typmods);
  if (!typmod.ok()) {
    return std::move(typmod).status().WithCursor(e.type.position);
  }
  ASSIGN_OR_RETURN(ExprNode arg, Transform(e.args[0]));
  return CoerceToTarget(std::move(arg), type->oid, *typmod,
                        CastContext::kExplicit, *context_.arena, e.position);
}

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
    ASSIGN_OR_RETURN(ExprNode value, CoerceType(std::move(arg), node.type,
                                                *context_.arena));
    node.args.push_back(std::move(value));
  }
  return node;
}

Result<ExprNode> ExprAnalyzer::TransformNullIf(const Expr& e) {
  ASSIGN_OR_RETURN(ExprNode value, Transform(e.args[0]));
  ASSIGN_OR_RETURN(ExprNode left, Transform(e.args[0]));
  ASSIGN_OR_RETURN(ExprNode right, Transform(e.args[1]));
  ASSIGN_OR_RETURN(ExprNode equal, BinaryNode("=", std::move(left),
                                              std::move(right), e.position));
  if (value.type == UNKNOWNOID) {
    ASSIGN_OR_RETURN(value,
                     CoerceType(std::move(value), TEXTOID, *context_.arena));
  }
  ExprNode node;
  node.op = ExprOp::kNullIf;
  node.type = value.type;
  node.typmod = value.typmod;
  node.args.push_back(std::move(value));
  node.args.push_back(std::move(equal));
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
          .WithHint("Could not choose a best candidate function. You might "
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
      .WithHint("No function matches the given name and argument types. You "
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
    ASSIGN_OR_RETURN(call.arg, CoerceType(std::move(arg).value(), type,
                                          *context_.arena));
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
