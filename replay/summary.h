// Summary: the evidence of a campaign, summed over its runs.
//
// Everything but cpu_s and wall_s depends on the seeds alone, not on which
// worker ran them when.
#ifndef MUSTH_REPLAY_SUMMARY_H_
#define MUSTH_REPLAY_SUMMARY_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "properties/run.h"
#include "replay/exit_codes.h"
#include "sim/env/status.h"

namespace replay {

class JsonReader;

// The seeds of a campaign or of one of its shards.
struct SeedPart {
  std::string profile;
  std::string spec;  // what runs depend on besides the seed, as a hash
  uint64_t first_seed = 0;
  uint64_t last_seed = 0;  // included
  uint64_t shard_index = 0;
  uint64_t shard_count = 1;

  bool operator==(const SeedPart&) const = default;
  // Whether a run belongs to both.
  bool Overlaps(const SeedPart& other) const;
  // "pg-contract 0..9999 shard 1/4"
  std::string ToString() const;
};

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
  std::map<std::string, uint64_t> schedulers;  // seeds by strategy
  std::map<std::string, properties::RunStats::Family> families;
  std::map<std::string, std::map<std::string, uint64_t>> crash_points;
  // What the campaign set out to run; after Merge all of them.
  std::vector<SeedPart> parts;

  // Counts one run.
  void Add(const properties::RunStats& stats);

  // Adds what another campaign saw. Errors: kInvalid: other builds, or seeds
  // that are counted already; then nothing is added.
  env::Status Merge(const Summary& other);

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
  // file is for messages. Errors: kInvalid, "file: " and what was expected.
  static env::Result<Summary> FromJson(std::string_view text,
                                       std::string_view file);
  // The same, of an object in another document.
  static Summary Read(JsonReader in);
  // For people.
  std::string ToText() const;

 private:
  template <typename Stats>
  void AddCounters(const Stats& stats);
};

// What a campaign that saw this returns.
ExitCode ExitCodeOf(const Summary& summary);

}  // namespace replay

#endif  // MUSTH_REPLAY_SUMMARY_H_
