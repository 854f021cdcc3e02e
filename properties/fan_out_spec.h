// FanOutSpec: which crash states a run looks at besides its own.
//
//   lazy images 8 instants 4              at 4 drawn instants of the run, 8
//                                         images each, cell by cell
//   eager images 8 instants 4 at-crashes  images from the mixture; also at the
//                                         run's own crashes
//   exhaustive                            every durability event, every image,
//                                         and a second crash in each recovery
//   at 1234 fork 5 power-loss 3*0,1 then 77 fork 1 process-crash newest
//                                         one state again: scheduling step,
//                                         fork, kind of crash, image path
//                                         (sim/image_search.h)
#ifndef MUSTH_PROPERTIES_FAN_OUT_SPEC_H_
#define MUSTH_PROPERTIES_FAN_OUT_SPEC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/env/status.h"
#include "sim/fault_hooks.h"
#include "sim/image_search.h"

namespace properties {

struct FanOutCrash {
  uint64_t step = 0;  // of the world that crashes
  uint64_t fork = 1;  // whose draws fill sectors that were never written
  sim::CrashKind kind = sim::CrashKind::kPowerLoss;
  sim::ImagePath path;

  bool operator==(const FanOutCrash&) const = default;
};
// The first one in the run, each further one in the recovery from the one
// before.
using FanOutAddress = std::vector<FanOutCrash>;
std::string FanOutAddressToText(const FanOutAddress& address);

struct FanOutSpec {
  enum class Mode : uint8_t { kOff, kLazy, kEager, kExhaustive, kReplay };
  Mode mode = Mode::kOff;
  uint32_t images = 4;      // per instant: kLazy, kEager
  uint32_t instants = 4;    // drawn: kLazy, kEager
  bool at_crashes = false;  // kLazy, kEager
  FanOutAddress address;    // kReplay

  bool on() const { return mode != Mode::kOff; }
  bool samples() const { return mode == Mode::kLazy || mode == Mode::kEager; }
  bool operator==(const FanOutSpec&) const = default;

  // Requires: on.
  std::string ToString() const;
  // Errors: kInvalid, what was expected and what was found.
  static env::Result<FanOutSpec> Parse(std::string_view text);
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_FAN_OUT_SPEC_H_
