// Shrink: from a run that breaks a promise to a few lines that break it.
//
//   recipe ──run, recorded──► ShrinkState ──► Minimizer ──► recipe, script
//                                 ▲               │ candidates
//                                 └─ forked workers (WorkerPool) run them
//
// A candidate counts only if it breaks the same promise and the same oracle
// sees it, nothing of Musth's own failed, and every direction was carried out.
// One that is killed for its time is neither: it is counted apart, and nobody
// claims that its parts are needed.
#ifndef MUSTH_REPLAY_SHRINK_H_
#define MUSTH_REPLAY_SHRINK_H_

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replay/exit_codes.h"
#include "replay/minimize.h"
#include "replay/recipe.h"
#include "replay/report.h"
#include "replay/runner.h"
#include "replay/shrink_state.h"
#include "replay/worker_pool.h"

namespace replay {

struct ShrinkOptions {
  std::string target;  // as typed: a seed or a recipe's file
  Recipe recipe;       // what it stands for
  std::string out_dir = "musth-out";
  int workers = 1;
  double budget_s = 60;  // CPU time of all runs and of the search itself
  int timeout_s = 120;   // of one run
  bool show_passes = true;
  // Asked between runs whether to stop; may be empty.
  std::function<bool()> stop;
  Invocation invocation;
  std::FILE* out = nullptr;  // required
};

struct ShrinkResult {
  std::string recipe_path;
  std::string script_path;
  ShrinkSize size;
  uint64_t runs = 0;
  uint64_t timeouts = 0;  // of these; each counts as timeout_s of CPU time
  double cpu_s = 0;
  bool one_minimal = false;
  // Single parts that may or may not be needed: their runs took too long.
  size_t undecided = 0;
  // Of planted bugs: whether the shrunk recipe keeps every promise without
  // them.
  std::optional<bool> control_kept;

  bool shrunk() const { return !recipe_path.empty(); }
};

class Shrinker {
 public:
  Shrinker(const ShrinkOptions& options, Runner runner);
  ~Shrinker();

  // kExitBroken: the promise is broken; result() says whether it was shrunk.
  // kExitNoFit: the recipe breaks no promise, or no longer fits. kExitUsage,
  // kExitHarness: said why.
  ExitCode Run();
  const ShrinkResult& result() const { return result_; }

 private:
  WorkerPool::Answer Work(const std::string& text);
  // What the run of one spec gave; counts it.
  env::Result<properties::RunOutcome> RunOne(const properties::RunSpec& spec,
                                             bool record);
  env::Result<properties::RunOutcome> Take(const WorkerPool::Result& result);
  std::string JobText(const properties::RunSpec& spec, bool record) const;
  // Whether it breaks the promise that is shrunk for, seen by the same oracle.
  bool Breaks(const properties::RunOutcome& outcome) const;
  bool SameFailure(const env::Result<properties::RunOutcome>& outcome) const;
  MinimizeJudgement<ShrinkState> Judge(
      const std::vector<ShrinkState>& candidates);
  double CpuSeconds() const;
  bool Exhausted() const {
    return CpuSeconds() >= options_.budget_s ||
           (options_.stop && options_.stop());
  }

  std::optional<ExitCode> RunOriginal(properties::RunOutcome* outcome);
  // The run without its seed; an error says why that does not break the
  // promise.
  env::Result<ShrinkState> Start(const properties::RunOutcome& outcome);
  ShrinkState Minimize(ShrinkState start);
  void PutFirst(std::vector<properties::Verdict>* verdicts) const;
  ExitCode Write(const ShrinkState& state);
  void Report();
  // Runs what is left without its planted bugs.
  void RunControl(const properties::RunSpec& spec);
  std::string NameOfTarget() const;

  ShrinkOptions options_;
  Runner runner_;
  std::unique_ptr<WorkerPool> pool_;
  std::string promise_;
  std::string oracle_;
  int64_t begin_ns_ = 0;  // CPU time of this process when Run began
  ShrinkResult result_;
  double runs_cpu_s_ = 0;
};

}  // namespace replay

#endif  // MUSTH_REPLAY_SHRINK_H_
