// Pilot: how many points of each kind each task has in a run of a plan.
//
// Some strategies need to know how long a run is (PCT, delay bounding) or how
// much each task has before it (SURW). They learn it from a pilot: the same
// plan, run before under another strategy. Counts are kept by role, which is
// the task's name: a task that is started again after a crash goes on where the
// one before it ended. A count need not be exact; who uses it must live with
// tasks that do more or less than their pilot did, or that had none.
#ifndef MUSTH_SIM_PILOT_H_
#define MUSTH_SIM_PILOT_H_

#include <array>
#include <cstdint>
#include <vector>

#include "sim/env/access.h"

namespace sim {

constexpr uint32_t GroupBit(env::AccessGroup group) {
  return uint32_t{1} << static_cast<int>(group);
}
// Every group but kNone.
inline constexpr uint32_t kAllAccessGroups =
    ((uint32_t{1} << env::kAccessGroups) - 1) &
    ~GroupBit(env::AccessGroup::kNone);

class PilotCounts {
 public:
  void Add(uint64_t role, env::AccessGroup group, uint64_t count = 1);

  bool empty() const { return roles_.empty(); }
  bool Knows(uint64_t role) const;
  // Points of these groups; of a role, of all roles. 0 for an unknown role.
  uint64_t Of(uint64_t role, uint32_t groups) const;
  uint64_t Total(uint32_t groups) const;
  // How many roles have such points.
  uint64_t RolesWith(uint32_t groups) const;

 private:
  struct Role {
    uint64_t role = 0;
    std::array<uint64_t, env::kAccessGroups> points{};
    uint64_t In(uint32_t groups) const;
  };
  std::vector<Role> roles_;  // sorted by role
};

}  // namespace sim

#endif  // MUSTH_SIM_PILOT_H_
