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

struct MutantTally {
  std::string bug;
  uint64_t seeds = 0;  // run, from 0 on
  uint64_t failing = 0;
  uint64_t harness_failures = 0;
  std::optional<uint64_t> first_seed;  // that fails
  double cpu_s = 0;
  double cpu_to_first_s = 0;  // of the seeds up to the first that fails
  // In how many of the failing seeds an oracle spoke, and a promise broke.
  std::map<std::string, uint64_t> oracles;
  std::map<std::string, uint64_t> promises;
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
  // A Markdown document, the bugs in the order of the tallies.
  std::string ToMarkdown() const;
};

}  // namespace replay

#endif  // MUSTH_REPLAY_MUTANT_TALLY_H_
