#include "replay/replay_cmd.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "replay/page_story.h"
#include "replay/until.h"
#include "replay/user_files.h"

namespace replay {
namespace {

using properties::RunOutcome;

// What is wrong with the hash; empty if nothing.
std::string HashProblem(const Recipe& recipe, const RunOutcome& first,
                        const RunOutcome& second) {
  if (first.hash != second.hash) {
    return fmt::format("two runs differ: hash {:016x}, then {:016x}",
                       first.hash, second.hash);
  }
  if (recipe.expect_hash.has_value() && *recipe.expect_hash != first.hash) {
    return fmt::format("the recipe expects hash {:016x}, the run has {:016x}",
                       *recipe.expect_hash, first.hash);
  }
  return "";
}

bool OtherBuild(const Recipe& recipe) {
  return !recipe.build.empty() && recipe.build != BuildId();
}

// Who chose whose turn it was.
void PrintScheduler(const ReplayOptions& options, const RunOutcome& outcome) {
  for (const auto& [name, count] : outcome.stats.schedulers) {
    fmt::print(options.out, "scheduler {}\n", name);
  }
}

// The verdict on a run whose hash is in order.
ExitCode Conclude(const ReplayOptions& options, const RunOutcome& outcome) {
  const Recipe& recipe = options.recipe;
  if (outcome.broken.empty()) {
    fmt::print(options.out,
               "seed {}: every promise was kept\nhash {:016x}, {} crashes, {} "
               "recoveries, {} commits acknowledged\n",
               recipe.spec.seed, outcome.hash, outcome.stats.crashes,
               outcome.stats.recoveries, outcome.stats.acked_commits);
    PrintScheduler(options, outcome);
    for (const auto& [row, count] : outcome.stats.known_gaps) {
      fmt::print(options.out, "known PostgreSQL gap {}\n", row);
    }
    for (const std::string& row : recipe.expect_gaps) {
      if (outcome.stats.known_gaps.count(row) != 0) continue;
      fmt::print(options.out, "the recipe expects the known gap {}\n", row);
    }
    if (!recipe.expect_promise.empty()) {
      fmt::print(options.out, "the recipe expects {} to be broken\n",
                 recipe.expect_promise);
    }
    return kExitKept;
  }
  fmt::print(options.out, "{}", DescribeBroken(recipe.spec, outcome));
  PrintScheduler(options, outcome);
  std::string path = options.target;
  if (path.find_first_not_of("0123456789") == std::string::npos) {
    path = fmt::format("{}/{}-{}.recipe", options.out_dir,
                       outcome.broken.front().promise, recipe.spec.seed);
    env::Status status = WriteFile(
        UserPath(path), FormatRecipe(RecipeOfFinding(recipe.spec, outcome)));
    if (!status.ok()) {
      fmt::print(stderr, "musth: {}\n", status.message());
      return kExitUsage;
    }
  }
  fmt::print(options.out, "replay: {}\n",
             ReplayCommand(options.invocation, recipe.spec, path));
  return kExitBroken;
}

// False: the run knows no such table.
bool TellStory(const ReplayOptions& options, const PageStory& story) {
  if (!story.rel_node().has_value()) {
    fmt::print(stderr, "musth: --page {}: the run has no such table\n",
               options.page);
    return false;
  }
  for (const std::string& line : story.lines()) {
    fmt::print(options.out, "{}\n", line);
  }
  return true;
}

ExitCode PrepareGdb(const ReplayOptions& options) {
  if (!options.until.has_value()) {
    fmt::print(stderr, "musth: --gdb: expected --until EVENT beside it\n");
    return kExitUsage;
  }
  std::string script = UserPath(options.out_dir + "/musth.gdb");
  std::string recipe = UserPath(options.out_dir + "/gdb.recipe");
  env::Status status = WriteFile(script, GdbScript());
  // The flags that go with a seed are in the recipe, too.
  if (status.ok()) status = WriteFile(recipe, FormatRecipe(options.recipe));
  if (!status.ok()) {
    fmt::print(stderr, "musth: {}\n", status.message());
    return kExitUsage;
  }
  fmt::print(options.out,
             "gdb -x {} --args {} replay {} --until {}\n"
             "then, in gdb: musth-fibers [NAME]\n",
             ShellWord(script), ShellWord(options.invocation.program),
             ShellWord(recipe), *options.until);
  return kExitKept;
}

ExitCode RunUntil(const ReplayOptions& options, const Runner& runner) {
  Until until(*options.until);
  properties::RunOptions run_options;
  run_options.poison = options.poison;
  run_options.observers = {&until};
  env::Result<RunOutcome> outcome = runner(options.recipe.spec, run_options);
  if (!outcome.ok() || !until.reached()) {
    fmt::print(stderr, "musth: {}\n",
               outcome.ok()
                   ? fmt::format("--until {}: the run has fewer events",
                                 *options.until)
                   : std::string(outcome.status().message()));
    return kExitUsage;
  }
  fmt::print(options.out, "{}", until.Text());
  return kExitKept;
}

}  // namespace

std::string DescribeUnmatched(const properties::RunSpec& spec,
                              const RunOutcome& outcome) {
  std::string text;
  for (uint64_t index : outcome.unused_schedule) {
    if (index >= spec.schedule.size()) continue;
    text += fmt::format("  schedule {} decides nothing\n",
                        spec.schedule[index].ToString());
  }
  for (const sim::Override& o : outcome.unmatched_overrides) {
    text += fmt::format("  override {} matches no draw\n", o.ToString());
  }
  for (const std::string& edit : outcome.unmatched_edits) {
    text += fmt::format("  edit {} matches nothing\n", edit);
  }
  for (const std::string& direction : outcome.unmet_directions) {
    text += fmt::format("  {}: this never came about\n", direction);
  }
  return text;
}

ExitCode RunReplay(const ReplayOptions& options, const Runner& runner) {
  const Recipe& recipe = options.recipe;
  if (options.gdb) return PrepareGdb(options);
  if (options.until.has_value()) return RunUntil(options, runner);
  properties::RunOptions run_options;
  run_options.poison = options.poison;
  std::optional<PageStory> story;
  if (!options.page.empty()) {
    env::Result<PageName> page = ParsePageName(options.page);
    if (!page.ok()) {
      fmt::print(stderr, "musth: {}\n", page.status().message());
      return kExitUsage;
    }
    run_options.observers = {&story.emplace(std::move(page).value())};
  }
  env::Result<RunOutcome> first = runner(recipe.spec, run_options);
  run_options.observers.clear();
  if (!first.ok()) {
    fmt::print(stderr, "musth: {}\n", first.status().message());
    return first.status().code() == env::Code::kInvalid ? kExitUsage
                                                        : kExitHarness;
  }
  if (story.has_value() && !TellStory(options, *story)) return kExitUsage;
  std::string unmatched = DescribeUnmatched(recipe.spec, *first);
  if (!unmatched.empty()) {
    fmt::print(options.out, "{}: the recipe no longer fits{}\n{}",
               options.target,
               OtherBuild(recipe) ? "; it was written by " + recipe.build : "",
               unmatched);
    return kExitNoFit;
  }
  if (!first->harness_failure.empty()) {
    fmt::print(options.out, "HARNESS FAILURE seed {}: {}\n", recipe.spec.seed,
               first->harness_failure);
    for (const std::string& event : first->last_events) {
      fmt::print(options.out, "  {}\n", event);
    }
    return kExitHarness;
  }
  env::Result<RunOutcome> second = runner(recipe.spec, run_options);
  if (!second.ok()) {
    fmt::print(options.out, "the second run failed: {}\n",
               second.status().ToString());
    return kExitHarness;
  }
  std::string problem = HashProblem(recipe, *first, *second);
  bool other_build = OtherBuild(recipe) && first->hash == second->hash;
  if (!problem.empty() && !(options.any_hash && first->hash == second->hash)) {
    fmt::print(options.out, "{}: {}{}\n", options.target, problem,
               other_build ? "; it was written by " + recipe.build : "");
    return other_build ? kExitNoFit : kExitHarness;
  }
  return Conclude(options, *first);
}

}  // namespace replay
