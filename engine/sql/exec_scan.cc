#include "engine/sql/exec_scan.h"

#include <algorithm>

#include "engine/common/errcodes.h"
#include "engine/ipc/proc.h"
#include "sim/env/race.h"

namespace engine {

RowReader::RowReader(const RelationData& rel, size_t columns,
                     bool system_columns)
    : desc_(rel.rd_att.begin(),
            rel.rd_att.begin() + static_cast<ptrdiff_t>(columns)),
      system_columns_(system_columns),
      relid_(rel.rd_id),
      values_(columns) {
  for (size_t i = 0; i < columns; ++i) {
    if (desc_[i].atttypid == NAMEOID) names_.push_back(i);
  }
}

Status RowReader::Read(std::string_view tuple, ItemPointerData tid,
                       EvalContext* context) {
  if (!desc_.empty()) RETURN_IF_ERROR(HeapDeformTuple(desc_, tuple, values_));
  for (size_t i : names_) {
    std::string_view name = values_[i].bytes;
    values_[i].bytes = name.substr(0, name.find('\0'));
  }
  context->row = values_.data();
  if (system_columns_) {
    const auto* header =
        reinterpret_cast<const HeapTupleHeaderData*>(tuple.data());
    context->ctid = tid;
    context->xmin = header->t_xmin;
    context->xmax = env::UnlockedRead(
        header->t_xmax, "a scan holds a pin alone; any value was true");
    context->tableoid = relid_;
  }
  return {};
}

RowSource::RowSource(Backend& be, const ScanPlan& plan,
                     const SnapshotData& snapshot, EvalContext* context)
    : be_(be), plan_(plan), context_(context) {
  if (plan.rel == nullptr) return;
  reader_.emplace(*plan.rel, plan.columns_needed, plan.system_columns);
  scan_.emplace(be, *plan.rel, snapshot);
}

Result<bool> RowSource::AdvanceSeries() {
  const SeriesScan& series = *plan_.series;
  if (!started_) {
    started_ = true;
    RETURN_IF_ERROR(Eval(series.start, *context_, &current_));
    RETURN_IF_ERROR(Eval(series.stop, *context_, &stop_));
    RETURN_IF_ERROR(Eval(series.step, *context_, &step_));
    if (current_.isnull || stop_.isnull || step_.isnull) return false;
    if (step_.num == 0) {
      return SqlError(ERRCODE_INVALID_PARAMETER_VALUE,
                      "step size cannot equal zero");
    }
  } else if (__builtin_add_overflow(current_.num, step_.num, &current_.num)) {
    return false;
  }
  context_->row = &current_;
  return step_.num > 0 ? current_.num <= stop_.num : current_.num >= stop_.num;
}

Result<bool> RowSource::Advance() {
  if (exhausted_) return false;
  RETURN_IF_ERROR(CheckForInterrupts(be_));
  if (plan_.series.has_value()) {
    ASSIGN_OR_RETURN(bool more, AdvanceSeries());
    exhausted_ = !more;
    return more;
  }
  if (!scan_.has_value()) {
    exhausted_ = true;
    return true;  // one row without columns
  }
  ASSIGN_OR_RETURN(const HeapScan::Row* row, scan_->Next());
  if (row == nullptr) {
    exhausted_ = true;
    return false;
  }
  tid_ = row->tid;
  RETURN_IF_ERROR(reader_->Read(row->tuple, row->tid, context_));
  return true;
}

Result<bool> RowSource::Passes() {
  if (!plan_.filter.has_value()) return true;
  bool holds = false;
  RETURN_IF_ERROR(EvalCondition(*plan_.filter, *context_, &holds));
  return holds;
}

Result<bool> RowSource::Next() {
  for (;;) {
    context_->function.arena->Reset();
    ASSIGN_OR_RETURN(bool more, Advance());
    if (!more) return false;
    ASSIGN_OR_RETURN(bool passes, Passes());
    if (passes) return true;
  }
}

}  // namespace engine
