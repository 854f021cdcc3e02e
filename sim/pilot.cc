#include "sim/pilot.h"

#include <algorithm>

namespace sim {

uint64_t PilotCounts::Role::In(uint32_t groups) const {
  uint64_t sum = 0;
  for (int g = 0; g < env::kAccessGroups; ++g) {
    if ((groups >> g & 1) != 0) sum += points[static_cast<size_t>(g)];
  }
  return sum;
}

void PilotCounts::Add(uint64_t role, env::AccessGroup group, uint64_t count) {
  auto at = std::lower_bound(
      roles_.begin(), roles_.end(), role,
      [](const Role& known, uint64_t r) { return known.role < r; });
  if (at == roles_.end() || at->role != role) {
    at = roles_.insert(at, Role());
    at->role = role;
  }
  at->points[static_cast<size_t>(group)] += count;
}

bool PilotCounts::Knows(uint64_t role) const {
  return std::any_of(roles_.begin(), roles_.end(),
                     [role](const Role& known) { return known.role == role; });
}

uint64_t PilotCounts::Of(uint64_t role, uint32_t groups) const {
  for (const Role& known : roles_) {
    if (known.role == role) return known.In(groups);
  }
  return 0;
}

uint64_t PilotCounts::Total(uint32_t groups) const {
  uint64_t sum = 0;
  for (const Role& known : roles_) sum += known.In(groups);
  return sum;
}

uint64_t PilotCounts::RolesWith(uint32_t groups) const {
  uint64_t count = 0;
  for (const Role& known : roles_) count += known.In(groups) != 0 ? 1 : 0;
  return count;
}

}  // namespace sim
