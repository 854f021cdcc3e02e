// replay, shrink, trace, export, check, sql: one run, or one directory.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replay/check_cmd.h"
#include "replay/cli.h"
#include "replay/export_cmd.h"
#include "replay/interrupt_fd.h"
#include "replay/knob_diff.h"
#include "replay/replay_cmd.h"
#include "replay/shrink.h"
#include "replay/sql_cmd.h"
#include "replay/trace_cmd.h"

namespace replay {
namespace {

CLI::Option* AddTarget(CLI::App* app, std::string* target) {
  return app->add_option("target", *target, "a seed, or a recipe's file")
      ->type_name("SEED|RECIPE");
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

ExitCode RunAgainst(const std::vector<std::string>& settings, Recipe recipe,
                    const std::string& out_dir) {
  env::Result<faults::KnobSettings> against =
      ParseKnobFlags("--against", settings);
  if (!against.ok()) return UsageError(against.status());
  KnobDiffOptions options;
  options.recipe = std::move(recipe);
  options.against = std::move(against).value();
  options.out_dir = out_dir;
  options.out = stdout;
  return RunKnobDiff(options, MakeRunner());
}

}  // namespace

void AddReplay(CLI::App* musth, const Invocation& invocation, Action* action) {
  CLI::App* app = musth->add_subcommand(
      "replay", "run one seed or recipe again and explain it");
  struct Flags {
    CommonFlags common;
    std::string target;
    std::string page;
    std::vector<std::string> against;
    std::optional<uint64_t> until;
    bool gdb = false;
    bool any_hash = false;
  };
  auto flags = std::make_shared<Flags>();
  flags->common.invocation = invocation;
  AddTarget(app, &flags->target)->required();
  AddSpecFlags(app, &flags->common.spec);
  app->add_option("--page", flags->page,
                  "tell what happened to this page: records, writes, fsyncs, "
                  "what crashes left, redo")
      ->type_name("REL:BLOCK");
  CLI::Option* against =
      app->add_option("--against", flags->against,
                      "run it under this setting, too, and show what differs")
          ->type_name("NAME=VALUE")
          ->allow_extra_args(false);
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
  for (const char* flag :
       {"--page", "--until", "--gdb", "--any-hash", "--poison"}) {
    against->excludes(app->get_option(flag));
  }
  app->callback([flags, action] {
    *action = [flags] {
      env::Result<Recipe> recipe =
          RecipeFromTarget(flags->target, flags->common.spec);
      if (!recipe.ok()) return UsageError(recipe.status());
      if (!flags->against.empty()) {
        return RunAgainst(flags->against, std::move(recipe).value(),
                          flags->common.out_dir);
      }
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

void AddShrink(CLI::App* musth, const Invocation& invocation, Action* action) {
  CLI::App* app = musth->add_subcommand(
      "shrink", "leave out of a failing run whatever plays no role");
  struct Flags {
    CommonFlags common;
    std::string target;
    int workers = 0;
    double budget_s = 60;
  };
  auto flags = std::make_shared<Flags>();
  flags->common.invocation = invocation;
  AddTarget(app, &flags->target)->required();
  AddSpecFlags(app, &flags->common.spec);
  app->add_option("--workers", flags->workers,
                  "processes (default: one per core); unless the budget "
                  "ends it, the result is the same")
      ->check(CLI::Range(1, 1024));
  app->add_option("--budget", flags->budget_s,
                  "seconds of CPU time for all runs together")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app->add_option("--out", flags->common.out_dir, "where recipes go")
      ->type_name("DIR")
      ->capture_default_str();
  app->callback([flags, action] {
    *action = [flags] {
      ShrinkOptions options;
      options.target = flags->target;
      env::Result<Recipe> recipe =
          RecipeFromTarget(flags->target, flags->common.spec);
      if (!recipe.ok()) return UsageError(recipe.status());
      options.recipe = std::move(recipe).value();
      options.out_dir = flags->common.out_dir;
      options.workers = flags->workers > 0 ? flags->workers : Cores();
      options.budget_s = flags->budget_s;
      options.invocation = flags->common.invocation;
      options.out = stdout;
      InterruptFd interrupt;
      options.stop = [&interrupt] { return interrupt.Interrupted(); };
      return Shrinker(options, MakeRunner()).Run();
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
  AddTarget(app, &flags->target);
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
  AddTarget(app, &flags->target)->required();
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

}  // namespace replay
