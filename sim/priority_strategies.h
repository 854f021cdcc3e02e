// Strategies that rank tasks instead of tossing a coin at every point.
//
//   kPos  Partial-order sampling (Yuan, Yang, Gu: CAV 2018). Every pending
//         step has a random priority and the highest one runs. When it has
//         run, the pending steps that conflict with it get new priorities, the
//         others keep theirs: orders of steps that commute, which cannot
//         matter, are not sampled over and over.
//   kPct  Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi,
//         Nagarakatte: ASPLOS 2010). Tasks have random priorities. The i-th of
//         depth - 1 change points, each drawn among the k points that count,
//         gives whoever is about to pass it the rank i, below all that were
//         drawn for tasks. A bug that takes `depth` ordered steps is hit with
//         a chance of at least 1 / (n * (k + 1)^(depth - 1)); the 1 is the
//         point that never comes.
//
// Who polls (env::Access::Poll, or max_run operations in a row) runs only when
// the others cannot, so that a loop which waits for them ends: under POS until
// its next step, under PCT for good.
//
// One draw per point, one for a task's priority. The word 0 keeps running.
#ifndef MUSTH_SIM_PRIORITY_STRATEGIES_H_
#define MUSTH_SIM_PRIORITY_STRATEGIES_H_

#include <memory>

#include "sim/choices.h"
#include "sim/strategies.h"

namespace sim {

std::unique_ptr<Strategy> MakePos(const StrategyOptions& options,
                                  Choices* choices);
std::unique_ptr<Strategy> MakePct(const StrategyOptions& options,
                                  Choices* choices, const Scope& world_scope);

}  // namespace sim

#endif  // MUSTH_SIM_PRIORITY_STRATEGIES_H_
