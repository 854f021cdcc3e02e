// `musth trace`: the events of a run, and where two runs part.
#ifndef MUSTH_REPLAY_TRACE_CMD_H_
#define MUSTH_REPLAY_TRACE_CMD_H_

#include <cstdio>
#include <string>

#include "replay/exit_codes.h"
#include "replay/recipe.h"
#include "replay/runner.h"

namespace replay {

// Runs the recipe, writes its trace to trace_path and prints every event to
// out (unless that is null). 0: the trace is complete, whatever the run broke.
ExitCode RunTrace(const Recipe& recipe, const std::string& trace_path,
                  std::FILE* out, const Runner& runner);

// Prints where two trace files part. 0: they are equal; 3: they are not.
ExitCode RunTraceDiff(const std::string& left_path,
                      const std::string& right_path, std::FILE* out);

}  // namespace replay

#endif  // MUSTH_REPLAY_TRACE_CMD_H_
