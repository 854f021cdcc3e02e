// Internal to parse.cc and parse_expr.cc: libpg_query's tree to our values.
#ifndef MUSTH_ENGINE_SQL_PARSE_TREE_H_
#define MUSTH_ENGINE_SQL_PARSE_TREE_H_

#include <pg_query/pg_query.pb-c.h>

#include <string>
#include <string_view>
#include <vector>

#include "engine/sql/ast.h"

namespace engine {

// "SAVEPOINT is not supported" and the like. Errors: 0A000, always.
Status NotSupported(std::string_view construct, int position = 0);

// Errors: 54001, always.
Status TooComplex();

// What a node is called in a refusal: "ALTER TABLE", "subquery".
std::string ConstructName(const PgQuery__Node& node);

// Converts the nodes of one parse; text gives cursor positions.
class TreeConverter {
 public:
  explicit TreeConverter(std::string_view text) : text_(text) {}

  Result<Statement> ConvertStatement(const PgQuery__Node& node);

 private:
  // Byte offset (-1: unknown) to 1-based character position (0: unknown).
  int Position(int location) const;

  // parse_expr.cc
  Status ConvertExpr(const PgQuery__Node& node, Expr* out);
  Status ConvertArg(const PgQuery__Node& arg, Expr* out);
  Status ConvertArgs(size_t n, PgQuery__Node** args, std::vector<Expr>* out);
  Status ConvertConst(const PgQuery__AConst& c, Expr* out);
  Status ConvertColumnRef(const PgQuery__ColumnRef& ref, Expr* out);
  Status ConvertTypeCast(const PgQuery__TypeCast& c, Expr* out);
  Status ConvertAExpr(const PgQuery__AExpr& e, Expr* out);
  Status ConvertOperatorName(const PgQuery__AExpr& e, Expr* out);
  Status ConvertOperator(const PgQuery__AExpr& e, ExprKind kind, Expr* out);
  Status ConvertListOperator(const PgQuery__AExpr& e, ExprKind kind,
                             bool negated, Expr* out);
  Status ConvertBool(const PgQuery__BoolExpr& e, Expr* out);
  Status ConvertBooleanTest(const PgQuery__BooleanTest& t, Expr* out);
  Status CheckFuncCall(const PgQuery__FuncCall& f, Expr* out);
  Status ConvertFuncCall(const PgQuery__FuncCall& f, Expr* out);
  Status ConvertWhen(const PgQuery__CaseExpr& c, const PgQuery__Node& when,
                     Expr* out);
  Status ConvertCase(const PgQuery__CaseExpr& c, Expr* out);
  Status ConvertSqlValueFunction(const PgQuery__SQLValueFunction& f, Expr* out);
  Status ConvertCall(const char* name, size_t n, PgQuery__Node** args,
                     int location, Expr* out);
  Result<TypeName> ConvertTypeName(const PgQuery__TypeName& t);

  // parse_stmt.cc
  Result<SelectStmt> ConvertSelect(const PgQuery__SelectStmt& s);
  Result<FromItem> ConvertFrom(const PgQuery__Node& node);
  Result<std::vector<TargetItem>> ConvertTargets(size_t n,
                                                 PgQuery__Node** nodes);
  Result<InsertStmt> ConvertInsert(const PgQuery__InsertStmt& s);
  Result<UpdateStmt> ConvertUpdate(const PgQuery__UpdateStmt& s);
  Result<DeleteStmt> ConvertDelete(const PgQuery__DeleteStmt& s);
  Result<CreateTableStmt> ConvertCreate(const PgQuery__CreateStmt& s);
  Result<ColumnDef> ConvertColumnDef(const PgQuery__ColumnDef& d);
  Status ConvertOptions(size_t n, PgQuery__Node** options,
                        CreateTableStmt* out);
  Result<StatementBody> ConvertTransaction(const PgQuery__TransactionStmt& s);
  Result<TransactionModes> ConvertModes(size_t n, PgQuery__Node** options);
  Result<StatementBody> ConvertSet(const PgQuery__VariableSetStmt& s);
  Result<DropTableStmt> ConvertDrop(const PgQuery__DropStmt& s);
  Status CheckRangeVar(const PgQuery__RangeVar& r) const;

  std::string_view text_;
  // CASE x repeats x for every WHEN, which nested ones multiply.
  size_t converted_ = 0;
};

// Names of Integer/Float/String/A_Const nodes as text ("" for others).
std::string NodeText(const PgQuery__Node& node);

}  // namespace engine

#endif  // MUSTH_ENGINE_SQL_PARSE_TREE_H_
