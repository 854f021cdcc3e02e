// RunRecord: all that made a run what it was, in the words of a recipe.
//
// A recorded run can be said again without its seed: the clients' statements
// as text, knobs that are not the simplest, the schedule, crashes as moments,
// and every other draw that was not 0. The shrinker (replay/shrink.h) edits
// these, and the script for readers (replay/script.h) follows `timeline`.
#ifndef MUSTH_PROPERTIES_RUN_RECORD_H_
#define MUSTH_PROPERTIES_RUN_RECORD_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/choices.h"
#include "sim/strategies.h"

namespace properties {

// One statement as its client sends it. `label` is its mark in schedules.
struct RecordedStatement {
  uint32_t session = 0;  // 0: the set-up
  std::string label;     // "s1.t3.q2"; "s1.q7" of sessions written by hand
  std::string sql;       // without the final ';'
  int64_t sleep_ns = 0;  // > 0: a pause, no statement
};

// Where a crash struck, in ways that a direction can say.
struct RecordedCrash {
  std::string kind;  // "power-loss", "process-crash", "task-kill"
  bool in_recovery = false;
  bool at_end = false;  // the clients were done; nothing below counts then
  std::string task;
  std::string place;      // "write", a site's name; empty: no named place
  std::string during;     // label of the statement that is counted from
  uint64_t nth = 0;       // of the place, by the task, since then
  uint64_t nth_step = 0;  // of all scheduling points of the task
};

// What a reader of the run wants to see, in the order in which it happened.
struct TimelineEntry {
  enum class Kind : uint8_t {
    kSent,      // label
    kAnswered,  // label; text: the command tag, rows or the error
    kCrash,     // text: what and where
    kReady,     // the node accepts sessions
    kFault,     // text
    kSwitch,    // label: the schedule entry's text without "-> X"; text: names
    kTimer,     // as kSwitch
  };
  Kind kind = Kind::kSent;
  std::string label;
  std::string text;
};

struct RunRecord {
  std::string profile;                        // what `mix` stood for
  std::vector<RecordedStatement> statements;  // the set-up's first
  std::vector<std::pair<std::string, std::string>> knobs;
  std::vector<sim::ScheduleEntry> schedule;
  std::vector<RecordedCrash> crashes;
  // Draws that none of the above stands for.
  std::vector<sim::Override> draws;
  // Draws that no override can name: 0 unless somebody forgot a name.
  uint64_t nameless_draws = 0;
  std::vector<TimelineEntry> timeline;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_RUN_RECORD_H_
