// `musth export`: a run's data directory as real files.
#ifndef MUSTH_REPLAY_EXPORT_CMD_H_
#define MUSTH_REPLAY_EXPORT_CMD_H_

#include <cstdio>
#include <string>

#include "replay/exit_codes.h"
#include "replay/recipe.h"
#include "replay/runner.h"

namespace replay {

// Runs the recipe and writes the data directory to `directory`: as the run
// left it or, if crashed, as its last crash left it.
ExitCode RunExport(const Recipe& recipe, const std::string& directory,
                   bool crashed, std::FILE* out, const Runner& runner);

}  // namespace replay

#endif  // MUSTH_REPLAY_EXPORT_CMD_H_
