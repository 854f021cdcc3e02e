// musth: the command. Flags here, work in the subcommands' own files.
//
// The one place with exceptions: CLI11 reports bad usage by throwing.
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "faults/planted_bugs.h"
#include "faults/profile.h"
#include "properties/run.h"
#include "replay/campaign.h"
#include "replay/check_cmd.h"
#include "replay/export_cmd.h"
#include "replay/junit.h"
#include "replay/keep_heap.h"
#include "replay/merge_cmd.h"
#include "replay/mutants.h"
#include "replay/replay_cmd.h"
#include "replay/spec_flags.h"
#include "replay/sql_cmd.h"
#include "replay/trace_cmd.h"
#include "replay/user_files.h"

namespace replay {
namespace {

// What a parsed command line asks for; runs after parsing.
using Action = std::function<ExitCode()>;

Runner MakeRunner() {
  auto context = std::make_shared<properties::RunContext>();
  return [context](const properties::RunSpec& spec,
                   const properties::RunOptions& options) {
    return properties::Run(*context, spec, options);
  };
}

int Cores() { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); }

ExitCode UsageError(const env::Status& status) {
  fmt::print(stderr, "musth: {}\n", status.message());
  return kExitUsage;
}

// Flags shared by several subcommands.
struct CommonFlags {
  SpecFlags spec;
  std::string out_dir = "musth-out";
  std::string poison;  // "00" or "FF"; empty: none
  Invocation invocation;
};

void AddSpecFlags(CLI::App* app, SpecFlags* flags) {
  app->add_option("--faults", flags->profile,
                  "fault profile: " + faults::KnownProfiles())
      ->type_name("PROFILE")
      ->capture_default_str();
  app->add_option("--plant", flags->plants,
                  "switch a planted bug on (builds with --config=planted)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app->add_option("--script", flags->scripts,
                  "run this pgbench script instead of the generated workload: "
                  "a file or tpcb-like, simple-update, select-only")
      ->type_name("FILE[@WEIGHT]")
      ->allow_extra_args(false);
  app->add_option("--setup", flags->setup,
                  "SQL to run once before the scripts (default: pgbench's "
                  "tables)")
      ->type_name("FILE.sql");
  app->add_option("--knob", flags->knobs, "set a knob instead of drawing it")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

void AddPoisonFlag(CLI::App* app, std::string* poison) {
  app->add_option("--poison", *poison,
                  "fill fresh stacks and heap blocks with this byte")
      ->check(CLI::IsMember({"00", "FF"}));
}

// -1 if none is wanted. Also poisons this process's heap, which workers
// inherit.
int ApplyPoison(const std::string& poison) {
  if (poison.empty()) return -1;
  int byte = poison == "FF" ? 0xFF : 0x00;
  // glibc fills fresh blocks with the complement of the low byte; a higher bit
  // keeps the setting from being zero, which means off.
  mallopt(M_PERTURB, 0x100 | (byte ^ 0xFF));
  return byte;
}

struct CampaignFlags {
  CommonFlags common;
  std::string seeds = "10000";
  std::string shard;
  std::string order = "forward";
  int workers = 0;
  uint64_t stop_after = 0;
  int timeout_s = 120;
  bool json = false;
  std::string json_file;
  std::string hashes_file;
  std::string junit_file;
  std::string state_file;
};

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
  ASSIGN_OR_RETURN(options.spec, SpecFromFlags(flags.common.spec));
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

void AddCampaign(CLI::App* musth, const Invocation& invocation,
                 Action* action) {
  CLI::App* app =
      musth->add_subcommand("campaign", "crash, recover and judge many seeds");
  auto flags = std::make_shared<CampaignFlags>();
  flags->common.invocation = invocation;
  AddSpecFlags(app, &flags->common.spec);
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
  app->add_option("--run-timeout", flags->timeout_s,
                  "seconds after which a run is a harness failure")
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

void AddReplay(CLI::App* musth, const Invocation& invocation, Action* action) {
  CLI::App* app = musth->add_subcommand(
      "replay", "run one seed or recipe again and explain it");
  struct Flags {
    CommonFlags common;
    std::string target;
    std::string page;
    std::optional<uint64_t> until;
    bool gdb = false;
    bool any_hash = false;
  };
  auto flags = std::make_shared<Flags>();
  flags->common.invocation = invocation;
  app->add_option("target", flags->target, "a seed, or a recipe's file")
      ->type_name("SEED|RECIPE")
      ->required();
  AddSpecFlags(app, &flags->common.spec);
  app->add_option("--page", flags->page,
                  "tell what happened to this page: records, writes, fsyncs, "
                  "what crashes left, redo")
      ->type_name("REL:BLOCK");
  app->add_option("--until", flags->until,
                  "show the events up to this one instead of a verdict")
      ->type_name("EVENT");
  app->add_flag("--gdb", flags->gdb,
                "with --until: say how to stop there in gdb");
  app->add_flag("--any-hash", flags->any_hash,
                "do not compare with the recipe's hash: for git bisect over "
                "changes that move it");
  app->add_option("--out", flags->common.out_dir, "where recipes go")
      ->type_name("DIR")
      ->capture_default_str();
  AddPoisonFlag(app, &flags->common.poison);
  app->callback([flags, action] {
    *action = [flags] {
      env::Result<Recipe> recipe =
          RecipeFromTarget(flags->target, flags->common.spec);
      if (!recipe.ok()) return UsageError(recipe.status());
      ReplayOptions options;
      options.target = flags->target;
      options.recipe = std::move(recipe).value();
      options.any_hash = flags->any_hash;
      options.page = flags->page;
      options.until = flags->until;
      options.gdb = flags->gdb;
      options.poison = ApplyPoison(flags->common.poison);
      options.out_dir = flags->common.out_dir;
      options.invocation = flags->common.invocation;
      options.out = stdout;
      return RunReplay(options, MakeRunner());
    };
  });
}

void AddTraceDiff(CLI::App* trace, Action* action) {
  CLI::App* app =
      trace->add_subcommand("diff", "show where two trace files part");
  struct Flags {
    std::string left;
    std::string right;
  };
  auto flags = std::make_shared<Flags>();
  app->add_option("A", flags->left, "a trace file")->required();
  app->add_option("B", flags->right, "another one")->required();
  // Comes after the callback of `trace` itself, and replaces what that set.
  app->final_callback([flags, action] {
    *action = [flags] {
      return RunTraceDiff(flags->left, flags->right, stdout);
    };
  });
}

void AddTrace(CLI::App* musth, Action* action) {
  CLI::App* app = musth->add_subcommand(
      "trace", "print every event of a run and keep them in a file");
  struct Flags {
    SpecFlags spec;
    std::string target;
    std::string file;
    bool quiet = false;
  };
  auto flags = std::make_shared<Flags>();
  app->add_option("target", flags->target, "a seed, or a recipe's file")
      ->type_name("SEED|RECIPE");
  AddSpecFlags(app, &flags->spec);
  app->add_option("--file", flags->file,
                  "the trace file (default: musth-out/SEED.trace)");
  app->add_flag("--quiet", flags->quiet, "print no events");
  AddTraceDiff(app, action);
  app->callback([flags, app, action] {
    if (app->got_subcommand("diff")) return;
    if (flags->target.empty()) throw CLI::RequiredError("SEED|RECIPE");
    *action = [flags] {
      env::Result<Recipe> recipe = RecipeFromTarget(flags->target, flags->spec);
      if (!recipe.ok()) return UsageError(recipe.status());
      std::string file = flags->file.empty() ? fmt::format("musth-out/{}.trace",
                                                           recipe->spec.seed)
                                             : flags->file;
      return RunTrace(*recipe, file, flags->quiet ? nullptr : stdout,
                      MakeRunner());
    };
  });
}

void AddExport(CLI::App* musth, Action* action) {
  CLI::App* app = musth->add_subcommand(
      "export", "write a run's data directory as real files");
  struct Flags {
    SpecFlags spec;
    std::string target;
    std::string directory;
    bool crashed = false;
  };
  auto flags = std::make_shared<Flags>();
  app->add_option("target", flags->target, "a seed, or a recipe's file")
      ->type_name("SEED|RECIPE")
      ->required();
  app->add_option("dir", flags->directory, "an empty or missing directory")
      ->type_name("DIR")
      ->required();
  AddSpecFlags(app, &flags->spec);
  app->add_flag("--crashed", flags->crashed,
                "as the last crash left it, before recovery");
  app->callback([flags, action] {
    *action = [flags] {
      env::Result<Recipe> recipe = RecipeFromTarget(flags->target, flags->spec);
      if (!recipe.ok()) return UsageError(recipe.status());
      return RunExport(*recipe, flags->directory, flags->crashed, stdout,
                       MakeRunner());
    };
  });
}

void AddCheck(CLI::App* musth, Action* action) {
  CLI::App* app = musth->add_subcommand(
      "check", "verify the structure of a data directory's files");
  auto directory = std::make_shared<std::string>();
  app->add_option("dir", *directory,
                  "a data directory: from export or sql --dir, not in use")
      ->type_name("DIR")
      ->required();
  app->footer(
      "Prints one line for each problem. Exit codes: 0 none, 1 problems, 2 "
      "not a data\ndirectory.");
  app->callback([directory, action] {
    *action = [directory] { return RunCheck(*directory, stdout); };
  });
}

void AddSql(CLI::App* musth, Action* action) {
  CLI::App* app = musth->add_subcommand(
      "sql", "run a psql script and print what psql -a prints");
  struct Flags {
    std::string file;
    std::string directory;
  };
  auto flags = std::make_shared<Flags>();
  app->add_option("file", flags->file, "the script")
      ->type_name("FILE")
      ->required();
  app->add_option("--dir", flags->directory,
                  "a data directory of real files, made if it is empty; "
                  "default: a simulated world")
      ->type_name("DIR");
  app->callback([flags, action] {
    *action = [flags] { return RunSql(flags->file, flags->directory, stdout); };
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

struct MutantFlags {
  SpecFlags spec;
  std::vector<std::string> bugs;
  bool all = false;
  std::string scheduler;
  MutantOptions options;
};

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
  if (!flags.scheduler.empty()) {
    flags.spec.knobs.push_back("strategy=" + flags.scheduler);
  }
  env::Result<properties::RunSpec> spec = SpecFromFlags(flags.spec);
  if (!spec.ok()) return UsageError(spec.status());
  flags.options.spec = std::move(spec).value();
  flags.options.bugs = std::move(flags.bugs);
  if (flags.options.workers == 0) flags.options.workers = Cores();
  flags.options.out = stdout;
  return Mutants(flags.options, MakeRunner()).Run();
}

void AddMutants(CLI::App* musth, Action* action) {
  CLI::App* app = musth->add_subcommand(
      "mutants", "measure how soon campaigns notice planted bugs");
  auto flags = std::make_shared<MutantFlags>();
  flags->options.workers = 0;
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
  app->add_option("--scheduler", flags->scheduler,
                  "use this strategy alone (knob strategy)")
      ->type_name("NAME");
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

// What CLI11 says, or more where it says little.
std::string Explain(const CLI::App& musth, const CLI::ParseError& error,
                    int argc, char** argv) {
  bool no_subcommand = musth.get_subcommands().empty();
  if (!no_subcommand || argc < 2 || argv[1][0] == '-') return error.what();
  std::string known;
  for (const CLI::App* app : musth.get_subcommands(nullptr)) {
    if (!known.empty()) known += ", ";
    known += app->get_name();
  }
  return fmt::format("unknown subcommand \"{}\", expected one of {}", argv[1],
                     known);
}

ExitCode Main(int argc, char** argv) {
  CLI::App musth(
      "Musth crashes, tears and recovers a PostgreSQL-style storage engine in "
      "a deterministic world, and checks what it promised.");
  musth.name("musth");
  musth.require_subcommand(1);
  musth.set_version_flag("--version", BuildId());
  musth.footer(
      "Exit codes: 0 every promise kept, 1 a promise broken, 2 bad usage or "
      "input,\n3 a failure of Musth itself or a hash that differs, 125 a "
      "recipe that no longer fits.");
  Invocation invocation;
  invocation.program = argc > 0 ? argv[0] : "musth";
  invocation.under_bazel = std::getenv("BUILD_WORKSPACE_DIRECTORY") != nullptr;
  KeepHeap();
  Action action;
  AddCampaign(&musth, invocation, &action);
  AddReplay(&musth, invocation, &action);
  AddTrace(&musth, &action);
  AddExport(&musth, &action);
  AddCheck(&musth, &action);
  AddSql(&musth, &action);
  AddMerge(&musth, &action);
  AddMutants(&musth, &action);
  try {
    musth.parse(argc, argv);
  } catch (const CLI::Success& help) {
    musth.exit(help);
    return kExitKept;
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "musth: {}\n", Explain(musth, error, argc, argv));
    return kExitUsage;
  }
  return action();
}

}  // namespace
}  // namespace replay

int main(int argc, char** argv) { return replay::Main(argc, argv); }
