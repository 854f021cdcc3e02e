// CopyHost: lets a copy of a disk draw as the original does, and swallows the
// rest.
#ifndef MUSTH_PROPERTIES_COPY_HOST_H_
#define MUSTH_PROPERTIES_COPY_HOST_H_

#include <utility>

#include "sim/choices.h"
#include "sim/device_host.h"
#include "sim/env/event_sink.h"

namespace properties {

class CopyHost : public sim::DeviceHost, private env::EventSink {
 public:
  CopyHost(sim::Choices& choices, sim::Scope scope)
      : choices_(choices), scope_(std::move(scope)) {}
  void DevicePoint(sim::DeviceStep, uint64_t) override {}
  void DeviceDelay(env::TimeNs) override {}
  env::TimeNs Now() override { return 0; }
  sim::Choices& choices() override { return choices_; }
  const sim::Scope& scope() override { return scope_; }
  env::EventSink& events() override { return *this; }
  void Emit(env::Event) override {}

 private:
  sim::Choices& choices_;
  sim::Scope scope_;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_COPY_HOST_H_
