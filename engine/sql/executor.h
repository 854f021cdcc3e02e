// Running plans.
//
// Memory: one arena for the plan and what outlives a row (sort keys, groups),
// one that is reset for every row.
// Source: src/backend/executor/{nodeSeqscan,nodeAgg,nodeSort,nodeLimit,
// nodeModifyTable}.c.
#ifndef MUSTH_ENGINE_SQL_EXECUTOR_H_
#define MUSTH_ENGINE_SQL_EXECUTOR_H_

#include "engine/sql/plan.h"
#include "engine/txn/snapshot.h"

namespace engine {

struct ExecContext {
  Backend* be = nullptr;
  Arena* arena = nullptr;
  const SnapshotData* snapshot = nullptr;
};

// All suspend; they add rows to *result and set rows_affected, not the tag.
// Errors: those of expressions and of the heap.
Status ExecuteSelect(const ExecContext& exec, const SelectPlan& plan,
                     StatementResult* result);
// Errors: 23502.
Status ExecuteInsert(const ExecContext& exec, const InsertPlan& plan,
                     StatementResult* result);
// Under read committed a row that another transaction changed meanwhile is
// looked at again in its newest version; under repeatable read it is 40001.
// Errors: 23502, 40001, 40P01.
Status ExecuteUpdate(const ExecContext& exec, const UpdatePlan& plan,
                     StatementResult* result);
Status ExecuteDelete(const ExecContext& exec, const DeletePlan& plan,
                     StatementResult* result);

// Feeds the rows of a SELECT to consume, which may stop with an error.
class RowConsumer {
 public:
  virtual ~RowConsumer() = default;
  // values: one per target of the plan. They live until the call returns.
  virtual Status Consume(const Datum* values) = 0;
};
Status RunSelect(const ExecContext& exec, const SelectPlan& plan,
                 RowConsumer* consumer);

}  // namespace engine

#endif  // MUSTH_ENGINE_SQL_EXECUTOR_H_
