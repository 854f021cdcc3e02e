// Strategies that leave a plain schedule now and then.
//
//   kDelay   Delay bounding (Emmi, Qadeer, Rakamaric: POPL 2011). A task runs
//            until it blocks, then the next one in id order; at `depth` points,
//            each drawn among those that count, the task that would go on is
//            passed over.
//   kStarve  Random walk in which one task at a time stands still: it runs only
//            while no other can. Who that is, and for how many points (64 to
//            4096), is drawn anew whenever the time is up, and is somebody else
//            then.
//   kStall   Random walk in which a few places are drawn, each a site and a
//   task
//            (by its name): who comes by one stands still, often at its first
//            visits and now and then at later ones, for 16 to 4096 points, and
//            time passes for him: timers fire while nobody else can run. A
//            window that opens at a rare place stays open for long, however
//            many points a run has elsewhere.
//
// Who polls passes its turn on. The word 0 keeps running and stops nobody.
#ifndef MUSTH_SIM_DEVIATION_STRATEGIES_H_
#define MUSTH_SIM_DEVIATION_STRATEGIES_H_

#include <memory>

#include "sim/choices.h"
#include "sim/strategies.h"

namespace sim {

std::unique_ptr<Strategy> MakeDelay(const StrategyOptions& options,
                                    Choices* choices, const Scope& world_scope);
std::unique_ptr<Strategy> MakeStarve(const StrategyOptions& options,
                                     Choices* choices,
                                     const Scope& world_scope);
std::unique_ptr<Strategy> MakeStall(const StrategyOptions& options,
                                    Choices* choices, const Scope& world_scope);

}  // namespace sim

#endif  // MUSTH_SIM_DEVIATION_STRATEGIES_H_
