#include "faults/profile.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "sim/env/site.h"

namespace faults {
namespace {

constexpr uint32_t Bit(Family family) {
  return uint32_t{1} << static_cast<int>(family);
}

constexpr uint32_t kContractFamilies =
    Bit(Family::kProcessCrash) | Bit(Family::kPowerLoss) |
    Bit(Family::kTaskKill) | Bit(Family::kRecoveryCrash) |
    Bit(Family::kDoubleCrash) | Bit(Family::kSyncFailure) |
    Bit(Family::kWriteback) | Bit(Family::kEviction) | Bit(Family::kLatency) |
    Bit(Family::kStall) | Bit(Family::kFill) | Bit(Family::kShortTransfer) |
    Bit(Family::kDiskFull);

constexpr uint32_t kMediaFamilies =
    kContractFamilies | Bit(Family::kReadError) | Bit(Family::kBitRot) |
    Bit(Family::kGarbage) | Bit(Family::kZeroed) | Bit(Family::kMisread) |
    Bit(Family::kReadOnlyFs) | Bit(Family::kMisdirected);

constexpr Profile MakeContract() {
  Profile p;
  p.name = "pg-contract";
  p.families = kContractFamilies;
  p.sync_failure_percent = 20;
  p.mix_share = 60;
  p.meaning =
      "crashes, torn writes, failed fsyncs, full disks: what PostgreSQL "
      "survives";
  return p;
}

constexpr Profile MakeStrict() {
  Profile p = MakeContract();
  p.name = "strict";
  p.weak_metadata = true;
  p.large_sectors = true;
  p.odd_file_systems = true;
  p.mix_share = 15;
  p.meaning =
      "also weakly ordered directories, 4096-byte sectors, fsync failures as "
      "of ext4 with data=journal and btrfs, delayed allocation";
  return p;
}

constexpr Profile MakeMedia() {
  Profile p = MakeContract();
  p.name = "media";
  p.families = kMediaFamilies;
  p.checksums = true;
  p.mix_share = 20;
  p.meaning =
      "also damaged and unreadable sectors, misdirected reads, file systems "
      "that stop: survive, or refuse and name the damage";
  return p;
}

constexpr Profile MakeBeyond() {
  Profile p = MakeMedia();
  p.name = "beyond";
  p.families = kMediaFamilies | Bit(Family::kLostWrite) |
               Bit(Family::kShornSector) | Bit(Family::kLyingFlush);
  p.measures = true;
  p.mix_share = 5;
  p.meaning =
      "also lost writes, shorn sectors, lying flushes: nothing is demanded, "
      "what breaks is counted";
  return p;
}

constexpr Profile kProfiles[] = {MakeContract(), MakeStrict(), MakeMedia(),
                                 MakeBeyond()};

constexpr std::string_view kMix = "mix";

const Profile* Find(std::string_view name) {
  for (const Profile& profile : kProfiles) {
    if (profile.name == name) return &profile;
  }
  return nullptr;
}

}  // namespace

const char* FamilyName(Family family) {
  static constexpr std::array<const char*, kFamilyCount> kNames = {
      "process_crash", "power_loss",   "task_kill",    "recovery_crash",
      "double_crash",  "sync_failure", "writeback",    "eviction",
      "latency",       "stall",        "fill",         "short_transfer",
      "disk_full",     "read_error",   "bit_rot",      "garbage",
      "zeroed",        "misread",      "read_only_fs", "misdirected",
      "lost_write",    "shorn_sector", "lying_flush"};
  return kNames[static_cast<size_t>(family)];
}

std::span<const Profile> Profiles() { return kProfiles; }

std::string KnownProfiles() {
  std::string known;
  for (const Profile& profile : kProfiles) {
    known += fmt::format("{}, ", profile.name);
  }
  known.resize(known.size() - 2);
  return fmt::format("{} or {}", known, kMix);
}

env::Status CheckProfileName(std::string_view name) {
  if (name == kMix || Find(name) != nullptr) return env::Status();
  return env::Status(env::Code::kInvalid,
                     fmt::format("unknown fault profile \"{}\", expected {}",
                                 name, KnownProfiles()));
}

env::Result<const Profile*> ResolveProfile(std::string_view name,
                                           sim::Choices& choices) {
  RETURN_IF_ERROR(CheckProfileName(name));
  if (name != kMix) return Find(name);
  std::vector<uint32_t> shares;
  for (const Profile& profile : kProfiles) shares.push_back(profile.mix_share);
  sim::Drawer drawer(&choices, sim::Stream::kKnobs, sim::Scope::FromPath("w0"));
  return &kProfiles[drawer.Weighted("profile", shares)];
}

}  // namespace faults
