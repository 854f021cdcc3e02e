// campaign, exhaust, merge, mutants: many runs.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "faults/planted_bugs.h"
#include "faults/profile.h"
#include "faults/swarm.h"
#include "replay/campaign.h"
#include "replay/cli.h"
#include "replay/exhaust_cmd.h"
#include "replay/junit.h"
#include "replay/merge_cmd.h"
#include "replay/mutants.h"
#include "replay/recipe.h"
#include "replay/scenes.h"
#include "replay/small_scopes.h"
#include "replay/user_files.h"

namespace replay {
namespace {

struct CampaignFlags {
  CommonFlags common;
  std::string scheduler;
  std::string seeds = "10000";
  std::string shard;
  std::string order = "forward";
  int workers = 0;
  uint64_t stop_after = 0;
  int timeout_s = 120;
  bool no_shrink = false;
  double shrink_budget_s = 30;
  bool json = false;
  std::string json_file;
  std::string hashes_file;
  std::string junit_file;
  std::string state_file;
};

// --scheduler NAME is --knob strategy=NAME. Empty: drawn per seed.
void ForceScheduler(std::string name, std::vector<std::string>* knobs) {
  if (name.empty()) return;
  if (name == "random") name = "random-walk";
  knobs->push_back("strategy=" + name);
}

CLI::Option* AddSchedulerFlag(CLI::App* app, std::string* name) {
  return app
      ->add_option("--scheduler", *name,
                   "use this strategy alone: random, pos, pct, surw, delay, "
                   "starve, stall, round-robin")
      ->type_name("NAME");
}

// Bazel's sharding protocol, or what --shard says.
env::Result<Shard> ShardOf(const CampaignFlags& flags) {
  if (!flags.shard.empty()) return ParseShard(flags.shard);
  const char* index = std::getenv("TEST_SHARD_INDEX");
  const char* count = std::getenv("TEST_TOTAL_SHARDS");
  if (index == nullptr || count == nullptr) return Shard();
  const char* status_file = std::getenv("TEST_SHARD_STATUS_FILE");
  if (status_file != nullptr) RETURN_IF_ERROR(WriteFile(status_file, ""));
  return ParseShard(fmt::format("{}/{}", index, count));
}

env::Result<CampaignOptions> CampaignOptionsOf(const CampaignFlags& flags) {
  CampaignOptions options;
  SpecFlags spec = flags.common.spec;
  ForceScheduler(flags.scheduler, &spec.knobs);
  ASSIGN_OR_RETURN(options.spec, SpecFromFlags(spec));
  ASSIGN_OR_RETURN(SeedRange seeds, ParseSeeds(flags.seeds));
  ASSIGN_OR_RETURN(Shard shard, ShardOf(flags));
  options.first_seed = seeds.first;
  options.last_seed = seeds.last;
  options.shard_index = shard.index;
  options.shard_count = shard.count;
  options.order = flags.order == "backward" ? SeedOrder::kBackward
                  : flags.order == "fresh"  ? SeedOrder::kFresh
                                            : SeedOrder::kForward;
  options.workers = flags.workers > 0 ? flags.workers : Cores();
  options.stop_after = flags.stop_after;
  options.shrink = !flags.no_shrink;
  options.shrink_budget_s = flags.shrink_budget_s;
  options.timeout_s = flags.timeout_s;
  options.poison = ApplyPoison(flags.common.poison);
  options.out_dir = flags.common.out_dir;
  options.hashes_file = flags.hashes_file;
  options.state_file = flags.state_file;
  options.invocation = flags.common.invocation;
  // JSON without a file takes the standard output for itself.
  bool json_to_stdout = flags.json && flags.json_file.empty();
  options.out = json_to_stdout ? stderr : stdout;
  options.tty = isatty(fileno(options.out)) != 0;
  return options;
}

ExitCode RunCampaign(const CampaignFlags& flags) {
  env::Result<CampaignOptions> options = CampaignOptionsOf(flags);
  if (!options.ok()) return UsageError(options.status());
  Campaign campaign(*options, MakeRunner());
  ExitCode code = campaign.Run();
  if (code == kExitUsage) return code;
  if (!flags.junit_file.empty()) {
    env::Status written =
        WriteFile(UserPath(flags.junit_file),
                  FormatJunit(campaign.summary(), campaign.incidents()));
    if (!written.ok()) return UsageError(written);
  }
  if (!flags.json) return code;
  std::string json = campaign.summary().ToJson() + "\n";
  if (flags.json_file.empty()) {
    fmt::print("{}", json);
    return code;
  }
  env::Status status = WriteFile(UserPath(flags.json_file), json);
  return status.ok() ? code : UsageError(status);
}

struct MutantFlags {
  SpecFlags spec;
  std::vector<std::string> bugs;
  bool all = false;
  bool ablation = false;
  std::string scheduler;
  std::string scenes_dir;
  MutantOptions options;
};

// The scenes of these bugs, from their witness recipes in a directory.
env::Status LoadScenes(const std::string& dir, MutantOptions* options) {
  for (const std::string& bug : options->bugs) {
    const faults::PlantedBug* known = faults::FindPlantedBug(bug);
    if (known == nullptr || known->witness.empty()) continue;
    ASSIGN_OR_RETURN(Recipe recipe,
                     LoadRecipe(fmt::format("{}/{}", dir, known->witness)));
    std::optional<properties::RunSpec> scene = SceneOf(recipe.spec);
    if (scene.has_value()) options->scenes[bug] = std::move(*scene);
  }
  if (!options->scenes.empty()) return {};
  return {env::Code::kInvalid,
          fmt::format("{}: expected a witness recipe with holds", dir)};
}

ExitCode MeasureMutants(MutantFlags flags) {
  if (flags.all == !flags.bugs.empty()) {
    return UsageError({env::Code::kInvalid,
                       "mutants: expected --all or names of planted bugs"});
  }
  for (const faults::PlantedBug& bug : faults::PlantedBugs()) {
    if (flags.all) flags.bugs.emplace_back(bug.name);
  }
  for (const std::string& bug : flags.bugs) {
    env::Status status = faults::CheckPlantedName(bug);
    if (!status.ok()) return UsageError(status);
  }
  ForceScheduler(flags.scheduler, &flags.spec.knobs);
  if (flags.ablation && !flags.scheduler.empty()) {
    return UsageError({env::Code::kInvalid,
                       "mutants: --ablation is of all schedulers, expected no "
                       "--scheduler beside it"});
  }
  env::Result<properties::RunSpec> spec = SpecFromFlags(flags.spec);
  if (!spec.ok()) return UsageError(spec.status());
  flags.options.spec = std::move(spec).value();
  if (flags.ablation) {
    flags.options.schedulers = faults::DrawnKnobValues("strategy");
  }
  flags.options.bugs = std::move(flags.bugs);
  if (!flags.scenes_dir.empty()) {
    if (!flags.ablation) {
      return UsageError({env::Code::kInvalid,
                         "mutants: --scenes are for single schedulers, "
                         "expected --ablation beside it"});
    }
    env::Status status = LoadScenes(flags.scenes_dir, &flags.options);
    if (!status.ok()) return UsageError(status);
  }
  if (flags.options.workers == 0) flags.options.workers = Cores();
  flags.options.out = stdout;
  return Mutants(flags.options, MakeRunner()).Run();
}

}  // namespace

void AddCampaign(CLI::App* musth, const Invocation& invocation,
                 Action* action) {
  CLI::App* app =
      musth->add_subcommand("campaign", "crash, recover and judge many seeds");
  auto flags = std::make_shared<CampaignFlags>();
  flags->common.invocation = invocation;
  AddSpecFlags(app, &flags->common.spec);
  AddSchedulerFlag(app, &flags->scheduler);
  app->add_option("--seeds", flags->seeds, "the first N seeds, or A to B")
      ->type_name("N|A..B")
      ->capture_default_str();
  app->add_option("--shard", flags->shard, "of every N seeds the I-th, from 0")
      ->type_name("I/N");
  app->add_option("--order", flags->order,
                  "order of the seeds; fresh: each in a new process")
      ->check(CLI::IsMember({"forward", "backward", "fresh"}))
      ->capture_default_str();
  app->add_option("--workers", flags->workers,
                  "processes (default: one per core)")
      ->check(CLI::Range(1, 1024));
  app->add_option("--stop-after", flags->stop_after, "stop after N findings")
      ->type_name("N");
  app->add_flag("--no-shrink", flags->no_shrink, "leave findings as they are");
  app->add_option("--shrink-budget", flags->shrink_budget_s,
                  "seconds of CPU time to shrink one finding")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app->add_option("--run-timeout", flags->timeout_s,
                  "CPU seconds after which a run is a harness failure")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  CLI::Option* json =
      app->add_option("--json", flags->json_file,
                      "write the summary as JSON, to the standard output if "
                      "no file is named")
          ->type_name("[FILE]")
          ->expected(0, 1);
  app->add_option("--out", flags->common.out_dir, "where recipes go")
      ->type_name("DIR")
      ->capture_default_str();
  CLI::Option* hashes =
      app->add_option("--hashes", flags->hashes_file,
                      "write \"seed hash\" lines, to compare builds")
          ->type_name("FILE");
  app->add_option("--junit", flags->junit_file, "write a JUnit report")
      ->type_name("FILE");
  app->add_option("--resume", flags->state_file,
                  "keep in this file how far the campaign is, and go on from "
                  "there if the file exists")
      ->type_name("FILE")
      ->excludes(hashes);
  AddPoisonFlag(app, &flags->common.poison);
  app->callback([flags, json, action] {
    flags->json = json->count() > 0;
    *action = [flags] { return RunCampaign(*flags); };
  });
}

void AddMerge(CLI::App* musth, Action* action) {
  CLI::App* app = musth->add_subcommand(
      "merge", "add up what campaigns or their shards saw");
  struct Flags {
    std::vector<std::string> files;
    std::string json_file;
  };
  auto flags = std::make_shared<Flags>();
  app->add_option("files", flags->files, "written by campaign --json FILE")
      ->type_name("FILE...")
      ->required();
  app->add_option("--json", flags->json_file, "write the sum as JSON")
      ->type_name("FILE");
  app->callback([flags, action] {
    *action = [flags] {
      return RunMerge(flags->files, flags->json_file, stdout);
    };
  });
}

void AddExhaust(CLI::App* musth, const Invocation& invocation, Action* action) {
  CLI::App* app = musth->add_subcommand(
      "exhaust", "crash small scripts in every way there is");
  auto options = std::make_shared<ExhaustOptions>();
  options->workers = 0;
  options->invocation = invocation;
  app->add_option("scopes", options->scopes,
                  "which of them (default: all): " + KnownSmallScopes())
      ->type_name("SCOPE...");
  app->add_option("--plant", options->planted,
                  "switch a planted bug on (builds with --config=planted)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app->add_option("--workers", options->workers,
                  "processes (default: one per core)")
      ->check(CLI::Range(1, 1024));
  app->add_option("--out", options->out_dir, "where recipes go")
      ->type_name("DIR")
      ->capture_default_str();
  app->callback([options, action] {
    *action = [options] {
      for (const std::string& bug : options->planted) {
        env::Status status = faults::CheckPlantedName(bug);
        if (!status.ok()) return UsageError(status);
      }
      if (options->workers == 0) options->workers = Cores();
      options->out = stdout;
      return RunExhaust(*options, MakeRunner());
    };
  });
}

void AddMutants(CLI::App* musth, const Invocation& invocation, Action* action) {
  CLI::App* app = musth->add_subcommand(
      "mutants", "measure how soon campaigns notice planted bugs");
  auto flags = std::make_shared<MutantFlags>();
  flags->options.workers = 0;
  flags->options.invocation = invocation;
  app->add_option("bugs", flags->bugs, "planted bugs")->type_name("NAME...");
  app->add_flag("--all", flags->all, "all planted bugs");
  app->add_option("--seeds", flags->options.seeds, "at most N for each bug")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000000))
      ->capture_default_str();
  app->add_option("--enough", flags->options.enough,
                  "stop a bug after N failing seeds")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000000))
      ->capture_default_str();
  app->add_option("--budget", flags->options.budget_s,
                  "CPU seconds for each bug (default: no limit)")
      ->type_name("S")
      ->check(CLI::PositiveNumber);
  AddSchedulerFlag(app, &flags->scheduler);
  app->add_flag("--ablation", flags->ablation,
                "measure each bug with each scheduler alone, too");
  app->add_option("--scenes", flags->scenes_dir,
                  "measure single schedulers in the bugs' witness recipes, "
                  "which are in DIR, without their holds")
      ->type_name("DIR");
  app->add_option("--ablation-seeds", flags->options.scheduler_seeds,
                  "at most N for each bug with one scheduler")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000000))
      ->capture_default_str();
  app->add_option("--shrink", flags->options.shrink_budget_s,
                  "shrink the first failing seed of each bug, in so many CPU "
                  "seconds")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e6));
  app->add_option("--out", flags->options.out_dir, "where its recipes go")
      ->type_name("DIR")
      ->capture_default_str();
  app->add_option("--workers", flags->options.workers,
                  "processes (default: one per core)")
      ->check(CLI::Range(1, 1024));
  app->add_option("--table", flags->options.table_file,
                  "write the table as Markdown to this file")
      ->type_name("FILE");
  app->add_option("--resume", flags->options.state_file,
                  "keep the tallies in this file, and go on from there if it "
                  "exists")
      ->type_name("FILE");
  app->add_option("--faults", flags->spec.profile,
                  "fault profile: " + faults::KnownProfiles())
      ->type_name("PROFILE")
      ->capture_default_str();
  app->add_option("--knob", flags->spec.knobs,
                  "set a knob instead of drawing it")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app->callback([flags, action] {
    *action = [flags] { return MeasureMutants(*flags); };
  });
}

}  // namespace replay
