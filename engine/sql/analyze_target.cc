#include "engine/sql/analyze_target.h"

#include <algorithm>
#include <utility>

#include "engine/catalog/relcache.h"
#include "engine/common/errcodes.h"

namespace engine {
namespace {

Status WithPosition(Status status, int position) {
  if (status.code() != env::Code::kSql || position == 0) return status;
  return std::move(status).WithCursor(position);
}

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

}  // namespace

Result<Relation> OpenTable(const AnalyzeContext& context,
                           const std::string& name, int position) {
  Result<Relation> rel = RelationByName(*context.be, name);
  if (rel.ok() || rel.status().sqlstate() != ERRCODE_UNDEFINED_TABLE) {
    return rel;
  }
  return WithPosition(std::move(rel).status(), position);
}

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

Result<std::vector<Target>> AnalyzeTargets(ExprAnalyzer* analyzer, Scope* scope,
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
    target.name = item.alias.empty() ? FigureColumnName(item.expr) : item.alias;
    out.push_back(std::move(target));
  }
  return out;
}

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

}  // namespace engine
