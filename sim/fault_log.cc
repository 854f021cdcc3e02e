#include "sim/fault_log.h"

#include <algorithm>
#include <array>

#include "sim/block_store.h"
#include "sim/env/check.h"

namespace sim {
namespace {

// The damage is still there if one of its sectors inside the range shows what
// it showed then.
bool StillShown(const FaultRecord& record, int64_t from, int64_t to,
                const FaultLog::SectorReader& read) {
  std::array<char, kSlotBytes> bytes;
  for (size_t i = 0; i < record.sectors.size(); ++i) {
    int64_t at = record.offset + static_cast<int64_t>(i) * kSlotBytes;
    if (at + kSlotBytes <= from || at >= to) continue;
    if (read(at, bytes.data()) && HashSector(bytes.data()) == record.sectors[i])
      return true;
  }
  return false;
}

}  // namespace

const char* DamageName(Damage damage) {
  static constexpr std::array<const char*, kDamageCount> kNames = {
      "garbage_fill", "stale_fill", "read_error",   "bit_rot",
      "garbage",      "zeroed",     "lost_write",   "misdirected",
      "missed_write", "misread",    "shorn_sector", "lying_flush"};
  return kNames[static_cast<size_t>(damage)];
}

uint64_t HashSector(const char* bytes) { return HashBytes(bytes, kSlotBytes); }

uint64_t FaultLog::Add(Damage damage, uint64_t inode, std::string_view path,
                       int64_t offset, int64_t bytes,
                       std::span<const uint64_t> sectors) {
  SIM_CHECK(bytes > 0);
  SIM_CHECK(sectors.empty() ||
            (offset % kSlotBytes == 0 &&
             bytes == static_cast<int64_t>(sectors.size()) * kSlotBytes));
  if (!records_.empty() && !sectors.empty()) {
    FaultRecord& last = records_.back();
    if (last.damage == damage && last.inode == inode && !last.sectors.empty() &&
        !last.seen && last.offset + last.bytes == offset &&
        offset % kPageBytes != 0) {
      last.bytes += bytes;
      last.sectors.insert(last.sectors.end(), sectors.begin(), sectors.end());
      return last.id;
    }
  }
  FaultRecord& record = records_.emplace_back();
  record.id = records_.size();
  record.damage = damage;
  record.inode = inode;
  record.path = path;
  record.offset = offset;
  record.bytes = bytes;
  record.sectors.assign(sectors.begin(), sectors.end());
  return record.id;
}

void FaultLog::End(uint64_t id) {
  SIM_CHECK(id > 0 && id <= records_.size());
  records_[id - 1].ended = true;
}

void FaultLog::NoteRead(uint64_t inode, int64_t offset, int64_t bytes,
                        bool zeros) {
  for (FaultRecord& record : records_) {
    if (!record.Overlaps(inode, offset, bytes)) continue;
    record.seen = true;
    if (zeros && offset % kPageBytes == 0) record.seen_as_zeros = true;
  }
}

std::vector<uint64_t> FaultLog::LiveIn(uint64_t inode, int64_t offset,
                                       int64_t bytes,
                                       const SectorReader& read) const {
  std::vector<uint64_t> live;
  for (const FaultRecord& record : records_) {
    if (record.ended || !record.Overlaps(inode, offset, bytes)) continue;
    if (record.sectors.empty() ||
        StillShown(record, offset, offset + bytes, read)) {
      live.push_back(record.id);
    }
  }
  return live;
}

}  // namespace sim
