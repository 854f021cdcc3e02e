// `musth check`: is a data directory what PostgreSQL's formats say?
#ifndef MUSTH_REPLAY_CHECK_CMD_H_
#define MUSTH_REPLAY_CHECK_CMD_H_

#include <cstdio>
#include <string>

#include "replay/exit_codes.h"

namespace replay {

// Prints every problem of the directory and a summary. kExitKept: none.
// kExitBroken: some. kExitUsage: there is no data directory. Whatever the bytes
// are, it ends.
ExitCode RunCheck(const std::string& directory, std::FILE* out);

}  // namespace replay

#endif  // MUSTH_REPLAY_CHECK_CMD_H_
