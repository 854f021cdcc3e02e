// Durability stamps (FAULT_MODEL SFM-35): what completed flushes promised.
//
// The disk checks itself: every completed flush keeps a reference to the
// blocks it covered, and every later write strikes out the bytes it
// overwrites. Whatever a power loss makes of a page must still hold the bytes
// that are left, byte for byte, also in a sector that was written on. Stamps
// share nothing with the version chains but the blocks' immutability.
#ifndef MUSTH_SIM_DURABILITY_STAMPS_H_
#define MUSTH_SIM_DURABILITY_STAMPS_H_

#include <array>
#include <cstdint>

#include "sim/version_chain.h"

namespace sim {

struct PageStamp {
  mutable uint32_t refs = 0;
  PageBlocks block;
  // Stamped bytes of each slot: [low, high), offsets in the slot.
  std::array<uint16_t, kSlotsPerPage> low = {};
  std::array<uint16_t, kSlotsPerPage> high = {};

  bool Empty() const;
};
using StampRef = Ref<PageStamp>;

// A stamp of bytes [0, size) of the page in the slots of mask.
StampRef MakeStamp(const PageBlocks& blocks, int size, SlotMask mask);

// Bytes [from, to) of the page were overwritten. A hole in the middle of a
// slot keeps the longer side.
void StrikeOut(StampRef* stamp, int from, int to);

// The flush that `fresh` was taken for has completed: its slots replace those
// of *stamp.
void MergeStamp(StampRef* stamp, const StampRef& fresh);

// True if every stamped byte of the slots in mask reads in blocks as stamped.
bool StampHolds(const PageStamp& stamp, const PageBlocks& blocks,
                SlotMask mask);

}  // namespace sim

#endif  // MUSTH_SIM_DURABILITY_STAMPS_H_
