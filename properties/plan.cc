#include "properties/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace properties {
namespace {

using engine::IsolationName;
using env::Code;
using env::Status;

const char* IsolationText(IsolationName isolation) {
  switch (isolation) {
    case IsolationName::kReadUncommitted:
      return "read uncommitted";
    case IsolationName::kReadCommitted:
      return "read committed";
    case IsolationName::kRepeatableRead:
      return "repeatable read";
    case IsolationName::kSerializable:
      return "serializable";
  }
  return "";
}

PlanStatement Surround(uint32_t session, uint32_t transaction, uint32_t number,
                       engine::StatementBody body) {
  PlanStatement step;
  step.id = {session, transaction, number};
  step.statement = engine::Statement{std::move(body)};
  return step;
}

// Takes "s12" (letter 's') off the front of *text; a '.' in front of later
// parts. Returns nothing if it is not there.
std::optional<uint32_t> TakePart(char letter, bool first,
                                 std::string_view* text) {
  std::string_view rest = *text;
  if (!first) {
    if (rest.empty() || rest[0] != '.') return std::nullopt;
    rest.remove_prefix(1);
  }
  if (rest.empty() || rest[0] != letter) return std::nullopt;
  rest.remove_prefix(1);
  uint32_t number = 0;
  auto [end, error] =
      std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc()) return std::nullopt;
  rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  *text = rest;
  return number;
}

struct Target {
  uint32_t session = 0;
  std::optional<uint32_t> transaction;
  std::optional<uint32_t> statement;
};

env::Result<Target> ParseEdit(const std::string& edit) {
  constexpr std::string_view kDrop = "drop ";
  Status malformed(
      Code::kInvalid,
      fmt::format("plan edit \"{}\": expected \"drop sN\", \"drop sN.tN\" or "
                  "\"drop sN.tN.qN\"",
                  edit));
  std::string_view text = edit;
  if (text.substr(0, kDrop.size()) != kDrop) return malformed;
  text.remove_prefix(kDrop.size());
  Target target;
  std::optional<uint32_t> session = TakePart('s', true, &text);
  if (!session) return malformed;
  target.session = *session;
  if (!text.empty()) {
    target.transaction = TakePart('t', false, &text);
    if (!target.transaction) return malformed;
  }
  if (!text.empty()) {
    target.statement = TakePart('q', false, &text);
    if (!target.statement) return malformed;
  }
  if (!text.empty()) return malformed;
  return target;
}

template <typename T, typename Pred>
bool EraseIf(std::vector<T>* v, Pred pred) {
  auto end = std::remove_if(v->begin(), v->end(), pred);
  bool erased = end != v->end();
  v->erase(end, v->end());
  return erased;
}

bool Drop(const Target& target, Plan* plan) {
  if (target.session == 0) {
    return EraseIf(&plan->setup, [&](const PlanStatement& s) {
      return (!target.transaction || s.id.transaction == *target.transaction) &&
             (!target.statement || s.id.statement == *target.statement);
    });
  }
  if (!target.transaction) {
    return EraseIf(&plan->sessions, [&](const PlanSession& s) {
      return s.number == target.session;
    });
  }
  bool dropped = false;
  for (PlanSession& session : plan->sessions) {
    if (session.number != target.session) continue;
    if (!target.statement) {
      dropped |= EraseIf(&session.transactions, [&](const PlanTransaction& t) {
        return t.number == *target.transaction;
      });
      continue;
    }
    for (PlanTransaction& transaction : session.transactions) {
      if (transaction.number != *target.transaction) continue;
      dropped |= EraseIf(&transaction.statements, [&](const PlanStatement& s) {
        return s.id.statement == *target.statement;
      });
    }
  }
  return dropped;
}

}  // namespace

std::string StatementId::TransactionName() const {
  return fmt::format("s{}.t{}", session, transaction);
}

std::string StatementId::ToString() const {
  switch (statement) {
    case kBegin:
      return TransactionName() + ".begin";
    case kSet:
      return TransactionName() + ".set";
    case kFinish:
      return TransactionName() + ".end";
    default:
      return fmt::format("{}.q{}", TransactionName(), statement);
  }
}

std::string PlanStatement::ToString() const {
  if (sleep_ns > 0) {
    return fmt::format("{} sleep {} us", id.ToString(), sleep_ns / 1000);
  }
  return id.ToString() + " " + (statement ? engine::ToSql(*statement) : sql);
}

std::string Plan::ToString() const {
  std::string out;
  for (const PlanStatement& s : setup) out += s.ToString() + "\n";
  for (const PlanSession& session : sessions) {
    out += fmt::format("session {}\n", session.number);
    for (const PlanTransaction& t : session.transactions) {
      if (t.block) {
        out +=
            fmt::format("  s{}.t{} {}, {}, ends by {}\n", session.number,
                        t.number, IsolationText(t.isolation),
                        t.synchronous_commit ? "synchronous" : "asynchronous",
                        t.rollback ? "rollback" : "commit");
      } else {
        out += fmt::format("  s{}.t{}\n", session.number, t.number);
      }
      for (const PlanStatement& s : t.statements) {
        out += "    " + s.ToString() + "\n";
      }
    }
  }
  return out;
}

size_t Plan::StatementCount() const {
  size_t n = setup.size();
  for (const PlanSession& session : sessions) {
    for (const PlanTransaction& t : session.transactions) {
      n += t.statements.size();
    }
  }
  return n;
}

std::vector<PlanStatement> ExpandTransaction(
    uint32_t session, const PlanTransaction& transaction) {
  if (!transaction.block) return transaction.statements;
  std::vector<PlanStatement> steps;
  engine::BeginStmt begin;
  if (transaction.isolation != IsolationName::kReadCommitted) {
    begin.modes.isolation = transaction.isolation;
  }
  steps.push_back(Surround(session, transaction.number, StatementId::kBegin,
                           std::move(begin)));
  if (!transaction.synchronous_commit) {
    engine::SetVariableStmt set;
    set.name = "synchronous_commit";
    set.value = "off";
    set.local = true;
    steps.push_back(Surround(session, transaction.number, StatementId::kSet,
                             std::move(set)));
  }
  steps.insert(steps.end(), transaction.statements.begin(),
               transaction.statements.end());
  engine::StatementBody finish = engine::CommitStmt{};
  if (transaction.rollback) finish = engine::RollbackStmt{};
  steps.push_back(Surround(session, transaction.number, StatementId::kFinish,
                           std::move(finish)));
  return steps;
}

env::Result<std::vector<std::string>> ApplyEdits(
    const std::vector<std::string>& edits, Plan* plan) {
  std::vector<std::string> unmatched;
  for (const std::string& edit : edits) {
    ASSIGN_OR_RETURN(Target target, ParseEdit(edit));
    if (!Drop(target, plan)) unmatched.push_back(edit);
  }
  return unmatched;
}

}  // namespace properties
