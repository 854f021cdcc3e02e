// DiskFaults: decides which disk calls fail or take long.
//
// Draws are keyed (Stream::kDiskFault, scope = host, incarnation and path,
// n = the how-many-eth such call on that path in this incarnation): a fault
// stays where it is when another file's calls come or go. What the disk does
// by itself (write-back, eviction) is drawn per host and incarnation.
#ifndef MUSTH_FAULTS_DISK_FAULTS_H_
#define MUSTH_FAULTS_DISK_FAULTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "faults/fault_plan.h"
#include "faults/swarm.h"
#include "sim/device_host.h"
#include "sim/disk.h"
#include "sim/fault_hooks.h"

namespace faults {

// How an fsync that is to fail does so. With row C12 closed what would come up
// late is reported at once.
sim::SyncFailure FailureKind(const Knobs& knobs);

class DiskFaults : public sim::DiskFaultHooks {
 public:
  // host and counters outlive this.
  DiskFaults(sim::DeviceHost* host, const FaultPlan& plan, const Knobs& knobs,
             FaultCounters* counters);

  sim::TransferFault OnTransfer(sim::Transfer transfer, std::string_view path,
                                int64_t offset, int64_t length) override;
  sim::FsHealth Health(bool changes) override;
  int64_t Capacity(std::string_view path, int64_t used, int64_t more) override;
  sim::SyncFailure OnSync(std::string_view path, uint64_t inode) override;
  env::TimeNs Latency(sim::DeviceStep step, std::string_view path) override;

  // From now on nothing goes wrong (and nothing is drawn): the run's last
  // phase, in which everything must finish.
  void Stop() { stopped_ = true; }

  // While held no transfer is cut short and space is found: somebody looks at
  // the files, which a short write leaves torn until it is repeated.
  void Hold(bool held) { held_ = held; }

  // SFM-23: the file system has stopped. The host's restart, in which the page
  // cache is lost, brings it back.
  bool file_system_down() const { return fs_down_ && !stopped_; }
  void OnHostRestart() { fs_down_ = false; }

 private:
  struct PathState {
    uint64_t scope_key = 0;
    uint64_t syncs = 0;
    uint64_t honest_syncs = 0;
    uint64_t delays = 0;
    uint64_t reads = 0;
    uint64_t writes = 0;
  };
  PathState& StateOf(std::string_view path);
  env::TimeNs StallLeft();
  // Whether the n-th read of a path fails or goes astray.
  sim::TransferFault SpoilRead(uint64_t scope_key, uint64_t n);
  // Whether the next fsync of the path lies.
  bool Lies(std::string_view path);
  // How much of the transfer happens, given that not all of it does.
  sim::TransferFault CutTransfer(sim::Transfer transfer, std::string_view path,
                                 uint64_t scope_key, uint64_t n, int64_t offset,
                                 int64_t length);

  sim::DeviceHost* host_;
  FaultPlan plan_;
  sim::SyncFailure failure_kind_;
  bool atomic8k_;
  FaultCounters* counters_;
  bool stopped_ = false;
  bool held_ = false;
  uint32_t failures_left_;
  uint32_t short_transfers_left_;
  uint32_t refusals_left_;
  uint64_t space_calls_ = 0;
  int64_t capacity_bytes_ = 0;  // 0: no limit yet
  uint32_t read_errors_left_;
  uint32_t lies_left_;
  uint32_t misreads_left_;
  uint64_t changing_calls_ = 0;
  bool fs_down_ = false;
  uint64_t calls_ = 0;
  env::TimeNs stalled_until_ns_ = 0;
  // Cleared when the host's incarnation, and with it its scope, changes.
  uint64_t host_scope_key_ = 0;
  std::map<std::string, PathState, std::less<>> paths_;
};

// BackgroundDisk: what the disk does unasked, between the tasks' steps.
//
// It listens where the world asks whether to crash and passes the question on.
// It acts at points outside device calls only, so that no call of the running
// task is cut in two.
class BackgroundDisk : public sim::CrashHooks {
 public:
  // All outlive this; next may be null.
  BackgroundDisk(sim::Disk* disk, sim::DeviceHost* host, const FaultPlan& plan,
                 FaultCounters* counters, sim::CrashHooks* next);

  sim::CrashKind OnPoint(const sim::CrashPoint& point) override;

  void Stop() { active_ = false; }

 private:
  // An act that comes again and again, at drawn distances.
  struct Timer {
    bool on = false;
    uint32_t gap = 1;
    uint64_t due = 0;
    uint64_t n = 0;  // acts so far in this incarnation
  };
  void StartTimers(uint64_t step);
  void Rearm(Timer* timer, std::string_view site, uint64_t step);

  sim::Disk* disk_;
  sim::DeviceHost* host_;
  FaultCounters* counters_;
  sim::CrashHooks* next_;
  bool active_ = true;
  uint64_t host_scope_key_ = 0;
  Timer writeback_;
  Timer eviction_;
};

}  // namespace faults

#endif  // MUSTH_FAULTS_DISK_FAULTS_H_
