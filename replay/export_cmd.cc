#include "replay/export_cmd.h"

#include <fmt/format.h>

#include "replay/user_files.h"

namespace replay {

ExitCode RunExport(const Recipe& recipe, const std::string& directory,
                   bool crashed, std::FILE* out, const Runner& runner) {
  properties::RunOptions options;
  options.export_dir = UserPath(directory);
  options.export_crashed = crashed;
  env::Result<properties::RunOutcome> outcome = runner(recipe.spec, options);
  if (!outcome.ok()) {
    fmt::print(stderr, "musth: {}\n", outcome.status().message());
    return kExitUsage;
  }
  if (!outcome->harness_failure.empty()) {
    fmt::print(stderr, "musth: seed {}: {}\n", recipe.spec.seed,
               outcome->harness_failure);
    return kExitHarness;
  }
  fmt::print(out, "{} holds the data directory {}\nhash {:016x}\n", directory,
             crashed ? "as the last crash left it" : "after the run",
             outcome->hash);
  return kExitKept;
}

}  // namespace replay
