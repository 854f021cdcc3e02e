// `musth exhaust`: every crash state of small scopes.
#ifndef MUSTH_REPLAY_EXHAUST_CMD_H_
#define MUSTH_REPLAY_EXHAUST_CMD_H_

#include <cstdio>
#include <string>
#include <vector>

#include "replay/exit_codes.h"
#include "replay/report.h"
#include "replay/runner.h"

namespace replay {

struct ExhaustOptions {
  std::vector<std::string> scopes;   // names; empty: all
  std::vector<std::string> planted;  // bugs to switch on
  int workers = 1;
  int timeout_s = 3600;  // of one scope
  std::string out_dir = "musth-out";
  Invocation invocation;
  std::FILE* out = nullptr;  // required
};

// Prints a row of counts for each scope and what broke. 0: every promise was
// kept in every state. 1: not; the state is a recipe in out_dir, from which
// `musth replay` goes straight to it. 2: a scope that does not exist. 3: a
// failure of Musth's own.
ExitCode RunExhaust(const ExhaustOptions& options, const Runner& runner);

}  // namespace replay

#endif  // MUSTH_REPLAY_EXHAUST_CMD_H_
