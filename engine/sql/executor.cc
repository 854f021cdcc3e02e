#include "engine/sql/executor.h"

#include <algorithm>
#include <utility>

#include "engine/common/errcodes.h"
#include "engine/sql/exec_agg.h"
#include "engine/sql/exec_scan.h"

namespace engine {
namespace {

// LIMIT and OFFSET, counted down.
struct Window {
  int64_t skip = 0;
  int64_t left = INT64_MAX;
};

Result<Window> EvalWindow(const SelectPlan& plan, EvalContext& context) {
  Window window;
  Datum value;
  if (plan.offset.has_value()) {
    RETURN_IF_ERROR(Eval(*plan.offset, context, &value));
    if (!value.isnull && value.num < 0) {
      return SqlError(ERRCODE_INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE,
                      "OFFSET must not be negative");
    }
    if (!value.isnull) window.skip = value.num;
  }
  if (plan.limit.has_value()) {
    RETURN_IF_ERROR(Eval(*plan.limit, context, &value));
    if (!value.isnull && value.num < 0) {
      return SqlError(ERRCODE_INVALID_ROW_COUNT_IN_LIMIT_CLAUSE,
                      "LIMIT must not be negative");
    }
    if (!value.isnull) window.left = value.num;
  }
  return window;
}

// The last stages: targets, sort, offset, limit.
class SelectOutput {
 public:
  SelectOutput(const ExecContext& exec, const SelectPlan& plan, Window window,
               RowConsumer* consumer)
      : arena_(*exec.arena),
        plan_(plan),
        window_(window),
        consumer_(consumer),
        values_(plan.targets.size()) {}

  bool Done() const { return plan_.order_by.empty() && window_.left == 0; }

  // Takes the row (or group) that context is at.
  Status Add(EvalContext& context) {
    // What is skipped is computed all the same: it may fail.
    for (size_t i = 0; i < values_.size(); ++i) {
      RETURN_IF_ERROR(Eval(plan_.targets[i], context, &values_[i]));
    }
    if (plan_.order_by.empty()) return Emit(values_.data());
    std::vector<Datum> row(values_.size());
    for (size_t i = 0; i < values_.size(); ++i) {
      row[i] = CopyDatum(values_[i], arena_);
    }
    sorted_.push_back(std::move(row));
    return {};
  }

  Status Finish() {
    std::stable_sort(
        sorted_.begin(), sorted_.end(),
        [this](const auto& a, const auto& b) { return Compare(a, b) < 0; });
    for (const std::vector<Datum>& row : sorted_) {
      if (window_.left == 0) break;
      RETURN_IF_ERROR(Emit(row.data()));
    }
    return {};
  }

 private:
  Status Emit(const Datum* values) {
    if (window_.skip > 0) {
      --window_.skip;
      return {};
    }
    if (window_.left == 0) return {};
    --window_.left;
    return consumer_->Consume(values);
  }

  int Compare(const std::vector<Datum>& a, const std::vector<Datum>& b) const {
    for (const SortKey& key : plan_.order_by) {
      const Datum& x = a[key.target];
      const Datum& y = b[key.target];
      if (x.isnull && y.isnull) continue;
      if (x.isnull || y.isnull) return x.isnull == key.nulls_first ? -1 : 1;
      int order = CompareDatums(plan_.targets[key.target].type, x, y);
      if (order != 0) return key.descending ? -order : order;
    }
    return 0;
  }

  Arena& arena_;
  const SelectPlan& plan_;
  Window window_;
  RowConsumer* consumer_;
  std::vector<Datum> values_;
  std::vector<std::vector<Datum>> sorted_;
};

Status RunGrouped(const ExecContext& exec, const SelectPlan& plan,
                  RowSource* source, EvalContext& context,
                  SelectOutput* output) {
  GroupTable groups(plan, *exec.arena);
  for (;;) {
    ASSIGN_OR_RETURN(bool more, source->Next());
    if (!more) break;
    RETURN_IF_ERROR(groups.Add(context));
  }
  for (size_t i = 0; i < groups.size() && !output->Done(); ++i) {
    RETURN_IF_ERROR(groups.Load(i, &context));
    RETURN_IF_ERROR(output->Add(context));
  }
  return {};
}

// Turns rows into text.
class TextConsumer : public RowConsumer {
 public:
  TextConsumer(const std::vector<ResultColumn>& columns,
               StatementResult* result)
      : columns_(columns), result_(result) {}

  Status Consume(const Datum* values) override {
    std::vector<std::optional<std::string>> row(columns_.size());
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (values[i].isnull) continue;
      row[i].emplace();
      TypeOutput(columns_[i].type, values[i], &*row[i]);
    }
    result_->rows.push_back(std::move(row));
    ++result_->rows_affected;
    return {};
  }

 private:
  const std::vector<ResultColumn>& columns_;
  StatementResult* result_;
};

}  // namespace

Status RunSelect(const ExecContext& exec, const SelectPlan& plan,
                 RowConsumer* consumer) {
  Arena row_arena;
  EvalContext context;
  context.function = {exec.be, &row_arena};
  ASSIGN_OR_RETURN(Window window, EvalWindow(plan, context));
  SelectOutput output(exec, plan, window, consumer);
  RowSource source(*exec.be, plan.scan, *exec.snapshot, &context);
  if (plan.grouped) {
    RETURN_IF_ERROR(RunGrouped(exec, plan, &source, context, &output));
    return output.Finish();
  }
  while (!output.Done()) {
    ASSIGN_OR_RETURN(bool more, source.Next());
    if (!more) break;
    RETURN_IF_ERROR(output.Add(context));
  }
  return output.Finish();
}

Status ExecuteSelect(const ExecContext& exec, const SelectPlan& plan,
                     StatementResult* result) {
  result->has_rows = true;
  result->columns = plan.columns;
  TextConsumer consumer(plan.columns, result);
  return RunSelect(exec, plan, &consumer);
}

}  // namespace engine
