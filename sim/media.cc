#include "sim/media.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim/choices.h"

namespace sim {
namespace {

// Up to this many bits of one fault rot.
constexpr uint64_t kMaxRottenBits = 4;

void FlipBits(const MediaFault& fault, int64_t offset,
              std::array<char, kSlotBytes>* bytes) {
  uint64_t bits = static_cast<uint64_t>(fault.bytes) * 8;
  uint64_t count = 1 + fault.noise % kMaxRottenBits;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t bit = Mix(fault.noise, i) % bits;
    int64_t at = fault.offset + static_cast<int64_t>(bit / 8) - offset;
    if (at < 0 || at >= kSlotBytes) continue;
    char& byte = (*bytes)[static_cast<size_t>(at)];
    byte = static_cast<char>(byte ^ (1 << (bit % 8)));
  }
}

}  // namespace

std::array<char, kSlotBytes> MediaOverlay::Damaged(
    const MediaFault& fault, int64_t offset,
    const std::array<char, kSlotBytes>& before) {
  std::array<char, kSlotBytes> after = before;
  if (fault.damage == Damage::kZeroed) {
    after.fill(0);
  } else if (fault.damage == Damage::kGarbage) {
    for (size_t i = 0; i < after.size(); i += sizeof(uint64_t)) {
      uint64_t word = Mix(fault.noise, static_cast<uint64_t>(offset) + i);
      std::memcpy(after.data() + i, &word, sizeof word);
    }
  } else {
    FlipBits(fault, offset, &after);
  }
  return after;
}

bool MediaOverlay::Fails(InodeNo inode, int64_t offset, int64_t bytes) const {
  return std::any_of(unreadable_.begin(), unreadable_.end(),
                     [&](const Unreadable& range) {
                       return range.inode == inode &&
                              range.from < offset + bytes && offset < range.to;
                     });
}

std::vector<uint64_t> MediaOverlay::Rewritten(InodeNo inode, int64_t from,
                                              int64_t to) {
  std::vector<uint64_t> ended;
  std::erase_if(writes_, [&](const Write& write) {
    return write.inode == inode && write.offset < to &&
           from < write.offset + kPageBytes;
  });
  std::erase_if(unreadable_, [&](const Unreadable& range) {
    // A drive replaces the whole sector when any part of it is written.
    bool gone = range.inode == inode && range.from < to && from < range.to;
    if (gone) ended.push_back(range.id);
    return gone;
  });
  return ended;
}

void MediaOverlay::AddWrite(Write write) {
  if (writes_.size() == kMaxWrites) writes_.erase(writes_.begin());
  write.id = ++writes_seen_;
  writes_.push_back(std::move(write));
}

const MediaOverlay::Write* MediaOverlay::FindWrite(uint64_t id) const {
  auto found =
      std::find_if(writes_.begin(), writes_.end(),
                   [id](const Write& write) { return write.id == id; });
  return found == writes_.end() ? nullptr : &*found;
}

std::vector<MediaOverlay::Hidden> MediaOverlay::TakeHidden() {
  return std::exchange(hidden_, {});
}

std::vector<uint64_t> MediaOverlay::TakeUnreadable() {
  std::vector<uint64_t> ids;
  for (const Unreadable& range : std::exchange(unreadable_, {})) {
    ids.push_back(range.id);
  }
  return ids;
}

}  // namespace sim
