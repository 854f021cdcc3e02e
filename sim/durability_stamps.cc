#include "sim/durability_stamps.h"

#include <algorithm>
#include <cstring>

namespace sim {

bool PageStamp::Empty() const {
  for (int slot = 0; slot < kSlotsPerPage; ++slot) {
    if (low[slot] < high[slot]) return false;
  }
  return true;
}

StampRef MakeStamp(const PageBlocks& blocks, int size, SlotMask mask) {
  StampRef ref = StampRef::Make();
  PageStamp& stamp = ref.Mutable();
  for (int b = 0; b < kBlocksPerPage; ++b) {
    if ((mask & BlockMask(b)) != 0) stamp.block[b] = blocks[b];
  }
  for (int slot = 0; slot < kSlotsPerPage; ++slot) {
    if ((mask & SlotBit(slot)) == 0) continue;
    stamp.high[slot] = static_cast<uint16_t>(
        std::clamp(size - slot * kSlotBytes, 0, kSlotBytes));
  }
  return ref;
}

void StrikeOut(StampRef* stamp, int from, int to) {
  if (!*stamp) return;
  if (from <= 0 && to >= kPageBytes) {
    *stamp = nullptr;
    return;
  }
  PageStamp& s = stamp->Mutable();
  for (int slot = from / kSlotBytes; slot * kSlotBytes < to; ++slot) {
    int first = std::max(from - slot * kSlotBytes, 0);
    int last = std::min(to - slot * kSlotBytes, kSlotBytes);
    int low = s.low[slot];
    int high = s.high[slot];
    if (first >= high || last <= low) continue;
    if (first - low >= high - last) {
      high = std::max(first, low);
    } else {
      low = std::min(last, high);
    }
    s.low[slot] = static_cast<uint16_t>(low);
    s.high[slot] = static_cast<uint16_t>(high);
  }
  if (s.Empty()) *stamp = nullptr;
}

void MergeStamp(StampRef* stamp, const StampRef& fresh) {
  if (!fresh || fresh->Empty()) return;
  if (!*stamp) {
    *stamp = fresh;
    return;
  }
  PageStamp merged = *fresh;
  for (int slot = 0; slot < kSlotsPerPage; ++slot) {
    if (merged.low[slot] < merged.high[slot]) continue;
    const PageStamp& old = **stamp;
    if (old.low[slot] >= old.high[slot]) continue;
    BlockRef& to = merged.block[slot / kSlotsPerBlock];
    char bytes[kSlotBytes];
    CopySlot(old.block, slot, bytes);
    char current[kSlotBytes];
    CopySlot(merged.block, slot, current);
    if (std::memcmp(bytes, current, kSlotBytes) != 0) {
      std::memcpy(MutableBytes(&to) + slot % kSlotsPerBlock * kSlotBytes, bytes,
                  kSlotBytes);
    }
    merged.low[slot] = old.low[slot];
    merged.high[slot] = old.high[slot];
  }
  *stamp = StampRef::Make(merged);
}

bool StampHolds(const PageStamp& stamp, const PageBlocks& blocks,
                SlotMask mask) {
  for (int slot = 0; slot < kSlotsPerPage; ++slot) {
    int low = stamp.low[slot];
    int high = stamp.high[slot];
    if ((mask & SlotBit(slot)) == 0 || low >= high) continue;
    int b = slot / kSlotsPerBlock;
    if (stamp.block[b] == blocks[b]) continue;
    char want[kSlotBytes];
    char have[kSlotBytes];
    CopySlot(stamp.block, slot, want);
    CopySlot(blocks, slot, have);
    if (std::memcmp(want + low, have + low, high - low) != 0) return false;
  }
  return true;
}

}  // namespace sim
