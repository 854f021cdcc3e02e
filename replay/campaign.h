// Campaign: many seeds, many workers, one summary.
//
// A run that breaks a promise is run again, alone in a new process, before
// anybody hears of it: a finding always replays. What does not replay with the
// same hash, a worker that dies and a run that breaks a check of Musth's own
// are harness failures, reported with their seed. The campaign goes on.
#ifndef MUSTH_REPLAY_CAMPAIGN_H_
#define MUSTH_REPLAY_CAMPAIGN_H_

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "properties/run.h"
#include "replay/campaign_state.h"
#include "replay/exit_codes.h"
#include "replay/incident.h"
#include "replay/progress.h"
#include "replay/report.h"
#include "replay/runner.h"
#include "replay/summary.h"
#include "replay/worker_pool.h"

namespace replay {

enum class SeedOrder : uint8_t {
  kForward,
  kBackward,
  kFresh,  // forward, each seed in a process of its own
};

struct CampaignOptions {
  properties::RunSpec spec;  // but for the seed
  uint64_t first_seed = 0;
  uint64_t last_seed = 9999;  // included
  // Of every shard_count seeds the shard_index-th (from 0).
  uint64_t shard_index = 0;
  uint64_t shard_count = 1;
  SeedOrder order = SeedOrder::kForward;
  int workers = 1;
  uint64_t seeds_per_worker = 2000;
  int timeout_s = 120;
  uint64_t stop_after = 0;  // findings; 0: none
  int poison = -1;
  std::string out_dir = "musth-out";
  // Findings, also those of earlier sittings, are shrunk when the seeds are
  // done: the first of each promise and oracle, with so much CPU time for each.
  bool shrink = false;
  double shrink_budget_s = 30;
  std::string hashes_file;  // "seed hash" lines, by seed; empty: none
  // Where the campaign's state is kept and, if the file exists, gone on from;
  // empty: nowhere. Not with hashes_file.
  std::string state_file;
  Invocation invocation;
  std::FILE* out = nullptr;  // for people; required
  bool tty = false;
};

class Campaign {
 public:
  Campaign(const CampaignOptions& options, Runner runner);

  // Runs to the end, or to SIGINT or SIGTERM, and prints the summary.
  ExitCode Run();

  const Summary& summary() const { return state_.summary; }
  // The first of them, by the order in which they were found.
  const std::vector<Incident>& incidents() const { return state_.incidents; }

 private:
  // Of the index-th run: its place among the seeds in ascending order, by which
  // the state counts (a campaign may go on in another order), and its seed.
  uint64_t Place(uint64_t index) const;
  uint64_t SeedOf(uint64_t index) const;
  uint64_t SeedCount() const;
  WorkerPool::Answer Work(uint64_t job);
  void SubmitMore(WorkerPool& pool);
  void Take(WorkerPool& pool, const WorkerPool::Result& result);
  void TakeFirst(WorkerPool& pool, uint64_t index,
                 const WorkerPool::Result& result);
  void TakeSecond(uint64_t index, const WorkerPool::Result& result);
  void ReportFinding(uint64_t seed, const properties::RunOutcome& outcome);
  void ShrinkFindings(const std::function<bool()>& stop);
  void ShrinkOne(const Incident& finding, const std::function<bool()>& stop);
  void ReportHarnessFailure(uint64_t seed, std::string_view why);
  properties::RunSpec SpecOf(uint64_t seed) const;
  SeedPart Part() const;
  env::Status GoOn();
  env::Status SaveState();
  // The seed's runs are over, and counted.
  void Done(uint64_t index);
  void NoteIncident(Incident incident);
  ExitCode Finish(bool interrupted);

  CampaignOptions options_;
  Runner runner_;
  Progress progress_;
  // What is done, for the state's file; times are those of earlier sittings
  // until the end.
  CampaignState state_;
  double saved_at_s_ = 0;
  uint64_t submitted_ = 0;
  bool stopping_ = false;
  std::string usage_error_;
  // What the first run of a seed gave, while its second one is under way:
  // an outcome, or how its worker died.
  struct Suspect {
    std::optional<properties::RunOutcome> outcome;
    std::string death;
  };
  std::map<uint64_t, Suspect> suspects_;  // by index
  std::map<uint64_t, uint64_t> hashes_;   // by seed, if they are wanted
};

}  // namespace replay

#endif  // MUSTH_REPLAY_CAMPAIGN_H_
