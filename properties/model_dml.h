// ModelStatement: one SELECT, INSERT, UPDATE or DELETE while it runs, as the
// reference model follows it.
//
//   compiled once: conditions, new values, RETURNING, the query
//   told: its snapshot, each row that it writes at the moment of writing
//   asked: whether each write was right, and in the end what the client must
//          be told
//
// Which rows. Those that its snapshot shows and that satisfy the condition. At
// the moment in which the statement writes a row, the row's newest version must
// be committed or its own. Read committed: if that is a later version than the
// snapshot's, the condition must hold for it too, and new values come from it.
// Repeatable read: it must be the snapshot's version. A row of the first set
// may be left alone only under read committed, and only if at some moment while
// the statement ran the row's newest committed version did not satisfy the
// condition or was gone. Under repeatable read the statement fails with 40001
// instead, and only then.
#ifndef MUSTH_PROPERTIES_MODEL_DML_H_
#define MUSTH_PROPERTIES_MODEL_DML_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/sql/ast.h"
#include "properties/model_query.h"
#include "properties/model_store.h"
#include "sim/env/status.h"

namespace properties {

class ModelStatement {
 public:
  // The statement outlives the object. table is what it reads or writes; null
  // if it names none.
  ModelStatement(const engine::Statement* statement, ModelStore* store,
                 std::shared_ptr<ModelTable> table, bool repeatable_read);

  // Why it cannot be predicted; empty if it can.
  const std::string& not_modelled() const { return not_modelled_; }
  // The SQLSTATE with which it must fail before it begins; 0 if none.
  uint32_t must_fail() const { return must_fail_; }
  bool writes() const { return kind_ != Kind::kSelect; }
  const ModelTable* table() const { return table_.get(); }

  void SetSnapshot(const ModelSnapshot& snapshot) { snapshot_ = snapshot; }
  const ModelSnapshot& snapshot() const { return snapshot_; }
  // The transaction's next statement has begun.
  void SetEnd(uint64_t at) { end_ = at; }

  // The statement writes a row. written: what the node says that it wrote. The
  // store is brought up to date, with the written values where the model's
  // own are not known or not equal. Returns what is wrong, or nothing.
  std::optional<std::string> OnInsert(uint64_t tid, const Row* written);
  std::optional<std::string> OnUpdate(const ModelStore::Place& place,
                                      uint64_t new_tid, const Row* written);
  std::optional<std::string> OnDelete(const ModelStore::Place& place);

  // Its successful end: what is wrong with the rows that it left alone.
  std::optional<std::string> CheckLeftAlone() const;
  // "UPDATE 3", "SELECT 2". rows: those of a SELECT, else null.
  env::Result<std::string> ExpectedTag(const ExpectedRows* rows);
  // Rows that the client must receive. Requires: has_rows().
  env::Result<ExpectedRows> Rows();
  bool has_rows() const;

  // Whether it may fail with 40001 and this message now.
  bool MayFailToSerialize(std::string_view message) const;
  // SQLSTATEs of errors that evaluating it may raise.
  std::set<uint32_t> PossibleErrors();

 private:
  enum class Kind : uint8_t { kSelect, kInsert, kUpdate, kDelete };

  env::Status Compile();
  env::Status CompileInsert(const engine::InsertStmt& stmt);
  env::Status CompileUpdate(const engine::UpdateStmt& stmt);
  env::Status CompileReturning(const std::vector<engine::TargetItem>& items,
                               ExprCompiler* compiler);
  // The rows that INSERT must write, in order.
  env::Status ComputeInserted();
  env::Result<Row> NewValues(const Row& base, const Row* written) const;
  env::Result<Row> ValuesRow(size_t n, const Row* written) const;
  bool TakeInserted(size_t n, const Row& row);
  std::optional<std::string> CheckInserted(size_t n, const Row* written);
  env::Status CheckNotNull(const Row& row) const;
  // The version that the snapshot shows if it satisfies the condition.
  std::optional<size_t> Qualifies(const ModelRow& row) const;
  bool ConditionHolds(const Row& row) const;
  std::optional<std::string> CheckTarget(const ModelStore::Place& place) const;
  bool ChangedByMe(const ModelRow& row) const;
  bool MayBeLeftAlone(const ModelRow& row, size_t seen) const;
  void AddReturned(const Row& row);
  std::optional<std::string> Differs(const Row& expected,
                                     const Row* written) const;
  std::string ToText(const Row& row) const;
  uint64_t end() const { return end_ != 0 ? end_ : store_->now(); }

  const engine::Statement* statement_;
  ModelStore* store_;
  std::shared_ptr<ModelTable> table_;
  const bool repeatable_read_;
  Kind kind_ = Kind::kSelect;
  std::string not_modelled_;
  uint32_t must_fail_ = 0;

  std::optional<ModelQuery> query_;             // SELECT, INSERT ... SELECT
  std::vector<std::vector<ModelExpr>> values_;  // VALUES, a row each
  std::vector<const ColumnShape*> into_;        // INSERT ... SELECT
  std::vector<std::pair<size_t, ModelExpr>> sets_;
  std::optional<ModelExpr> where_;
  std::vector<ModelExpr> returning_;

  ModelSnapshot snapshot_;
  uint64_t end_ = 0;
  uint64_t changed_ = 0;
  std::optional<std::vector<Row>> inserted_;  // expected, in order
  std::vector<bool> inserted_done_;
  std::vector<std::vector<Value>> returned_;
  bool returning_broken_ = false;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_MODEL_DML_H_
