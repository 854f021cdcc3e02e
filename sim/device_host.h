// DeviceHost: what a simulated device needs from the world that runs it.
//
// The world implements it once per host; device tests implement it with a
// few lines. Devices never see the scheduler itself.
#ifndef MUSTH_SIM_DEVICE_HOST_H_
#define MUSTH_SIM_DEVICE_HOST_H_

#include "sim/choices.h"
#include "sim/env/event_sink.h"
#include "sim/env/ids.h"

namespace sim {

// What a device step means for durability; crash points are drawn over these.
enum class DeviceStep : uint8_t {
  kPlain,       // read, open, size, list
  kWrite,       // a write became visible
  kSyncStart,   // fsync or O_DSYNC write: nothing done yet
  kSyncMiddle,  // a subset may have been written
  kSyncDone,    // all durable, the caller does not know it yet
  kMetadata,    // create, unlink, rename, truncate, mkdir, rmdir
};

class DeviceHost {
 public:
  virtual ~DeviceHost() = default;

  // A scheduling point of the running task; a crash may happen here, in which
  // case it does not return. No-op outside any task. Suspends: yes.
  virtual void DevicePoint(DeviceStep step, uint64_t inode) = 0;

  // Lets virtual time pass for the running task (device latency). Zero or
  // less returns at once without a scheduling point. Suspends: yes.
  virtual void DeviceDelay(env::TimeNs duration_ns) = 0;

  virtual env::TimeNs Now() = 0;
  virtual Choices& choices() = 0;
  // The scope of this host and incarnation ("w0/h0/i2").
  virtual const Scope& scope() = 0;
  virtual env::EventSink& events() = 0;
};

}  // namespace sim

#endif  // MUSTH_SIM_DEVICE_HOST_H_
