#include <cstdlib>
#include <limits>
#include <utility>

#include "engine/common/errcodes.h"
#include "engine/sql/parse.h"
#include "engine/sql/parse_tree.h"

namespace engine {
namespace {

// The last of a possibly qualified name; *schema gets what stands before it.
std::string LastName(size_t n, PgQuery__Node** names, std::string* schema) {
  std::string last;
  for (size_t i = 0; i < n; ++i) {
    if (i > 0) {
      if (!schema->empty()) *schema += '.';
      *schema += last;
    }
    last = NodeText(*names[i]);
  }
  return last;
}

bool IsCatalogSchema(const std::string& schema) {
  return schema.empty() || schema == "pg_catalog";
}

// Parses a decimal integer; false if text is none or does not fit.
bool ParseInt8(const char* text, int64_t* out) {
  bool negative = *text == '-';
  uint64_t value = 0;
  const uint64_t limit = negative ? uint64_t{1} << 63 : (uint64_t{1} << 63) - 1;
  const char* p = negative ? text + 1 : text;
  if (*p == '\0') return false;
  for (; *p != '\0'; ++p) {
    if (*p < '0' || *p > '9') return false;
    uint64_t digit = static_cast<uint64_t>(*p - '0');
    if (value > (limit - digit) / 10) return false;
    value = value * 10 + digit;
  }
  *out = static_cast<int64_t>(negative ? 0 - value : value);
  return true;
}

void SetInt(int64_t value, Expr* out) {
  bool small = value >= INT32_MIN && value <= INT32_MAX;
  out->const_type = small ? INT4OID : INT8OID;
  out->num = value;
}

void SetFloat(const char* text, Expr* out) {
  int64_t value = 0;
  if (ParseInt8(text, &value)) {
    SetInt(value, out);
    return;
  }
  out->const_type = NUMERICOID;
  out->name = text;
}

}  // namespace

std::string NodeText(const PgQuery__Node& node) {
  switch (node.node_case) {
    case PG_QUERY__NODE__NODE_STRING:
      return node.string->sval;
    case PG_QUERY__NODE__NODE_INTEGER:
      return std::to_string(node.integer->ival);
    case PG_QUERY__NODE__NODE_FLOAT:
      return node.float_->fval;
    case PG_QUERY__NODE__NODE_A_CONST:
      switch (node.a_const->val_case) {
        case PG_QUERY__A__CONST__VAL_IVAL:
          return std::to_string(node.a_const->ival->ival);
        case PG_QUERY__A__CONST__VAL_FVAL:
          return node.a_const->fval->fval;
        case PG_QUERY__A__CONST__VAL_SVAL:
          return node.a_const->sval->sval;
        case PG_QUERY__A__CONST__VAL_BOOLVAL:
          return node.a_const->boolval->boolval ? "true" : "false";
        default:
          return "";
      }
    default:
      return "";
  }
}

int TreeConverter::Position(int location) const {
  if (location < 0 || static_cast<size_t>(location) > text_.size()) return 0;
  int chars = 1;
  for (char c : text_.substr(0, static_cast<size_t>(location))) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) ++chars;
  }
  return chars;
}

// These recurse as deep as the expression, on a task's stack: results go to
// their place directly, and the dispatchers have no locals.
Status TreeConverter::ConvertArgs(size_t n, PgQuery__Node** args,
                                  std::vector<Expr>* out) {
  for (size_t i = 0; i < n; ++i) {
    RETURN_IF_ERROR(ConvertExpr(*args[i], &out->emplace_back()));
  }
  return {};
}

Status TreeConverter::ConvertArg(const PgQuery__Node& arg, Expr* out) {
  return ConvertExpr(arg, &out->args.emplace_back());
}

Status TreeConverter::ConvertCall(const char* name, size_t n,
                                  PgQuery__Node** args, int location,
                                  Expr* out) {
  out->kind = ExprKind::kFunction;
  out->name = name;
  out->position = Position(location);
  return ConvertArgs(n, args, &out->args);
}

Status TreeConverter::ConvertExpr(const PgQuery__Node& node, Expr* out) {
  if (++converted_ > kMaxExprNodes) return TooComplex();
  switch (node.node_case) {
    case PG_QUERY__NODE__NODE_A_CONST:
      return ConvertConst(*node.a_const, out);
    case PG_QUERY__NODE__NODE_COLUMN_REF:
      return ConvertColumnRef(*node.column_ref, out);
    case PG_QUERY__NODE__NODE_A_EXPR:
      return ConvertAExpr(*node.a_expr, out);
    case PG_QUERY__NODE__NODE_BOOL_EXPR:
      return ConvertBool(*node.bool_expr, out);
    case PG_QUERY__NODE__NODE_BOOLEAN_TEST:
      return ConvertBooleanTest(*node.boolean_test, out);
    case PG_QUERY__NODE__NODE_FUNC_CALL:
      return ConvertFuncCall(*node.func_call, out);
    case PG_QUERY__NODE__NODE_CASE_EXPR:
      return ConvertCase(*node.case_expr, out);
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION:
      return ConvertSqlValueFunction(*node.sqlvalue_function, out);
    case PG_QUERY__NODE__NODE_COALESCE_EXPR:
      return ConvertCall("coalesce", node.coalesce_expr->n_args,
                         node.coalesce_expr->args, node.coalesce_expr->location,
                         out);
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR:
      return ConvertCall(node.min_max_expr->op == PG_QUERY__MIN_MAX_OP__IS_LEAST
                             ? "least"
                             : "greatest",
                         node.min_max_expr->n_args, node.min_max_expr->args,
                         node.min_max_expr->location, out);
    case PG_QUERY__NODE__NODE_PARAM_REF:
      out->kind = ExprKind::kParam;
      out->num = node.param_ref->number;
      out->position = Position(node.param_ref->location);
      return {};
    case PG_QUERY__NODE__NODE_SET_TO_DEFAULT:
      out->kind = ExprKind::kDefault;
      out->position = Position(node.set_to_default->location);
      return {};
    case PG_QUERY__NODE__NODE_NULL_TEST:
      out->kind =
          node.null_test->nulltesttype == PG_QUERY__NULL_TEST_TYPE__IS_NULL
              ? ExprKind::kIsNull
              : ExprKind::kIsNotNull;
      out->position = Position(node.null_test->location);
      return ConvertArg(*node.null_test->arg, out);
    case PG_QUERY__NODE__NODE_TYPE_CAST:
      return ConvertTypeCast(*node.type_cast, out);
    default:
      return NotSupported(ConstructName(node));
  }
}

Status TreeConverter::ConvertTypeCast(const PgQuery__TypeCast& c, Expr* out) {
  out->kind = ExprKind::kCast;
  out->position = Position(c.location);
  RETURN_IF_ERROR(ConvertArg(*c.arg, out));
  ASSIGN_OR_RETURN(out->type, ConvertTypeName(*c.type_name));
  return {};
}

Status TreeConverter::ConvertConst(const PgQuery__AConst& c, Expr* out) {
  out->kind = ExprKind::kConst;
  out->position = Position(c.location);
  if (c.isnull != 0) {
    out->isnull = true;
    return {};
  }
  switch (c.val_case) {
    case PG_QUERY__A__CONST__VAL_IVAL:
      SetInt(c.ival->ival, out);
      return {};
    case PG_QUERY__A__CONST__VAL_FVAL:
      SetFloat(c.fval->fval, out);
      return {};
    case PG_QUERY__A__CONST__VAL_BOOLVAL:
      out->const_type = BOOLOID;
      out->num = c.boolval->boolval != 0 ? 1 : 0;
      return {};
    case PG_QUERY__A__CONST__VAL_SVAL:
      out->name = c.sval->sval;
      return {};
    default:
      return NotSupported("bit string", out->position);
  }
}

Status TreeConverter::ConvertColumnRef(const PgQuery__ColumnRef& ref,
                                       Expr* out) {
  out->kind = ExprKind::kColumn;
  out->position = Position(ref.location);
  if (ref.n_fields > 2) {
    return NotSupported("schema-qualified column", out->position);
  }
  for (size_t i = 0; i < ref.n_fields; ++i) {
    const PgQuery__Node& field = *ref.fields[i];
    if (i > 0) out->qualifier = out->name;
    if (field.node_case == PG_QUERY__NODE__NODE_A_STAR) {
      out->kind = ExprKind::kStar;
      out->name.clear();
    } else {
      out->name = NodeText(field);
    }
  }
  return {};
}

// The operator's name; its schema may be pg_catalog only.
Status TreeConverter::ConvertOperatorName(const PgQuery__AExpr& e, Expr* out) {
  std::string schema;
  out->name = LastName(e.n_name, e.name, &schema);
  if (IsCatalogSchema(schema)) return {};
  return NotSupported("OPERATOR() of a schema", out->position);
}

Status TreeConverter::ConvertOperator(const PgQuery__AExpr& e, ExprKind kind,
                                      Expr* out) {
  out->kind = kind;
  RETURN_IF_ERROR(ConvertOperatorName(e, out));
  if (e.lexpr != nullptr) RETURN_IF_ERROR(ConvertArg(*e.lexpr, out));
  return ConvertArg(*e.rexpr, out);
}

// a IN (...) and BETWEEN: the right side is a list.
Status TreeConverter::ConvertListOperator(const PgQuery__AExpr& e,
                                          ExprKind kind, bool negated,
                                          Expr* out) {
  if (e.rexpr->node_case != PG_QUERY__NODE__NODE_LIST) {
    return NotSupported(ConstructName(*e.rexpr), out->position);
  }
  out->kind = kind;
  out->negated = negated;
  RETURN_IF_ERROR(ConvertArg(*e.lexpr, out));
  return ConvertArgs(e.rexpr->list->n_items, e.rexpr->list->items, &out->args);
}

Status TreeConverter::ConvertAExpr(const PgQuery__AExpr& e, Expr* out) {
  out->position = Position(e.location);
  switch (e.kind) {
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP:
    case PG_QUERY__A__EXPR__KIND__AEXPR_LIKE:
      return ConvertOperator(e, ExprKind::kOp, out);
    case PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_DISTINCT:
      out->negated = e.kind == PG_QUERY__A__EXPR__KIND__AEXPR_NOT_DISTINCT;
      return ConvertOperator(e, ExprKind::kDistinctFrom, out);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF:
      RETURN_IF_ERROR(ConvertOperator(e, ExprKind::kFunction, out));
      out->name = "nullif";
      return {};
    case PG_QUERY__A__EXPR__KIND__AEXPR_IN:
      return ConvertListOperator(e, ExprKind::kIn,
                                 e.name[0]->string->sval[0] == '<', out);
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN:
      return ConvertListOperator(e, ExprKind::kBetween, false, out);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN:
      return ConvertListOperator(e, ExprKind::kBetween, true, out);
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ANY:
      return NotSupported("ANY", out->position);
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ALL:
      return NotSupported("ALL", out->position);
    case PG_QUERY__A__EXPR__KIND__AEXPR_ILIKE:
      return NotSupported("ILIKE", out->position);
    case PG_QUERY__A__EXPR__KIND__AEXPR_SIMILAR:
      return NotSupported("SIMILAR TO", out->position);
    default:
      return NotSupported("BETWEEN SYMMETRIC", out->position);
  }
}

Status TreeConverter::ConvertBool(const PgQuery__BoolExpr& e, Expr* out) {
  out->position = Position(e.location);
  out->kind = e.boolop == PG_QUERY__BOOL_EXPR_TYPE__AND_EXPR  ? ExprKind::kAnd
              : e.boolop == PG_QUERY__BOOL_EXPR_TYPE__OR_EXPR ? ExprKind::kOr
                                                              : ExprKind::kNot;
  return ConvertArgs(e.n_args, e.args, &out->args);
}

// x IS [NOT] TRUE|FALSE|UNKNOWN in terms of DISTINCT FROM and IS NULL.
Status TreeConverter::ConvertBooleanTest(const PgQuery__BooleanTest& t,
                                         Expr* out) {
  out->position = Position(t.location);
  RETURN_IF_ERROR(ConvertArg(*t.arg, out));
  PgQuery__BoolTestType type = t.booltesttype;
  if (type == PG_QUERY__BOOL_TEST_TYPE__IS_UNKNOWN ||
      type == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_UNKNOWN) {
    out->kind = type == PG_QUERY__BOOL_TEST_TYPE__IS_UNKNOWN
                    ? ExprKind::kIsNull
                    : ExprKind::kIsNotNull;
    return {};
  }
  out->kind = ExprKind::kDistinctFrom;
  out->negated = type == PG_QUERY__BOOL_TEST_TYPE__IS_TRUE ||
                 type == PG_QUERY__BOOL_TEST_TYPE__IS_FALSE;
  Expr& truth = out->args.emplace_back();
  truth.const_type = BOOLOID;
  truth.num = type == PG_QUERY__BOOL_TEST_TYPE__IS_TRUE ||
                      type == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_TRUE
                  ? 1
                  : 0;
  return {};
}

Status TreeConverter::CheckFuncCall(const PgQuery__FuncCall& f, Expr* out) {
  out->position = Position(f.location);
  if (f.over != nullptr) return NotSupported("OVER", out->position);
  if (f.agg_filter != nullptr) return NotSupported("FILTER", out->position);
  if (f.n_agg_order > 0) {
    return NotSupported("ORDER BY in an aggregate", out->position);
  }
  if (f.func_variadic != 0) return NotSupported("VARIADIC", out->position);
  std::string schema;
  out->name = LastName(f.n_funcname, f.funcname, &schema);
  if (!IsCatalogSchema(schema)) out->name = schema + "." + out->name;
  return {};
}

Status TreeConverter::ConvertFuncCall(const PgQuery__FuncCall& f, Expr* out) {
  out->kind = ExprKind::kFunction;
  out->distinct = f.agg_distinct != 0;
  RETURN_IF_ERROR(CheckFuncCall(f, out));
  RETURN_IF_ERROR(ConvertArgs(f.n_args, f.args, &out->args));
  if (f.agg_star != 0) out->args.emplace_back().kind = ExprKind::kStar;
  return {};
}

// CASE x WHEN y is CASE WHEN x = y.
Status TreeConverter::ConvertWhen(const PgQuery__CaseExpr& c,
                                  const PgQuery__Node& when, Expr* out) {
  if (c.arg == nullptr) return ConvertExpr(when, out);
  out->kind = ExprKind::kOp;
  out->name = "=";
  RETURN_IF_ERROR(ConvertArg(*c.arg, out));
  RETURN_IF_ERROR(ConvertArg(when, out));
  out->position = out->args[1].position;
  return {};
}

Status TreeConverter::ConvertCase(const PgQuery__CaseExpr& c, Expr* out) {
  out->kind = ExprKind::kCase;
  out->position = Position(c.location);
  for (size_t i = 0; i < c.n_args; ++i) {
    const PgQuery__CaseWhen& when = *c.args[i]->case_when;
    RETURN_IF_ERROR(ConvertWhen(c, *when.expr, &out->args.emplace_back()));
    RETURN_IF_ERROR(ConvertArg(*when.result, out));
  }
  return c.defresult == nullptr ? Status() : ConvertArg(*c.defresult, out);
}

Status TreeConverter::ConvertSqlValueFunction(
    const PgQuery__SQLValueFunction& f, Expr* out) {
  out->kind = ExprKind::kFunction;
  out->position = Position(f.location);
  switch (f.op) {
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIMESTAMP:
      out->name = "current_timestamp";
      return {};
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP:
      out->name = "localtimestamp";
      return {};
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_DATE:
      out->name = "current_date";
      return {};
    default:
      return NotSupported(
          "CURRENT_TIME, CURRENT_USER or a precision of CURRENT_TIMESTAMP",
          out->position);
  }
}

Result<TypeName> TreeConverter::ConvertTypeName(const PgQuery__TypeName& t) {
  TypeName out;
  out.position = Position(t.location);
  if (t.n_array_bounds > 0) return NotSupported("array type", out.position);
  if (t.setof != 0) return NotSupported("SETOF", out.position);
  if (t.pct_type != 0) return NotSupported("%TYPE", out.position);
  std::string schema;
  out.name = LastName(t.n_names, t.names, &schema);
  // char and character arrive as pg_catalog.bpchar, "char" as itself.
  if (!IsCatalogSchema(schema)) {
    out.name = schema + "." + out.name;
  }
  for (size_t i = 0; i < t.n_typmods; ++i) {
    int64_t value = 0;
    if (!ParseInt8(NodeText(*t.typmods[i]).c_str(), &value)) {
      return SqlError(ERRCODE_INVALID_PARAMETER_VALUE,
                      "type modifiers must be simple constants or identifiers")
          .WithCursor(out.position);
    }
    out.typmods.push_back(value);
  }
  return out;
}

}  // namespace engine
