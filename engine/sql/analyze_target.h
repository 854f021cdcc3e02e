// What the analyses of SELECT, INSERT, UPDATE and DELETE share: tables, target
// lists, values for columns.
#ifndef MUSTH_ENGINE_SQL_ANALYZE_TARGET_H_
#define MUSTH_ENGINE_SQL_ANALYZE_TARGET_H_

#include <optional>
#include <string>
#include <vector>

#include "engine/sql/analyze.h"
#include "engine/sql/analyze_expr.h"

namespace engine {

// Errors: 42P01 at position. Suspends: yes.
Result<Relation> OpenTable(const AnalyzeContext& context,
                           const std::string& name, int position);
// The table that a statement changes: no system catalog (0A000).
Result<Relation> OpenTarget(const AnalyzeContext& context,
                            const std::string& name, int position);

Scope TableScope(const Relation& rel, const std::string& alias);
// What analysis found out about the scope's use.
void RecordScopeUse(const Scope& scope, ScanPlan* scan);

Status FoldAll(std::vector<ExprNode>* nodes, Arena& arena);
Status FoldOne(std::optional<ExprNode>* node, Arena& arena);

struct Target {
  ExprNode node;
  std::string name;
};

// A target list, with "*" expanded.
Result<std::vector<Target>> AnalyzeTargets(ExprAnalyzer* analyzer, Scope* scope,
                                           const std::vector<TargetItem>& items,
                                           const Place& place);
// A literal that nothing gave a type is text.
Status ResolveUnknownTargets(std::vector<Target>* targets, Arena& arena);
Result<ReturningPlan> AnalyzeReturning(const AnalyzeContext& context,
                                       Scope* scope,
                                       const std::vector<TargetItem>& items);

// The query of an INSERT: literals without a type keep none, so that the
// columns give them theirs.
Result<SelectPlan> AnalyzeInsertSource(const AnalyzeContext& context,
                                       const SelectStmt& stmt);

// node as a value for a column. Errors: 42804.
Result<ExprNode> CoerceToColumn(ExprNode node, const Attribute& att,
                                Arena& arena);
// NULL as a value of the column.
ExprNode NullOf(const Attribute& att);

}  // namespace engine

#endif  // MUSTH_ENGINE_SQL_ANALYZE_TARGET_H_
