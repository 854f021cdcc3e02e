// StatementOracle: answers against predictions.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "properties/statement_oracle.h"

namespace properties {
namespace {

// True for refusals that other oracles attribute to faults.
bool IsOfTheEnvironment(const env::Status& error) {
  if (error.code() != env::Code::kSql) return true;
  std::string state = env::SqlStateToString(error.sqlstate());
  for (const char* prefix : {"53", "54", "57", "58", "XX"}) {
    if (state.compare(0, 2, prefix) == 0) return true;
  }
  // EROFS has no class of its own.
  return error.message().ends_with("Read-only file system");
}

}  // namespace

void StatementOracle::OnStatementResult(
    env::TaskId task, const std::vector<engine::StatementResult>& results) {
  auto it = tasks_.find(task);
  if (it == tasks_.end()) return;
  Task& t = it->second;
  for (size_t i = 0; i < std::min(results.size(), t.running.size()); ++i) {
    JudgeResult(&t, &t.running[i], results[i]);
  }
  if (!t.running.empty() && !results.empty()) {
    bool ok = results.back().status.ok();
    bool last = t.running.size() == StatementsIn(*t.sent);
    t.session.EndStatement(*t.running.back().ast, ok, last);
  }
  t.sent = nullptr;
  t.running.clear();
}

void StatementOracle::JudgeResult(Task* task, Running* running,
                                  const engine::StatementResult& result) {
  if (!result.status.ok()) {
    JudgeError(task, running, result.status);
    return;
  }
  ModelStatement* statement = running->statement.get();
  bool modelled = statement != nullptr && statement->not_modelled().empty();
  uint32_t must_fail = running->must_fail;
  if (must_fail == 0 && modelled) must_fail = statement->must_fail();
  if (must_fail != 0) {
    Report("STMT", running,
           fmt::format("expected error {}, the client was told {}",
                       env::SqlStateToString(must_fail), result.command_tag));
    return;
  }
  if (running->tag.has_value() && *running->tag != result.command_tag) {
    Report("STMT", running,
           fmt::format("expected {}, the client was told {}", *running->tag,
                       result.command_tag));
  }
  if (statement == nullptr) return;
  if (modelled) {
    JudgeRows(running, result);
    Observe(*running);
  }
  Count(*running, statement->not_modelled());
}

void StatementOracle::JudgeRows(Running* running,
                                const engine::StatementResult& result) {
  ModelStatement* statement = running->statement.get();
  if (std::optional<std::string> wrong = statement->CheckLeftAlone()) {
    Report("STMT", running, *wrong);
  }
  std::optional<ExpectedRows> rows;
  if (statement->has_rows()) {
    env::Result<ExpectedRows> expected = statement->Rows();
    if (!expected.ok()) {
      if (IsNotModelled(expected.status())) return;
      Report("STMT", running,
             fmt::format("expected an error ({}), the client was told {}",
                         expected.status().ToString(), result.command_tag));
      return;
    }
    rows = std::move(expected).value();
    if (auto difference = FirstDifference(*rows, result.rows)) {
      Report(statement->writes() ? "STMT" : "VIS", running, *difference);
    }
  }
  env::Result<std::string> tag =
      statement->ExpectedTag(rows.has_value() ? &*rows : nullptr);
  if (!tag.ok() || *tag == result.command_tag) return;
  Report("STMT", running,
         fmt::format("expected {}, the client was told {}", *tag,
                     result.command_tag));
}

void StatementOracle::JudgeError(Task* task, Running* running,
                                 const env::Status& error) {
  if (running->created != nullptr && task->xid == 0) {
    store_.Abort(task->session.txn());  // nothing else would
  }
  if (IsOfTheEnvironment(error)) {
    Count(*running, "an error of a device or resource");
    return;
  }
  uint32_t state = error.sqlstate();
  ModelStatement* statement = running->statement.get();
  bool modelled = statement != nullptr && statement->not_modelled().empty();
  bool right = state == running->must_fail ||
               (state == kDeadlockDetected && running->deadlock);
  if (!right && running->must_fail == 0) {
    if (state == kDeadlockDetected) {
      right = false;
    } else if (!modelled) {
      Count(*running, statement == nullptr ? "" : statement->not_modelled());
      return;
    } else if (state == kSerializationFailure) {
      right = statement->MayFailToSerialize(error.message());
    } else {
      right = state == statement->must_fail() ||
              statement->PossibleErrors().count(state) != 0;
    }
  }
  if (!right) {
    Report("STMT", running,
           fmt::format("failed with {}, which nothing explains",
                       error.ToString()));
  }
  Count(*running, "");
}

// What a client was told of, others must find again.
void StatementOracle::Observe(const Running& running) {
  const ModelStatement& statement = *running.statement;
  if (statement.table() == nullptr) return;
  for (ModelTxnId id : statement.table()->writers) {
    const ModelTxn& txn = store_.txn(id);
    if (id == statement.snapshot().self || txn.xid == 0 ||
        !store_.Sees(statement.snapshot(), id, 0)) {
      continue;
    }
    model_->MarkObserved(txn.xid, running.subject);
  }
}

void StatementOracle::CompareScan(std::string_view relname,
                                  const std::vector<TextRow>& rows,
                                  uint64_t seq) {
  seq_ = seq;
  std::shared_ptr<ModelTable> table = store_.FindTable(relname, kNoTxn);
  if (table == nullptr || table->opaque) return;
  ExpectedRows expected;
  for (const ColumnShape& column : table->shape.columns) {
    if (!HasOutput(column.type)) return;
    expected.types.push_back(column.type);
  }
  ModelSnapshot snapshot;
  snapshot.at = store_.Tick();
  for (const Row* row : store_.VisibleRows(*table, snapshot)) {
    expected.rows.push_back(*row);
  }
  expected.class_ends.push_back(expected.rows.size());
  if (auto difference = FirstDifference(expected, rows)) {
    Report("VIS", fmt::format("SELECT * FROM {} on a quiet node", relname),
           *difference);
  }
}

}  // namespace properties
