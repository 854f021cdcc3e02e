#include "engine/sql/ast.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace engine {
namespace {

// Words that PostgreSQL reserves; as names they need quotes.
constexpr std::string_view kReservedWords[] = {"all",
                                               "analyse",
                                               "analyze",
                                               "and",
                                               "any",
                                               "array",
                                               "as",
                                               "asc",
                                               "asymmetric",
                                               "between",
                                               "both",
                                               "case",
                                               "cast",
                                               "char",
                                               "check",
                                               "coalesce",
                                               "collate",
                                               "column",
                                               "constraint",
                                               "create",
                                               "cross",
                                               "current_date",
                                               "current_role",
                                               "current_time",
                                               "current_timestamp",
                                               "current_user",
                                               "default",
                                               "deferrable",
                                               "desc",
                                               "distinct",
                                               "do",
                                               "else",
                                               "end",
                                               "except",
                                               "false",
                                               "fetch",
                                               "for",
                                               "foreign",
                                               "from",
                                               "full",
                                               "grant",
                                               "group",
                                               "having",
                                               "in",
                                               "initially",
                                               "inner",
                                               "intersect",
                                               "into",
                                               "is",
                                               "join",
                                               "lateral",
                                               "leading",
                                               "left",
                                               "like",
                                               "limit",
                                               "localtime",
                                               "localtimestamp",
                                               "natural",
                                               "not",
                                               "null",
                                               "offset",
                                               "on",
                                               "only",
                                               "or",
                                               "order",
                                               "outer",
                                               "placing",
                                               "primary",
                                               "references",
                                               "returning",
                                               "right",
                                               "select",
                                               "session_user",
                                               "similar",
                                               "some",
                                               "symmetric",
                                               "table",
                                               "then",
                                               "to",
                                               "trailing",
                                               "true",
                                               "union",
                                               "unique",
                                               "user",
                                               "using",
                                               "values",
                                               "variadic",
                                               "when",
                                               "where",
                                               "window",
                                               "with"};

std::string TypeSql(const TypeName& type) {
  std::string out;
  // The internal name is quoted: char means bpchar, "char" another type.
  if (type.name == "bpchar" && type.typmods.empty()) {
    out = "bpchar";
  } else if (type.name == "bpchar") {
    out = "char";
  } else {
    out = QuoteIdentifier(type.name);
  }
  if (!type.typmods.empty()) {
    out += fmt::format("({})", fmt::join(type.typmods, ", "));
  }
  return out;
}

std::string ListSql(const std::vector<Expr>& args, size_t first,
                    std::string_view separator) {
  std::string out;
  for (size_t i = first; i < args.size(); ++i) {
    if (i > first) out += separator;
    out += ToSql(args[i]);
  }
  return out;
}

std::string ConstSql(const Expr& e) {
  if (e.isnull) return "NULL";
  switch (e.const_type) {
    case BOOLOID:
      return e.num != 0 ? "true" : "false";
    case INT4OID:
    case INT8OID:
      return e.num < 0 ? fmt::format("({})", e.num) : std::to_string(e.num);
    case NUMERICOID:
      return e.name;
    default:
      return QuoteLiteral(e.name);
  }
}

std::string FunctionSql(const Expr& e) {
  if (e.name == "current_timestamp" || e.name == "localtimestamp" ||
      e.name == "current_date") {
    return e.name;
  }
  // These have a grammar of their own and take no quotes.
  bool special = e.name == "coalesce" || e.name == "greatest" ||
                 e.name == "least" || e.name == "nullif";
  return fmt::format("{}({}{})", special ? e.name : QuoteIdentifier(e.name),
                     e.distinct ? "DISTINCT " : "", ListSql(e.args, 0, ", "));
}

std::string CaseSql(const Expr& e) {
  std::string out = "CASE";
  size_t i = 0;
  for (; i + 1 < e.args.size(); i += 2) {
    out +=
        fmt::format(" WHEN {} THEN {}", ToSql(e.args[i]), ToSql(e.args[i + 1]));
  }
  if (i < e.args.size()) out += " ELSE " + ToSql(e.args[i]);
  return out + " END";
}

std::string OperatorSql(const Expr& e) {
  if (e.args.size() == 1) {
    // The blank keeps "- -1" from being a comment.
    return fmt::format("({} {})", e.name, ToSql(e.args[0]));
  }
  return fmt::format("({} {} {})", ToSql(e.args[0]), e.name, ToSql(e.args[1]));
}

std::string WithNot(const Expr& e) { return e.negated ? "NOT " : ""; }

std::string TargetsSql(const std::vector<TargetItem>& targets) {
  std::string out;
  for (const TargetItem& item : targets) {
    if (!out.empty()) out += ", ";
    out += ToSql(item.expr);
    if (!item.alias.empty()) out += " AS " + QuoteIdentifier(item.alias);
  }
  return out;
}

std::string ReturningSql(const std::vector<TargetItem>& targets) {
  return targets.empty() ? "" : " RETURNING " + TargetsSql(targets);
}

std::string WhereSql(const std::optional<Expr>& where) {
  return where.has_value() ? " WHERE " + ToSql(*where) : "";
}

std::string TableSql(const std::string& table, const std::string& alias) {
  std::string out = QuoteIdentifier(table);
  if (!alias.empty()) out += " AS " + QuoteIdentifier(alias);
  return out;
}

std::string NamesSql(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    if (!out.empty()) out += ", ";
    out += QuoteIdentifier(name);
  }
  return out;
}

std::string ModesSql(const TransactionModes& modes) {
  static constexpr const char* kLevels[] = {
      "READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"};
  std::string out;
  if (modes.isolation.has_value()) {
    out += fmt::format(" ISOLATION LEVEL {}",
                       kLevels[static_cast<size_t>(*modes.isolation)]);
  }
  if (modes.read_only.has_value()) {
    if (!out.empty()) out += ",";
    out += *modes.read_only ? " READ ONLY" : " READ WRITE";
  }
  return out;
}

std::string FromSql(const FromItem& from) {
  if (!from.function.has_value()) return TableSql(from.table, from.alias);
  std::string out = ToSql(*from.function);
  if (!from.alias.empty()) out += " AS " + QuoteIdentifier(from.alias);
  return out;
}

std::string StatementSql(const SelectStmt& s) {
  std::string out = "SELECT";
  if (!s.targets.empty()) out += " " + TargetsSql(s.targets);
  if (s.from.has_value()) out += " FROM " + FromSql(*s.from);
  out += WhereSql(s.where);
  if (!s.group_by.empty()) out += " GROUP BY " + ListSql(s.group_by, 0, ", ");
  for (size_t i = 0; i < s.order_by.size(); ++i) {
    const SortItem& item = s.order_by[i];
    out += i == 0 ? " ORDER BY " : ", ";
    out += ToSql(item.expr);
    if (item.descending) out += " DESC";
    if (item.nulls_first.has_value()) {
      out += *item.nulls_first ? " NULLS FIRST" : " NULLS LAST";
    }
  }
  if (s.limit.has_value()) out += " LIMIT " + ToSql(*s.limit);
  if (s.offset.has_value()) out += " OFFSET " + ToSql(*s.offset);
  return out;
}

std::string StatementSql(const InsertStmt& s) {
  std::string out = "INSERT INTO " + QuoteIdentifier(s.table);
  if (!s.columns.empty()) out += " (" + NamesSql(s.columns) + ")";
  if (s.select.has_value()) {
    out += " " + StatementSql(*s.select);
  } else if (s.rows.size() == 1 && s.rows[0].empty()) {
    out += " DEFAULT VALUES";
  } else {
    for (size_t i = 0; i < s.rows.size(); ++i) {
      out += i == 0 ? " VALUES (" : ", (";
      out += ListSql(s.rows[i], 0, ", ") + ")";
    }
  }
  return out + ReturningSql(s.returning);
}

std::string StatementSql(const UpdateStmt& s) {
  std::string out = "UPDATE " + TableSql(s.table, s.alias) + " SET ";
  for (size_t i = 0; i < s.sets.size(); ++i) {
    if (i > 0) out += ", ";
    out += QuoteIdentifier(s.sets[i].column) + " = " + ToSql(s.sets[i].value);
  }
  return out + WhereSql(s.where) + ReturningSql(s.returning);
}

std::string StatementSql(const DeleteStmt& s) {
  return "DELETE FROM " + TableSql(s.table, s.alias) + WhereSql(s.where) +
         ReturningSql(s.returning);
}

std::string StatementSql(const BeginStmt& s) {
  return (s.start_transaction ? "START TRANSACTION" : "BEGIN") +
         ModesSql(s.modes);
}
std::string StatementSql(const CommitStmt&) { return "COMMIT"; }
std::string StatementSql(const RollbackStmt&) { return "ROLLBACK"; }

std::string StatementSql(const CreateTableStmt& s) {
  std::string out = "CREATE TABLE ";
  if (s.if_not_exists) out += "IF NOT EXISTS ";
  out += QuoteIdentifier(s.table) + " (";
  for (size_t i = 0; i < s.columns.size(); ++i) {
    const ColumnDef& c = s.columns[i];
    if (i > 0) out += ", ";
    out += QuoteIdentifier(c.name) + " " + TypeSql(c.type);
    if (c.not_null) out += " NOT NULL";
  }
  out += ")";
  if (s.fillfactor != 100) {
    out += fmt::format(" WITH (fillfactor = {})", s.fillfactor);
  }
  return out;
}

std::string StatementSql(const DropTableStmt& s) {
  return fmt::format("DROP TABLE {}{}", s.if_exists ? "IF EXISTS " : "",
                     NamesSql(s.tables));
}

std::string StatementSql(const SetVariableStmt& s) {
  if (s.reset) return "RESET " + s.name;
  return fmt::format("SET {}{} = {}", s.local ? "LOCAL " : "", s.name,
                     s.value.has_value() ? QuoteLiteral(*s.value) : "DEFAULT");
}

std::string StatementSql(const SetTransactionStmt& s) {
  return (s.session ? "SET SESSION CHARACTERISTICS AS TRANSACTION"
                    : "SET TRANSACTION") +
         ModesSql(s.modes);
}
std::string StatementSql(const ShowStmt& s) { return "SHOW " + s.name; }
std::string StatementSql(const CheckpointStmt&) { return "CHECKPOINT"; }

Expr Make(ExprKind kind, std::vector<Expr> args) {
  Expr e;
  e.kind = kind;
  e.args = std::move(args);
  return e;
}

}  // namespace

std::string QuoteIdentifier(const std::string& name) {
  bool plain =
      !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
      std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
      });
  bool reserved =
      std::find(std::begin(kReservedWords), std::end(kReservedWords), name) !=
      std::end(kReservedWords);
  if (plain && !reserved) return name;
  std::string out = "\"";
  for (char c : name) {
    out += c;
    if (c == '"') out += c;
  }
  return out + "\"";
}

std::string QuoteLiteral(const std::string& text) {
  std::string out = "'";
  for (char c : text) {
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

std::string ToSql(const Expr& e) {
  switch (e.kind) {
    case ExprKind::kConst:
      return ConstSql(e);
    case ExprKind::kColumn:
      return e.qualifier.empty()
                 ? QuoteIdentifier(e.name)
                 : QuoteIdentifier(e.qualifier) + "." + QuoteIdentifier(e.name);
    case ExprKind::kStar:
      return e.qualifier.empty() ? "*" : QuoteIdentifier(e.qualifier) + ".*";
    case ExprKind::kParam:
      return fmt::format("${}", e.num);
    case ExprKind::kOp:
      return OperatorSql(e);
    case ExprKind::kFunction:
      return FunctionSql(e);
    case ExprKind::kCast:
      return fmt::format("CAST({} AS {})", ToSql(e.args[0]), TypeSql(e.type));
    case ExprKind::kAnd:
      return "(" + ListSql(e.args, 0, " AND ") + ")";
    case ExprKind::kOr:
      return "(" + ListSql(e.args, 0, " OR ") + ")";
    case ExprKind::kNot:
      return "(NOT " + ToSql(e.args[0]) + ")";
    case ExprKind::kIsNull:
      return "(" + ToSql(e.args[0]) + " IS NULL)";
    case ExprKind::kIsNotNull:
      return "(" + ToSql(e.args[0]) + " IS NOT NULL)";
    case ExprKind::kBetween:
      return fmt::format("({} {}BETWEEN {} AND {})", ToSql(e.args[0]),
                         WithNot(e), ToSql(e.args[1]), ToSql(e.args[2]));
    case ExprKind::kIn:
      return fmt::format("({} {}IN ({}))", ToSql(e.args[0]), WithNot(e),
                         ListSql(e.args, 1, ", "));
    case ExprKind::kDistinctFrom:
      return fmt::format("({} IS {}DISTINCT FROM {})", ToSql(e.args[0]),
                         WithNot(e), ToSql(e.args[1]));
    case ExprKind::kCase:
      return CaseSql(e);
    case ExprKind::kDefault:
      return "DEFAULT";
  }
  return "";
}

std::string ToSql(const Statement& statement) {
  return std::visit([](const auto& s) { return StatementSql(s); },
                    statement.body);
}

Expr NullConst() {
  Expr e;
  e.isnull = true;
  return e;
}

Expr BoolConst(bool value) {
  Expr e;
  e.const_type = BOOLOID;
  e.num = value ? 1 : 0;
  return e;
}

Expr IntConst(int64_t value) {
  Expr e;
  e.const_type = value >= INT32_MIN && value <= INT32_MAX ? INT4OID : INT8OID;
  e.num = value;
  return e;
}

Expr StringConst(std::string text) {
  Expr e;
  e.name = std::move(text);
  return e;
}

Expr Column(std::string name) {
  Expr e;
  e.kind = ExprKind::kColumn;
  e.name = std::move(name);
  return e;
}

Expr Param(int number) {
  Expr e;
  e.kind = ExprKind::kParam;
  e.num = number;
  return e;
}

Expr Star() { return Make(ExprKind::kStar, {}); }

Expr Unary(std::string op, Expr operand) {
  Expr e = Make(ExprKind::kOp, {});
  e.name = std::move(op);
  e.args.push_back(std::move(operand));
  return e;
}

Expr Binary(std::string op, Expr left, Expr right) {
  Expr e = Make(ExprKind::kOp, {});
  e.name = std::move(op);
  e.args.push_back(std::move(left));
  e.args.push_back(std::move(right));
  return e;
}

Expr Call(std::string function, std::vector<Expr> args) {
  Expr e = Make(ExprKind::kFunction, std::move(args));
  e.name = std::move(function);
  return e;
}

Expr Cast(Expr operand, TypeName type) {
  Expr e = Make(ExprKind::kCast, {});
  e.args.push_back(std::move(operand));
  e.type = std::move(type);
  return e;
}

Expr And(std::vector<Expr> args) {
  return Make(ExprKind::kAnd, std::move(args));
}
Expr Or(std::vector<Expr> args) { return Make(ExprKind::kOr, std::move(args)); }
Expr Not(Expr operand) { return Make(ExprKind::kNot, {std::move(operand)}); }
Expr IsNull(Expr operand) {
  return Make(ExprKind::kIsNull, {std::move(operand)});
}
Expr IsNotNull(Expr operand) {
  return Make(ExprKind::kIsNotNull, {std::move(operand)});
}

Expr Between(Expr value, Expr low, Expr high) {
  return Make(ExprKind::kBetween,
              {std::move(value), std::move(low), std::move(high)});
}

Expr In(Expr value, std::vector<Expr> list) {
  Expr e = Make(ExprKind::kIn, {});
  e.args.push_back(std::move(value));
  for (Expr& item : list) e.args.push_back(std::move(item));
  return e;
}

}  // namespace engine
