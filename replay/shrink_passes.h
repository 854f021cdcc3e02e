// What the shrinker tries to leave out, in which order.
//
// Faults first, because that makes the most readable recipe; then crashes,
// preemptions, what a power loss left, sessions, statements, rows and values,
// and last the knobs.
#ifndef MUSTH_REPLAY_SHRINK_PASSES_H_
#define MUSTH_REPLAY_SHRINK_PASSES_H_

#include <vector>

#include "replay/minimize.h"
#include "replay/shrink_state.h"

namespace replay {

using ShrinkPass = MinimizePass<ShrinkState>;

std::vector<ShrinkPass> ShrinkPasses();

}  // namespace replay

#endif  // MUSTH_REPLAY_SHRINK_PASSES_H_
