#include "engine/sql/analyze.h"

#include <algorithm>
#include <utility>

#include "engine/common/errcodes.h"
#include "engine/sql/analyze_target.h"

namespace engine {
namespace {

// Which columns an INSERT names, as indexes.
Result<std::vector<size_t>> InsertColumns(const InsertStmt& stmt,
                                          const RelationData& rel) {
  std::vector<size_t> out;
  if (stmt.columns.empty()) {
    for (size_t i = 0; i < rel.rd_att.size(); ++i) {
      if (!rel.rd_att[i].attisdropped) out.push_back(i);
    }
    return out;
  }
  for (size_t i = 0; i < stmt.columns.size(); ++i) {
    int position =
        i < stmt.column_positions.size() ? stmt.column_positions[i] : 0;
    size_t at = 0;
    while (at < rel.rd_att.size() &&
           (rel.rd_att[at].attisdropped ||
            rel.rd_att[at].attname != stmt.columns[i])) {
      ++at;
    }
    if (at == rel.rd_att.size()) {
      return SqlError(ERRCODE_UNDEFINED_COLUMN,
                      "column \"{}\" of relation \"{}\" does not exist",
                      stmt.columns[i], rel.relname)
          .WithCursor(position);
    }
    if (std::find(out.begin(), out.end(), at) != out.end()) {
      return SqlError(ERRCODE_DUPLICATE_COLUMN,
                      "column \"{}\" specified more than once", stmt.columns[i])
          .WithCursor(position);
    }
    out.push_back(at);
  }
  return out;
}

// PostgreSQL's complaints about the number of values; ok if they fit.
Status CheckWidth(const InsertStmt& stmt, size_t columns, size_t values,
                  int extra_position) {
  if (values > columns) {
    return SqlError(ERRCODE_SYNTAX_ERROR,
                    "INSERT has more expressions than target columns")
        .WithCursor(extra_position);
  }
  if (values < columns && !stmt.columns.empty()) {
    int position = values < stmt.column_positions.size()
                       ? stmt.column_positions[values]
                       : 0;
    return SqlError(ERRCODE_SYNTAX_ERROR,
                    "INSERT has more target columns than expressions")
        .WithCursor(position);
  }
  return {};
}

Status AnalyzeRow(const AnalyzeContext& context, ExprAnalyzer* analyzer,
                  const std::vector<Expr>& row,
                  const std::vector<size_t>& columns, InsertPlan* plan) {
  const TupleDesc& desc = plan->rel->rd_att;
  std::vector<ExprNode> values;
  for (const Attribute& att : desc) values.push_back(NullOf(att));
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i].kind == ExprKind::kDefault) continue;
    const Attribute& att = desc[columns[i]];
    ASSIGN_OR_RETURN(ExprNode node, analyzer->Analyze(row[i], {"VALUES"}));
    ASSIGN_OR_RETURN(values[columns[i]],
                     CoerceToColumn(std::move(node), att, *context.arena));
  }
  RETURN_IF_ERROR(FoldAll(&values, *context.arena));
  plan->rows.push_back(std::move(values));
  return {};
}

Status AnalyzeRows(const AnalyzeContext& context, const InsertStmt& stmt,
                   const std::vector<size_t>& columns, Scope* scope,
                   InsertPlan* plan) {
  ExprAnalyzer analyzer(context, scope);
  size_t width = stmt.rows[0].size();
  for (const std::vector<Expr>& row : stmt.rows) {
    if (row.size() != width) {
      return SqlError(ERRCODE_SYNTAX_ERROR,
                      "VALUES lists must all be the same length")
          .WithCursor(row.empty() ? 0 : row[0].position);
    }
  }
  int extra =
      width > columns.size() ? stmt.rows[0][columns.size()].position : 0;
  bool default_values = width == 0;
  if (!default_values) {
    RETURN_IF_ERROR(CheckWidth(stmt, columns.size(), width, extra));
  }
  for (const std::vector<Expr>& row : stmt.rows) {
    RETURN_IF_ERROR(AnalyzeRow(context, &analyzer, row, columns, plan));
  }
  return {};
}

Status AnalyzeInsertSelect(const AnalyzeContext& context,
                           const InsertStmt& stmt,
                           const std::vector<size_t>& columns,
                           InsertPlan* plan) {
  ASSIGN_OR_RETURN(SelectPlan select,
                   AnalyzeInsertSource(context, *stmt.select));
  size_t width = select.columns.size();
  int extra =
      width > columns.size() ? select.targets[columns.size()].position : 0;
  RETURN_IF_ERROR(CheckWidth(stmt, columns.size(), width, extra));
  const TupleDesc& desc = plan->rel->rd_att;
  // The columns' values first, in order; sort keys move behind them.
  std::vector<ExprNode> targets;
  for (const Attribute& att : desc) targets.push_back(NullOf(att));
  for (SortKey& key : select.order_by) {
    targets.push_back(select.targets[key.target]);
    key.target = targets.size() - 1;
  }
  for (size_t i = 0; i < width; ++i) {
    ASSIGN_OR_RETURN(targets[columns[i]],
                     CoerceToColumn(std::move(select.targets[i]),
                                    desc[columns[i]], *context.arena));
  }
  select.columns.clear();
  for (const Attribute& att : desc) {
    select.columns.push_back({att.attname, att.atttypid});
  }
  select.targets = std::move(targets);
  RETURN_IF_ERROR(FoldAll(&select.targets, *context.arena));
  plan->select = std::move(select);
  return {};
}

}  // namespace

Result<InsertPlan> AnalyzeInsert(const AnalyzeContext& context,
                                 const InsertStmt& stmt) {
  InsertPlan plan;
  ASSIGN_OR_RETURN(plan.rel, OpenTarget(context, stmt.table, stmt.position));
  ASSIGN_OR_RETURN(std::vector<size_t> columns, InsertColumns(stmt, *plan.rel));
  Scope scope = TableScope(plan.rel, "");
  if (stmt.select.has_value()) {
    RETURN_IF_ERROR(AnalyzeInsertSelect(context, stmt, columns, &plan));
  } else {
    scope.visible = false;
    RETURN_IF_ERROR(AnalyzeRows(context, stmt, columns, &scope, &plan));
    scope.visible = true;
  }
  ASSIGN_OR_RETURN(plan.returning,
                   AnalyzeReturning(context, &scope, stmt.returning));
  return plan;
}

Result<UpdatePlan> AnalyzeUpdate(const AnalyzeContext& context,
                                 const UpdateStmt& stmt) {
  UpdatePlan plan;
  ASSIGN_OR_RETURN(plan.scan.rel,
                   OpenTarget(context, stmt.table, stmt.position));
  const TupleDesc& desc = plan.scan.rel->rd_att;
  Scope scope = TableScope(plan.scan.rel, stmt.alias);
  ExprAnalyzer analyzer(context, &scope);
  std::vector<bool> assigned(desc.size(), false);
  for (size_t i = 0; i < desc.size(); ++i) {
    ExprNode old = NullOf(desc[i]);
    old.op = ExprOp::kColumn;
    old.index = static_cast<int>(i);
    old.typmod = desc[i].atttypmod;
    plan.new_values.push_back(std::move(old));
  }
  for (const SetClause& set : stmt.sets) {
    size_t at = 0;
    while (at < desc.size() &&
           (desc[at].attisdropped || desc[at].attname != set.column)) {
      ++at;
    }
    if (at == desc.size()) {
      return SqlError(ERRCODE_UNDEFINED_COLUMN,
                      "column \"{}\" of relation \"{}\" does not exist",
                      set.column, plan.scan.rel->relname)
          .WithCursor(set.position);
    }
    if (assigned[at]) {
      return SqlError(ERRCODE_SYNTAX_ERROR,
                      "multiple assignments to same column \"{}\"", set.column);
    }
    assigned[at] = true;
    if (set.value.kind == ExprKind::kDefault) {
      plan.new_values[at] = NullOf(desc[at]);
      continue;
    }
    ASSIGN_OR_RETURN(ExprNode node, analyzer.Analyze(set.value, {"UPDATE"}));
    ASSIGN_OR_RETURN(plan.new_values[at],
                     CoerceToColumn(std::move(node), desc[at], *context.arena));
  }
  if (stmt.where.has_value()) {
    ASSIGN_OR_RETURN(plan.scan.filter,
                     analyzer.AnalyzeCondition(*stmt.where, {"WHERE"}));
  }
  ASSIGN_OR_RETURN(plan.returning,
                   AnalyzeReturning(context, &scope, stmt.returning));
  RETURN_IF_ERROR(FoldAll(&plan.new_values, *context.arena));
  RETURN_IF_ERROR(FoldOne(&plan.scan.filter, *context.arena));
  RecordScopeUse(scope, &plan.scan);
  return plan;
}

Result<DeletePlan> AnalyzeDelete(const AnalyzeContext& context,
                                 const DeleteStmt& stmt) {
  DeletePlan plan;
  ASSIGN_OR_RETURN(plan.scan.rel,
                   OpenTarget(context, stmt.table, stmt.position));
  Scope scope = TableScope(plan.scan.rel, stmt.alias);
  ExprAnalyzer analyzer(context, &scope);
  if (stmt.where.has_value()) {
    ASSIGN_OR_RETURN(plan.scan.filter,
                     analyzer.AnalyzeCondition(*stmt.where, {"WHERE"}));
  }
  RETURN_IF_ERROR(FoldOne(&plan.scan.filter, *context.arena));
  ASSIGN_OR_RETURN(plan.returning,
                   AnalyzeReturning(context, &scope, stmt.returning));
  RecordScopeUse(scope, &plan.scan);
  return plan;
}

}  // namespace engine
