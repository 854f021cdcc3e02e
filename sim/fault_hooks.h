// Fault hooks: the questions the simulated world asks about what goes wrong.
//
// sim implements the consequences of a fault; faults/ decides whether one
// happens. A hook that is null, or whose family is off, draws nothing.
#ifndef MUSTH_SIM_FAULT_HOOKS_H_
#define MUSTH_SIM_FAULT_HOOKS_H_

#include <cstdint>
#include <string_view>

#include "sim/device_host.h"
#include "sim/env/ids.h"

namespace sim {

// FAULT_MODEL SFM-22: what a failed fsync leaves behind.
enum class SyncFailure : uint8_t {
  kNone,
  kExt4Ordered,  // pages clean, cache new until evicted, media old, error once
  kXfs,          // as ext4-ordered
  kExt4Data,     // as ext4-ordered, but this fsync succeeds, the next one fails
  kBtrfs,        // the cache goes back to what is durable
  kNoSpace,      // delayed allocation finds no space: ENOSPC, as ext4-ordered
                 // for what lies beyond the durable size (SFM-21)
  kLying,        // SFM-32: succeeds and has made nothing durable
};

// SFM-20: what a read or write does instead of all that it was asked for.
enum class Transfer : uint8_t { kRead, kWrite };
enum class TransferOutcome : uint8_t {
  kWhole,
  kShort,        // transfers `bytes`, at least one, fewer than asked for
  kInterrupted,  // transfers nothing and fails with EINTR
  kFails,        // SFM-19: this read fails with EIO, the next one does not
  kElsewhere,    // SFM-30: this read returns another page of the file, the
                 // page-th after the right one (modulo their number)
};
struct TransferFault {
  TransferOutcome outcome = TransferOutcome::kWhole;
  int64_t bytes = 0;
  int64_t page = 0;
};

// SFM-23: what a file system does after its journal failed.
enum class FsHealth : uint8_t {
  kGood,
  kReadOnly,  // ext4: calls that change something fail with EROFS
  kShutDown,  // XFS: every call fails with EIO
};

class DiskFaultHooks {
 public:
  virtual ~DiskFaultHooks() = default;

  // Asked once per read of at least one byte below the end of the file and
  // once per write. Requires: length > 0.
  virtual TransferFault OnTransfer(Transfer /*transfer*/,
                                   std::string_view /*path*/,
                                   int64_t /*offset*/, int64_t /*length*/) {
    return {};
  }
  // Asked by every call, before anything happens. `changes`: the call would
  // change something on the device.
  virtual FsHealth Health(bool /*changes*/) { return FsHealth::kGood; }
  // SFM-21: how many bytes the disk holds in all. Asked when a call needs
  // `more` bytes beside the `used` ones; the call fails, or transfers a part,
  // if they do not fit.
  virtual int64_t Capacity(std::string_view /*path*/, int64_t /*used*/,
                           int64_t /*more*/) {
    return INT64_MAX;
  }

  // Asked once per fsync of a dirty inode, before it starts.
  virtual SyncFailure OnSync(std::string_view path, uint64_t inode) = 0;
  // SFM-34. Extra virtual time for one device step; 0 = none.
  virtual env::TimeNs Latency(DeviceStep step, std::string_view path) = 0;
};

// SFM-14.
enum class CrashKind : uint8_t {
  kNone,
  kTaskKill,   // the running task dies, its parent sees it exit
  kProcess,    // every task of the host dies, the page cache survives
  kPowerLoss,  // as kProcess, and the disk becomes a crash image
};

// Where the world is when it asks whether to crash.
enum class CrashPlace : uint8_t {
  kStep,       // an ordinary scheduling step
  kDevice,     // a device step
  kInjection,  // a named injection point of the node
};

struct CrashPoint {
  CrashPlace place = CrashPlace::kStep;
  env::HostId host = 0;
  env::TaskId task = env::kNoTask;
  std::string_view task_name;
  // The node's site, if it is one: always at kInjection, often at kStep.
  bool node_site = false;
  env::SiteId site = 0;
  DeviceStep device_step = DeviceStep::kPlain;  // kDevice
  uint64_t step = 0;                            // scheduling steps so far
};

class CrashHooks {
 public:
  virtual ~CrashHooks() = default;
  // Asked at every scheduling step of a task that is not being unwound.
  virtual CrashKind OnPoint(const CrashPoint& point) = 0;
};

// Keeps tasks at places: a schedule demanded by hand. Asked after
// CrashHooks saw the point.
class HoldHooks {
 public:
  virtual ~HoldHooks() = default;
  // True: the task that has just passed a site or a device step stays there
  // until World::ReleaseHold names it.
  virtual bool Held(env::TaskId task) = 0;
};

}  // namespace sim

#endif  // MUSTH_SIM_FAULT_HOOKS_H_
