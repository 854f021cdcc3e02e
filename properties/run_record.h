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

// What pgbench's books must come to (tpcb_oracle.h): nobody knows, two pairs of
// sums are equal, or all four sums are.
enum class Books : uint8_t { kNone, kPairs, kAll };

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
  // What the numbers in later scopes are counted from, at_end or not: the
  // host's incarnation that it struck, how many images power losses had drawn
  // before (kNoImage: this one drew none) and, of a task-kill, the scopes of
  // the incarnation's tasks so far.
  static constexpr uint64_t kNoImage = UINT64_MAX;
  uint32_t incarnation = 0;
  uint64_t image = kNoImage;
  std::vector<std::string> tasks;
};

// What a reader of the run wants to see, in the order in which it happened.
struct TimelineEntry {
  enum class Kind : uint8_t {
    kSent,      // label
    kAnswered,  // label; text: the command tag, rows or the error
    kCrash,     // text: the kind
    kRestart,   // text: why the host was started again without a crash
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
  std::string profile;  // what `mix` stood for
  Books books = Books::kNone;
  std::vector<RecordedStatement> statements;  // the set-up's first
  std::vector<std::pair<std::string, std::string>> knobs;
  std::vector<sim::ScheduleEntry> schedule;
  std::vector<RecordedCrash> crashes;
  // Draws that none of the above stands for, each address once; one whose name
  // nobody knows has raw keys (sim/choices.h).
  std::vector<sim::Override> draws;
  std::vector<TimelineEntry> timeline;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_RUN_RECORD_H_
