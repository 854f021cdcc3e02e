#include "faults/instants.h"

#include <utility>

namespace faults {

Instants::Instants(Options options)
    : options_(std::move(options)),
      counters_(options_.plan.size()),
      over_(options_.plan.size(), false) {}

void Instants::SetPhase(Phase phase) {
  phase_ = phase;
  for (PlaceCounter& counter : counters_) counter.Clear();
}

bool Instants::Due(const sim::CrashPoint& point) {
  if (options_.which == Which::kStep) return point.step == options_.step;
  if (phase_ == Phase::kDone) return false;
  if (options_.which == Which::kDurability) {
    return point.place == sim::CrashPlace::kDevice &&
           point.device_step != sim::DeviceStep::kPlain;
  }
  bool due = false;
  for (size_t i = 0; i < counters_.size(); ++i) {
    const PlannedCrash& planned = options_.plan[i];
    if (over_[i] || planned.in_recovery != (phase_ == Phase::kRecovery)) {
      continue;
    }
    if (!counters_[i].Due(planned, point, options_.sites)) continue;
    over_[i] = true;
    due = true;
  }
  return due;
}

sim::CrashKind Instants::OnPoint(const sim::CrashPoint& point) {
  bool due = Due(point);
  sim::CrashKind kind = options_.next != nullptr ? options_.next->OnPoint(point)
                                                 : sim::CrashKind::kNone;
  // What crashes by itself is looked at then.
  if (!due || kind != sim::CrashKind::kNone) return kind;
  due_ = Instant{point.step, PointName(point, options_.sites),
                 point.place == sim::CrashPlace::kDevice &&
                     point.device_step == sim::DeviceStep::kWrite};
  options_.stop();
  return kind;
}

std::optional<Instant> Instants::Take() { return std::exchange(due_, {}); }

}  // namespace faults
