// Media faults of a disk: striking, healing, removing.
#include <algorithm>
#include <array>

#include "sim/disk_state.h"
#include "sim/env/check.h"

namespace sim {

namespace {

// What a fault of a write makes of the sector: its former bytes, or those that
// the write put into the page it was meant for. False if there are none.
bool TakeFromWrite(const DiskState& state, const MediaFault& fault,
                   InodeNo inode, int64_t at,
                   std::array<char, kSlotBytes>* bytes) {
  const MediaOverlay::Write* write = state.media.FindWrite(fault.write);
  if (write == nullptr || !state.inodes[write->inode]) return false;
  if (fault.damage == Damage::kMisdirected) {
    int64_t from = write->offset + at - fault.offset;
    const FileData& source = state.Get(write->inode).data;
    return source.AtRest(from) && source.PeekSlot(from, bytes->data());
  }
  int64_t inside = at - write->offset;
  if (write->inode != inode || inside < 0 || inside >= kPageBytes ||
      (write->slots & SlotBit(static_cast<int>(inside / kSlotBytes))) == 0) {
    return false;
  }
  std::copy_n(write->before->data() + inside, kSlotBytes, bytes->data());
  return true;
}

}  // namespace

void DiskState::ShowDamage(Damage damage, InodeNo inode, int64_t offset,
                           const std::array<char, kSlotBytes>& after) {
  MediaOverlay::Hidden hidden;
  hidden.inode = inode;
  hidden.offset = offset;
  SIM_CHECK(Get(inode).data.PeekSlot(offset, hidden.before.data()));
  hidden.after = after;
  if (hidden.after == hidden.before) return;
  uint64_t hash = HashSector(after.data());
  fault_log.Add(damage, inode, Get(inode).path, offset, kSlotBytes,
                std::span(&hash, 1));
  Mut(inode).data.ReplaceAtRest(offset, after.data());
  media.Hide(hidden);
}

void DiskState::NoteWrites(InodeNo inode, const FileData::Flush& flush) {
  if (!media.remembers()) return;
  for (const FileData::Replaced& replaced :
       Get(inode).data.ReplacedBy(flush, Traits())) {
    MediaOverlay::Write write;
    write.inode = inode;
    write.offset = int64_t{replaced.page} * kPageBytes;
    write.slots = replaced.slots;
    write.before =
        std::make_shared<const std::array<char, kPageBytes>>(replaced.before);
    media.AddWrite(std::move(write));
  }
}

bool DiskState::Shear(uint64_t noise) {
  struct Place {
    InodeNo inode;
    uint32_t page;
    int slot;
  };
  std::vector<Place> places;
  DataTraits traits = Traits();
  if (traits.unit_slots != 1) return false;
  FileData::Flush all;
  all.seq = UINT64_MAX;
  for (InodeNo inode : touched) {
    const FileData& data = Get(inode).data;
    for (uint32_t page : data.DirtyPages()) {
      SlotMask slots = data.FlushableSlots(page, all, traits);
      for (int slot = 0; slot < kSlotsPerPage; ++slot) {
        if ((slots & SlotBit(slot)) != 0) places.push_back({inode, page, slot});
      }
    }
  }
  if (places.empty()) return false;
  const Place& place = places[noise % places.size()];
  std::array<char, kSlotBytes> before;
  std::array<char, kSlotBytes> after;
  if (!Mut(place.inode)
           .data.SettleSlot(place.page, place.slot, traits, before.data(),
                            after.data())) {
    return false;
  }
  // The drive got so far into the sector.
  auto cut = static_cast<size_t>(1 + noise / places.size() % (kSlotBytes - 1));
  std::copy(before.begin() + static_cast<ptrdiff_t>(cut), before.end(),
            after.begin() + static_cast<ptrdiff_t>(cut));
  ShowDamage(Damage::kShorn, place.inode,
             int64_t{place.page} * kPageBytes + place.slot * kSlotBytes, after);
  TellDamage();
  return true;
}

bool DiskState::Strike(const MediaFault& fault) {
  SIM_CHECK(fault.offset % kSlotBytes == 0 && fault.bytes % kSlotBytes == 0);
  InodeNo inode = Lookup(fault.path);
  if (inode == 0 || Get(inode).is_directory) return false;
  bool struck = false;
  for (int64_t at = fault.offset; at < fault.offset + fault.bytes;
       at += kSlotBytes) {
    const FileData& data = Get(inode).data;
    if (at + kSlotBytes > data.size() || !data.AtRest(at)) continue;
    std::array<char, kSlotBytes> bytes;
    SIM_CHECK(data.PeekSlot(at, bytes.data()));
    if (fault.damage == Damage::kReadError) {
      uint64_t id =
          fault_log.Add(fault.damage, inode, fault.path, at, kSlotBytes, {});
      media.AddUnreadable({id, inode, at, at + kSlotBytes});
    } else if (fault.write == 0) {
      bytes = MediaOverlay::Damaged(fault, at, bytes);
      ShowDamage(fault.damage, inode, at, bytes);
    } else if (TakeFromWrite(*this, fault, inode, at, &bytes)) {
      ShowDamage(fault.damage, inode, at, bytes);
    } else {
      continue;
    }
    struck = true;
  }
  TellDamage();
  return struck;
}

void DiskState::HealRewritten(InodeNo inode, int64_t from, int64_t to) {
  for (uint64_t id : media.Rewritten(inode, from, to)) fault_log.End(id);
  // Somebody wrote the very bytes that the damage shows, and has not seen it:
  // they are what the file is meant to hold now.
  media.AcceptHidden([&](const MediaOverlay::Hidden& hidden) {
    std::array<char, kSlotBytes> shown;
    return hidden.inode == inode && hidden.offset >= from &&
           hidden.offset + kSlotBytes <= to &&
           Get(inode).data.PeekSlot(hidden.offset, shown.data()) &&
           shown == hidden.after && !DamageSeen(hidden);
  });
}

bool DiskState::DamageSeen(const MediaOverlay::Hidden& hidden) const {
  auto records = fault_log.records();
  return std::any_of(
      records.begin(), records.end(), [&](const FaultRecord& record) {
        return record.seen &&
               record.Overlaps(hidden.inode, hidden.offset, kSlotBytes);
      });
}

void DiskState::RepairMedia() {
  for (uint64_t id : media.TakeUnreadable()) fault_log.End(id);
  std::vector<MediaOverlay::Hidden> all = media.TakeHidden();
  // Newest first: a sector may have been struck twice.
  for (size_t i = all.size(); i-- > 0;) {
    const MediaOverlay::Hidden& hidden = all[i];
    if (!inodes[hidden.inode]) continue;
    const FileData& data = Get(hidden.inode).data;
    std::array<char, kSlotBytes> shown;
    if (!data.PeekSlot(hidden.offset, shown.data()) || shown != hidden.after ||
        !data.AtRest(hidden.offset)) {
      continue;
    }
    Mut(hidden.inode).data.ReplaceAtRest(hidden.offset, hidden.before.data());
  }
}

void DiskState::ListTargets(InodeNo directory, const std::string& prefix,
                            std::vector<MediaTarget>* out) const {
  for (const auto& [name, child] : Get(directory).entries) {
    std::string path = prefix.empty() ? name : prefix + "/" + name;
    const Inode& node = Get(child);
    if (node.is_directory) {
      ListTargets(child, path, out);
    } else if (node.data.size() >= kSlotBytes) {
      out->push_back({path, node.data.size()});
    }
  }
}

env::Status DiskState::FailTransiently(Damage damage, InodeNo inode,
                                       std::string_view path, int64_t offset,
                                       int64_t length) {
  fault_log.End(fault_log.Add(damage, inode, path, offset, length, {}));
  TellDamage();
  return env::Status(env::Code::kIo, std::string(path));
}

void DiskState::NoteLie(InodeNo inode, std::string_view path) {
  int64_t bytes = std::max<int64_t>(Get(inode).data.size(), 1);
  fault_log.End(fault_log.Add(Damage::kLyingFlush, inode, path, 0, bytes, {}));
  TellDamage();
}

env::Status DiskState::CheckHealth(bool changes, std::string_view path) {
  if (faults == nullptr) return env::Status();
  switch (faults->Health(changes)) {
    case FsHealth::kGood:
      return env::Status();
    case FsHealth::kReadOnly:
      if (!changes) return env::Status();
      Step(DeviceStep::kPlain, 0, path);
      return env::Status(env::Code::kReadOnly, std::string(path));
    case FsHealth::kShutDown:
      Step(DeviceStep::kPlain, 0, path);
      return env::Status(env::Code::kIo, std::string(path));
  }
  SIM_UNREACHABLE();
}

}  // namespace sim
