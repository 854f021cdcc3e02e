// Plans: what the analyzer makes of a statement and the executor runs. There
// is one access path, the sequential scan, so that a plan is the resolved
// statement itself.
//
//   SelectPlan:  scan -> filter -> (group, aggregate) -> targets -> sort ->
//                limit
//   ModifyPlan:  rows or scan -> filter -> new values -> heap -> returning
#ifndef MUSTH_ENGINE_SQL_PLAN_H_
#define MUSTH_ENGINE_SQL_PLAN_H_

#include <optional>
#include <vector>

#include "engine/heap/relation.h"
#include "engine/sql/expr.h"
#include "engine/sql/result.h"

namespace engine {

enum class AggregateKind : uint8_t { kCountStar, kCount, kSum, kMin, kMax };

struct AggregateCall {
  AggregateKind kind = AggregateKind::kCountStar;
  bool distinct = false;
  ExprNode arg;  // unused by kCountStar
  Oid result = 0;
};

// generate_series(start, stop, step) in FROM.
struct SeriesScan {
  ExprNode start;
  ExprNode stop;
  ExprNode step;
  Oid type = 0;
};

struct SortKey {
  size_t target = 0;
  bool descending = false;
  bool nulls_first = false;
};

// Where rows come from, and which of them count.
struct ScanPlan {
  Relation rel;  // null: no table
  std::optional<SeriesScan> series;
  // How many leading columns anything looks at.
  size_t columns_needed = 0;
  bool system_columns = false;
  std::optional<ExprNode> filter;
};

struct SelectPlan {
  ScanPlan scan;
  bool grouped = false;
  std::vector<ExprNode> group_by;
  std::vector<AggregateCall> aggregates;
  // The first columns.size() are returned; the others only sort.
  std::vector<ExprNode> targets;
  std::vector<ResultColumn> columns;
  std::vector<SortKey> order_by;
  std::optional<ExprNode> limit;
  std::optional<ExprNode> offset;
};

struct ReturningPlan {
  std::vector<ExprNode> targets;
  std::vector<ResultColumn> columns;
};

struct InsertPlan {
  Relation rel;
  // One expression per column and row; or a query whose targets are the
  // columns' values.
  std::vector<std::vector<ExprNode>> rows;
  std::optional<SelectPlan> select;
  ReturningPlan returning;
};

struct UpdatePlan {
  ScanPlan scan;
  // One per column; the column itself where SET leaves it alone.
  std::vector<ExprNode> new_values;
  ReturningPlan returning;
};

struct DeletePlan {
  ScanPlan scan;
  ReturningPlan returning;
};

}  // namespace engine

#endif  // MUSTH_ENGINE_SQL_PLAN_H_
