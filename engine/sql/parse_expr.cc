#include <cstdlib>
#include <limits>
#include <utility>

#include "engine/common/errcodes.h"
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
  const uint64_t limit =
      negative ? uint64_t{1} << 63 : (uint64_t{1} << 63) - 1;
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

Expr FloatConst(const char* text) {
  int64_t value = 0;
  if (ParseInt8(text, &value)) return IntConst(value);
  Expr e;
  e.const_type = NUMERICOID;
  e.name = text;
  return e;
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

Status TreeConverter::ConvertArgs(size_t n, PgQuery__Node** args,
                                  std::vector<Expr>* out) {
  for (size_t i = 0; i < n; ++i) {
    ASSIGN_OR_RETURN(Expr arg, ConvertExpr(*args[i]));
    out->push_back(std::move(arg));
  }
  return {};
}

Result<Expr> TreeConverter::ConvertCall(std::string name, size_t n,
                                        PgQuery__Node** args, int location) {
  Expr e;
  e.kind = ExprKind::kFunction;
  e.name = std::move(name);
  e.position = Position(location);
  RETURN_IF_ERROR(ConvertArgs(n, args, &e.args));
  return e;
}

Result<Expr> TreeConverter::ConvertExpr(const PgQuery__Node& node) {
  switch (node.node_case) {
    case PG_QUERY__NODE__NODE_A_CONST:
      return ConvertConst(*node.a_const);
    case PG_QUERY__NODE__NODE_COLUMN_REF:
      return ConvertColumnRef(*node.column_ref);
    case PG_QUERY__NODE__NODE_A_EXPR:
      return ConvertAExpr(*node.a_expr);
    case PG_QUERY__NODE__NODE_BOOL_EXPR:
      return ConvertBool(*node.bool_expr);
    case PG_QUERY__NODE__NODE_BOOLEAN_TEST:
      return ConvertBooleanTest(*node.boolean_test);
    case PG_QUERY__NODE__NODE_FUNC_CALL:
      return ConvertFuncCall(*node.func_call);
    case PG_QUERY__NODE__NODE_CASE_EXPR:
      return ConvertCase(*node.case_expr);
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION:
      return ConvertSqlValueFunction(*node.sqlvalue_function);
    case PG_QUERY__NODE__NODE_COALESCE_EXPR:
      return ConvertCall("coalesce", node.coalesce_expr->n_args,
                         node.coalesce_expr->args,
                         node.coalesce_expr->location);
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR:
      return ConvertCall(
          node.min_max_expr->op == PG_QUERY__MIN_MAX_OP__IS_LEAST ? "least"
                                                                  : "greatest",
          node.min_max_expr->n_args, node.min_max_expr->args,
          node.min_max_expr->location);
    case PG_QUERY__NODE__NODE_PARAM_REF: {
      Expr e = Param(node.param_ref->number);
      e.position = Position(node.param_ref->location);
      return e;
    }
    case PG_QUERY__NODE__NODE_SET_TO_DEFAULT: {
      Expr e;
      e.kind = ExprKind::kDefault;
      e.position = Position(node.set_to_default->location);
      return e;
    }
    case PG_QUERY__NODE__NODE_NULL_TEST: {
      ASSIGN_OR_RETURN(Expr arg, ConvertExpr(*node.null_test->arg));
      bool is_null = node.null_test->nulltesttype ==
                     PG_QUERY__NULL_TEST_TYPE__IS_NULL;
      Expr e = is_null ? IsNull(std::move(arg)) : IsNotNull(std::move(arg));
      e.position = Position(node.null_test->location);
      return e;
    }
    case PG_QUERY__NODE__NODE_TYPE_CAST: {
      ASSIGN_OR_RETURN(Expr arg, ConvertExpr(*node.type_cast->arg));
      ASSIGN_OR_RETURN(TypeName type,
                       ConvertTypeName(*node.type_cast->type_name));
      Expr e = Cast(std::move(arg), std::move(type));
      e.position = Position(node.type_cast->location);
      return e;
    }
    default:
      return NotSupported(ConstructName(node));
  }
}

Result<Expr> TreeConverter::ConvertConst(const PgQuery__AConst& c) {
  Expr e = NullConst();
  if (c.isnull == 0) {
    switch (c.val_case) {
      case PG_QUERY__A__CONST__VAL_IVAL:
        e = IntConst(c.ival->ival);
        break;
      case PG_QUERY__A__CONST__VAL_FVAL:
        e = FloatConst(c.fval->fval);
        break;
      case PG_QUERY__A__CONST__VAL_BOOLVAL:
        e = BoolConst(c.boolval->boolval != 0);
        break;
      case PG_QUERY__A__CONST__VAL_SVAL:
        e = StringConst(c.sval->sval);
        break;
      default:
        return NotSupported("bit string", Position(c.location));
    }
  }
  e.position = Position(c.location);
  return e;
}

Result<Expr> TreeConverter::ConvertColumnRef(const PgQuery__ColumnRef& ref) {
  Expr e;
  e.kind = ExprKind::kColumn;
  e.position = Position(ref.location);
  if (ref.n_fields > 2) {
    return NotSupported("schema-qualified column", e.position);
  }
  for (size_t i = 0; i < ref.n_fields; ++i) {
    const PgQuery__Node& field = *ref.fields[i];
    if (i > 0) e.qualifier = e.name;
    if (field.node_case == PG_QUERY__NODE__NODE_A_STAR) {
      e.kind = ExprKind::kStar;
      e.name.clear();
    } else {
      e.name = NodeText(field);
    }
  }
  return e;
}

Result<Expr> TreeConverter::ConvertOperator(const PgQuery__AExpr& e) {
  std::string schema;
  std::string name = LastName(e.n_name, e.name, &schema);
  Expr out;
  out.kind = ExprKind::kOp;
  out.position = Position(e.location);
  if (!IsCatalogSchema(schema)) {
    return NotSupported("OPERATOR() of a schema", out.position);
  }
  out.name = std::move(name);
  if (e.lexpr != nullptr) {
    ASSIGN_OR_RETURN(Expr left, ConvertExpr(*e.lexpr));
    out.args.push_back(std::move(left));
  }
  ASSIGN_OR_RETURN(Expr right, ConvertExpr(*e.rexpr));
  out.args.push_back(std::move(right));
  return out;
}

// a IN (...) and BETWEEN: the right side is a list.
Result<Expr> TreeConverter::ConvertListOperator(const PgQuery__AExpr& e,
                                                ExprKind kind, bool negated) {
  if (e.rexpr->node_case != PG_QUERY__NODE__NODE_LIST) {
    return NotSupported(ConstructName(*e.rexpr), Position(e.location));
  }
  Expr out;
  out.kind = kind;
  out.negated = negated;
  out.position = Position(e.location);
  ASSIGN_OR_RETURN(Expr left, ConvertExpr(*e.lexpr));
  out.args.push_back(std::move(left));
  RETURN_IF_ERROR(
      ConvertArgs(e.rexpr->list->n_items, e.rexpr->list->items, &out.args));
  return out;
}

Result<Expr> TreeConverter::ConvertAExpr(const PgQuery__AExpr& e) {
  int position = Position(e.location);
  switch (e.kind) {
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP:
    case PG_QUERY__A__EXPR__KIND__AEXPR_LIKE:
      return ConvertOperator(e);
    case PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_DISTINCT: {
      ASSIGN_OR_RETURN(Expr out, ConvertOperator(e));
      out.kind = ExprKind::kDistinctFrom;
      out.negated = e.kind == PG_QUERY__A__EXPR__KIND__AEXPR_NOT_DISTINCT;
      return out;
    }
    case PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF: {
      ASSIGN_OR_RETURN(Expr out, ConvertOperator(e));
      out.kind = ExprKind::kFunction;
      out.name = "nullif";
      return out;
    }
    case PG_QUERY__A__EXPR__KIND__AEXPR_IN:
      return ConvertListOperator(e, ExprKind::kIn,
                                 NodeText(*e.name[0]) == "<>");
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN:
      return ConvertListOperator(e, ExprKind::kBetween, false);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN:
      return ConvertListOperator(e, ExprKind::kBetween, true);
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ANY:
      return NotSupported("ANY", position);
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ALL:
      return NotSupported("ALL", position);
    case PG_QUERY__A__EXPR__KIND__AEXPR_ILIKE:
      return NotSupported("ILIKE", position);
    case PG_QUERY__A__EXPR__KIND__AEXPR_SIMILAR:
      return NotSupported("SIMILAR TO", position);
    default:
      return NotSupported("BETWEEN SYMMETRIC", position);
  }
}

Result<Expr> TreeConverter::ConvertBool(const PgQuery__BoolExpr& e) {
  Expr out;
  out.position = Position(e.location);
  out.kind = e.boolop == PG_QUERY__BOOL_EXPR_TYPE__AND_EXPR ? ExprKind::kAnd
             : e.boolop == PG_QUERY__BOOL_EXPR_TYPE__OR_EXPR
                 ? ExprKind::kOr
                 : ExprKind::kNot;
  RETURN_IF_ERROR(ConvertArgs(e.n_args, e.args, &out.args));
  return out;
}

// x IS [NOT] TRUE|FALSE|UNKNOWN in terms of DISTINCT FROM and IS NULL.
Result<Expr> TreeConverter::ConvertBooleanTest(const PgQuery__BooleanTest& t) {
  ASSIGN_OR_RETURN(Expr arg, ConvertExpr(*t.arg));
  Expr out;
  out.position = Position(t.location);
  out.kind = ExprKind::kDistinctFrom;
  switch (t.booltesttype) {
    case PG_QUERY__BOOL_TEST_TYPE__IS_UNKNOWN:
      out.kind = ExprKind::kIsNull;
      break;
    case PG_QUERY__BOOL_TEST_TYPE__IS_NOT_UNKNOWN:
      out.kind = ExprKind::kIsNotNull;
      break;
    case PG_QUERY__BOOL_TEST_TYPE__IS_TRUE:
    case PG_QUERY__BOOL_TEST_TYPE__IS_FALSE:
      out.negated = true;
      break;
    default:
      break;
  }
  bool truth = t.booltesttype == PG_QUERY__BOOL_TEST_TYPE__IS_TRUE ||
               t.booltesttype == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_TRUE;
  out.args.push_back(std::move(arg));
  if (out.kind == ExprKind::kDistinctFrom) {
    out.args.push_back(BoolConst(truth));
  }
  return out;
}

Result<Expr> TreeConverter::ConvertFuncCall(const PgQuery__FuncCall& f) {
  int position = Position(f.location);
  if (f.over != nullptr) return NotSupported("OVER", position);
  if (f.agg_filter != nullptr) return NotSupported("FILTER", position);
  if (f.n_agg_order > 0) {
    return NotSupported("ORDER BY in an aggregate", position);
  }
  if (f.func_variadic != 0) return NotSupported("VARIADIC", position);
  std::string schema;
  std::string name = LastName(f.n_funcname, f.funcname, &schema);
  if (!IsCatalogSchema(schema)) name = schema + "." + name;
  ASSIGN_OR_RETURN(Expr e,
                   ConvertCall(std::move(name), f.n_args, f.args, f.location));
  e.distinct = f.agg_distinct != 0;
  if (f.agg_star != 0) e.args.push_back(Star());
  return e;
}

Result<Expr> TreeConverter::ConvertCase(const PgQuery__CaseExpr& c) {
  Expr out;
  out.kind = ExprKind::kCase;
  out.position = Position(c.location);
  for (size_t i = 0; i < c.n_args; ++i) {
    const PgQuery__CaseWhen& when = *c.args[i]->case_when;
    ASSIGN_OR_RETURN(Expr condition, ConvertExpr(*when.expr));
    if (c.arg != nullptr) {
      ASSIGN_OR_RETURN(Expr subject, ConvertExpr(*c.arg));
      int position = condition.position;
      condition = Binary("=", std::move(subject), std::move(condition));
      condition.position = position;
    }
    ASSIGN_OR_RETURN(Expr result, ConvertExpr(*when.result));
    out.args.push_back(std::move(condition));
    out.args.push_back(std::move(result));
  }
  if (c.defresult != nullptr) {
    ASSIGN_OR_RETURN(Expr otherwise, ConvertExpr(*c.defresult));
    out.args.push_back(std::move(otherwise));
  }
  return out;
}

Result<Expr> TreeConverter::ConvertSqlValueFunction(
    const PgQuery__SQLValueFunction& f) {
  Expr e;
  e.kind = ExprKind::kFunction;
  e.position = Position(f.location);
  switch (f.op) {
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIMESTAMP:
      e.name = "current_timestamp";
      return e;
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP:
      e.name = "localtimestamp";
      return e;
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_DATE:
      e.name = "current_date";
      return e;
    default:
      return NotSupported(
          "CURRENT_TIME, CURRENT_USER or a precision of CURRENT_TIMESTAMP",
          e.position);
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
