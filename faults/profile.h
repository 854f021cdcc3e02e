// Profile: what may go wrong in a run, and how the run is judged.
//
//   pg-contract  what PostgreSQL promises to survive (the default)
//   strict       + file systems that keep only what POSIX says, or report
//                failures late
//   media        + damage to what is stored: survive, or refuse and say why
//   beyond       + what no engine survives or notices: outcomes are counted
//   mix          a profile per seed, in fixed shares
//
// A profile is a set of fault families (what may be switched on) and of disk
// variants (how the disk may behave). Which of them a run has is drawn per
// run; see fault_plan.h and swarm.h.
#ifndef MUSTH_FAULTS_PROFILE_H_
#define MUSTH_FAULTS_PROFILE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sim/choices.h"
#include "sim/env/status.h"

namespace faults {

// A kind of fault that is switched on or off per run and counted apart.
enum class Family : uint8_t {
  kProcessCrash,   // every process of the host dies, the page cache survives
  kPowerLoss,      // ... and the disk becomes a crash image
  kTaskKill,       // one process dies, its postmaster resets the rest
  kRecoveryCrash,  // a crash inside the recovery that follows another crash
  kDoubleCrash,    // a process crash, then power loss before all is synced
  kSyncFailure,    // SFM-22: an fsync fails, its pages turn clean
  kWriteback,      // SFM-5: pending writes become durable unasked
  kEviction,       // SFM-22: clean pages leave the cache after such a failure
  kLatency,        // SFM-34: device calls take a while
  kStall,          // SFM-34: the whole device freezes for a while
  kFill,           // SFM-11: never written sectors show garbage or stale bytes
  kShortTransfer,  // SFM-20: a read or write moves fewer bytes, or none
  kDiskFull,       // SFM-21: no space is left for a while
  kReadError,      // SFM-19: EIO on read, for good or once
  kBitRot,         // SFM-25: a few bits of a sector flip
  kGarbage,        // SFM-26: sectors hold noise
  kZeroed,         // SFM-27: sectors hold zeros
  kMisread,        // SFM-30: a read returns another page, once
  kReadOnlyFs,     // SFM-23: the file system stops until the host restarts
  kMisdirected,    // SFM-29: a write lands elsewhere as well, or instead
  kLostWrite,      // SFM-28: a flush succeeds, the media keeps the old bytes
  kShornSector,    // SFM-31: a power loss tears a sector
  kLyingFlush,     // SFM-32: an fsync succeeds and has flushed nothing
  kCount,
};
inline constexpr int kFamilyCount = static_cast<int>(Family::kCount);
// "power_loss"; as in recipes and the campaign's summary.
const char* FamilyName(Family family);

// A fault that the engine is told of and that leaves no record of its place: a
// statement may fail because of it, a process may PANIC, a node may not start.
constexpr bool MayRefuse(Family family) {
  switch (family) {
    case Family::kSyncFailure:
    case Family::kShortTransfer:
    case Family::kDiskFull:
    case Family::kReadOnlyFs:
      return true;
    default:
      return false;
  }
}

struct Profile {
  std::string_view name;
  // Bits 1 << Family: families that a run may have.
  uint32_t families = 0;
  // Of 100 runs so many have fsync failures; other families have 50.
  uint32_t sync_failure_percent = 0;
  // Directory entries may survive crashes one by one (SFM-9 meta=weak).
  bool weak_metadata = false;
  // 4096-byte sectors may be drawn beside 512-byte ones.
  bool large_sectors = false;
  // ext4 with data=journal, btrfs and delayed allocation may be drawn beside
  // ext4 with data=ordered and XFS (SFM-21, SFM-22).
  bool odd_file_systems = false;
  // Data pages carry checksums in every run.
  bool checksums = false;
  // A promise that breaks after a fault that nobody answers for is counted and
  // is no finding (contract rows that say "outside").
  bool measures = false;
  // What --faults mix gives it, in parts of the sum of all shares.
  uint32_t mix_share = 0;
  std::string_view meaning;

  bool Has(Family family) const {
    return (families >> static_cast<int>(family) & 1) != 0;
  }
};

// Every profile that exists, the default one first.
std::span<const Profile> Profiles();
// "pg-contract, strict or mix": for messages and --help.
std::string KnownProfiles();

// The profile of that name; for `mix` the one that this seed draws.
// Errors: kInvalid, naming the known ones.
env::Result<const Profile*> ResolveProfile(std::string_view name,
                                           sim::Choices& choices);
// As ResolveProfile, for checking a command line: draws nothing.
env::Status CheckProfileName(std::string_view name);

}  // namespace faults

#endif  // MUSTH_FAULTS_PROFILE_H_
