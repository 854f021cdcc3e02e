// StatementOracle: every statement's rows and command tag, predicted by the
// reference model.
//
//   plan's statements ──► ModelSession   transaction blocks, isolation
//          │              ModelStatement what it must write and return
//   events ┴────────────► ModelStore     rows in versions, own visibility
//
// What is trusted. The order of events: when a snapshot is taken, when a
// transaction becomes visible, when a row is written, when a wait begins and
// ends. Not trusted: contents. The model computes each new row from the
// statement and compares it with the one that the node says it wrote; what a
// snapshot sees follows from the order alone, and the list of transactions that
// the node's snapshot carries is compared with it. A tuple's address says which
// row is meant, nothing else.
//
// Checks
// 1. STMT: a statement writes the rows that it must, with the right values,
//    once, and leaves no other alone; its tag and its error are the right ones.
// 2. VIS: rows that a client receives are those that the snapshot shows, in
//    the order asked for. So are those of the scans after recoveries.
// 3. VIS: a snapshot holds exactly the transactions that became visible before.
// 4. STMT: deadlock is reported where there is a cycle of waits.
// Does not check: statements that the model does not understand (counted by
// reason in PredictionStats); errors of devices and resources (classes 53, 54,
// 57, 58, XX); names of result columns; detail, hint and position of errors;
// the order of rows without ORDER BY; which of several conflicting rows makes a
// statement fail.
#ifndef MUSTH_PROPERTIES_STATEMENT_ORACLE_H_
#define MUSTH_PROPERTIES_STATEMENT_ORACLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sql/session.h"
#include "properties/model.h"
#include "properties/model_dml.h"
#include "properties/model_session.h"
#include "properties/model_store.h"
#include "properties/oracle.h"
#include "properties/plan.h"
#include "sim/env/event_sink.h"

namespace properties {

// Statements that read or write rows.
struct PredictionStats {
  uint64_t predicted = 0;
  std::map<std::string, uint64_t> unpredicted;  // by reason
};

class StatementOracle {
 public:
  // Both outlive the oracle.
  StatementOracle(Model* model, VerdictSink* sink)
      : model_(model), sink_(sink), epoch_(model->epoch()) {}

  // Requires: the model has seen the event.
  void OnEvent(const env::Event& event);
  // Settles what the model's last cut decided, once.
  void ApplyDecided();

  // The statement stays where it is until its result.
  void OnStatementSent(env::TaskId task, const PlanStatement& statement);
  void OnStatementResult(env::TaskId task,
                         const std::vector<engine::StatementResult>& results);
  // The rows of SELECT * FROM relname. Requires: no transaction runs.
  void CompareScan(std::string_view relname, const std::vector<TextRow>& rows,
                   uint64_t seq);

  const ModelStore& store() const { return store_; }
  const PredictionStats& stats() const { return stats_; }

 private:
  // One statement of a query's text.
  struct Running {
    const engine::Statement* ast = nullptr;
    uint32_t must_fail = 0;
    std::optional<std::string> tag;             // of one without rows
    std::unique_ptr<ModelStatement> statement;  // of one with rows
    std::shared_ptr<ModelTable> created;
    std::string subject;
    bool deadlock = false;
    bool reported = false;
  };
  struct Task {
    ModelSession session;
    const PlanStatement* sent = nullptr;
    std::vector<Running> running;  // the last one runs
    uint32_t xid = 0;
    uint32_t waits_for = 0;
  };

  size_t StatementsIn(const PlanStatement& sent) const;
  void OnStatementBegins(Task* task, size_t index);
  void CreateTable(const engine::CreateTableStmt& create, ModelTxnId by,
                   Running* running);
  std::unique_ptr<ModelStatement> StartStatement(
      const engine::Statement& statement, Task* task);
  void OnSnapshot(const env::Event& event);
  void CheckSnapshot(const env::Event& event);
  void OnTupleChange(const env::Event& event);
  std::optional<std::string> Change(ModelStatement* statement,
                                    ModelTable* table, const env::Event& event);
  void OnCatalogInsert(const env::Event& event);
  void OnXactWait(const env::Event& event);
  void OnXactEnd(const env::Event& event);

  void JudgeResult(Task* task, Running* running,
                   const engine::StatementResult& result);
  void JudgeError(Task* task, Running* running, const env::Status& error);
  void JudgeRows(Running* running, const engine::StatementResult& result);
  void Observe(const Running& running);
  void Count(const Running& running, const std::string& reason);
  void Report(const char* promise, Running* running, std::string message);
  void Report(const char* promise, std::string subject, std::string message);

  Model* model_;
  VerdictSink* sink_;
  uint32_t epoch_;
  uint64_t seq_ = 0;
  ModelStore store_;
  std::map<env::TaskId, Task> tasks_;
  std::map<uint32_t, ModelTxnId> txn_of_xid_;  // of this epoch
  std::map<uint32_t, env::TaskId> active_xids_;
  std::set<uint32_t> visible_xids_;  // of this epoch
  PredictionStats stats_;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_STATEMENT_ORACLE_H_
