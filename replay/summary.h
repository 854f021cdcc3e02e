// Summary: the evidence of a campaign, summed over its runs.
//
// Everything but cpu_s and wall_s depends on the seeds alone, not on which
// worker ran them when.
#ifndef MUSTH_REPLAY_SUMMARY_H_
#define MUSTH_REPLAY_SUMMARY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "properties/run.h"

namespace replay {

struct Summary {
  std::string build;
  std::string profile;
  uint64_t seeds = 0;
  uint64_t findings = 0;
  uint64_t harness_failures = 0;
  double cpu_s = 0;
  double wall_s = 0;
  int64_t virtual_ns = 0;
  uint64_t steps = 0;
  uint64_t crashes = 0;
  uint64_t recoveries = 0;
  uint64_t seeds_crashed_in_recovery = 0;
  uint64_t acked_commits = 0;
  uint64_t in_doubt = 0;
  uint64_t statements_predicted = 0;
  std::map<std::string, uint64_t> statements_unpredicted;  // by reason
  std::map<std::string, uint64_t> known_gaps;
  std::map<std::string, uint64_t> judged;
  std::map<std::string, uint64_t> outside;
  std::map<std::string, properties::RunStats::Family> families;
  std::map<std::string, std::map<std::string, uint64_t>> crash_points;

  // Counts one run.
  void Add(const properties::RunStats& stats);

  // Statements that were not predicted, for all reasons.
  uint64_t Unpredicted() const;

  // Families that runs had switched on and that never struck.
  std::vector<std::string> NeverInjected() const;

  // A crash point and a kind that are legal together, and how often they met.
  struct CrashPair {
    std::string point;
    std::string kind;
    uint64_t hits = 0;
  };
  // Hits that count as enough for a pair.
  static constexpr uint64_t kEnoughHits = 100;
  // Legal pairs (faults/atlas.h) that met fewer than `least` times.
  std::vector<CrashPair> RarelyHit(uint64_t least) const;

  // One JSON object; its keys are part of the command's interface.
  std::string ToJson() const;
  // For people.
  std::string ToText() const;
};

}  // namespace replay

#endif  // MUSTH_REPLAY_SUMMARY_H_
