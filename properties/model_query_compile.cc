// CompileQuery: the clauses of SELECT.
#include <utility>

#include "properties/model_query.h"

namespace properties {
namespace {

using engine::Expr;
using engine::ExprKind;
using engine::SelectStmt;
using env::Result;
using env::Status;

class QueryCompiler {
 public:
  QueryCompiler(const SelectStmt& stmt, const TableShape* table,
                const std::vector<const ColumnShape*>& into)
      : stmt_(stmt),
        into_(into),
        table_(table),
        refname_(RefName(stmt)),
        compiler_(table, refname_) {}

  Result<ModelQuery> Run() {
    query_.from_table = table_ != nullptr;
    if (stmt_.from.has_value() && stmt_.from->function.has_value()) {
      RETURN_IF_ERROR(CompileSeries(*stmt_.from->function));
    }
    if (stmt_.where.has_value()) {
      ASSIGN_OR_RETURN(query_.where, compiler_.CompileCondition(*stmt_.where));
    }
    RETURN_IF_ERROR(CompileGroupBy());
    compiler_.AllowAggregates(true);
    RETURN_IF_ERROR(CompileVisible());
    RETURN_IF_ERROR(CompileOrderBy());
    compiler_.AllowAggregates(false);
    query_.aggregates = std::move(compiler_.aggregates());
    query_.grouped = !stmt_.group_by.empty() || !query_.aggregates.empty();
    if (query_.grouped && stmt_.group_by.empty()) {
      for (const ModelExpr& target : query_.targets) {
        if (UsesColumn(target))
          return NotModelled("a column beside aggregates");
      }
    }
    RETURN_IF_ERROR(CompileWindow());
    return std::move(query_);
  }

 private:
  static std::string RefName(const SelectStmt& stmt) {
    if (!stmt.from.has_value()) return "";
    if (!stmt.from->alias.empty()) return stmt.from->alias;
    return stmt.from->function.has_value() ? stmt.from->function->name
                                           : stmt.from->table;
  }

  static bool UsesColumn(const ModelExpr& e) {
    if (e.op == ModelExpr::Op::kColumn) return true;
    for (const ModelExpr& arg : e.args) {
      if (UsesColumn(arg)) return true;
    }
    return false;
  }

  Status CompileSeries(const Expr& call) {
    if (call.name != "generate_series" || call.args.size() < 2 ||
        call.args.size() > 3) {
      return NotModelled("function " + call.name + " in FROM");
    }
    ModelQuery::Series series;
    series.step.value = IntValue(1);
    series.step.type = kInt4Type;
    ModelExpr* parts[] = {&series.start, &series.stop, &series.step};
    uint32_t type = kInt4Type;
    for (size_t i = 0; i < call.args.size(); ++i) {
      ExprCompiler plain(nullptr, "");
      ASSIGN_OR_RETURN(*parts[i], plain.Compile(call.args[i]));
      if (!IsInteger(parts[i]->type))
        return NotModelled("a series of this type");
      if (parts[i]->type == kInt8Type) type = kInt8Type;
    }
    query_.series = std::move(series);
    ColumnShape column;
    column.name = refname_;
    column.type = type;
    series_shape_.name = refname_;
    series_shape_.columns = {column};
    table_ = &series_shape_;
    compiler_ = ExprCompiler(table_, refname_);
    return {};
  }

  // "GROUP BY 1" and names of targets that are no columns.
  Expr GroupKey(const Expr& e) const {
    if (e.kind == ExprKind::kConst && !e.isnull && e.num >= 1 &&
        static_cast<size_t>(e.num) <= stmt_.targets.size()) {
      return stmt_.targets[static_cast<size_t>(e.num - 1)].expr;
    }
    if (e.kind != ExprKind::kColumn || !e.qualifier.empty()) return e;
    if (table_ != nullptr) {
      for (const ColumnShape& column : table_->columns) {
        if (column.name == e.name) return e;
      }
    }
    for (const engine::TargetItem& item : stmt_.targets) {
      if (item.alias == e.name) return item.expr;
    }
    return e;
  }

  Status CompileGroupBy() {
    if (stmt_.group_by.empty()) return {};
    std::vector<Expr> keys;
    for (const Expr& e : stmt_.group_by) {
      keys.push_back(GroupKey(e));
      if (keys.back().kind == ExprKind::kStar) return NotModelled("GROUP BY *");
      ASSIGN_OR_RETURN(ModelExpr key, compiler_.Compile(keys.back()));
      if (key.type == kUnknownType) key.type = kTextType;
      if (!IsComparable(key.type)) return NotModelled("a key of this type");
      query_.keys.push_back(std::move(key));
    }
    compiler_.SetGroupKeys(keys, query_.keys);
    return {};
  }

  Status CompileVisible() {
    ASSIGN_OR_RETURN(query_.targets, CompileTargets(stmt_.targets, table_,
                                                    &compiler_, &names_));
    query_.visible = query_.targets.size();
    if (!into_.empty()) {
      if (query_.visible != into_.size()) return NotModelled("so many columns");
      for (size_t i = 0; i < into_.size(); ++i) {
        ASSIGN_OR_RETURN(
            query_.targets[i],
            compiler_.AssignCompiled(std::move(query_.targets[i]), *into_[i]));
      }
      return {};
    }
    for (ModelExpr& target : query_.targets) {
      if (target.type == kUnknownType) target.type = kTextType;
      if (!HasOutput(target.type)) return NotModelled("a result of this type");
    }
    return {};
  }

  // A target by position or name, else a hidden one.
  Result<size_t> SortTarget(const Expr& e) {
    if (e.kind == ExprKind::kConst) {
      bool fits = !e.isnull && e.num >= 1 &&
                  static_cast<uint64_t>(e.num) <= query_.visible;
      if (!fits) return NotModelled("ORDER BY a constant");
      return static_cast<size_t>(e.num - 1);
    }
    if (e.kind == ExprKind::kColumn && e.qualifier.empty()) {
      for (size_t i = 0; i < names_.size(); ++i) {
        if (names_[i] == e.name) return i;
      }
    }
    ASSIGN_OR_RETURN(ModelExpr node, compiler_.Compile(e));
    query_.targets.push_back(std::move(node));
    return query_.targets.size() - 1;
  }

  Status CompileOrderBy() {
    for (const engine::SortItem& item : stmt_.order_by) {
      ModelQuery::Sort sort;
      ASSIGN_OR_RETURN(sort.target, SortTarget(item.expr));
      if (!IsComparable(query_.targets[sort.target].type)) {
        return NotModelled("ORDER BY this type");
      }
      sort.descending = item.descending;
      sort.nulls_first = item.nulls_first.value_or(item.descending);
      query_.order_by.push_back(sort);
    }
    return {};
  }

  Status CompileWindow() {
    ExprCompiler plain(nullptr, "");
    if (stmt_.limit.has_value()) {
      ASSIGN_OR_RETURN(query_.limit, plain.Compile(*stmt_.limit));
    }
    if (stmt_.offset.has_value()) {
      ASSIGN_OR_RETURN(query_.offset, plain.Compile(*stmt_.offset));
    }
    for (const auto* part : {&query_.limit, &query_.offset}) {
      if (!part->has_value() || IsInteger((*part)->type)) continue;
      bool null = (*part)->type == kUnknownType && IsNull((*part)->value);
      if (!null) return NotModelled("a LIMIT of this type");
    }
    return {};
  }

  const SelectStmt& stmt_;
  const std::vector<const ColumnShape*>& into_;
  const TableShape* table_;
  const std::string refname_;
  TableShape series_shape_;
  ExprCompiler compiler_;
  ModelQuery query_;
  std::vector<std::string> names_;  // of the visible targets
};

}  // namespace

Result<std::vector<ModelExpr>> CompileTargets(
    const std::vector<engine::TargetItem>& items, const TableShape* table,
    ExprCompiler* compiler, std::vector<std::string>* names) {
  std::vector<ModelExpr> out;
  for (const engine::TargetItem& item : items) {
    std::string name = item.alias;
    if (item.expr.kind != ExprKind::kStar) {
      ASSIGN_OR_RETURN(ModelExpr node, compiler->Compile(item.expr));
      out.push_back(std::move(node));
      if (name.empty() && (item.expr.kind == ExprKind::kColumn ||
                           item.expr.kind == ExprKind::kFunction)) {
        name = item.expr.name;
      }
      if (names != nullptr) names->push_back(std::move(name));
      continue;
    }
    if (table == nullptr || !item.expr.qualifier.empty()) {
      return NotModelled("this kind of *");
    }
    for (const ColumnShape& column : table->columns) {
      if (column.dropped) continue;
      ASSIGN_OR_RETURN(ModelExpr node,
                       compiler->Compile(engine::Column(column.name)));
      out.push_back(std::move(node));
      if (names != nullptr) names->push_back(column.name);
    }
  }
  return out;
}

Result<ModelQuery> CompileQuery(const SelectStmt& stmt, const TableShape* table,
                                const std::vector<const ColumnShape*>& into) {
  return QueryCompiler(stmt, table, into).Run();
}

}  // namespace properties
