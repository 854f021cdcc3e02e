// musth merge: the summaries of several campaigns, or of one campaign's shards,
// as one.
#ifndef MUSTH_REPLAY_MERGE_CMD_H_
#define MUSTH_REPLAY_MERGE_CMD_H_

#include <cstdio>
#include <string>
#include <vector>

#include "replay/exit_codes.h"

namespace replay {

// Requires: files are not empty. Reads what `campaign --json FILE` wrote; seeds
// may be counted once only. Prints the sum to out; writes it as JSON to
// json_file unless that is empty. Returns what one campaign of all these seeds
// would have.
ExitCode RunMerge(const std::vector<std::string>& files,
                  const std::string& json_file, std::FILE* out);

}  // namespace replay

#endif  // MUSTH_REPLAY_MERGE_CMD_H_
