// Mutants: measures the tester by planted bugs.
//
// One bug after the other is switched on, and seeds are run from 0 on, many at
// a time, until enough of them fail, or there are enough seeds, or the bug has
// had its CPU time. Whether to stop is asked only after whole batches of seeds,
// so that the tallies depend on the number of workers only where CPU time ends
// them.
#ifndef MUSTH_REPLAY_MUTANTS_H_
#define MUSTH_REPLAY_MUTANTS_H_

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "properties/run.h"
#include "replay/exit_codes.h"
#include "replay/interrupt_fd.h"
#include "replay/mutant_tally.h"
#include "replay/report.h"
#include "replay/runner.h"
#include "replay/worker_pool.h"

namespace replay {

struct MutantOptions {
  properties::RunSpec spec;       // but for seed and planted bugs
  std::vector<std::string> bugs;  // names, in the order of the table
  // Each bug is measured with the schedulers that seeds draw, and then with
  // each of these alone.
  std::vector<std::string> schedulers;
  // Not empty: schedulers alone are measured in these scenes (replay/scenes.h),
  // by bug; of bugs that have none they are not.
  std::map<std::string, properties::RunSpec> scenes;
  uint64_t seeds = 20000;           // at most, for each bug
  uint64_t scheduler_seeds = 2000;  // at most, for each with one scheduler
  uint64_t enough = 100;            // failing seeds
  double budget_s = 0;              // CPU seconds for each bug; 0: no limit
  int workers = 1;
  int timeout_s = 120;
  // Shrink the first failing seed of each bug, in so many CPU seconds; 0: do
  // not. The recipes go to out_dir, as BUG.shrunk.recipe.
  double shrink_budget_s = 0;
  std::string out_dir = "musth-out";
  Invocation invocation;
  std::string state_file;  // as CampaignOptions::state_file
  std::string table_file;  // Markdown; empty: to out
  std::FILE* out = nullptr;
};

class Mutants {
 public:
  static constexpr uint64_t kBatch = 100;  // seeds

  Mutants(const MutantOptions& options, Runner runner);

  // kExitKept, whatever was found: this measures the tester, not the engine.
  ExitCode Run();

  const MutantTable& table() const { return table_; }

 private:
  env::Status GoOn();
  env::Status SaveState() const;
  // False: interrupted.
  bool Measure(MutantTally* tally);
  bool RunBatch(MutantTally* tally);
  WorkerPool::Answer Work(const MutantTally& tally, uint64_t seed);
  void Shrink(MutantTally* tally);
  properties::RunSpec SpecOf(const MutantTally& tally, uint64_t seed) const;
  uint64_t MostSeeds(const MutantTally& tally) const;
  bool Enough(const MutantTally& tally) const;

  MutantOptions options_;
  Runner runner_;
  MutantTable table_;
  size_t wanted_ = 0;  // the first tallies; others were measured before
  InterruptFd interrupt_;
};

}  // namespace replay

#endif  // MUSTH_REPLAY_MUTANTS_H_
