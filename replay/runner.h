// Runner: how the command runs one recipe. Tests put a fake in its place.
#ifndef MUSTH_REPLAY_RUNNER_H_
#define MUSTH_REPLAY_RUNNER_H_

#include <functional>

#include "properties/run.h"
#include "sim/env/status.h"

namespace replay {

using Runner = std::function<env::Result<properties::RunOutcome>(
    const properties::RunSpec&, const properties::RunOptions&)>;

}  // namespace replay

#endif  // MUSTH_REPLAY_RUNNER_H_
