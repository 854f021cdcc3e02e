#include "properties/client.h"

#include <fmt/format.h>

#include "engine/common/sites.h"
#include "engine/ipc/proc.h"
#include "sim/env/race.h"

namespace properties {
namespace {

void Announce(engine::Session& session, const PlanStatement& statement,
              uint64_t phase) {
  env::Event event;
  event.kind = env::EventKind::kPlan;
  event.a[0] = statement.id.Packed();
  event.a[1] = phase;
  if (phase == 0) event.bytes = statement.sql;
  session.backend().env->events->Emit(event);
}

// Where the node's code begins.
std::vector<engine::StatementResult> CarryOut(engine::Session& session,
                                              const PlanStatement& statement) {
  env::Watched watched;
  if (!statement.statement.has_value()) {
    return session.ExecuteText(statement.sql);
  }
  std::vector<engine::StatementResult> results;
  results.push_back(session.Execute(*statement.statement));
  return results;
}

std::vector<engine::StatementResult> Execute(engine::Session& session,
                                             const PlanStatement& statement) {
  Announce(session, statement, 0);
  std::vector<engine::StatementResult> results = CarryOut(session, statement);
  Announce(session, statement, 1);
  return results;
}

void Pause(engine::Session& session, env::TimeNs duration_ns) {
  env::Env* env = session.backend().env;
  env::TimeNs deadline = env->clock->Now() + duration_ns;
  // A node that shuts down does not wait for a client that thinks.
  while (env->clock->Now() < deadline &&
         engine::CheckForInterrupts(session.backend()).ok()) {
    env->tasks->ParkUntil(SITE_ID(client_sleep), deadline);
  }
}

}  // namespace

std::string Client::name() const {
  return fmt::format("s{}", session_->number);
}

void Client::Run(engine::Session& session) {
  // A backend that died took its answer with it.
  commit_pending_ = false;
  running_ = true;
  // A transaction that a shutdown cut off is over, as after a crash.
  while (!done() && !session.terminated()) {
    const PlanTransaction& transaction = session_->transactions[next_++];
    RunTransaction(session, transaction);
  }
  running_ = false;
}

void Client::RunTransaction(engine::Session& session,
                            const PlanTransaction& transaction) {
  std::vector<PlanStatement> steps =
      ExpandTransaction(session_->number, transaction);
  bool failed = false;
  for (size_t i = 0; i < steps.size(); ++i) {
    bool last = i + 1 == steps.size();
    if (failed && !last) continue;
    bool may_commit = !transaction.block || (last && !transaction.rollback);
    if (failed) {
      if (session.terminated() ||
          session.transaction_status() == engine::TransactionStatus::kIdle) {
        return;
      }
      PlanStatement rollback;
      rollback.id = steps[i].id;
      rollback.statement = engine::Statement{engine::RollbackStmt{}};
      Send(session, rollback, false);
      return;
    }
    failed = !Send(session, steps[i], may_commit);
  }
  // A script's own block that an ERROR left open.
  if (!session.terminated() &&
      session.transaction_status() != engine::TransactionStatus::kIdle) {
    PlanStatement rollback;
    rollback.id = {session_->number, transaction.number, StatementId::kFinish};
    rollback.statement = engine::Statement{engine::RollbackStmt{}};
    Send(session, rollback, false);
  }
}

bool Client::Send(engine::Session& session, const PlanStatement& statement,
                  bool may_commit) {
  if (statement.sleep_ns > 0) {
    Pause(session, statement.sleep_ns);
    return true;
  }
  observer_->OnStatementSent(statement);
  commit_pending_ = may_commit;
  std::vector<engine::StatementResult> results = Execute(session, statement);
  commit_pending_ = false;
  observer_->OnStatementResult(statement, results);
  for (const engine::StatementResult& result : results) {
    if (!result.status.ok()) return false;
  }
  return true;
}

env::Status RunSetup(const Plan& plan, ClientObserver* observer,
                     engine::Session& session) {
  for (const PlanStatement& statement : plan.setup) {
    observer->OnStatementSent(statement);
    std::vector<engine::StatementResult> results = Execute(session, statement);
    observer->OnStatementResult(statement, results);
    for (const engine::StatementResult& result : results) {
      if (result.status.ok()) continue;
      return env::Status(
          env::Code::kInvalid,
          fmt::format("{}: {}", statement.source, result.status.message()));
    }
  }
  return env::Status();
}

}  // namespace properties
