// Pgbench: scripts in pgbench's language, turned into a plan.
//
//   script text ──ParsePgbenchScript──► commands ──GeneratePgbenchPlan──► Plan
//                                         \set  \sleep  SQL
//
// Everything that a script draws is fixed when the plan is made: random() is a
// keyed draw of (session, transaction, command), so a plan of scripts prints,
// replays and shrinks like a generated one. Supported: SQL statements ended by
// ';' over any number of lines, `\;` between statements that go as one query,
// `--` and nested /* */ comments, `:variable` in SQL, \set with integer
// arithmetic, \sleep. What pgbench knows beyond this is refused by name.
// Source: src/bin/pgbench/pgbench.c, exprparse.y, exprscan.l.
// Differs: min() and max() are accepted for least() and greatest().
#ifndef MUSTH_PROPERTIES_PGBENCH_H_
#define MUSTH_PROPERTIES_PGBENCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/pgbench_expr.h"
#include "properties/plan.h"
#include "properties/run.h"
#include "sim/choices.h"
#include "sim/env/status.h"

namespace properties {

enum class PgbenchCommandKind : uint8_t { kSql, kSet, kSleep };

struct PgbenchCommand {
  PgbenchCommandKind kind = PgbenchCommandKind::kSql;
  int line = 0;
  std::string text;      // kSql: the query, without its last ';'
  std::string variable;  // kSet: what is set; kSleep: whose value, or empty
  std::shared_ptr<const PgbenchExpr> expr;  // kSet; kSleep with a constant
  int64_t sleep_unit_us = 1;                // kSleep: us, ms or s
};

struct PgbenchScript {
  std::string name;
  uint32_t weight = 1;
  std::vector<PgbenchCommand> commands;
};

// Errors: kInvalid, "FILE:LINE: what was found, what was expected".
env::Result<PgbenchScript> ParsePgbenchScript(const std::string& name,
                                              std::string_view text);

// Replaces every :name that `variables` knows; "::" and unknown names stay.
std::string SubstituteVariables(
    std::string_view sql, const std::map<std::string, int64_t>& variables);

// The scale of pgbench's tables. pgbench's own numbers are 1, 10 and 100000;
// small ones make conflicts likely.
struct PgbenchScale {
  int64_t scale = 1;  // branches, and the value of :scale
  int64_t tellers_per_branch = 10;
  int64_t accounts_per_branch = 100;
};

// "tpcb-like", "simple-update" or "select-only"; nothing for other names.
std::optional<std::string> BuiltinScript(std::string_view name,
                                         const PgbenchScale& scale);
// CREATE TABLE and INSERT statements of pgbench's four tables.
std::string PgbenchSetupSql(const PgbenchScale& scale);

struct PgbenchKnobs {
  uint32_t sessions = 2;
  uint32_t transactions = 5;  // per session
  PgbenchScale scale;
};
PgbenchKnobs DrawPgbenchKnobs(sim::Choices& choices, const sim::Scope& scope);

// Splits setup SQL into the statements of session 0.
// Errors: kInvalid, with file and line, for what is not SQL text at all.
env::Result<std::vector<PlanStatement>> SplitSetupSql(const std::string& name,
                                                      std::string_view sql);

// The plan of all sessions: for each transaction a script is drawn by weight
// and run through. An empty text with a built-in's name means that built-in.
// setup_name is what messages call setup_sql, which may be empty.
// Errors: kInvalid with file and line: parse errors, undefined variables,
// division by zero, overflow, an empty range of random().
env::Result<Plan> GeneratePgbenchPlan(sim::Choices& choices,
                                      const sim::Scope& scope,
                                      const PgbenchKnobs& knobs,
                                      const std::vector<ScriptSource>& scripts,
                                      const std::string& setup_name,
                                      const std::string& setup_sql);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_PGBENCH_H_
