// Plan: what the clients of one run will do, fixed before the world starts.
//
//   Plan
//     setup: statements that run once, alone          s0.t1.q1 ...
//     session 1
//       transaction 1: isolation, sync, end           s1.t1
//         statements                                  s1.t1.q1, s1.t1.q2 ...
//     session 2 ...
//
// Ids are stable: dropping one statement renames none. A plan prints as text
// that a reader can follow, and is edited by naming what to drop.
#ifndef MUSTH_PROPERTIES_PLAN_H_
#define MUSTH_PROPERTIES_PLAN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sql/ast.h"
#include "sim/env/ids.h"
#include "sim/env/status.h"

namespace properties {

// "s2.t4.q1". Session 0 is the setup. Statement numbers of what surrounds a
// transaction's statements are the k constants.
struct StatementId {
  static constexpr uint32_t kBegin = 0;        // "s2.t4.begin"
  static constexpr uint32_t kSet = 0xFFFE;     // "s2.t4.set"
  static constexpr uint32_t kFinish = 0xFFFF;  // "s2.t4.end"

  uint32_t session = 0;
  uint32_t transaction = 0;
  uint32_t statement = 0;

  std::string ToString() const;
  // "s2.t4"
  std::string TransactionName() const;
  // One word for events: session << 48 | transaction << 16 | statement.
  uint64_t Packed() const {
    return static_cast<uint64_t>(session) << 48 |
           static_cast<uint64_t>(transaction) << 16 | statement;
  }
  static StatementId FromPacked(uint64_t packed) {
    return {static_cast<uint32_t>(packed >> 48),
            static_cast<uint32_t>(packed >> 16),
            static_cast<uint32_t>(packed & 0xFFFF)};
  }
  auto operator<=>(const StatementId&) const = default;
};

// One step of a client: a statement structure, or SQL text that is sent as one
// simple query (scripts), or a pause.
struct PlanStatement {
  StatementId id;
  std::optional<engine::Statement> statement;
  std::string sql;  // text form; what is sent if `statement` is not
  // What `sql` parses to, for the judges; null if nobody parsed it.
  std::shared_ptr<const std::vector<engine::Statement>> parsed;
  std::string source;            // "FILE:LINE" of script text, for messages
  env::TimeNs sleep_ns = 0;      // > 0: a pause, nothing is sent
  std::string ToString() const;  // "s1.t3.q2 UPDATE ..."
};

struct PlanTransaction {
  uint32_t number = 0;
  // False: the statements are sent as they are (a single statement on its own,
  // or a script that brings its own BEGIN and END).
  bool block = true;
  engine::IsolationName isolation = engine::IsolationName::kReadCommitted;
  bool synchronous_commit = true;
  bool rollback = false;
  std::vector<PlanStatement> statements;
};

struct PlanSession {
  uint32_t number = 0;
  std::vector<PlanTransaction> transactions;
};

struct Plan {
  std::vector<PlanStatement> setup;
  std::vector<PlanSession> sessions;

  std::string ToString() const;
  size_t StatementCount() const;
};

// The transaction's statements with BEGIN, SET LOCAL synchronous_commit and
// COMMIT or ROLLBACK around them. A client that gets an ERROR inside the block
// skips to the last step and sends ROLLBACK in its place.
std::vector<PlanStatement> ExpandTransaction(
    uint32_t session, const PlanTransaction& transaction);

// Applies "drop s1", "drop s1.t3" and "drop s1.t3.q2" in order. Returns the
// edits that name nothing in the plan.
// Errors: kInvalid for an edit that is not of one of these forms.
env::Result<std::vector<std::string>> ApplyEdits(
    const std::vector<std::string>& edits, Plan* plan);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_PLAN_H_
