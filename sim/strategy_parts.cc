#include "sim/strategy_parts.h"

namespace sim {
namespace {

// Without a pilot, points are drawn in [1, 2^kScales).
constexpr uint64_t kScales = 14;

uint64_t DrawDeviation(Drawer* drawer, uint64_t total) {
  if (total != 0) return drawer->Below("at", total + 1);
  uint64_t scale = drawer->Below("scale", kScales + 1);
  if (scale == 0) return 0;
  uint64_t low = uint64_t{1} << (scale - 1);
  return low + drawer->Below("at", low);
}

}  // namespace

Deviations::Deviations(const StrategyOptions& options, Choices* choices,
                       const Scope& scope, uint32_t count)
    : groups_(options.groups), pilot_(options.pilot) {
  Drawer drawer(choices, Stream::kSchedule, scope);
  uint64_t total = pilot_.Total(groups_);
  for (uint32_t i = 0; i < count; ++i) {
    points_.push_back(DrawDeviation(&drawer, total));
  }
}

}  // namespace sim
