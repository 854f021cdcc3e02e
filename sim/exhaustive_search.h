// ExhaustiveSearch: every schedule of a small closed world, up to equivalence.
//
// The world is built and run again and again under one strategy that overrides
// each decision (stateless re-execution); what it was told at each point is
// kept as a path of nodes:
//
//   node: who could run | who sleeps | who has been tried | who goes on now
//     │ segment: all that this task does up to its next point, and what it
//     ▼          touches there (env::NoteAccess, and what it said at the point)
//   node ...                    after a run the deepest node that has somebody
//                               left to try takes the next one
//
// Sleep sets (Godefroid 1996): a task that has been tried at a node sleeps in
// what the others try there, until somebody makes a segment that conflicts with
// the one it made. Of the schedules that differ in the order of commuting
// segments alone (a Mazurkiewicz class) exactly one runs to its end; the rest
// is given up where everybody who could run sleeps, and counted as pruned.
//
// Two segments conflict if they touch the same resource and one of them changes
// it. That is exact as far as code that shares something says so; in the engine
// locks, condition variables and AtomicSections do, and ThreadSanitizer finds
// who does not (env/race.h). Wake-ups, starts, kills and ends of tasks count as
// changes of the task, device calls as accesses of the file.
//
// Resources are told apart by address within a run and by the order of first
// use across runs. What a segment was the first to use counts as the same as
// all that other segments were the first to use: classes may be split, never
// merged.
//
// Known limits: timers fire only where nobody can run; crashes, faults and
// killed tasks are as the world draws them; the order in which tasks without a
// parent end is not looked at; a schedule of more than max_points is cut off,
// and the search is not complete then.
#ifndef MUSTH_SIM_EXHAUSTIVE_SEARCH_H_
#define MUSTH_SIM_EXHAUSTIVE_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sim/strategies.h"
#include "sim/world.h"

namespace sim {

class ExhaustiveSearch {
 public:
  struct Options {
    uint64_t max_runs = 100'000;  // pruned ones included
    size_t max_points = 2'000;    // of one run
    bool sleep_sets = true;       // false: every schedule
    bool stop_at_finding = false;
  };

  struct Result {
    uint64_t runs = 0;    // that came to their end
    uint64_t pruned = 0;  // that were given up: equivalent to others
    uint64_t cut = 0;     // that had more than max_points
    size_t deepest = 0;   // points of the longest run
    // Every class of schedules has run.
    bool complete = false;
    uint64_t findings = 0;  // runs
    std::string first_finding;
  };

  // Builds a world with these options, runs it and returns what is wrong, or
  // nothing. The same options must give the same run. It adds what it needs to
  // the options but must leave the strategy alone.
  using Execution = std::function<std::string(const WorldOptions& options)>;

  explicit ExhaustiveSearch(const Options& options);
  ~ExhaustiveSearch();

  Result Run(const Execution& execution);

 private:
  class Path;
  Options options_;
  std::unique_ptr<Path> path_;
};

}  // namespace sim

#endif  // MUSTH_SIM_EXHAUSTIVE_SEARCH_H_
