// INSERT, UPDATE, DELETE.
#include <algorithm>
#include <utility>

#include "engine/common/errcodes.h"
#include "engine/heap/heapam.h"
#include "engine/sql/exec_scan.h"
#include "engine/sql/executor.h"
#include "engine/txn/xact.h"

namespace engine {
namespace {

// "(1, null, abc)": the row in a DETAIL, long values cut.
// Source: src/backend/executor/execMain.c ExecBuildSlotValueDescription().
std::string DescribeRow(const TupleDesc& desc, const std::vector<Datum>& row) {
  constexpr size_t kMaxFieldLength = 64;
  std::string out = "(";
  for (size_t i = 0; i < desc.size(); ++i) {
    if (i > 0) out += ", ";
    if (row[i].isnull) {
      out += "null";
      continue;
    }
    std::string text;
    TypeOutput(desc[i].atttypid, row[i], &text);
    if (text.size() > kMaxFieldLength) {
      size_t end = kMaxFieldLength;
      while (end > 0 &&
             (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
        --end;
      }
      text.resize(end);
      text += "...";
    }
    out += text;
  }
  return out + ")";
}

Status CheckNotNull(const RelationData& rel, const std::vector<Datum>& row) {
  for (size_t i = 0; i < rel.rd_att.size(); ++i) {
    if (!row[i].isnull || !rel.rd_att[i].attnotnull) continue;
    return SqlError(ERRCODE_NOT_NULL_VIOLATION,
                    "null value in column \"{}\" of relation \"{}\" violates "
                    "not-null constraint",
                    rel.rd_att[i].attname, rel.relname)
        .WithDetail(fmt::format("Failing row contains {}.",
                                DescribeRow(rel.rd_att, row)));
  }
  return {};
}

// RETURNING: adds one row to the result.
class Returning {
 public:
  Returning(const ReturningPlan& plan, StatementResult* result)
      : plan_(plan), result_(result) {
    result->has_rows = !plan.targets.empty();
    result->columns = plan.columns;
  }

  Status Add(EvalContext& context) {
    if (plan_.targets.empty()) return {};
    std::vector<std::optional<std::string>> row(plan_.targets.size());
    for (size_t i = 0; i < row.size(); ++i) {
      Datum value;
      RETURN_IF_ERROR(Eval(plan_.targets[i], context, &value));
      if (value.isnull) continue;
      row[i].emplace();
      TypeOutput(plan_.columns[i].type, value, &*row[i]);
    }
    result_->rows.push_back(std::move(row));
    return {};
  }

 private:
  const ReturningPlan& plan_;
  StatementResult* result_;
};

// Points context at a version that this transaction just wrote.
void ShowNewVersion(Backend& be, const RelationData& rel,
                    const std::vector<Datum>& row, ItemPointerData tid,
                    EvalContext* context) {
  context->row = row.data();
  context->ctid = tid;
  context->xmin = GetCurrentTransactionIdIfAny(be);
  context->xmax = kInvalidTransactionId;
  context->tableoid = rel.rd_id;
}

class Inserter : public RowConsumer {
 public:
  Inserter(const ExecContext& exec, const InsertPlan& plan,
           StatementResult* result)
      : be_(*exec.be),
        rel_(*plan.rel),
        result_(result),
        returning_(plan.returning, result),
        cid_(GetCurrentCommandId(be_, true)),
        row_(rel_.rd_att.size()) {}

  Status Consume(const Datum* values) override {
    std::copy(values, values + row_.size(), row_.begin());
    RETURN_IF_ERROR(CheckNotNull(rel_, row_));
    ASSIGN_OR_RETURN(HeapTuple tuple, HeapFormTuple(rel_.rd_att, row_));
    RETURN_IF_ERROR(HeapInsert(be_, rel_, &tuple, cid_));
    ++result_->rows_affected;
    Arena arena;
    EvalContext context;
    context.function = {&be_, &arena};
    ShowNewVersion(be_, rel_, row_, tuple.t_self, &context);
    return returning_.Add(context);
  }

 private:
  Backend& be_;
  const RelationData& rel_;
  StatementResult* result_;
  Returning returning_;
  const CommandId cid_;
  std::vector<Datum> row_;
};

// What becomes of a row that somebody else changed first.
enum class RowFate : uint8_t { kDone, kSkip, kRetry };

// UPDATE and DELETE: the walk over the rows and the re-check of newest
// versions (EvalPlanQual).
class Modifier {
 public:
  Modifier(const ExecContext& exec, const ScanPlan& scan, size_t columns,
           StatementResult* result)
      : be_(*exec.be),
        rel_(*scan.rel),
        result_(result),
        cid_(GetCurrentCommandId(be_, true)),
        scan_(WithColumns(scan, columns)),
        source_(be_, scan_, *exec.snapshot, &context_),
        recheck_(rel_, columns, scan.system_columns) {
    context_.function = {&be_, &arena_};
  }
  virtual ~Modifier() = default;

  Status Run() {
    for (;;) {
      ASSIGN_OR_RETURN(bool more, source_.Next());
      if (!more) return {};
      RETURN_IF_ERROR(ModifyRow(source_.tid()));
    }
  }

 protected:
  // Changes the version at tid, which context_ is at.
  virtual Result<TmResult> Change(ItemPointerData tid, TmFailure* failure) = 0;
  // After kOk.
  virtual Status Changed() = 0;

  Backend& be_;
  const RelationData& rel_;
  StatementResult* result_;
  const CommandId cid_;
  Arena arena_;
  EvalContext context_;

 private:
  static ScanPlan WithColumns(const ScanPlan& scan, size_t columns) {
    ScanPlan out = scan;
    out.columns_needed = columns;
    return out;
  }

  Status ModifyRow(ItemPointerData tid) {
    for (;;) {
      TmFailure failure;
      ASSIGN_OR_RETURN(TmResult outcome, Change(tid, &failure));
      ASSIGN_OR_RETURN(RowFate fate, Judge(outcome, failure, &tid));
      if (fate == RowFate::kSkip) return {};
      if (fate == RowFate::kDone) {
        ++result_->rows_affected;
        return Changed();
      }
    }
  }

  Result<RowFate> Judge(TmResult outcome, const TmFailure& failure,
                        ItemPointerData* tid) {
    bool snapshot_is_kept =
        CurrentIsolationLevel(be_) == IsolationLevel::kRepeatableRead;
    switch (outcome) {
      case TmResult::kOk:
        return RowFate::kDone;
      case TmResult::kSelfModified:
        return RowFate::kSkip;
      case TmResult::kDeleted:
        if (snapshot_is_kept) {
          return SqlError(ERRCODE_T_R_SERIALIZATION_FAILURE,
                          "could not serialize access due to concurrent "
                          "delete");
        }
        return RowFate::kSkip;
      case TmResult::kUpdated:
        if (snapshot_is_kept) {
          return SqlError(ERRCODE_T_R_SERIALIZATION_FAILURE,
                          "could not serialize access due to concurrent "
                          "update");
        }
        return Recheck(failure, tid);
      default:
        return SqlError(ERRCODE_INTERNAL_ERROR,
                        "attempted to change an invisible tuple");
    }
  }

  // Moves to the row's newest version; kSkip if it is gone or no longer
  // qualifies.
  Result<RowFate> Recheck(const TmFailure& failure, ItemPointerData* tid) {
    ASSIGN_OR_RETURN(
        latest_, HeapFetchLatest(be_, rel_, failure.ctid, failure.xmax, cid_));
    if (latest_.data.empty()) return RowFate::kSkip;
    RETURN_IF_ERROR(recheck_.Read(latest_.data, latest_.t_self, &context_));
    ASSIGN_OR_RETURN(bool passes, source_.Passes());
    *tid = latest_.t_self;
    return passes ? RowFate::kRetry : RowFate::kSkip;
  }

  const ScanPlan scan_;
  RowSource source_;
  RowReader recheck_;
  HeapTuple latest_;
};

class Updater : public Modifier {
 public:
  Updater(const ExecContext& exec, const UpdatePlan& plan,
          StatementResult* result)
      : Modifier(exec, plan.scan, plan.scan.rel->rd_att.size(), result),
        plan_(plan),
        returning_(plan.returning, result),
        row_(plan.new_values.size()) {}

 protected:
  Result<TmResult> Change(ItemPointerData tid, TmFailure* failure) override {
    for (size_t i = 0; i < row_.size(); ++i) {
      RETURN_IF_ERROR(Eval(plan_.new_values[i], context_, &row_[i]));
    }
    RETURN_IF_ERROR(CheckNotNull(rel_, row_));
    ASSIGN_OR_RETURN(tuple_, HeapFormTuple(rel_.rd_att, row_));
    return HeapUpdate(be_, rel_, tid, &tuple_, cid_, true, failure);
  }

  Status Changed() override {
    ShowNewVersion(be_, rel_, row_, tuple_.t_self, &context_);
    return returning_.Add(context_);
  }

 private:
  const UpdatePlan& plan_;
  Returning returning_;
  std::vector<Datum> row_;
  HeapTuple tuple_;
};

class Deleter : public Modifier {
 public:
  Deleter(const ExecContext& exec, const DeletePlan& plan,
          StatementResult* result)
      : Modifier(exec, plan.scan, plan.scan.columns_needed, result),
        returning_(plan.returning, result) {}

 protected:
  Result<TmResult> Change(ItemPointerData tid, TmFailure* failure) override {
    return HeapDelete(be_, rel_, tid, cid_, true, failure);
  }
  Status Changed() override { return returning_.Add(context_); }

 private:
  Returning returning_;
};

}  // namespace

Status ExecuteInsert(const ExecContext& exec, const InsertPlan& plan,
                     StatementResult* result) {
  Inserter inserter(exec, plan, result);
  if (plan.select.has_value()) return RunSelect(exec, *plan.select, &inserter);
  Arena arena;
  EvalContext context;
  context.function = {exec.be, &arena};
  std::vector<Datum> row(plan.rel->rd_att.size());
  for (const std::vector<ExprNode>& values : plan.rows) {
    arena.Reset();
    for (size_t i = 0; i < values.size(); ++i) {
      RETURN_IF_ERROR(Eval(values[i], context, &row[i]));
    }
    RETURN_IF_ERROR(inserter.Consume(row.data()));
  }
  return {};
}

Status ExecuteUpdate(const ExecContext& exec, const UpdatePlan& plan,
                     StatementResult* result) {
  return Updater(exec, plan, result).Run();
}

Status ExecuteDelete(const ExecContext& exec, const DeletePlan& plan,
                     StatementResult* result) {
  return Deleter(exec, plan, result).Run();
}

}  // namespace engine
