// `musth replay`: one run again, and what it shows.
#ifndef MUSTH_REPLAY_REPLAY_CMD_H_
#define MUSTH_REPLAY_REPLAY_CMD_H_

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "replay/exit_codes.h"
#include "replay/recipe.h"
#include "replay/report.h"
#include "replay/runner.h"

namespace replay {

struct ReplayOptions {
  std::string target;  // as typed: a seed or a recipe's file
  Recipe recipe;       // what it stands for
  // Take the run as it comes: for bisecting over engine changes, which
  // legitimately move the hash.
  bool any_hash = false;
  int poison = -1;
  // Tell what happened to this page, "accounts:3"; empty: to none.
  std::string page;
  // Stop short of the verdict: show the events up to this one, by number.
  std::optional<uint64_t> until;
  // Do not run; write commands for gdb that stop at `until`, and say how to
  // start it.
  bool gdb = false;
  std::string out_dir = "musth-out";
  Invocation invocation;
  std::FILE* out = nullptr;  // required
};

// Runs the recipe twice, so that a hash is always verified: against the
// recipe's and against the second run. Prints the broken promises, the last
// events and how to replay; a bare seed that breaks a promise is written as a
// recipe first.
ExitCode RunReplay(const ReplayOptions& options, const Runner& runner);

// Overrides, edits, schedule lines and directions of the recipe that the run
// did not meet, one per line;
// empty if there are none.
std::string DescribeUnmatched(const properties::RunSpec& spec,
                              const properties::RunOutcome& outcome);

}  // namespace replay

#endif  // MUSTH_REPLAY_REPLAY_CMD_H_
