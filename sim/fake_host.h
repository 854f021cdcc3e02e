// FakeHost: a device's world for tests without one. It draws from a seed, keeps
// what it is told, and its clock moves only when a test sets it.
#ifndef MUSTH_SIM_FAKE_HOST_H_
#define MUSTH_SIM_FAKE_HOST_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/choices.h"
#include "sim/device_host.h"
#include "sim/env/event_sink.h"

namespace sim {

class FakeHost : public DeviceHost, public env::EventSink {
 public:
  explicit FakeHost(uint64_t seed, const char* scope = "w0/h0/i0")
      : choices_(seed), scope_(Scope::FromPath(scope)) {}
  // The host came up again, as its incarnation of this number.
  void Restart(uint64_t incarnation) {
    scope_ = Scope::FromPath("w0/h0").Child("i", incarnation);
  }

  void DevicePoint(DeviceStep step, uint64_t) override {
    steps.push_back(step);
  }
  void DeviceDelay(env::TimeNs duration_ns) override {
    delay_ns += duration_ns;
  }
  env::TimeNs Now() override { return now_ns; }
  Choices& choices() override { return choices_; }
  const Scope& scope() override { return scope_; }
  env::EventSink& events() override { return *this; }
  // The bytes of the events kept are gone after the call.
  void Emit(env::Event event) override {
    event.bytes = {};
    events_seen.push_back(event);
  }

  env::TimeNs now_ns = 0;
  env::TimeNs delay_ns = 0;  // asked for, in all
  std::vector<DeviceStep> steps;
  std::vector<env::Event> events_seen;

 private:
  Choices choices_;
  Scope scope_;
};

}  // namespace sim

#endif  // MUSTH_SIM_FAKE_HOST_H_
