// `musth replay --against NAME=VALUE`: one run under two settings.
//
// Draws are keyed by name, so a knob changes what it reaches and nothing else:
// both runs have the same statements, the same crash draws and the same disk.
// What differs is what the knob did.
#ifndef MUSTH_REPLAY_KNOB_DIFF_H_
#define MUSTH_REPLAY_KNOB_DIFF_H_

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "faults/swarm.h"
#include "properties/run.h"
#include "replay/exit_codes.h"
#include "replay/recipe.h"
#include "replay/runner.h"
#include "sim/events.h"

namespace replay {

struct KnobDiffOptions {
  Recipe recipe;
  // The second run's knobs, above those of the recipe.
  faults::KnobSettings against;
  std::string out_dir = "musth-out";  // where the two traces go
  std::FILE* out = nullptr;           // required
};

// Amounts of work in a run, by name; equal order in every tally.
class WorkTally : public sim::EventSubscriber {
 public:
  void OnEvent(const env::Event& event) override;
  std::vector<std::pair<std::string, uint64_t>> Rows() const;

 private:
  std::array<uint64_t, static_cast<size_t>(env::EventKind::kCount)> events_ =
      {};
  uint64_t bytes_written_ = 0;
  uint64_t bytes_read_ = 0;
  uint64_t fsyncs_ = 0;
  uint64_t wal_bytes_ = 0;
};

// Runs the recipe twice and prints beside each other: knobs that differ,
// verdicts, answers and crashes that differ, amounts of work, and the first
// event at which the runs part. 0: both kept every promise. 1: one did not.
// 2: knobs that do not exist or contradict each other. 3: harness failure.
ExitCode RunKnobDiff(const KnobDiffOptions& options, const Runner& runner);

}  // namespace replay

#endif  // MUSTH_REPLAY_KNOB_DIFF_H_
