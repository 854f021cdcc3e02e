// ModelQuery: SELECT as the reference model runs it, over rows that it is
// given, and the comparison of its rows with those that a client received.
//
// Rows without ORDER BY may come in any order, and rows whose sort keys are
// equal among themselves in any order: expected rows are kept in classes of
// equals, and LIMIT may cut any of a class.
#ifndef MUSTH_PROPERTIES_MODEL_QUERY_H_
#define MUSTH_PROPERTIES_MODEL_QUERY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/sql/ast.h"
#include "properties/model_eval.h"
#include "sim/env/status.h"

namespace properties {

// A row as a client receives it.
using TextRow = std::vector<std::optional<std::string>>;

struct ModelQuery {
  struct Sort {
    size_t target = 0;
    bool descending = false;
    bool nulls_first = false;
  };
  struct Series {
    ModelExpr start;
    ModelExpr stop;
    ModelExpr step;
  };
  bool from_table = false;
  std::optional<Series> series;
  std::optional<ModelExpr> where;
  std::vector<ModelExpr> targets;  // the visible ones first
  size_t visible = 0;
  bool grouped = false;
  std::vector<ModelExpr> keys;
  std::vector<ModelAggregate> aggregates;
  std::vector<Sort> order_by;
  std::optional<ModelExpr> limit;
  std::optional<ModelExpr> offset;
};

// Resolves names and types. table is that of FROM, or null if it has none.
// into: the columns that the targets are assigned to (INSERT ... SELECT), or
// empty. Errors: SQL errors of constants; not modelled.
env::Result<ModelQuery> CompileQuery(
    const engine::SelectStmt& stmt, const TableShape* table,
    const std::vector<const ColumnShape*>& into);

// The targets of SELECT or RETURNING, * expanded. names may be null.
env::Result<std::vector<ModelExpr>> CompileTargets(
    const std::vector<engine::TargetItem>& items, const TableShape* table,
    ExprCompiler* compiler, std::vector<std::string>* names);

struct ExpectedRows {
  std::vector<uint32_t> types;           // of the visible columns
  std::vector<std::vector<Value>> rows;  // sorted; hidden columns too
  std::vector<size_t> class_ends;        // rows up to here, in any order
  uint64_t skip = 0;
  uint64_t left = UINT64_MAX;
};

// Runs the query over the rows of its table. Errors: SQL errors that the
// statement must raise; not modelled.
env::Result<ExpectedRows> RunQuery(const ModelQuery& query,
                                   const std::vector<const Row*>& rows);
// Rows of RETURNING, in any order.
ExpectedRows AnyOrder(std::vector<uint32_t> types,
                      std::vector<std::vector<Value>> rows);

// Nothing if the received rows are as expected, else a sentence that shows the
// first differences.
std::optional<std::string> FirstDifference(
    const ExpectedRows& expected, const std::vector<TextRow>& received);

// "(1, abc, null)", long values cut.
std::string TextRowToString(const TextRow& row);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_MODEL_QUERY_H_
