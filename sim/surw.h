// SURW: selectively uniform random walk (Zhao, Wolff, Mathur, Roychoudhury:
// ASPLOS 2025).
//
// Some points are interesting: those of the groups that were asked for. The
// order of interesting points, over all tasks, is sampled uniformly. With r_i
// interesting points left in task i, the task whose point comes next is
// intended with chance r_i / sum of r; until it has passed that point the
// others go on only as long as they are not at an interesting point themselves.
// So an order of all N points has chance (n_1! ... n_m!) / N!, the same for
// each, where a random walk favours orders with long stretches of one task.
//
// How many points each task has is known from a pilot (pilot.h). A task that
// has passed all it was credited with counts as having one left, one that is
// intended and passes none in 500 points of the world as having none until it
// does; tasks that the pilot did not have count as the average
// one. What blocks cannot be intended:
// the order is uniform as far as the choice is free.
//
// One draw per point. The word 0 keeps running.
#ifndef MUSTH_SIM_SURW_H_
#define MUSTH_SIM_SURW_H_

#include <memory>

#include "sim/choices.h"
#include "sim/strategies.h"

namespace sim {

std::unique_ptr<Strategy> MakeSurw(const StrategyOptions& options,
                                   Choices* choices);

// Runs each task until it blocks and counts what it passes.
class PilotRecorder final : public Strategy {
 public:
  PilotRecorder();
  ~PilotRecorder() override;
  bool Begin(const SchedulePoint& point, env::TimeNs earliest_ns) override;
  size_t Next(const SchedulePoint& point,
              std::span<const Candidate> candidates) override;
  bool watches() const override { return true; }
  void Runs(const Candidate& task) override;

  const PilotCounts& counts() const { return counts_; }
  // Forgets what it has counted.
  void Restart() { counts_ = PilotCounts(); }

 private:
  struct Pending;
  std::unique_ptr<Pending> pending_;
  PilotCounts counts_;
};

}  // namespace sim

#endif  // MUSTH_SIM_SURW_H_
