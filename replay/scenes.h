// Scenes: witness recipes whose schedule is not told.
//
// A witness recipe of a planted bug sets a scene (tables, sessions, a crash)
// and says with holds who waits where. Without those a scheduler has to find
// the way by itself, which compares schedulers by what they are for: the rest
// of a campaign's luck (workload, settings, faults) plays no part.
#ifndef MUSTH_REPLAY_SCENES_H_
#define MUSTH_REPLAY_SCENES_H_

#include <cstdint>
#include <optional>

#include "properties/run.h"

namespace replay {

// The recipe's run on base schedule, without holds at places in the code; those
// that only order statements stay. Nothing if there is no hold to leave out.
std::optional<properties::RunSpec> SceneOf(const properties::RunSpec& witness);

// The seed, and the scheduler's knobs as campaigns draw them.
void SetSceneSeed(uint64_t seed, properties::RunSpec* scene);

}  // namespace replay

#endif  // MUSTH_REPLAY_SCENES_H_
