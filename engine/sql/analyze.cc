#include "engine/sql/analyze.h"

#include <algorithm>
#include <utility>

#include "engine/catalog/relcache.h"
#include "engine/common/errcodes.h"
#include "engine/sql/analyze_expr.h"

namespace engine {
namespace {

Status WithPosition(Status status, int position) {
  if (status.code() != env::Code::kSql || position == 0) return status;
  return std::move(status).WithCursor(position);
}

Result<Relation> OpenTable(const AnalyzeContext& context,
                           const std::string& name, int position) {
  Result<Relation> rel = RelationByName(*context.be, name);
  if (rel.ok() || rel.status().sqlstate() != ERRCODE_UNDEFINED_TABLE) {
    return rel;
  }
  return WithPosition(std::move(rel).status(), position);
}

// The table that a statement changes.
Result<Relation> OpenTarget(const AnalyzeContext& context,
                            const std::string& name, int position) {
  ASSIGN_OR_RETURN(Relation rel, OpenTable(context, name, position));
  if (rel->rd_id < kFirstNormalObjectId) {
    return SqlError(ERRCODE_FEATURE_NOT_SUPPORTED,
                    "changing system catalog \"{}\" is not supported", name)
        .WithCursor(position);
  }
  return rel;
}

Scope TableScope(const Relation& rel, const std::string& alias) {
  Scope scope;
  scope.has_table = true;
  scope.table = rel->relname;
  scope.refname = alias.empty() ? rel->relname : alias;
  scope.columns = rel->rd_att;
  scope.system_columns = true;
  return scope;
}

Status FoldAll(std::vector<ExprNode>* nodes, Arena& arena) {
  for (ExprNode& node : *nodes) RETURN_IF_ERROR(FoldConstants(&node, arena));
  return {};
}
Status FoldOne(std::optional<ExprNode>* node, Arena& arena) {
  return node->has_value() ? FoldConstants(&**node, arena) : Status();
}

void RecordScopeUse(const Scope& scope, ScanPlan* scan) {
  scan->columns_needed = scope.columns_needed;
  scan->system_columns = scope.system_columns_used;
}

// ---------------------------------------------------------------- targets

struct Target {
  ExprNode node;
  std::string name;
};

Status ExpandStar(const Expr& star, Scope* scope, std::vector<Target>* out) {
  if (!star.qualifier.empty() &&
      (!scope->has_table || star.qualifier != scope->refname)) {
    return SqlError(ERRCODE_UNDEFINED_TABLE,
                    "missing FROM-clause entry for table \"{}\"",
                    star.qualifier)
        .WithCursor(star.position);
  }
  if (!scope->has_table) {
    return SqlError(ERRCODE_SYNTAX_ERROR,
                    "SELECT * with no tables specified is not valid")
        .WithCursor(star.position);
  }
  for (size_t i = 0; i < scope->columns.size(); ++i) {
    const Attribute& att = scope->columns[i];
    if (att.attisdropped) continue;
    Target target;
    target.name = att.attname;
    target.node.op = ExprOp::kColumn;
    target.node.index = static_cast<int>(i);
    target.node.type = att.atttypid;
    target.node.typmod = att.atttypmod;
    target.node.position = star.position;
    out->push_back(std::move(target));
  }
  scope->columns_needed = scope->columns.size();
  return {};
}

Result<std::vector<Target>> AnalyzeTargets(ExprAnalyzer* analyzer,
                                           Scope* scope,
                                           const std::vector<TargetItem>& items,
                                           const Place& place) {
  std::vector<Target> out;
  for (const TargetItem& item : items) {
    if (item.expr.kind == ExprKind::kStar) {
      RETURN_IF_ERROR(ExpandStar(item.expr, scope, &out));
      continue;
    }
    Target target;
    ASSIGN_OR_RETURN(target.node, analyzer->Analyze(item.expr, place));
    target.name =
        item.alias.empty() ? FigureColumnName(item.expr) : item.alias;
    out.push_back(std::move(target));
  }
  return out;
}

// A literal that nothing gave a type is text.
Status ResolveUnknownTargets(std::vector<Target>* targets, Arena& arena) {
  for (Target& target : *targets) {
    if (target.node.type != UNKNOWNOID) continue;
    ASSIGN_OR_RETURN(target.node,
                     CoerceType(std::move(target.node), TEXTOID, arena));
  }
  return {};
}

Result<ReturningPlan> AnalyzeReturning(const AnalyzeContext& context,
                                       Scope* scope,
                                       const std::vector<TargetItem>& items) {
  ReturningPlan plan;
  ExprAnalyzer analyzer(context, scope);
  ASSIGN_OR_RETURN(std::vector<Target> targets,
                   AnalyzeTargets(&analyzer, scope, items, {"RETURNING"}));
  RETURN_IF_ERROR(ResolveUnknownTargets(&targets, *context.arena));
  for (Target& target : targets) {
    plan.columns.push_back({target.name, target.node.type});
    plan.targets.push_back(std::move(target.node));
  }
  RETURN_IF_ERROR(FoldAll(&plan.targets, *context.arena));
  return plan;
}

// node as a value for a column. Errors: 42804.
Result<ExprNode> CoerceToColumn(ExprNode node, const Attribute& att,
                                Arena& arena) {
  int position = node.position;
  Oid type = node.type;
  Result<ExprNode> out =
      CoerceToTarget(std::move(node), att.atttypid, att.atttypmod,
                     CastContext::kAssignment, arena, position);
  if (out.ok() || out.status().sqlstate() != ERRCODE_CANNOT_COERCE) return out;
  return SqlError(ERRCODE_DATATYPE_MISMATCH,
                  "column \"{}\" is of type {} but expression is of type {}",
                  att.attname, FormatType(att.atttypid), FormatType(type))
      .WithHint("You will need to rewrite or cast the expression.")
      .WithCursor(position);
}

ExprNode NullOf(const Attribute& att) {
  ExprNode node;
  node.type = att.atttypid;
  return node;
}

// ----------------------------------------------------------------- SELECT

class SelectAnalyzer {
 public:
  SelectAnalyzer(const AnalyzeContext& context, const SelectStmt& stmt,
                 bool keep_unknown)
      : context_(context),
        stmt_(stmt),
        keep_unknown_(keep_unknown),
        analyzer_(context, &scope_) {}

  Result<SelectPlan> Run() {
    if (stmt_.from.has_value()) RETURN_IF_ERROR(AnalyzeFrom(*stmt_.from));
    ASSIGN_OR_RETURN(targets_, AnalyzeTargets(&analyzer_, &scope_,
                                              stmt_.targets, {"SELECT", true}));
    visible_ = targets_.size();
    if (stmt_.where.has_value()) {
      ASSIGN_OR_RETURN(plan_.scan.filter,
                       analyzer_.AnalyzeCondition(*stmt_.where, {"WHERE"}));
    }
    RETURN_IF_ERROR(AnalyzeOrderBy());
    RETURN_IF_ERROR(AnalyzeGroupBy());
    ASSIGN_OR_RETURN(plan_.limit, AnalyzeLimit(stmt_.limit, "LIMIT"));
    ASSIGN_OR_RETURN(plan_.offset, AnalyzeLimit(stmt_.offset, "OFFSET"));
    if (!keep_unknown_) {
      RETURN_IF_ERROR(ResolveUnknownTargets(&targets_, *context_.arena));
    }
    RETURN_IF_ERROR(CheckGrouping());
    return Finish();
  }

 private:
  Status AnalyzeFrom(const FromItem& from) {
    if (from.function.has_value()) return AnalyzeSeries(from);
    ASSIGN_OR_RETURN(plan_.scan.rel,
                     OpenTable(context_, from.table, from.position));
    scope_ = TableScope(plan_.scan.rel, from.alias);
    return {};
  }

  Status AnalyzeSeries(const FromItem& from) {
    const Expr& call = *from.function;
    bool known = call.kind == ExprKind::kFunction &&
                 call.name == "generate_series" && call.args.size() >= 2 &&
                 call.args.size() <= 3;
    if (!known) {
      return SqlError(ERRCODE_FEATURE_NOT_SUPPORTED,
                      "function {} in FROM is not supported", call.name)
          .WithCursor(from.position);
    }
    SeriesScan series;
    ExprNode one;
    one.type = INT4OID;
    one.value = Datum::Int(1);
    std::vector<ExprNode> args;
    series.type = INT4OID;
    for (const Expr& arg : call.args) {
      ASSIGN_OR_RETURN(ExprNode node,
                       analyzer_.Analyze(arg, {"functions in FROM"}));
      bool integer = node.type == INT2OID || node.type == INT4OID ||
                     node.type == INT8OID || node.type == UNKNOWNOID;
      if (!integer) {
        return SqlError(ERRCODE_FEATURE_NOT_SUPPORTED,
                        "generate_series of type {} is not supported",
                        FormatType(node.type))
            .WithCursor(from.position);
      }
      if (node.type == INT8OID) series.type = INT8OID;
      args.push_back(std::move(node));
    }
    if (args.size() == 2) args.push_back(std::move(one));
    for (ExprNode& arg : args) {
      ASSIGN_OR_RETURN(arg, CoerceType(std::move(arg), series.type,
                                       *context_.arena));
    }
    series.start = std::move(args[0]);
    series.stop = std::move(args[1]);
    series.step = std::move(args[2]);
    scope_.has_table = true;
    scope_.refname = from.alias.empty() ? call.name : from.alias;
    Attribute column;
    column.attname = scope_.refname;
    column.atttypid = series.type;
    scope_.columns.push_back(column);
    plan_.scan.series = std::move(series);
    return {};
  }

  // "ORDER BY 2", "GROUP BY 1": *found is that target.
  Status FindByPosition(const Expr& e, const char* clause,
                        std::optional<size_t>* found) const {
    if (e.kind != ExprKind::kConst || e.isnull) return {};
    if (e.const_type != INT4OID) {
      return SqlError(ERRCODE_SYNTAX_ERROR, "non-integer constant in {}",
                      clause)
          .WithCursor(e.position);
    }
    if (e.num < 1 || static_cast<size_t>(e.num) > visible_) {
      return SqlError(ERRCODE_INVALID_COLUMN_REFERENCE,
                      "{} position {} is not in select list", clause, e.num)
          .WithCursor(e.position);
    }
    *found = static_cast<size_t>(e.num - 1);
    return {};
  }

  // A bare name that is a target's.
  Status FindByName(const Expr& e, const char* clause,
                    std::optional<size_t>* found) const {
    if (e.kind != ExprKind::kColumn || !e.qualifier.empty()) return {};
    for (size_t i = 0; i < visible_; ++i) {
      if (targets_[i].name != e.name) continue;
      if (found->has_value() &&
          !EqualExpr(targets_[**found].node, targets_[i].node)) {
        return SqlError(ERRCODE_AMBIGUOUS_COLUMN, "{} \"{}\" is ambiguous",
                        clause, e.name)
            .WithCursor(e.position);
      }
      if (!found->has_value()) *found = i;
    }
    return {};
  }

  // The target equal to node, appended if there is none.
  size_t TargetOf(ExprNode node) {
    for (size_t i = 0; i < targets_.size(); ++i) {
      if (EqualExpr(targets_[i].node, node)) return i;
    }
    targets_.push_back({std::move(node), ""});
    return targets_.size() - 1;
  }

  Status AnalyzeOrderBy() {
    for (const SortItem& item : stmt_.order_by) {
      std::optional<size_t> found;
      RETURN_IF_ERROR(FindByName(item.expr, "ORDER BY", &found));
      RETURN_IF_ERROR(FindByPosition(item.expr, "ORDER BY", &found));
      if (!found.has_value()) {
        ASSIGN_OR_RETURN(ExprNode node, analyzer_.Analyze(item.expr,
                                                          {"ORDER BY", true}));
        if (node.type == UNKNOWNOID) {
          ASSIGN_OR_RETURN(node, CoerceType(std::move(node), TEXTOID,
                                            *context_.arena));
        }
        found = TargetOf(std::move(node));
      }
      Oid type = targets_[*found].node.type;
      if (!HasOrder(type)) {
        return SqlError(ERRCODE_UNDEFINED_FUNCTION,
                        "could not identify an ordering operator for type {}",
                        FormatType(type))
            .WithHint("Use an explicit ordering operator or modify the query.")
            .WithCursor(item.expr.position);
      }
      plan_.order_by.push_back(
          {*found, item.descending, item.nulls_first.value_or(item.descending)});
    }
    return {};
  }

  bool NamesColumn(const Expr& e) const {
    return e.kind == ExprKind::kColumn &&
           std::any_of(
               scope_.columns.begin(), scope_.columns.end(),
               [&e](const Attribute& a) { return a.attname == e.name; });
  }

  Status AnalyzeGroupBy() {
    for (const Expr& e : stmt_.group_by) {
      std::optional<size_t> found;
      if (!NamesColumn(e)) RETURN_IF_ERROR(FindByName(e, "GROUP BY", &found));
      RETURN_IF_ERROR(FindByPosition(e, "GROUP BY", &found));
      ExprNode key;
      if (found.has_value()) {
        key = targets_[*found].node;
      } else {
        ASSIGN_OR_RETURN(key, analyzer_.Analyze(e, {"GROUP BY"}));
      }
      if (ContainsAggregate(key)) {
        return SqlError(ERRCODE_GROUPING_ERROR,
                        "aggregate functions are not allowed in GROUP BY")
            .WithCursor(key.position);
      }
      plan_.group_by.push_back(std::move(key));
    }
    return {};
  }

  static bool ContainsAggregate(const ExprNode& node) {
    return node.op == ExprOp::kAggregate ||
           std::any_of(node.args.begin(), node.args.end(), ContainsAggregate);
  }

  Result<std::optional<ExprNode>> AnalyzeLimit(const std::optional<Expr>& e,
                                               const char* clause) {
    std::optional<ExprNode> out;
    if (!e.has_value()) return out;
    Place place{clause, false, false};
    ASSIGN_OR_RETURN(ExprNode node, analyzer_.Analyze(*e, place));
    if (!CanCoerce(node.type, INT8OID, CastContext::kAssignment)) {
      return SqlError(ERRCODE_DATATYPE_MISMATCH,
                      "argument of {} must be type bigint, not type {}", clause,
                      FormatType(node.type))
          .WithCursor(node.position);
    }
    ASSIGN_OR_RETURN(out,
                     CoerceType(std::move(node), INT8OID, *context_.arena));
    return out;
  }

  // Replaces grouping expressions by their keys; no other column may be left.
  Status ReplaceKeys(ExprNode* node) const {
    for (size_t i = 0; i < plan_.group_by.size(); ++i) {
      if (!EqualExpr(*node, plan_.group_by[i])) continue;
      node->op = ExprOp::kGroupKey;
      node->index = static_cast<int>(i);
      node->args.clear();
      return {};
    }
    if (node->op == ExprOp::kColumn) {
      return SqlError(ERRCODE_GROUPING_ERROR,
                      "column \"{}.{}\" must appear in the GROUP BY clause or "
                      "be used in an aggregate function",
                      scope_.refname,
                      scope_.columns[static_cast<size_t>(node->index)].attname)
          .WithCursor(node->position);
    }
    if (node->op == ExprOp::kSystem) {
      return SqlError(ERRCODE_GROUPING_ERROR,
                      "system column must appear in the GROUP BY clause or be "
                      "used in an aggregate function")
          .WithCursor(node->position);
    }
    for (ExprNode& arg : node->args) RETURN_IF_ERROR(ReplaceKeys(&arg));
    return {};
  }

  Status CheckGrouping() {
    plan_.aggregates = std::move(analyzer_.aggregates());
    plan_.grouped = !plan_.aggregates.empty() || !plan_.group_by.empty();
    if (!plan_.grouped) return {};
    for (Target& target : targets_) RETURN_IF_ERROR(ReplaceKeys(&target.node));
    return {};
  }

  Result<SelectPlan> Finish() {
    Arena& arena = *context_.arena;
    for (size_t i = 0; i < targets_.size(); ++i) {
      if (i < visible_) {
        plan_.columns.push_back({targets_[i].name, targets_[i].node.type});
      }
      plan_.targets.push_back(std::move(targets_[i].node));
    }
    RETURN_IF_ERROR(FoldOne(&plan_.scan.filter, arena));
    RETURN_IF_ERROR(FoldAll(&plan_.targets, arena));
    RETURN_IF_ERROR(FoldAll(&plan_.group_by, arena));
    for (AggregateCall& call : plan_.aggregates) {
      RETURN_IF_ERROR(FoldConstants(&call.arg, arena));
    }
    RETURN_IF_ERROR(FoldOne(&plan_.limit, arena));
    RETURN_IF_ERROR(FoldOne(&plan_.offset, arena));
    RecordScopeUse(scope_, &plan_.scan);
    return std::move(plan_);
  }

  const AnalyzeContext& context_;
  const SelectStmt& stmt_;
  const bool keep_unknown_;
  Scope scope_;
  ExprAnalyzer analyzer_;
  SelectPlan plan_;
  std::vector<Target> targets_;
  size_t visible_ = 0;
};

// ----------------------------------------------------------------- INSERT

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
                      "column \"{}\" specified more than once",
                      stmt.columns[i])
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
  int extra = width > columns.size() ? stmt.rows[0][columns.size()].position : 0;
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
                   SelectAnalyzer(context, *stmt.select, true).Run());
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

Result<SelectPlan> AnalyzeSelect(const AnalyzeContext& context,
                                 const SelectStmt& stmt) {
  return SelectAnalyzer(context, stmt, false).Run();
}

Result<InsertPlan> AnalyzeInsert(const AnalyzeContext& context,
                                 const InsertStmt& stmt) {
  InsertPlan plan;
  ASSIGN_OR_RETURN(plan.rel, OpenTarget(context, stmt.table, stmt.position));
  ASSIGN_OR_RETURN(std::vector<size_t> columns,
                   InsertColumns(stmt, *plan.rel));
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
                      "multiple assignments to same column \"{}\"",
                      set.column);
    }
    assigned[at] = true;
    if (set.value.kind == ExprKind::kDefault) {
      plan.new_values[at] = NullOf(desc[at]);
      continue;
    }
    ASSIGN_OR_RETURN(ExprNode node, analyzer.Analyze(set.value, {"UPDATE"}));
    ASSIGN_OR_RETURN(plan.new_values[at],
                     CoerceToColumn(std::move(node), desc[at],
                                    *context.arena));
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
