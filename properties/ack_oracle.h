// AckOracle: what clients were told, or could see, must be durable.
//
// Checks, by event:
// 1. When a synchronous commit becomes visible or is acknowledged, WAL is
//    flushed up to the end of its commit record (DUR).
// 2. After a recovery no synchronous transaction whose client was told, or
//    that another transaction observed, lies above the cut (DUR).
// 3. Nobody reads a version whose inserter is not visible (VIS).
// 4. A statement changes as many rows as it says (STMT).
// 5. A transaction's commit record lies behind those of all that its snapshots
//    showed (WAL): what recovery keeps is a prefix that nobody's observations
//    reach beyond, asynchronous commits included.
// 6. What a recovery that clients saw had decided stays decided: no later cut
//    lies before it (DUR).
// Does not check: contents (ContentOracle), whether the engine's cut is the
// true one (WalOracle), which of several legal snapshots a statement had, the
// absence of a row as an observation.
#ifndef MUSTH_PROPERTIES_ACK_ORACLE_H_
#define MUSTH_PROPERTIES_ACK_ORACLE_H_

#include <cstdint>
#include <map>
#include <vector>

#include "engine/sql/session.h"
#include "properties/model.h"
#include "properties/oracle.h"
#include "properties/plan.h"
#include "sim/env/event_sink.h"

namespace properties {

class AckOracle {
 public:
  // Both outlive the oracle.
  AckOracle(const Model* model, VerdictSink* sink)
      : model_(model), sink_(sink), epoch_(model->epoch()) {}

  // A copy that judges for another model and reports elsewhere.
  AckOracle(const AckOracle& other, const Model* model, VerdictSink* sink)
      : AckOracle(other) {
    model_ = model;
    sink_ = sink;
  }

  // Requires: the model has seen the event.
  void OnEvent(const env::Event& event);
  // Judges the transactions that the model's last cut decided, once.
  void CheckDecided(uint64_t seq);
  // A statement's answer.
  void OnStatement(const PlanStatement& statement,
                   const std::vector<engine::StatementResult>& results);

 private:
  void CheckFlushed(const env::Event& event, const char* what);
  void CheckRead(const env::Event& event);
  void CheckCommitOrder(const env::Event& event);
  void CheckCutGrows(const env::Event& event);
  void Report(const char* promise, std::string subject, std::string message,
              uint64_t seq);

  const Model* model_;
  VerdictSink* sink_;
  uint32_t epoch_;
  uint64_t flushed_ = 0;
  uint64_t last_seq_ = 0;
  uint64_t settled_ = 0;      // the cut of the last recovery that clients saw
  uint64_t visible_end_ = 0;  // of the commit records of visible transactions
  std::map<env::TaskId, uint64_t> seen_end_;  // visible_end_ at a snapshot
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_ACK_ORACLE_H_
