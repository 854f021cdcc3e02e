// ModelStatement: what is resolved once, before the statement runs.
#include <algorithm>
#include <utility>
#include <variant>

#include "properties/model_dml.h"

namespace properties {

using env::Status;

Status ModelStatement::Compile() {
  const TableShape* shape = table_ == nullptr ? nullptr : &table_->shape;
  if (const auto* select = std::get_if<engine::SelectStmt>(&statement_->body)) {
    bool named = select->from.has_value() && !select->from->table.empty();
    if (named && table_ == nullptr) return NotModelled("an unknown table");
    ASSIGN_OR_RETURN(query_, CompileQuery(*select, shape, {}));
    return {};
  }
  const auto* insert = std::get_if<engine::InsertStmt>(&statement_->body);
  const auto* update = std::get_if<engine::UpdateStmt>(&statement_->body);
  const auto* del = std::get_if<engine::DeleteStmt>(&statement_->body);
  kind_ = insert != nullptr   ? Kind::kInsert
          : update != nullptr ? Kind::kUpdate
                              : Kind::kDelete;
  if (shape == nullptr) return NotModelled("an unknown table");
  if (insert != nullptr) return CompileInsert(*insert);
  if (update != nullptr) return CompileUpdate(*update);
  if (del == nullptr) return NotModelled("this kind of statement");
  ExprCompiler compiler(shape, del->alias.empty() ? del->table : del->alias);
  if (del->where.has_value()) {
    ASSIGN_OR_RETURN(where_, compiler.CompileCondition(*del->where));
  }
  return CompileReturning(del->returning, &compiler);
}

Status ModelStatement::CompileReturning(
    const std::vector<engine::TargetItem>& items, ExprCompiler* compiler) {
  if (items.empty()) return {};
  ASSIGN_OR_RETURN(returning_,
                   CompileTargets(items, &table_->shape, compiler, nullptr));
  for (ModelExpr& target : returning_) {
    if (target.type == kUnknownType) target.type = kTextType;
    if (!HasOutput(target.type)) return NotModelled("a result of this type");
  }
  return {};
}

Status ModelStatement::CompileUpdate(const engine::UpdateStmt& stmt) {
  const RelationShape& columns = table_->shape.columns;
  ExprCompiler compiler(&table_->shape,
                        stmt.alias.empty() ? stmt.table : stmt.alias);
  for (const engine::SetClause& set : stmt.sets) {
    auto it = std::find_if(columns.begin(), columns.end(), [&](const auto& c) {
      return !c.dropped && c.name == set.column;
    });
    if (it == columns.end()) return NotModelled("column " + set.column);
    ASSIGN_OR_RETURN(ModelExpr value, compiler.Assign(set.value, *it));
    sets_.emplace_back(static_cast<size_t>(it - columns.begin()),
                       std::move(value));
  }
  if (stmt.where.has_value()) {
    ASSIGN_OR_RETURN(where_, compiler.CompileCondition(*stmt.where));
  }
  return CompileReturning(stmt.returning, &compiler);
}

Status ModelStatement::CompileInsert(const engine::InsertStmt& stmt) {
  const RelationShape& columns = table_->shape.columns;
  std::vector<size_t> targets;
  for (size_t i = 0; stmt.columns.empty() && i < columns.size(); ++i) {
    if (!columns[i].dropped) targets.push_back(i);
  }
  for (const std::string& name : stmt.columns) {
    auto it = std::find_if(columns.begin(), columns.end(), [&](const auto& c) {
      return !c.dropped && c.name == name;
    });
    if (it == columns.end()) return NotModelled("column " + name);
    targets.push_back(static_cast<size_t>(it - columns.begin()));
  }
  for (size_t at : targets) into_.push_back(&columns[at]);
  ExprCompiler compiler(&table_->shape, stmt.table);
  RETURN_IF_ERROR(CompileReturning(stmt.returning, &compiler));
  if (stmt.select.has_value()) {
    const std::optional<engine::FromItem>& from = stmt.select->from;
    const TableShape* source = nullptr;
    if (from.has_value() && !from->table.empty()) {
      // Another table than the one that is written is not looked up.
      if (from->table != stmt.table) return NotModelled("a second table");
      source = &table_->shape;
    }
    // * would name the columns, which into_ has already.
    std::vector<const ColumnShape*> into = into_;
    into.resize(std::min(into.size(), stmt.select->targets.size()));
    ASSIGN_OR_RETURN(query_, CompileQuery(*stmt.select, source, into));
    into_.resize(into.size());
    return {};
  }
  ExprCompiler plain(nullptr, "");
  for (const std::vector<engine::Expr>& row : stmt.rows) {
    if (row.size() > targets.size()) return NotModelled("so many values");
    std::vector<ModelExpr> values(columns.size());
    for (size_t i = 0; i < row.size(); ++i) {
      ASSIGN_OR_RETURN(values[targets[i]],
                       plain.Assign(row[i], columns[targets[i]]));
    }
    values_.push_back(std::move(values));
  }
  return {};
}

}  // namespace properties
