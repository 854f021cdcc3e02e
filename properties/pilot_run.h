// PilotRun: a plan is carried out once without faults, to be counted.
//
// Each session runs until it blocks, nothing fails or crashes and nobody
// judges. What is counted begins with the sessions' work, so set-up and
// inspections do not take part. The counts are a pure function of the plan, the
// knobs and the planted bugs; replaying the recipe counts again.
#ifndef MUSTH_PROPERTIES_PILOT_RUN_H_
#define MUSTH_PROPERTIES_PILOT_RUN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/common/config.h"
#include "properties/plan.h"
#include "sim/choices.h"
#include "sim/disk.h"
#include "sim/fiber.h"
#include "sim/pilot.h"

namespace properties {

struct PilotParts {
  uint64_t seed = 0;
  sim::Base base = sim::Base::kSeed;
  engine::Config config;
  std::vector<uint8_t> planted;
  std::unique_ptr<sim::Disk> disk;  // a fresh cluster
  const Plan* plan = nullptr;
  sim::StackPool* stacks = nullptr;
};

// A plan whose set-up fails has no counts; one that does not end (a planted bug
// may see to that) has those up to a bound.
sim::PilotCounts RunPilot(PilotParts parts);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_PILOT_RUN_H_
