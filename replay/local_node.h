// LocalNode: one node outside a campaign, for SQL scripts and benches.
//
// Simulated: a fresh cluster in a world with seed 0 and no faults; everything
// is gone afterwards. On a directory: the same engine over sim/posix, on real
// files, created if the directory is empty and recovered if it was not shut
// down.
#ifndef MUSTH_REPLAY_LOCAL_NODE_H_
#define MUSTH_REPLAY_LOCAL_NODE_H_

#include <functional>
#include <memory>
#include <string>

#include "engine/common/config.h"
#include "engine/sql/session.h"
#include "sim/env/status.h"

namespace replay {

// Starts a node on a fresh simulated cluster, runs body in one session, shuts
// the node down cleanly. Errors: initdb's or start-up's, a PANIC, a broken
// check.
env::Status RunSimulated(const engine::Config& config,
                         std::function<void(engine::Session&)> body);

// As above on the files under `directory` (created if missing). If crash is
// set, the process's tasks are killed instead of a clean shutdown, which
// leaves a directory that needs recovery.
env::Status RunOnDirectory(const std::string& directory,
                           const engine::Config& config,
                           std::function<void(engine::Session&)> body,
                           bool crash = false);

}  // namespace replay

#endif  // MUSTH_REPLAY_LOCAL_NODE_H_
