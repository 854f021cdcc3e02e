// Workload: generates a plan of small tables under contention.
//
// Every table is (id int4, stamp int8, val int4, note text, pad char(n)).
// Whoever writes a row version puts a stamp into it that names session,
// transaction and statement, so that a version found anywhere tells who wrote
// it. Sessions work on the same few ids; some take them in opposite order so
// that waits, re-checks and deadlocks happen.
//
// All draws are on the workload stream under scope/sN/tN/qN: dropping one
// statement changes no other.
#ifndef MUSTH_PROPERTIES_WORKLOAD_H_
#define MUSTH_PROPERTIES_WORKLOAD_H_

#include <cstdint>

#include "properties/plan.h"
#include "sim/choices.h"

namespace properties {

struct PlanKnobs {
  uint32_t sessions = 2;      // 1..4
  uint32_t tables = 1;        // 1..2
  uint32_t rows = 3;          // per table at the start
  uint32_t transactions = 3;  // per session
  uint32_t statements = 3;    // most per transaction
  uint32_t value_bytes = 20;  // longest note, up to 1500
  // Notes are at least half as long as the longest: updates leave their page,
  // buffers do not suffice, the log takes many segments.
  bool bulky = false;
  // Rows of one more table, with long notes, that is only read: its scans drive
  // everything else out of a small pool. 0: there is none.
  uint32_t scanned_rows = 0;
  // Whether its notes are long (a few rows fill a page) or all of 4 bytes, so
  // that the records of its copies are equally long, too.
  bool scanned_long = true;

  // Weights of the statement mix.
  uint32_t insert_weight = 4;
  uint32_t update_weight = 6;
  uint32_t delete_weight = 2;
  uint32_t select_weight = 3;
  uint32_t checkpoint_weight = 1;
  uint32_t create_table_weight = 1;
  // INSERT ... SELECT from the table that is only read.
  uint32_t copy_weight = 0;

  // Shares in percent.
  uint32_t rollback_percent = 15;
  uint32_t async_percent = 20;
  uint32_t repeatable_read_percent = 25;
  uint32_t single_statement_percent = 20;
  uint32_t multi_row_percent = 30;
  uint32_t reverse_order_percent = 30;
  // Of statements whose effects show more of their history: conditions on
  // columns that others change (a re-check may fail), notes that every update
  // appends its stamp to (a lost, doubled or mixed update stays visible in the
  // row), RETURNING, groups and LIMIT.
  uint32_t telling_percent = 0;
};

// Draws the knobs of one run, swarm style: small sizes mostly, now and then
// hundreds of rows so that pages fill and files grow, features switched off
// altogether in a share of runs.
PlanKnobs DrawPlanKnobs(sim::Choices& choices, const sim::Scope& scope);

// Sessions load rows by the page: the log takes many segments, its buffers and
// the pool overflow.
void LoadInBulk(bool long_rows, PlanKnobs* knobs);

// Requires: at least one session and one table.
Plan GeneratePlan(sim::Choices& choices, const sim::Scope& scope,
                  const PlanKnobs& knobs);

// The stamp that statement id writes into its n-th row (n from 0).
int64_t MakeStamp(const StatementId& id, uint32_t n);
// "s2.t4.q1", from a stamp.
StatementId StampOwner(int64_t stamp);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_WORKLOAD_H_
