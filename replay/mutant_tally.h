// MutantTally: how often campaigns with one planted bug notice it.
#ifndef MUSTH_REPLAY_MUTANT_TALLY_H_
#define MUSTH_REPLAY_MUTANT_TALLY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/run.h"
#include "sim/env/status.h"

namespace replay {

// What the shrinker made of the first failing seed.
struct ShrunkFinding {
  uint64_t statements = 0;
  uint64_t preemptions = 0;
  uint64_t faults = 0;
  double cpu_s = 0;
  bool one_minimal = false;
};

struct MutantTally {
  std::string bug;
  std::string scheduler;  // the only one; empty: the portfolio, as drawn
  uint64_t seeds = 0;     // run, from 0 on
  uint64_t failing = 0;
  uint64_t harness_failures = 0;
  std::optional<uint64_t> first_seed;  // that fails
  double cpu_s = 0;
  double cpu_to_first_s = 0;  // of the seeds up to the first that fails
  // In how many of the failing seeds an oracle spoke, and a promise broke.
  std::map<std::string, uint64_t> oracles;
  std::map<std::string, uint64_t> promises;
  std::optional<ShrunkFinding> shrunk;
  bool finished = false;

  // The next seed's run. Requires: calls in the order of the seeds.
  void Add(const env::Result<properties::RunOutcome>& outcome,
           double run_cpu_s);
};

// Bounds of a share, each in 0..1.
struct Interval {
  double low = 0;
  double high = 1;
};
// Wilson's score interval at 95 % of `hits` in `trials` independent trials.
Interval ConfidenceOf(uint64_t hits, uint64_t trials);

// How the schedulers compare: what the tallies with a name say.
struct Ablation {
  std::vector<std::string> schedulers;  // in the order of their first tally
  // For each scheduler the bugs that it finds more often than every other one,
  // intervals disjoint.
  std::map<std::string, std::vector<std::string>> best_for;
  // Bugs that the best scheduler finds at least ten times as often as
  // kBaselineScheduler does, intervals disjoint.
  std::vector<std::string> hard_for_baseline;
};
inline constexpr std::string_view kBaselineScheduler = "random-walk";
Ablation Compare(const std::vector<MutantTally>& tallies);

// All tallies of one measurement.
struct MutantTable {
  std::string build;
  std::string spec;  // in words: profile, knobs, limits
  std::vector<MutantTally> tallies;

  // As a file from which a measurement goes on.
  std::string ToJson() const;
  // file is for messages. Errors: kInvalid, "file: " and what was expected.
  static env::Result<MutantTable> FromJson(std::string_view text,
                                           std::string_view file);
  // A Markdown document, the bugs in the order of the tallies. The first table
  // is of the portfolio; schedulers alone are compared in another.
  std::string ToMarkdown() const;

 private:
  std::string MainTable() const;
  std::string SchedulerTable() const;
};

}  // namespace replay

#endif  // MUSTH_REPLAY_MUTANT_TALLY_H_
