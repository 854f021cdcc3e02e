#include "engine/sql/analyze_expr.h"

#include <algorithm>
#include <utility>

#include "engine/common/errcodes.h"

namespace engine {
namespace {

// Deeper trees than any the parser lets through.
constexpr int kMaxExprDepth = 100;
constexpr size_t kMaxTransformed = 200'000;

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
  // BETWEEN and IN repeat their first operand, which nested ones multiply.
  if (depth_ >= kMaxExprDepth || ++transformed_ > kMaxTransformed) {
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
    return SqlError(ERRCODE_SYNTAX_ERROR,
                    "row expansion via \"*\" is not "
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
    hint = fmt::format(
        "There is a column named \"{}\" in table \"{}\", but it "
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
  return TransformOperator(e.name == "!=" ? "<>" : e.name, e);
}

// The operator of that name on the one or two arguments of e.
Result<ExprNode> ExprAnalyzer::TransformOperator(std::string_view name,
                                                 const Expr& e) {
  std::vector<ExprNode> args;
  std::vector<Oid> types;
  for (const Expr& arg : e.args) {
    ASSIGN_OR_RETURN(ExprNode node, Transform(arg));
    types.push_back(node.type);
    args.push_back(std::move(node));
  }
  ASSIGN_OR_RETURN(const Builtin* builtin,
                   ResolveBuiltin(Operators(), name, types, e.position));
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
  ASSIGN_OR_RETURN(ExprNode node, TransformOperator("=", e));
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
    ASSIGN_OR_RETURN(ExprNode result, CoerceType(std::move(results[i]),
                                                 node.type, *context_.arena));
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

}  // namespace engine
