#include "properties/model_dml.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

namespace properties {
namespace {

using env::Result;
using env::Status;
using State = ModelTxn::State;

// A value that is stored out of line or compressed says nothing here.
bool Comparable(const Value& v) {
  return v.form != ValueForm::kCompressed && v.form != ValueForm::kExternal;
}

}  // namespace

ModelStatement::ModelStatement(const engine::Statement* statement,
                               ModelStore* store,
                               std::shared_ptr<ModelTable> table,
                               bool repeatable_read)
    : statement_(statement),
      store_(store),
      table_(std::move(table)),
      repeatable_read_(repeatable_read) {
  if (table_ != nullptr && table_->opaque) {
    not_modelled_ = "a table that is not modelled";
  }
  Status status = Compile();
  if (status.ok()) return;
  if (IsNotModelled(status)) {
    not_modelled_ = std::string(status.message());
  } else {
    must_fail_ = status.sqlstate();
  }
}

// ---------------------------------------------------------------- row by row

Status ModelStatement::CheckNotNull(const Row& row) const {
  for (size_t i = 0; i < row.size(); ++i) {
    if (!table_->shape.not_null[i] || !IsNull(row[i])) continue;
    return Status::Sql(kNotNullViolation,
                       fmt::format("null value in column \"{}\"",
                                   table_->shape.columns[i].name));
  }
  return {};
}

namespace {

// Column i of a new row.
Result<Value> Compute(const ModelExpr& expr, size_t i, const Row* base,
                      const Row* written) {
  if (expr.op == ModelExpr::Op::kFromEvent) {
    if (written == nullptr) return NotModelled("a value that was not told");
    return (*written)[i];
  }
  EvalRow at;
  at.row = base;
  return EvaluateValue(expr, at);
}

}  // namespace

Result<Row> ModelStatement::NewValues(const Row& base,
                                      const Row* written) const {
  Row row = base;
  for (const auto& [column, expr] : sets_) {
    ASSIGN_OR_RETURN(row[column], Compute(expr, column, &base, written));
  }
  RETURN_IF_ERROR(CheckNotNull(row));
  return row;
}

bool ModelStatement::ConditionHolds(const Row& row) const {
  if (!where_.has_value()) return true;
  EvalRow at;
  at.row = &row;
  Result<bool> holds = Holds(*where_, at);
  return holds.ok() && *holds;
}

std::optional<size_t> ModelStatement::Qualifies(const ModelRow& row) const {
  std::optional<size_t> seen = store_->Visible(row, snapshot_);
  if (!seen || !ConditionHolds(row.versions[*seen].values)) return std::nullopt;
  return seen;
}

std::string ModelStatement::ToText(const Row& row) const {
  return RowToText(table_->shape.columns, row);
}

std::optional<std::string> ModelStatement::Differs(const Row& expected,
                                                   const Row* written) const {
  if (written == nullptr) return "wrote a row that cannot be decoded";
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!Comparable((*written)[i]) || (*written)[i] == expected[i]) continue;
    return fmt::format("expected the row {}, it wrote {}", ToText(expected),
                       ToText(*written));
  }
  return std::nullopt;
}

void ModelStatement::AddReturned(const Row& row) {
  if (returning_.empty()) return;
  EvalRow at;
  at.row = &row;
  std::vector<Value> out;
  for (const ModelExpr& target : returning_) {
    Result<Value> v = EvaluateValue(target, at);
    if (!v.ok()) {
      returning_broken_ = true;
      return;
    }
    out.push_back(std::move(v).value());
  }
  returned_.push_back(std::move(out));
}

Status ModelStatement::ComputeInserted() {
  if (inserted_.has_value() || !query_.has_value()) return {};
  std::vector<const Row*> source;
  if (query_->from_table) source = store_->VisibleRows(*table_, snapshot_);
  ASSIGN_OR_RETURN(ExpectedRows rows, RunQuery(*query_, source));
  if (query_->limit.has_value() || query_->offset.has_value()) {
    return NotModelled("INSERT of a part of the rows");
  }
  inserted_.emplace();
  for (std::vector<Value>& values : rows.rows) {
    Row row(table_->shape.columns.size());
    for (size_t i = 0; i < into_.size(); ++i) {
      auto column =
          static_cast<size_t>(into_[i] - table_->shape.columns.data());
      row[column] = std::move(values[i]);
    }
    RETURN_IF_ERROR(CheckNotNull(row));
    inserted_->push_back(std::move(row));
  }
  inserted_done_.assign(inserted_->size(), false);
  return {};
}

// The n-th row of VALUES.
Result<Row> ModelStatement::ValuesRow(size_t n, const Row* written) const {
  Row row(table_->shape.columns.size());
  for (size_t i = 0; i < row.size(); ++i) {
    ASSIGN_OR_RETURN(row[i], Compute(values_[n][i], i, nullptr, written));
  }
  RETURN_IF_ERROR(CheckNotNull(row));
  return row;
}

// Finds the row among those that the query returned and that are not written
// yet; mostly they come in this order. False if it is none of them.
bool ModelStatement::TakeInserted(size_t n, const Row& row) {
  size_t count = inserted_->size();
  for (size_t i = 0; i < count; ++i) {
    size_t at = (n + i) % count;
    if (inserted_done_[at] || Differs((*inserted_)[at], &row)) continue;
    inserted_done_[at] = true;
    return true;
  }
  return false;
}

std::optional<std::string> ModelStatement::CheckInserted(size_t n,
                                                         const Row* written) {
  if (kind_ != Kind::kInsert) return "inserted a row";
  if (!not_modelled_.empty()) return std::nullopt;
  if (written == nullptr) return "wrote a row that cannot be decoded";
  std::string text = ToText(*written);
  if (query_.has_value()) {
    Status computed = ComputeInserted();
    if (computed.ok()) {
      if (TakeInserted(n, *written)) return std::nullopt;
      return fmt::format("inserted {}, which its query does not return", text);
    }
    if (!IsNotModelled(computed)) {
      return fmt::format("inserted {} although it must fail: {}", text,
                         computed.message());
    }
    not_modelled_ = std::string(computed.message());
    return std::nullopt;
  }
  if (n >= values_.size()) {
    return fmt::format("inserted {}, one row more than the {} of VALUES", text,
                       values_.size());
  }
  Result<Row> expected = ValuesRow(n, written);
  if (expected.ok()) return Differs(*expected, written);
  return fmt::format("inserted {} although it must fail: {}", text,
                     expected.status().message());
}

std::optional<std::string> ModelStatement::OnInsert(uint64_t tid,
                                                    const Row* written) {
  std::optional<std::string> wrong = CheckInserted(changed_++, written);
  Row row = written != nullptr ? *written : Row(table_->shape.columns.size());
  AddReturned(row);
  store_->Insert(table_.get(), snapshot_.self, snapshot_.command,
                 std::move(row), tid);
  return wrong;
}

bool ModelStatement::ChangedByMe(const ModelRow& row) const {
  return std::any_of(
      row.versions.begin(), row.versions.end(), [this](const auto& v) {
        return v.remover == snapshot_.self && v.removed_by == snapshot_.command;
      });
}

// What is wrong with writing over the version at place now.
std::optional<std::string> ModelStatement::CheckTarget(
    const ModelStore::Place& place) const {
  const ModelRow& row = table_->rows[place.row];
  const ModelVersion& target = row.versions[place.version];
  const ModelVersion& newest = row.versions.back();
  std::string text = ToText(target.values);
  if (ChangedByMe(row)) {
    return fmt::format("changed the row {} a second time", text);
  }
  if (target.remover != kNoTxn) {
    return fmt::format("wrote over {}, which {} had {}", text,
                       store_->txn(target.remover).name,
                       target.deleted ? "deleted" : "replaced");
  }
  if (newest.creator != snapshot_.self &&
      store_->txn(newest.creator).state == State::kActive) {
    return fmt::format("wrote over {}, which {} has not committed", text,
                       store_->txn(newest.creator).name);
  }
  if (!not_modelled_.empty()) return std::nullopt;
  std::optional<size_t> seen = store_->Visible(row, snapshot_);
  if (!seen) {
    return fmt::format("changed {}, a row that its snapshot does not show",
                       text);
  }
  const Row& first = row.versions[*seen].values;
  if (!ConditionHolds(first)) {
    return fmt::format(
        "changed {}, which did not satisfy its condition when it began: {}",
        text, ToText(first));
  }
  if (*seen == place.version) return std::nullopt;
  if (repeatable_read_) {
    return fmt::format(
        "changed {} although its snapshot shows {}: expected 40001", text,
        ToText(first));
  }
  if (!ConditionHolds(target.values)) {
    return fmt::format(
        "changed {}, the newest version of {}, which no longer satisfies its "
        "condition",
        text, ToText(first));
  }
  return std::nullopt;
}

std::optional<std::string> ModelStatement::OnUpdate(
    const ModelStore::Place& place, uint64_t new_tid, const Row* written) {
  ++changed_;
  std::optional<std::string> wrong = CheckTarget(place);
  const Row& base = table_->rows[place.row].versions[place.version].values;
  if (kind_ != Kind::kUpdate) {
    wrong = fmt::format("updated {}", ToText(base));
  } else if (!wrong && not_modelled_.empty()) {
    Result<Row> expected = NewValues(base, written);
    if (expected.ok()) {
      wrong = Differs(*expected, written);
      if (wrong) {
        wrong = fmt::format("updated {}: {}", ToText(base), *wrong);
      }
    } else {
      wrong = fmt::format("updated {} although it must fail: {}", ToText(base),
                          expected.status().message());
    }
  }
  Row row = written != nullptr ? *written : base;
  AddReturned(row);
  store_->Update(table_.get(), place.row, snapshot_.self, snapshot_.command,
                 std::move(row), new_tid);
  return wrong;
}

std::optional<std::string> ModelStatement::OnDelete(
    const ModelStore::Place& place) {
  ++changed_;
  std::optional<std::string> wrong = CheckTarget(place);
  const Row& base = table_->rows[place.row].versions[place.version].values;
  if (kind_ != Kind::kDelete) {
    wrong = fmt::format("deleted {}", ToText(base));
  }
  AddReturned(base);
  store_->Delete(table_.get(), place.row, snapshot_.self, snapshot_.command);
  return wrong;
}

// ------------------------------------------------------------------- the end

// Whether at some moment before the end the row's newest committed version was
// a later one than the seen one and did not satisfy the condition, or the row
// was gone.
bool ModelStatement::MayBeLeftAlone(const ModelRow& row, size_t seen) const {
  if (repeatable_read_) return false;
  auto committed_by = [this](ModelTxnId id, uint64_t at) {
    const ModelTxn& txn = store_->txn(id);
    return txn.state == State::kCommitted && txn.visible_at <= at;
  };
  for (size_t i = seen; i < row.versions.size(); ++i) {
    const ModelVersion& v = row.versions[i];
    if (v.created_at > end()) break;
    if (i > seen) {
      uint64_t until = i + 1 < row.versions.size()
                           ? std::min(end(), row.versions[i + 1].created_at)
                           : end();
      if (committed_by(v.creator, until) && !ConditionHolds(v.values)) {
        return true;
      }
    }
    if (v.deleted && v.remover != kNoTxn && v.remover != snapshot_.self &&
        committed_by(v.remover, end())) {
      return true;
    }
  }
  return false;
}

std::optional<std::string> ModelStatement::CheckLeftAlone() const {
  if (kind_ == Kind::kSelect || !not_modelled_.empty()) return std::nullopt;
  if (kind_ == Kind::kInsert) return std::nullopt;  // its tag tells
  for (const ModelRow& row : table_->rows) {
    std::optional<size_t> seen = Qualifies(row);
    if (!seen || ChangedByMe(row) || MayBeLeftAlone(row, *seen)) continue;
    return fmt::format(
        "left {} alone, which its snapshot shows and which satisfies its "
        "condition{}",
        ToText(row.versions[*seen].values),
        *seen + 1 < row.versions.size()
            ? fmt::format("; newest version {}",
                          ToText(row.versions.back().values))
            : "");
  }
  return std::nullopt;
}

Result<std::string> ModelStatement::ExpectedTag(const ExpectedRows* rows) {
  switch (kind_) {
    case Kind::kSelect: {
      uint64_t begin = std::min<uint64_t>(rows->skip, rows->rows.size());
      uint64_t count =
          std::min<uint64_t>(rows->left, rows->rows.size() - begin);
      return fmt::format("SELECT {}", count);
    }
    case Kind::kInsert: {
      RETURN_IF_ERROR(ComputeInserted());
      return fmt::format("INSERT 0 {}", inserted_.has_value()
                                            ? inserted_->size()
                                            : values_.size());
    }
    case Kind::kUpdate:
      return fmt::format("UPDATE {}", changed_);
    default:
      return fmt::format("DELETE {}", changed_);
  }
}

bool ModelStatement::has_rows() const {
  return kind_ == Kind::kSelect || !returning_.empty();
}

Result<ExpectedRows> ModelStatement::Rows() {
  if (kind_ == Kind::kSelect) {
    std::vector<const Row*> rows;
    if (query_->from_table) rows = store_->VisibleRows(*table_, snapshot_);
    Result<ExpectedRows> expected = RunQuery(*query_, rows);
    if (!expected.ok() && query_->limit.has_value()) {
      return NotModelled("an error that LIMIT perhaps avoids");
    }
    return expected;
  }
  if (returning_broken_) return NotModelled("an error in RETURNING");
  std::vector<uint32_t> types;
  for (const ModelExpr& target : returning_) types.push_back(target.type);
  return AnyOrder(std::move(types), returned_);
}

bool ModelStatement::MayFailToSerialize(std::string_view message) const {
  if (!repeatable_read_ || kind_ == Kind::kSelect || kind_ == Kind::kInsert) {
    return false;
  }
  for (const ModelRow& row : table_->rows) {
    std::optional<size_t> seen = Qualifies(row);
    if (!seen) continue;
    const ModelVersion& v = row.versions[*seen];
    if (v.remover == kNoTxn || v.remover == snapshot_.self) continue;
    if (store_->txn(v.remover).state != State::kCommitted) continue;
    std::string expected =
        fmt::format("could not serialize access due to concurrent {}",
                    v.deleted ? "delete" : "update");
    if (message == expected) return true;
  }
  return false;
}

std::set<uint32_t> ModelStatement::PossibleErrors() {
  std::set<uint32_t> errors;
  auto add = [&errors](const Status& status) {
    if (!status.ok() && status.sqlstate() != 0)
      errors.insert(status.sqlstate());
  };
  if (kind_ == Kind::kSelect || query_.has_value()) {
    std::vector<const Row*> rows;
    if (query_->from_table) rows = store_->VisibleRows(*table_, snapshot_);
    add(RunQuery(*query_, rows).status());
    if (kind_ == Kind::kInsert) add(ComputeInserted());
    return errors;
  }
  for (const std::vector<ModelExpr>& values : values_) {
    Row row(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i].op == ModelExpr::Op::kFromEvent) {
        row[i] = IntValue(0);
        continue;
      }
      Result<Value> v = EvaluateValue(values[i], EvalRow());
      add(v.status());
      if (v.ok()) row[i] = std::move(v).value();
    }
    add(CheckNotNull(row));
  }
  if (kind_ == Kind::kInsert) return errors;
  // Any version that the statement may have come upon.
  for (const ModelRow& row : table_->rows) {
    for (const ModelVersion& v : row.versions) {
      EvalRow at;
      at.row = &v.values;
      if (where_.has_value()) add(Holds(*where_, at).status());
      if (!ConditionHolds(v.values)) continue;
      Row any(v.values.size());
      add(NewValues(v.values, &any).status());
    }
  }
  return errors;
}

}  // namespace properties
