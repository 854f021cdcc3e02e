// Run: one seed from fresh cluster to verdict.
//
// A RunSpec is a recipe in memory (replay/recipe.h is its text form). Run()
// builds the world, lets the plan execute under the drawn faults, recovers
// after each crash, judges, and repeats until the plan is done and faults have
// stopped. Equal specs give equal hashes, in any process and on any build.
#ifndef MUSTH_PROPERTIES_RUN_H_
#define MUSTH_PROPERTIES_RUN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "properties/fan_out_spec.h"
#include "properties/run_record.h"
#include "properties/verdict.h"
#include "sim/choices.h"
#include "sim/env/status.h"
#include "sim/events.h"
#include "sim/strategies.h"

namespace properties {

// A user's pgbench script and its share.
struct ScriptSource {
  std::string name;  // file name or built-in name, for messages
  std::string text;
  uint32_t weight = 1;
};

// What one session of a run written by hand does (session_plan.h).
struct SessionSource {
  uint32_t number = 0;  // from 1
  std::string text;
};

struct RunSpec {
  uint64_t seed = 0;
  sim::Base base = sim::Base::kSeed;
  std::string mode = "explore";
  std::string profile = "pg-contract";
  // Knobs whose drawn value is replaced: ("shared_buffers", "8").
  std::vector<std::pair<std::string, std::string>> knobs;
  std::vector<std::string> planted;     // site names
  std::vector<std::string> plan_edits;  // "drop s1.t3", "drop s1.t3.q2"
  std::vector<sim::Override> overrides;
  // Empty: the generated workload.
  std::vector<ScriptSource> scripts;
  // Not empty: these sessions, instead of scripts or a generated workload.
  std::vector<SessionSource> sessions;
  // Of sessions alone (of scripts it is known): they hold whole transactions of
  // pgbench's own scripts, on its own tables.
  Books books = Books::kNone;
  // Not empty: who goes on where; elsewhere tasks keep running.
  std::vector<sim::ScheduleEntry> schedule;
  // Crashes, images, failures and holds in words (faults/directions.h).
  std::vector<std::string> directions;
  // Crash states beside those of the run itself; they change no hash.
  FanOutSpec fan_out;
  // SQL executed once before scripts or sessions; empty with scripts:
  // pgbench's tables. The name is its file's, for messages.
  std::string setup_sql;
  std::string setup_name = "setup";
};

// What one run did, for the campaign's evidence.
struct RunStats {
  uint64_t crashes = 0;
  uint64_t recoveries = 0;
  bool crashed_in_recovery = false;
  uint64_t acked_commits = 0;
  uint64_t in_doubt = 0;
  // Statements with rows that the reference model predicted, and those that it
  // did not, by reason.
  uint64_t statements_predicted = 0;
  std::map<std::string, uint64_t> statements_unpredicted;
  uint64_t steps = 0;
  int64_t virtual_ns = 0;
  struct Family {
    uint64_t enabled_runs = 0;  // 1 if this run had the family switched on
    uint64_t injected = 0;
    uint64_t masked = 0;
    uint64_t detected = 0;
    uint64_t repaired = 0;
    uint64_t silent = 0;
    uint64_t gap = 0;  // would be silent; see known_gaps
  };
  std::map<std::string, Family> families;
  // Crash point (site or device step) -> crash kind -> hits.
  std::map<std::string, std::map<std::string, uint64_t>> crash_points;
  // The strategy that chose who runs -> 1.
  std::map<std::string, uint64_t> schedulers;
  // Contract row ("C5") -> count.
  std::map<std::string, uint64_t> known_gaps;
  // What oracles that may have nothing to look at have looked at -> count.
  std::map<std::string, uint64_t> judged;
  // Runs whose broken promise the profile answers for by none of its rows
  // (profile beyond), by the row of the fault that struck.
  std::map<std::string, uint64_t> outside;
};

struct RunOutcome {
  uint64_t hash = 0;
  // Empty: every promise was kept. The first is the one to report.
  std::vector<Verdict> broken;
  // The crash state beside the run that broke the first of them; empty: the run
  // itself did.
  FanOutAddress fan_out;
  // Musth's own failure (a broken SIM_CHECK, a step limit); empty if none.
  std::string harness_failure;
  RunStats stats;
  std::vector<sim::Override> unmatched_overrides;
  std::vector<std::string> unmatched_edits;
  // Entries of the schedule that decided nothing, by index.
  std::vector<uint64_t> unused_schedule;
  // Directions that were not carried out.
  std::vector<std::string> unmet_directions;
  // The last events before the verdict, oldest first, one line each.
  std::vector<std::string> last_events;
  // RunOptions::record; null without it.
  std::shared_ptr<const RunRecord> record;
};

// What runs share: template clusters by knobs, fiber stacks. One per thread.
class RunContext {
 public:
  RunContext();
  ~RunContext();
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

struct RunOptions {
  // Write the event trace here (LZ4-framed); empty: none.
  std::string trace_path;
  // Write the data directory as it is after the run (crashed == false) or as
  // the last crash left it (crashed == true) here; empty: none.
  std::string export_dir;
  bool export_crashed = false;
  // See every event of the run, in this order; outlive the call.
  std::vector<sim::EventSubscriber*> observers;
  // Fill fiber stacks and fresh heap memory with this byte; -1: do not.
  int poison = -1;
  // Fill in RunOutcome::record.
  bool record = false;
};

// Runs the spec. Errors: kInvalid for a spec that names unknown profiles,
// knobs or planted bugs, or whose SQL or script does not parse (with file and
// line); kNotFound if a crash is to be exported and there was none.
env::Result<RunOutcome> Run(RunContext& context, const RunSpec& spec,
                            const RunOptions& options);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_RUN_H_
