#include "faults/media_faults.h"

#include <algorithm>
#include <array>

#include "faults/atlas.h"
#include "sim/env/check.h"
#include "sim/env/site.h"

namespace faults {
namespace {

constexpr Family kStriking[] = {Family::kReadError,   Family::kBitRot,
                                Family::kGarbage,     Family::kZeroed,
                                Family::kMisdirected, Family::kLostWrite};

// Kinds of files that are chosen apart, as a cluster has few of some.
constexpr std::array<FileClass, 4> kClasses = {
    FileClass::kData, FileClass::kControl, FileClass::kWal, FileClass::kClog};
constexpr std::array<uint64_t, 4> kClassShares = {8, 1, 2, 1};  // twelfths

}  // namespace

sim::Damage DamageOf(Family family) {
  switch (family) {
    case Family::kReadError:
      return sim::Damage::kReadError;
    case Family::kBitRot:
      return sim::Damage::kBitRot;
    case Family::kGarbage:
      return sim::Damage::kGarbage;
    case Family::kZeroed:
      return sim::Damage::kZeroed;
    case Family::kMisdirected:
      return sim::Damage::kMisdirected;
    case Family::kLostWrite:
      return sim::Damage::kLostWrite;
    default:
      SIM_UNREACHABLE();
  }
}

MediaFaults::MediaFaults(sim::Disk* disk, sim::DeviceHost* host,
                         const FaultPlan& plan, FaultCounters* counters,
                         sim::CrashHooks* next)
    : disk_(disk),
      host_(host),
      counters_(counters),
      next_(next),
      shears_(plan.Has(Family::kShornSector)),
      misdirected_misses_(plan.misdirected_misses),
      gap_(plan.media_gap),
      budget_left_(plan.media_budget) {
  if (shears_) counters_->Enable(Family::kShornSector);
  if (plan.Has(Family::kMisdirected) || plan.Has(Family::kLostWrite)) {
    disk_->RememberWrites();
  }
  for (Family family : kStriking) {
    if (!plan.Has(family)) continue;
    families_.push_back(family);
    counters_->Enable(family);
  }
}

uint64_t MediaFaults::Draw(std::string_view site, uint64_t bound) {
  return host_->choices().Draw(sim::Stream::kDiskFault, host_->scope(),
                               env::SiteHash(site), n_, bound);
}

void MediaFaults::Rearm(uint64_t step) {
  uint64_t gap = last_path_.empty() ? gap_ : std::max<uint32_t>(gap_ / 10, 1);
  // The simplest distance is the longest.
  due_ = step + 2 * gap - Draw("media.gap", 2 * gap);
}

std::string MediaFaults::ChooseFile(int64_t* size_bytes) {
  std::vector<sim::MediaTarget> all = disk_->MediaTargets();
  bool near = !last_path_.empty() && Draw("media.near", 4) != 0;
  uint64_t at = Draw("media.class", 12);
  size_t pick = 0;
  while (at >= kClassShares[pick]) at -= kClassShares[pick++];
  FileClass wanted = kClasses[pick];
  if (near) wanted = FileClassOf(last_path_);
  std::vector<const sim::MediaTarget*> eligible;
  for (const sim::MediaTarget& target : all) {
    if (near && target.path != last_path_) continue;
    if (FileClassOf(target.path) == wanted) eligible.push_back(&target);
  }
  if (eligible.empty()) return "";
  const sim::MediaTarget& chosen =
      *eligible[Draw("media.file", eligible.size())];
  *size_bytes = chosen.size_bytes;
  return chosen.path;
}

sim::MediaFault MediaFaults::Aim(Family family) {
  sim::MediaFault fault;
  fault.damage = DamageOf(family);
  int64_t size_bytes = 0;
  fault.path = ChooseFile(&size_bytes);
  if (fault.path.empty()) return fault;
  int64_t pages = (size_bytes + sim::kPageBytes - 1) / sim::kPageBytes;
  int64_t page =
      static_cast<int64_t>(Draw("media.page", static_cast<uint64_t>(pages)));
  if (fault.path == last_path_) {
    // Within four pages of the last one.
    page = std::clamp<int64_t>(last_offset_ / sim::kPageBytes - 4 + page % 9, 0,
                               pages - 1);
  }
  // One sector or a run of them.
  auto sector = static_cast<int64_t>(Draw("media.sector", sim::kSlotsPerPage));
  // Of the control file only the first sector is in use.
  if (FileClassOf(fault.path) == FileClass::kControl) sector = 0;
  auto run = static_cast<int64_t>(1 + Draw("media.run", 8));
  run = std::min<int64_t>(run, sim::kSlotsPerPage - sector);
  fault.offset = page * sim::kPageBytes + sector * sim::kSlotBytes;
  fault.bytes = run * sim::kSlotBytes;
  if (family == Family::kZeroed && Draw("media.whole_page", 3) == 2) {
    fault.offset = page * sim::kPageBytes;
    fault.bytes = sim::kPageBytes;
  }
  fault.noise = Draw("media.noise", 0);
  return fault;
}

sim::MediaFault MediaFaults::AimAtWrite(Family family) {
  sim::MediaFault fault;
  fault.damage = DamageOf(family);
  fault.bytes = sim::kPageBytes;
  std::vector<sim::RecentWrite> writes = disk_->RecentWrites();
  bool misdirected = family == Family::kMisdirected;
  if (misdirected) {
    std::erase_if(writes, [](const sim::RecentWrite& write) {
      return FileClassOf(write.path) != FileClass::kData;
    });
  }
  if (writes.empty() || (misdirected && misdirected_)) return fault;
  // The simplest choice is the latest write.
  const sim::RecentWrite& write =
      writes[writes.size() - 1 - Draw("media.write", writes.size())];
  fault.write = write.id;
  fault.path = write.path;
  fault.offset = write.offset;
  if (!misdirected) return fault;
  std::vector<sim::MediaTarget> files = disk_->MediaTargets();
  bool same = Draw("media.same_file", 10) < 7;
  std::erase_if(files, [&](const sim::MediaTarget& file) {
    return (file.path == write.path) != same || file.size_bytes < fault.bytes ||
           FileClassOf(file.path) != FileClass::kData;
  });
  fault.path.clear();
  if (files.empty()) return fault;
  const sim::MediaTarget& file = files[Draw("media.victim", files.size())];
  auto pages = static_cast<uint64_t>(file.size_bytes / fault.bytes);
  // In another relation the same block is as likely as all others together.
  bool same_block = !same && Draw("media.same_block", 2) == 0;
  auto page = static_cast<int64_t>(Draw("media.page", pages));
  if (same_block && write.offset < file.size_bytes) {
    page = write.offset / fault.bytes;
  }
  fault.offset = page * fault.bytes;
  if (!same || fault.offset != write.offset) fault.path = file.path;
  return fault;
}

bool MediaFaults::Hit(const sim::MediaFault& fault) {
  size_t before = disk_->fault_log().records().size();
  if (!disk_->Strike(fault) || disk_->fault_log().records().size() == before) {
    return false;
  }
  last_path_ = fault.path;
  last_offset_ = fault.offset;
  return true;
}

void MediaFaults::Strike() {
  Family family = families_[Draw("media.family", families_.size())];
  bool of_write =
      family == Family::kMisdirected || family == Family::kLostWrite;
  sim::MediaFault fault = of_write ? AimAtWrite(family) : Aim(family);
  if (fault.path.empty() || !Hit(fault)) return;
  --budget_left_;
  counters_->Inject(family);
  if (family != Family::kMisdirected) return;
  misdirected_ = true;
  if (!misdirected_misses_ || Draw("media.misses", 2) == 0) return;
  for (const sim::RecentWrite& write : disk_->RecentWrites()) {
    if (write.id != fault.write) continue;
    fault.damage = sim::Damage::kMissedWrite;
    fault.path = write.path;
    fault.offset = write.offset;
    disk_->Strike(fault);
  }
}

void MediaFaults::OnPowerLoss() {
  if (!active_ || !shears_ || budget_left_ == 0) return;
  n_ = ++power_losses_;
  if (Draw("media.shear", 2) == 0 || !disk_->Shear(Draw("media.cut", 0))) {
    return;
  }
  --budget_left_;
  counters_->Inject(Family::kShornSector);
}

sim::CrashKind MediaFaults::OnPoint(const sim::CrashPoint& point) {
  if (active_ && budget_left_ > 0 && !families_.empty() &&
      point.place != sim::CrashPlace::kDevice) {
    if (host_->scope().key() != host_scope_key_) {
      host_scope_key_ = host_->scope().key();
      n_ = 0;
      Rearm(point.step);
    }
    if (point.step >= due_) {
      ++n_;
      Strike();
      Rearm(point.step);
    }
  }
  return next_ == nullptr ? sim::CrashKind::kNone : next_->OnPoint(point);
}

}  // namespace faults
