// Statements as values: what the parser makes of SQL text, and what generated
// workloads build directly.
//
//   Statement
//     body: one of CreateTableStmt, InsertStmt, ... (std::variant)
//           Expr trees: kind, name or constant, arguments
//
// Everything is a plain value: copyable, comparable by ToSql(), free of
// pointers into the text it came from. Names are as PostgreSQL folds them
// (lower case unless quoted). Nothing here has been looked up in a catalog.
#ifndef MUSTH_ENGINE_SQL_AST_H_
#define MUSTH_ENGINE_SQL_AST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/common/types.h"

namespace engine {

// A type as written: "varchar", {10}. Internal names (int4, bpchar, varchar).
struct TypeName {
  std::string name;
  std::vector<int64_t> typmods;
  int position = 0;
};

enum class ExprKind : uint8_t {
  kConst,         // const_type, isnull, num or text
  kColumn,        // name, qualifier (may be empty)
  kStar,          // * or qualifier.* in a target list; count(*)'s argument
  kParam,         // num: $1, $2, ...
  kOp,            // name: + - * / % = <> < <= > >= || ~~ !~~; 1 or 2 args
  kFunction,      // name, args; aggregates too
  kCast,          // type, args[0]
  kAnd,           // args, two or more
  kOr,            // args, two or more
  kNot,           // args[0]
  kIsNull,        // args[0]
  kIsNotNull,     // args[0]
  kBetween,       // args[0] between args[1] and args[2]; negated
  kIn,            // args[0] in (args[1], ...); negated
  kDistinctFrom,  // args[0] is distinct from args[1]; negated
  kCase,          // when, then, ..., else (odd count: the last is ELSE)
  kDefault,       // DEFAULT in VALUES and SET
};

struct Expr {
  ExprKind kind = ExprKind::kConst;
  // kConst: BOOLOID, INT4OID, INT8OID in num; NUMERICOID and UNKNOWNOID (a
  // quoted literal) and TEXTOID in name. NULL is UNKNOWNOID with isnull.
  Oid const_type = UNKNOWNOID;
  bool isnull = false;
  bool negated = false;   // NOT BETWEEN, NOT IN, IS NOT DISTINCT FROM
  bool distinct = false;  // count(DISTINCT x)
  int64_t num = 0;
  std::string name;
  std::string qualifier;
  TypeName type;
  std::vector<Expr> args;
  // 1-based character position in the statement's text; 0 unknown.
  int position = 0;
};

struct ColumnDef {
  std::string name;
  TypeName type;
  bool not_null = false;
};

struct CreateTableStmt {
  std::string table;
  std::vector<ColumnDef> columns;
  bool if_not_exists = false;
  int fillfactor = 100;
  int position = 0;  // of the table's name
};

struct DropTableStmt {
  std::vector<std::string> tables;
  bool if_exists = false;
};

struct TargetItem {
  Expr expr;
  std::string alias;  // empty: derived from the expression
};

struct SortItem {
  Expr expr;
  bool descending = false;
  // Unset: last when ascending, first when descending.
  std::optional<bool> nulls_first;
};

// A table, or generate_series(start, stop [, step]), in FROM.
struct FromItem {
  std::string table;
  std::string alias;
  // Set for a function: kFunction. The table name is empty then.
  std::optional<Expr> function;
  int position = 0;
};

struct SelectStmt {
  std::vector<TargetItem> targets;
  std::optional<FromItem> from;
  std::optional<Expr> where;
  std::vector<Expr> group_by;
  std::vector<SortItem> order_by;
  std::optional<Expr> limit;
  std::optional<Expr> offset;
};

struct InsertStmt {
  std::string table;
  int position = 0;
  std::vector<std::string> columns;  // empty: all
  std::vector<int> column_positions;
  std::vector<std::vector<Expr>> rows;  // VALUES; empty with select
  std::optional<SelectStmt> select;
  std::vector<TargetItem> returning;
};

struct SetClause {
  std::string column;
  Expr value;
  int position = 0;
};

struct UpdateStmt {
  std::string table;
  std::string alias;
  int position = 0;
  std::vector<SetClause> sets;
  std::optional<Expr> where;
  std::vector<TargetItem> returning;
};

struct DeleteStmt {
  std::string table;
  std::string alias;
  int position = 0;
  std::optional<Expr> where;
  std::vector<TargetItem> returning;
};

// As written; serializable and read uncommitted are mapped by the session.
enum class IsolationName : uint8_t {
  kReadUncommitted,
  kReadCommitted,
  kRepeatableRead,
  kSerializable,
};

struct TransactionModes {
  std::optional<IsolationName> isolation;
  std::optional<bool> read_only;
};

struct BeginStmt {
  TransactionModes modes;
  bool start_transaction = false;  // only for the command tag
};
struct CommitStmt {
  bool chain = false;
};
struct RollbackStmt {
  bool chain = false;
};

// SET [LOCAL] name = value; RESET name (no value); SET name TO DEFAULT.
struct SetVariableStmt {
  std::string name;
  std::optional<std::string> value;
  bool local = false;
  bool reset = false;  // only for the command tag
};

// SET TRANSACTION ..., or SET SESSION CHARACTERISTICS AS TRANSACTION ...
struct SetTransactionStmt {
  TransactionModes modes;
  bool session = false;
};

struct ShowStmt {
  std::string name;
};
struct CheckpointStmt {};

using StatementBody =
    std::variant<SelectStmt, InsertStmt, UpdateStmt, DeleteStmt, BeginStmt,
                 CommitStmt, RollbackStmt, CreateTableStmt, DropTableStmt,
                 SetVariableStmt, SetTransactionStmt, ShowStmt, CheckpointStmt>;

struct Statement {
  StatementBody body;
};

// SQL text that parses back to the same statement.
std::string ToSql(const Statement& statement);
std::string ToSql(const Expr& expr);
// "name", quoted where PostgreSQL would need it.
std::string QuoteIdentifier(const std::string& name);
// 'text' with quotes doubled (E'' is never needed: no escapes).
std::string QuoteLiteral(const std::string& text);

// Builders.
Expr NullConst();
Expr BoolConst(bool value);
// An int4 constant if the value fits, else int8.
Expr IntConst(int64_t value);
// A quoted literal of unknown type, as in SQL text.
Expr StringConst(std::string text);
Expr Column(std::string name);
Expr Param(int number);
Expr Star();
Expr Unary(std::string op, Expr operand);
Expr Binary(std::string op, Expr left, Expr right);
Expr Call(std::string function, std::vector<Expr> args);
Expr Cast(Expr operand, TypeName type);
Expr And(std::vector<Expr> args);
Expr Or(std::vector<Expr> args);
Expr Not(Expr operand);
Expr IsNull(Expr operand);
Expr IsNotNull(Expr operand);
Expr Between(Expr value, Expr low, Expr high);
Expr In(Expr value, std::vector<Expr> list);

}  // namespace engine

#endif  // MUSTH_ENGINE_SQL_AST_H_
