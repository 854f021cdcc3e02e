#include "properties/statement_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>

#include "properties/decoders/catalog_decoder.h"
#include "properties/decoders/tuple_decoder.h"

namespace properties {
namespace {

using engine::Statement;
using env::EventKind;

constexpr uint64_t kStatementUse = 1;  // kSnapshot's use
constexpr uint64_t kWaitBegins = 0;    // kXactWait's phases
constexpr uint64_t kWaitEndsByDeadlock = 2;

uint32_t Low32(uint64_t v) { return static_cast<uint32_t>(v); }
bool Precedes(uint32_t a, uint32_t b) {
  return static_cast<int32_t>(a - b) < 0;
}

// The table that the statement names; empty if it names none.
std::string TableName(const Statement& s) {
  if (const auto* select = std::get_if<engine::SelectStmt>(&s.body)) {
    return select->from.has_value() ? select->from->table : "";
  }
  if (const auto* insert = std::get_if<engine::InsertStmt>(&s.body)) {
    return insert->table;
  }
  if (const auto* update = std::get_if<engine::UpdateStmt>(&s.body)) {
    return update->table;
  }
  if (const auto* del = std::get_if<engine::DeleteStmt>(&s.body)) {
    return del->table;
  }
  return "";
}

bool HasRows(const Statement& s) {
  return std::holds_alternative<engine::SelectStmt>(s.body) ||
         std::holds_alternative<engine::InsertStmt>(s.body) ||
         std::holds_alternative<engine::UpdateStmt>(s.body) ||
         std::holds_alternative<engine::DeleteStmt>(s.body);
}

}  // namespace

// ---------------------------------------------------------------- reporting

void StatementOracle::Report(const char* promise, std::string subject,
                             std::string message) {
  sink_->Report(promise, "statement", std::move(subject), std::move(message),
                seq_);
}

// One verdict per statement; what follows from it says nothing new.
void StatementOracle::Report(const char* promise, Running* running,
                             std::string message) {
  if (running->reported) return;
  running->reported = true;
  Report(promise, running->subject, std::move(message));
}

void StatementOracle::Count(const Running& running, const std::string& reason) {
  if (running.ast == nullptr || !HasRows(*running.ast)) return;
  if (reason.empty()) {
    ++stats_.predicted;
  } else {
    ++stats_.unpredicted[reason];
  }
}

// ------------------------------------------------------------------- events

void StatementOracle::OnEvent(const env::Event& e) {
  seq_ = e.seq;
  switch (e.kind) {
    case EventKind::kCommand: {
      if (e.a[2] == 0) break;
      auto it = tasks_.find(e.task);
      if (it != tasks_.end()) OnStatementBegins(&it->second, e.a[2] - 1);
      break;
    }
    case EventKind::kXidAssigned: {
      uint32_t xid = Low32(e.a[0]);
      active_xids_[xid] = e.task;
      auto it = tasks_.find(e.task);
      if (it == tasks_.end() || it->second.session.txn() == kNoTxn) break;
      it->second.xid = xid;
      txn_of_xid_[xid] = it->second.session.txn();
      store_.txn(it->second.session.txn()).xid = xid;
      break;
    }
    case EventKind::kSnapshot:
      OnSnapshot(e);
      break;
    case EventKind::kVisible:
    case EventKind::kAbort:
      OnXactEnd(e);
      break;
    case EventKind::kTupleInsert:
    case EventKind::kTupleUpdate:
    case EventKind::kTupleDelete:
      OnTupleChange(e);
      break;
    case EventKind::kXactWait:
      OnXactWait(e);
      break;
    case EventKind::kCrash:
      if (e.a[0] != static_cast<uint64_t>(sim::CrashKind::kTaskKill)) {
        tasks_.clear();
      }
      break;
    case EventKind::kRecoveryStart:
      tasks_.clear();
      break;
    case EventKind::kReady:
      ApplyDecided();
      break;
    default:
      break;
  }
}

void StatementOracle::ApplyDecided() {
  if (epoch_ == model_->epoch()) return;
  uint32_t ended = std::exchange(epoch_, model_->epoch());
  store_.Decide([&](const ModelTxn& txn) {
    const Txn* judged = model_->Find({ended, txn.xid});
    return txn.xid != 0 && judged != nullptr &&
           judged->fate == TxnFate::kCommitted;
  });
  tasks_.clear();
  txn_of_xid_.clear();
  active_xids_.clear();
  visible_xids_.clear();
}

void StatementOracle::OnXactEnd(const env::Event& e) {
  uint32_t xid = Low32(e.a[0]);
  active_xids_.erase(xid);
  bool committed = e.kind == EventKind::kVisible;
  if (committed) visible_xids_.insert(xid);
  auto it = txn_of_xid_.find(xid);
  if (it == txn_of_xid_.end()) return;
  if (committed) {
    store_.Commit(it->second);
  } else {
    store_.Abort(it->second);
  }
}

void StatementOracle::OnSnapshot(const env::Event& e) {
  CheckSnapshot(e);
  if (e.a[4] != kStatementUse) return;
  auto it = tasks_.find(e.task);
  if (it == tasks_.end() || it->second.running.empty()) return;
  Task& task = it->second;
  uint64_t at = store_.Tick();
  if (task.session.repeatable_read()) task.session.KeepSnapshot(at);
  ModelStatement* statement = task.running.back().statement.get();
  if (statement == nullptr) return;
  ModelSnapshot snapshot = statement->snapshot();
  snapshot.at = at;
  statement->SetSnapshot(snapshot);
}

// The node's list against the order of events.
void StatementOracle::CheckSnapshot(const env::Event& e) {
  uint32_t xmax = Low32(e.a[1]);
  std::vector<uint32_t> running(e.bytes.size() / sizeof(uint32_t));
  if (!running.empty()) {
    std::memcpy(running.data(), e.bytes.data(), e.bytes.size());
  }
  auto lists = [&running](uint32_t xid) {
    return std::find(running.begin(), running.end(), xid) != running.end();
  };
  auto say = [&](uint32_t xid, const char* what) {
    auto it = tasks_.find(e.task);
    bool known = it != tasks_.end() && !it->second.running.empty();
    Report("VIS", model_->Describe(xid),
           fmt::format("a snapshot of {} (xmax {}) {}",
                       known ? it->second.running.back().subject
                             : fmt::format("task {}", e.task),
                       xmax, what));
  };
  for (const auto& [xid, task] : active_xids_) {
    if (task == e.task || !Precedes(xid, xmax) || lists(xid)) continue;
    say(xid, "takes it for finished; it still runs");
  }
  if (!visible_xids_.empty()) {
    // The newest one decides for all below xmax.
    uint32_t newest = *visible_xids_.rbegin();
    if (!Precedes(newest, xmax)) {
      say(newest, "takes it for unfinished; it had become visible before");
    }
  }
  for (uint32_t xid : running) {
    if (visible_xids_.count(xid) == 0) continue;
    say(xid, "lists it as running; it had become visible before");
  }
}

// Follows the waits from the task on; a deadlock needs a way back to it.
void StatementOracle::OnXactWait(const env::Event& e) {
  auto it = tasks_.find(e.task);
  if (it == tasks_.end()) return;
  Task& task = it->second;
  task.waits_for = Low32(e.a[1]);
  if (e.a[2] == kWaitBegins) return;
  if (e.a[2] == kWaitEndsByDeadlock && !task.running.empty()) {
    uint32_t next = task.waits_for;
    for (size_t steps = 0; steps <= tasks_.size() && next != 0; ++steps) {
      if (next == task.xid) {
        task.running.back().deadlock = true;
        break;
      }
      auto holder = active_xids_.find(next);
      auto owner = holder == active_xids_.end() ? tasks_.end()
                                                : tasks_.find(holder->second);
      next = owner == tasks_.end() ? 0 : owner->second.waits_for;
    }
  }
  task.waits_for = 0;
}

// ----------------------------------------------------------------- statements

size_t StatementOracle::StatementsIn(const PlanStatement& sent) const {
  if (sent.statement.has_value()) return 1;
  return sent.parsed == nullptr ? 0 : sent.parsed->size();
}

void StatementOracle::OnStatementSent(env::TaskId task,
                                      const PlanStatement& statement) {
  Task& t = tasks_[task];
  t.sent = &statement;
  t.running.clear();
}

void StatementOracle::OnStatementBegins(Task* task, size_t index) {
  size_t count = task->sent == nullptr ? 0 : StatementsIn(*task->sent);
  if (index >= count) return;
  if (index > 0 && !task->running.empty()) {
    Running& before = task->running.back();
    if (before.statement != nullptr) before.statement->SetEnd(store_.now());
    task->session.EndStatement(*before.ast, true, false);
  }
  Running running;
  running.ast = task->sent->statement.has_value()
                    ? &*task->sent->statement
                    : &(*task->sent->parsed)[index];
  const StatementId& id = task->sent->id;
  ModelTxnId earlier = task->session.txn();
  running.must_fail = task->session.BeginStatement(
      *running.ast, count > 1, id.TransactionName(), &store_);
  if (task->session.txn() != earlier) task->xid = 0;
  running.subject = "statement " + id.ToString();
  if (count > 1) running.subject += fmt::format("[{}]", index + 1);
  if (running.must_fail == 0) {
    running.tag = task->session.Tag(*running.ast);
    running.statement = StartStatement(*running.ast, task);
  }
  const auto* create = std::get_if<engine::CreateTableStmt>(&running.ast->body);
  if (create != nullptr && running.must_fail == 0) {
    CreateTable(*create, task->session.txn(), &running);
  }
  task->running.push_back(std::move(running));
}

void StatementOracle::CreateTable(const engine::CreateTableStmt& create,
                                  ModelTxnId by, Running* running) {
  if (store_.FindTable(create.table, by) != nullptr) {
    if (!create.if_not_exists) running->must_fail = kDuplicateTable;
    return;
  }
  TableShape shape;
  shape.name = create.table;
  bool opaque = false;
  for (const engine::ColumnDef& def : create.columns) {
    std::optional<ColumnShape> column = ShapeOfColumn(def);
    opaque = opaque || !column.has_value();
    shape.columns.push_back(column.value_or(ColumnShape()));
    shape.not_null.push_back(def.not_null);
  }
  running->created = store_.CreateTable(std::move(shape), opaque, by);
}

std::unique_ptr<ModelStatement> StatementOracle::StartStatement(
    const Statement& statement, Task* task) {
  if (!HasRows(statement)) return nullptr;
  const ModelSession& session = task->session;
  std::string name = TableName(statement);
  std::shared_ptr<ModelTable> table;
  if (!name.empty()) table = store_.FindTable(name, session.txn());
  auto out = std::make_unique<ModelStatement>(
      &statement, &store_, std::move(table), session.repeatable_read());
  ModelSnapshot snapshot;
  snapshot.at = session.repeatable_read() && session.kept_snapshot().has_value()
                    ? *session.kept_snapshot()
                    : store_.Tick();
  snapshot.self = session.txn();
  snapshot.command = session.command();
  out->SetSnapshot(snapshot);
  return out;
}

// A new row of pg_class says in which file the table that is being created
// lies.
void StatementOracle::OnCatalogInsert(const env::Event& e) {
  auto it = tasks_.find(e.task);
  if (it == tasks_.end() || it->second.running.empty()) return;
  const std::shared_ptr<ModelTable>& table = it->second.running.back().created;
  if (table == nullptr) return;
  std::optional<TableFile> file = DecodeTableFile(e.bytes);
  if (!file.has_value()) return;  // ContentOracle reports it
  if (file->name == table->shape.name) table->filenode = file->filenode;
}

void StatementOracle::OnTupleChange(const env::Event& e) {
  uint32_t rel = Low32(e.a[1]);
  if (rel == kPgClassRel) {
    if (e.kind == EventKind::kTupleInsert) OnCatalogInsert(e);
    return;
  }
  if (rel < kFirstUserOid) return;
  ModelTable* table = store_.TableOfFile(rel);
  if (table == nullptr || table->opaque) return;
  auto it = tasks_.find(e.task);
  bool known = it != tasks_.end() && !it->second.running.empty() &&
               it->second.running.back().statement != nullptr;
  if (!known || it->second.running.back().statement->table() != table) {
    Report("STMT",
           known ? it->second.running.back().subject
                 : fmt::format("task {}", e.task),
           fmt::format("wrote to table {}, which it does not name",
                       table->shape.name));
    table->opaque = true;
    return;
  }
  Running& running = it->second.running.back();
  std::optional<std::string> wrong = Change(running.statement.get(), table, e);
  if (wrong) {
    Report("STMT", &running,
           fmt::format("{}: {}", model_->Describe(Low32(e.a[0])), *wrong));
  }
}

std::optional<std::string> StatementOracle::Change(ModelStatement* statement,
                                                   ModelTable* table,
                                                   const env::Event& e) {
  std::optional<Row> written;
  if (e.kind != EventKind::kTupleDelete) {
    env::Result<Row> row = DecodeTupleBody(table->shape.columns, e.bytes);
    if (row.ok()) written = std::move(row).value();
  }
  const Row* told = written.has_value() ? &*written : nullptr;
  if (e.kind == EventKind::kTupleInsert) {
    return statement->OnInsert(e.a[2], told);
  }
  std::optional<ModelStore::Place> place = store_.Find(*table, e.a[2]);
  if (!place) {
    table->opaque = true;
    return fmt::format("changed {}, where no row is",
                       DescribeTid(table->filenode, e.a[2]));
  }
  return e.kind == EventKind::kTupleUpdate
             ? statement->OnUpdate(*place, e.a[3], told)
             : statement->OnDelete(*place);
}

}  // namespace properties
