// SecondRecovery: the same image recovers to the same database.
//
//   crash ─► image ─┬─► the run's own recovery ──────────────┐
//                   └─► a copy: recovery under another       ├─ compare
//                       schedule ─► power loss at once ─►    │
//                       recovery ────────────────────────────┘
//
// Recovery is a function of the bytes on the disk: neither its schedule nor a
// power loss right after it may change what it makes. Compared are the end of
// the log, every block of every relation (masked, page_mask.h), commit log,
// file names and sizes, next xid and oid. Tags: REC, after the power loss CKPT.
// Requires that the copy shows what the run's disk will show: images that a
// power loss left undetermined are drawn by the same keys, but only those of
// the last power loss. Where more is undetermined or an fsync has failed
// nothing is compared.
// Does not check: log contents (WalOracle), times in pg_control, recoveries
// that were cut short by another crash.
#ifndef MUSTH_PROPERTIES_SECOND_RECOVERY_H_
#define MUSTH_PROPERTIES_SECOND_RECOVERY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/common/config.h"
#include "properties/cluster_image.h"
#include "properties/verdict.h"
#include "sim/device_host.h"
#include "sim/disk.h"

namespace sim {
class StackPool;
}  // namespace sim

namespace properties {

struct SecondRecoveryOptions {
  engine::Config config;
  std::vector<uint8_t> planted;
  uint64_t seed = 0;  // of the schedules
  // One crash in so many is recovered twice; 0: none.
  uint32_t one_in = 4;
  sim::StackPool* stacks = nullptr;
};

// A disk that a node of its own has recovered, everything determined.
struct RecoveredCopy {
  std::unique_ptr<sim::Disk> disk;
  uint64_t end = 0;     // where recovery found the end of the log
  std::string failure;  // why the node did not get ready; empty if it did
};
// Recovers disk in a world of its own, which `seed` schedules.
RecoveredCopy RecoverCopy(std::unique_ptr<sim::Disk> disk,
                          const SecondRecoveryOptions& options, uint64_t seed);

// What two recoveries of one image made differently. A page of `found` may
// have hints and hint images in addition. names_return: a power loss came
// between, so that `expected` may have files that were removed before.
std::vector<Finding> CompareRecoveries(const ClusterView& expected,
                                       const ClusterView& found,
                                       bool names_return, uint64_t found_end);

class SecondRecovery {
 public:
  explicit SecondRecovery(SecondRecoveryOptions options)
      : options_(std::move(options)) {}

  // The node has crashed and the disk has become what the next one will find.
  // open_before: sectors undetermined before the crash. host draws for disk.
  void OnCrash(const sim::Disk& disk, uint64_t open_before,
               sim::DeviceHost* host);
  // Another crash came before the recovery was done.
  void Forget() { image_.reset(); }
  // The run's own recovery of that image is done and found this end of the
  // log. What it has left unread on its disk is drawn in a copy.
  void OnRecovered(const sim::Disk& disk, sim::DeviceHost* host, uint64_t end,
                   uint64_t seq, std::vector<Verdict>* verdicts);

  uint64_t compared() const { return compared_; }

 private:
  SecondRecoveryOptions options_;
  std::unique_ptr<sim::Disk> image_;
  uint64_t crashes_ = 0;
  uint64_t compared_ = 0;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_SECOND_RECOVERY_H_
