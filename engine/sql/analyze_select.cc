// SELECT.
#include <algorithm>
#include <utility>

#include "engine/common/errcodes.h"
#include "engine/sql/analyze_target.h"

namespace engine {
namespace {

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
      ASSIGN_OR_RETURN(
          arg, CoerceType(std::move(arg), series.type, *context_.arena));
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
        ASSIGN_OR_RETURN(ExprNode node,
                         analyzer_.Analyze(item.expr, {"ORDER BY", true}));
        if (node.type == UNKNOWNOID) {
          ASSIGN_OR_RETURN(
              node, CoerceType(std::move(node), TEXTOID, *context_.arena));
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
      plan_.order_by.push_back({*found, item.descending,
                                item.nulls_first.value_or(item.descending)});
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

}  // namespace

Result<SelectPlan> AnalyzeSelect(const AnalyzeContext& context,
                                 const SelectStmt& stmt) {
  return SelectAnalyzer(context, stmt, false).Run();
}

Result<SelectPlan> AnalyzeInsertSource(const AnalyzeContext& context,
                                       const SelectStmt& stmt) {
  return SelectAnalyzer(context, stmt, true).Run();
}

}  // namespace engine
