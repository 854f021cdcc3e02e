// `musth sql`: a psql script on a node of its own.
#ifndef MUSTH_REPLAY_SQL_CMD_H_
#define MUSTH_REPLAY_SQL_CMD_H_

#include <cstdio>
#include <string>

#include "replay/exit_codes.h"

namespace replay {

// Runs the script and prints what `psql -a -X -f FILE` would. With a directory
// the node works on real files there, else in a simulated world with seed 0.
// Exit 2 if a statement did not parse or is not supported, 3 if the node
// failed.
ExitCode RunSql(const std::string& file, const std::string& directory,
                std::FILE* out);

}  // namespace replay

#endif  // MUSTH_REPLAY_SQL_CMD_H_
