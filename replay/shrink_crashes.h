// The shrinker's passes over crashes: leaving them out, simpler moments.
//
// Later draws and schedule lines are addressed by numbers that a crash raises:
// the host's incarnation (a crash of the host), the ordinals of tasks of one
// name (a task-kill, after which the node restarts itself), the images of power
// losses. Leaving the crash out lowers them; restarts that nobody planned, as
// after a shutdown, keep theirs.
#ifndef MUSTH_REPLAY_SHRINK_CRASHES_H_
#define MUSTH_REPLAY_SHRINK_CRASHES_H_

#include <string>

#include "replay/minimize.h"
#include "replay/shrink_state.h"

namespace replay {

MinimizePass<ShrinkState> CrashPass();
MinimizePass<ShrinkState> MomentPass();

// "power-loss" of "crash power-loss ...", as a crash of the whole host if it
// is at the end.
std::string CrashKindOf(const std::string& line, bool host);

}  // namespace replay

#endif  // MUSTH_REPLAY_SHRINK_CRASHES_H_
