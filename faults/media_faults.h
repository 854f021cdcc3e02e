// MediaFaults: when and where the device damages what it stores.
//
// Like BackgroundDisk it listens where the world asks whether to crash, strikes
// between the tasks' steps and passes the question on. Draws are keyed
// (Stream::kDiskFault, the host's scope, n = the how-many-eth strike of this
// incarnation). After the first strike the next ones are ten times as likely,
// and most of them strike near it (SFM-33).
//
// Misdirected and lost writes are those of the latest flushes (sim/media.h). A
// misdirected one lands in the same file in seven of ten cases and in another
// relation's otherwise.
//
// Targets: relation files, pg_control, WAL and the commit log. A third of what
// turns to zeros are whole pages.
#ifndef MUSTH_FAULTS_MEDIA_FAULTS_H_
#define MUSTH_FAULTS_MEDIA_FAULTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "faults/fault_plan.h"
#include "sim/device_host.h"
#include "sim/disk.h"
#include "sim/fault_hooks.h"

namespace faults {

class MediaFaults : public sim::CrashHooks {
 public:
  // All outlive this; next may be null.
  MediaFaults(sim::Disk* disk, sim::DeviceHost* host, const FaultPlan& plan,
              FaultCounters* counters, sim::CrashHooks* next);

  sim::CrashKind OnPoint(const sim::CrashPoint& point) override;

  // The power is about to fail. Requires: before the disk is told.
  void OnPowerLoss();

  // Strikes from now on, and no more; what is damaged stays damaged.
  void Start() { active_ = true; }
  void Stop() { active_ = false; }

 private:
  void Rearm(uint64_t step);
  void Strike();
  // The fault to do, with an empty path if there is nothing to do it to.
  sim::MediaFault Aim(Family family);
  sim::MediaFault AimAtWrite(Family family);
  // Strikes and notes it; false if it hit nothing.
  bool Hit(const sim::MediaFault& fault);
  // The file to strike, empty if there is none.
  std::string ChooseFile(int64_t* size_bytes);
  uint64_t Draw(std::string_view site, uint64_t bound);

  sim::Disk* disk_;
  sim::DeviceHost* host_;
  FaultCounters* counters_;
  sim::CrashHooks* next_;
  std::vector<Family> families_;
  bool active_ = false;
  bool shears_;
  bool misdirected_misses_;
  bool misdirected_ = false;  // one such write lives in a run
  uint64_t power_losses_ = 0;
  uint32_t gap_;
  uint32_t budget_left_;
  uint64_t host_scope_key_ = 0;
  uint64_t n_ = 0;  // strikes and attempts of this incarnation
  uint64_t due_ = 0;
  // Where the last strike hit; empty before the first.
  std::string last_path_;
  int64_t last_offset_ = 0;
};

// The kind of damage that a family does, for the families that strike sectors.
sim::Damage DamageOf(Family family);

}  // namespace faults

#endif  // MUSTH_FAULTS_MEDIA_FAULTS_H_
