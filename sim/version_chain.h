// Version chain: what one 8 KiB page may turn into when the power fails.
//
// A chain is an undo log. The page itself holds the newest bytes; each undo
// holds, for the slots that one write touched, the bytes before that write:
//
//   undo 0 (seq 7)      undo 1 (seq 9)      the page
//   slot 0: durable     slot 0: after 7     slot 0: after 9
//   slot 1: durable     -                   slot 1: after 7
//
// So slot 0 may be durable, 7 or 9, and slot 1 durable or 7. A flush forgets
// undos. After a power loss the bits in `open` say that the page's bytes are
// only one candidate; undos of earlier power losses stay below later ones.
//
// Sectors larger than a slot are groups of slots whose bits always agree.
#ifndef MUSTH_SIM_VERSION_CHAIN_H_
#define MUSTH_SIM_VERSION_CHAIN_H_

#include <cstdint>
#include <vector>

#include "sim/block_store.h"

namespace sim {

enum class UndoKind : uint8_t {
  kWrite,
  kTruncate,      // slots wholly beyond a new, smaller size
  kTruncateTail,  // the sector in which the new size falls
  kFailed,        // a failed fsync: the newer bytes never reach the device
};

struct Undo {
  uint64_t seq = 0;  // issue number of the write that replaced these bytes
  UndoKind kind = UndoKind::kWrite;
  SlotMask live = 0;           // slots in which this undo counts
  SlotMask fill = 0;           // the bytes before were never written (SFM-11)
  SlotMask stored = 0;         // slots whose bytes are in run, in order
  uint16_t tail = kPageBytes;  // kTruncateTail: the new size in the page
  uint16_t fill_limit = kPageBytes;  // fill bytes from here on are zeros
  ByteRunRef run;
  // Bytes of slots that are neither fill nor stored; null is zeros.
  BlockRef block[kBlocksPerPage];
};

struct VersionChain {
  mutable uint32_t refs = 0;
  SlotMask open = 0;  // undetermined since a power loss
  bool listed_dirty = false;
  bool listed_open = false;
  std::vector<Undo> undos;  // by seq
  // The writes to each block before the last power loss, kept for images made
  // of whole-page snapshots (SFM-16); ascending.
  std::vector<uint64_t> instants[kBlocksPerPage];

  SlotMask Live() const;
  bool Empty() const { return open == 0 && undos.empty(); }
};
using ChainRef = Ref<VersionChain>;

// The two blocks of a page.
using PageBlocks = BlockRef[kBlocksPerPage];

// The bytes before the undo in one of its live slots. Requires: not fill.
void CopyBefore(const Undo& undo, int slot, char* out);
void StoreBefore(Undo* undo, int slot, const char* bytes);
void CopySlot(const PageBlocks& blocks, int slot, char* out);
void SetSlot(PageBlocks& blocks, int slot, const char* bytes);

// Appends an undo for the slots in mask, which are about to be overwritten;
// those in fill were never written.
void PushUndo(VersionChain* chain, const PageBlocks& blocks, uint64_t seq,
              UndoKind kind, SlotMask mask, SlotMask fill);

// Merges two writes of the middle once there are more than kMaxUndos. Writes
// issued up to floor (an fsync is flushing them, or a power loss came after)
// are not merged.
inline constexpr size_t kMaxUndos = 8;
void BoundChain(VersionChain* chain, uint64_t floor);

// A flush of all that was issued after `from` and up to `to` has completed in
// the slots of limit. Truncated blocks go to freed if it is not null.
void CoverChain(VersionChain* chain, uint64_t from, uint64_t to, SlotMask limit,
                std::vector<BlockRef>* freed);

// Removes what undo k's write produced in a slot, as if it had not happened:
// the bytes before it take its place.
void DropVersion(VersionChain* chain, PageBlocks& blocks, size_t k, int slot);

// Forgets all undos of the slots in mask.
void ForgetSlots(VersionChain* chain, SlotMask mask);
// Erases undos without a live slot.
void Compact(VersionChain* chain);

// Slots whose newest version exists in the cache alone: a flush of it failed.
SlotMask FailedLast(const VersionChain& chain);

}  // namespace sim

#endif  // MUSTH_SIM_VERSION_CHAIN_H_
