// musth: the command. Flags are in cli_*.cc, work in the subcommands' own
// files.
//
// CLI11 reports bad usage by throwing, which is caught here.
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "replay/cli.h"
#include "replay/keep_heap.h"
#include "replay/recipe.h"

namespace replay {
namespace {

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
  AddShrink(&musth, invocation, &action);
  AddTrace(&musth, &action);
  AddExport(&musth, &action);
  AddCheck(&musth, &action);
  AddSql(&musth, &action);
  AddExhaust(&musth, invocation, &action);
  AddMerge(&musth, &action);
  AddMutants(&musth, invocation, &action);
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
