// RowSource: the rows that a statement works on, one at a time, filtered.
#ifndef MUSTH_ENGINE_SQL_EXEC_SCAN_H_
#define MUSTH_ENGINE_SQL_EXEC_SCAN_H_

#include <optional>
#include <string_view>
#include <vector>

#include "engine/heap/heapam.h"
#include "engine/sql/plan.h"

namespace engine {

// Takes tuples of one relation apart, as far as a statement needs them.
class RowReader {
 public:
  // columns: how many leading columns to read.
  RowReader(const RelationData& rel, size_t columns, bool system_columns);

  // Points context at the tuple's values, which live until the next Read() and
  // not longer than the tuple's bytes. Errors: ERRCODE_DATA_CORRUPTED.
  Status Read(std::string_view tuple, ItemPointerData tid,
              EvalContext* context);

 private:
  TupleDesc desc_;
  bool system_columns_;
  Oid relid_;
  std::vector<size_t> names_;  // columns of type name, which are padded
  std::vector<Datum> values_;
};

class RowSource {
 public:
  // All arguments must outlive the source. Rows are reported in *context,
  // whose arena is reset between rows: keep copies.
  RowSource(Backend& be, const ScanPlan& plan, const SnapshotData& snapshot,
            EvalContext* context);

  // Moves to the next row that passes the filter. False: no more.
  // Suspends: yes. Errors: 57P01, before each row (ExecScanFetch's interrupt
  // check); those of the scan and the filter.
  Result<bool> Next();
  // Evaluates the filter on context's current row.
  Result<bool> Passes();

  ItemPointerData tid() const { return tid_; }

 private:
  Result<bool> Advance();
  Result<bool> AdvanceSeries();

  Backend& be_;
  const ScanPlan& plan_;
  EvalContext* context_;
  std::optional<RowReader> reader_;
  std::optional<HeapScan> scan_;
  ItemPointerData tid_;
  // Of a series, or of the one row of a statement without FROM.
  bool started_ = false;
  bool exhausted_ = false;
  Datum current_;
  Datum stop_;
  Datum step_;
};

}  // namespace engine

#endif  // MUSTH_ENGINE_SQL_EXEC_SCAN_H_
