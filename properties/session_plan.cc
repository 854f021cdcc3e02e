#include "properties/session_plan.h"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <variant>

#include "engine/sql/parse.h"
#include "properties/pgbench.h"
#include "properties/pgbench_expr.h"

namespace properties {
namespace {

using env::Code;
using env::Result;
using env::Status;

Status At(const PlanStatement& statement, std::string_view message) {
  return Status(Code::kInvalid,
                fmt::format("{}: {}", statement.source, message));
}

// Nothing in a session's text is random.
class NoRandom : public PgbenchRandom {
 public:
  uint64_t Below(uint64_t) override { return 0; }
};

template <typename T>
bool Holds(const std::vector<engine::Statement>& statements) {
  for (const engine::Statement& statement : statements) {
    if (std::holds_alternative<T>(statement.body)) return true;
  }
  return false;
}

// Keeps what the text parses to for the judges.
Status ParseStep(PlanStatement* step) {
  Result<std::vector<engine::Statement>> parsed = engine::ParseSql(step->sql);
  if (!parsed.ok()) return At(*step, parsed.status().message());
  step->parsed = std::make_shared<const std::vector<engine::Statement>>(
      std::move(parsed).value());
  return {};
}

Result<PlanStatement> MakeStep(const std::string& name,
                               const PgbenchCommand& command) {
  PlanStatement step;
  step.source = fmt::format("{}:{}", name, command.line);
  switch (command.kind) {
    case PgbenchCommandKind::kSql:
      step.sql = command.text;
      RETURN_IF_ERROR(ParseStep(&step));
      return step;
    case PgbenchCommandKind::kSet:
      return At(step, "found \\set, expected SQL or \\sleep");
    case PgbenchCommandKind::kSleep:
      break;
  }
  NoRandom random;
  Result<int64_t> value = Evaluate(*command.expr, {}, &random);
  if (!value.ok()) return At(step, value.status().message());
  if (*value <= 0 || *value > 1'000'000'000 / command.sleep_unit_us) {
    return At(step, "expected a \\sleep of 1 us to 1000 s");
  }
  step.sleep_ns = *value * command.sleep_unit_us * 1000;
  return step;
}

Result<PlanSession> MakeSession(const SessionSource& source) {
  std::string name = fmt::format("session {}", source.number);
  ASSIGN_OR_RETURN(PgbenchScript script, ParsePgbenchScript(name, source.text));
  PlanSession session;
  session.number = source.number;
  bool in_block = false;
  uint32_t number = 0;
  for (const PgbenchCommand& command : script.commands) {
    ASSIGN_OR_RETURN(PlanStatement step, MakeStep(name, command));
    if (!in_block) {
      PlanTransaction next;
      next.number = static_cast<uint32_t>(session.transactions.size()) + 1;
      next.block = false;
      session.transactions.push_back(std::move(next));
    }
    PlanTransaction& transaction = session.transactions.back();
    step.id = {session.number, transaction.number, ++number};
    if (step.parsed != nullptr) {
      if (Holds<engine::BeginStmt>(*step.parsed)) in_block = true;
      if (Holds<engine::CommitStmt>(*step.parsed) ||
          Holds<engine::RollbackStmt>(*step.parsed)) {
        in_block = false;
      }
    }
    transaction.statements.push_back(std::move(step));
  }
  return session;
}

}  // namespace

Result<Plan> SessionPlan(const std::vector<SessionSource>& sessions,
                         const std::string& setup_name,
                         const std::string& setup_sql) {
  Plan plan;
  ASSIGN_OR_RETURN(plan.setup, SplitSetupSql(setup_name, setup_sql));
  for (PlanStatement& statement : plan.setup) {
    RETURN_IF_ERROR(ParseStep(&statement));
  }
  for (const SessionSource& source : sessions) {
    ASSIGN_OR_RETURN(PlanSession session, MakeSession(source));
    plan.sessions.push_back(std::move(session));
  }
  return plan;
}

}  // namespace properties
