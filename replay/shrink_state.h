// ShrinkState: a run in pieces that can be left out one by one.
//
// Everything is said in a recipe's own words, so that a state is a recipe at
// any time: statements as text, knobs, draws, schedule, directions. Statements
// are known by the labels they had at first ("s1.q7"); ToSpec() numbers those
// that are left anew and renames them in schedule lines and directions.
#ifndef MUSTH_REPLAY_SHRINK_STATE_H_
#define MUSTH_REPLAY_SHRINK_STATE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "properties/run.h"
#include "sim/choices.h"
#include "sim/strategies.h"

namespace replay {

struct ShrinkStatement {
  uint64_t part = 0;
  uint32_t session = 0;  // 0: the set-up
  std::string label;
  std::string sql;
  int64_t sleep_ns = 0;
};

struct ShrinkEntry {
  uint64_t part = 0;
  sim::ScheduleEntry entry;
};

struct ShrinkDraw {
  uint64_t part = 0;
  sim::Override draw;
};

struct ShrinkKnob {
  uint64_t part = 0;
  std::string name;
  std::string value;
};

// A line and, below a crash, its image.
struct ShrinkDirection {
  uint64_t part = 0;
  std::string line;
  std::vector<std::pair<uint64_t, std::string>> image_lines;  // part, line
  // Of crashes: properties::RecordedCrash; the tasks in order.
  uint32_t incarnation = 0;
  uint64_t image = properties::RecordedCrash::kNoImage;
  std::vector<std::string> tasks;

  bool IsCrash() const { return line.rfind("crash ", 0) == 0; }
};

struct ShrinkState {
  properties::RunSpec base;  // seed, profile, planted bugs; no lists
  std::vector<ShrinkStatement> statements;
  std::vector<ShrinkKnob> knobs;
  std::vector<ShrinkDraw> draws;
  std::vector<ShrinkEntry> schedule;
  std::vector<ShrinkDirection> directions;
  uint64_t next_part = 1;  // numbers are unique among all lists

  // Statements stay as they are and go with all of their transaction, because
  // the books must balance (RunSpec::books).
  bool WholeTransactions() const {
    return base.books != properties::Books::kNone;
  }
};

// A draw about what a power loss left.
bool IsImageDraw(const sim::Override& draw);

// The state that says what the record says. spec is what was run.
ShrinkState StateOf(const properties::RunSpec& spec,
                    const properties::RunRecord& record);

// The recipe of the state. Schedule lines and overrides keep their order.
properties::RunSpec ToSpec(const ShrinkState& state);

// The state without what the run of ToSpec(state) did not need: draws that
// nobody made, schedule lines that decided nothing.
ShrinkState Pruned(ShrinkState state, const properties::RunOutcome& outcome);

// What the figures of a reduction count.
struct ShrinkSize {
  size_t statements = 0;   // of set-up and sessions
  size_t preemptions = 0;  // schedule lines
  size_t faults = 0;       // crashes, failures and drawn faults that struck
};
ShrinkSize SizeOf(const ShrinkState& state);

// A hash of the whole content.
uint64_t KeyOf(const ShrinkState& state);

}  // namespace replay

#endif  // MUSTH_REPLAY_SHRINK_STATE_H_
