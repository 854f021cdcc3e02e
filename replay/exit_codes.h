// What the command's exit codes mean to scripts.
#ifndef MUSTH_REPLAY_EXIT_CODES_H_
#define MUSTH_REPLAY_EXIT_CODES_H_

namespace replay {

enum ExitCode : int {
  kExitKept = 0,     // every promise was kept
  kExitBroken = 1,   // a promise is broken, reproducibly
  kExitUsage = 2,    // bad usage or unreadable input
  kExitHarness = 3,  // Musth's own failure, or a hash that differs
  kExitNoFit = 125,  // a recipe that no longer fits; `git bisect run` skips it
};

}  // namespace replay

#endif  // MUSTH_REPLAY_EXIT_CODES_H_
