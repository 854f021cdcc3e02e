// From statements to plans: looks names up, settles types, checks what
// PostgreSQL's parse analysis checks, with its messages and positions.
// Source: src/backend/parser/{analyze,parse_target,parse_expr,parse_agg,
// parse_clause,parse_relation}.c.
#ifndef MUSTH_ENGINE_SQL_ANALYZE_H_
#define MUSTH_ENGINE_SQL_ANALYZE_H_

#include <span>

#include "engine/sql/ast.h"
#include "engine/sql/plan.h"

namespace engine {

// What an analysis needs beside the statement.
struct AnalyzeContext {
  Backend* be = nullptr;
  // Literals and folded constants; must outlive the plan.
  Arena* arena = nullptr;
  // Values of $1, $2, ...: constants.
  std::span<const Expr> params;
};

// All suspend (they read catalogs). Errors: SQL errors of parse analysis;
// those of constant subexpressions.
Result<SelectPlan> AnalyzeSelect(const AnalyzeContext& context,
                                 const SelectStmt& stmt);
Result<InsertPlan> AnalyzeInsert(const AnalyzeContext& context,
                                 const InsertStmt& stmt);
Result<UpdatePlan> AnalyzeUpdate(const AnalyzeContext& context,
                                 const UpdateStmt& stmt);
Result<DeletePlan> AnalyzeDelete(const AnalyzeContext& context,
                                 const DeleteStmt& stmt);

}  // namespace engine

#endif  // MUSTH_ENGINE_SQL_ANALYZE_H_
