// Reports: what the person at the terminal reads about one run.
#ifndef MUSTH_REPLAY_REPORT_H_
#define MUSTH_REPLAY_REPORT_H_

#include <string>

#include "properties/run.h"
#include "replay/recipe.h"

namespace replay {

// How this program was started, for printed commands.
struct Invocation {
  std::string program;       // argv[0]
  bool under_bazel = false;  // `bazel run`: print that
};

// The path as one word of a shell.
std::string ShellWord(const std::string& path);

// The command that replays a recipe file.
std::string ReplayCommand(const Invocation& invocation,
                          const properties::RunSpec& spec,
                          const std::string& recipe_path);

// The broken promises, the last events, the hash; several lines.
// Requires: outcome.broken is not empty.
std::string DescribeBroken(const properties::RunSpec& spec,
                           const properties::RunOutcome& outcome);

// The recipe of a finding: the spec, what it is expected to yield, and the
// description as comments.
Recipe RecipeOfFinding(const properties::RunSpec& spec,
                       const properties::RunOutcome& outcome);

}  // namespace replay

#endif  // MUSTH_REPLAY_REPORT_H_
