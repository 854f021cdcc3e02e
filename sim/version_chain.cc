#include "sim/version_chain.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "sim/env/check.h"

namespace sim {
namespace {

int RankOf(SlotMask stored, int slot) {
  return std::popcount(static_cast<uint16_t>(stored & (SlotBit(slot) - 1)));
}

// Makes undo `to` also undo what `from`, the undo just before it, undid.
void MergeInto(Undo* to, Undo* from) {
  if ((to->live & ~from->live) == 0) {
    uint64_t seq = to->seq;
    *to = std::move(*from);
    to->seq = seq;
    return;
  }
  char bytes[kSlotBytes];
  for (int slot = 0; slot < kSlotsPerPage; ++slot) {
    SlotMask bit = SlotBit(slot);
    if ((from->live & bit) == 0) continue;
    if ((from->fill & bit) != 0) {
      to->fill |= bit;
    } else {
      CopyBefore(*from, slot, bytes);
      StoreBefore(to, slot, bytes);
    }
  }
  to->live |= from->live;
  to->fill_limit = std::min(to->fill_limit, from->fill_limit);
}

}  // namespace

SlotMask VersionChain::Live() const {
  SlotMask live = 0;
  for (const Undo& undo : undos) live |= undo.live;
  return live;
}

void CopyBefore(const Undo& undo, int slot, char* out) {
  SlotMask bit = SlotBit(slot);
  SIM_CHECK((undo.live & bit) != 0 && (undo.fill & bit) == 0);
  if ((undo.stored & bit) != 0) {
    std::memcpy(out,
                undo.run->bytes.get() + RankOf(undo.stored, slot) * kSlotBytes,
                kSlotBytes);
    return;
  }
  CopyBytes(undo.block[slot / kSlotsPerBlock],
            slot % kSlotsPerBlock * kSlotBytes, kSlotBytes, out);
}

void StoreBefore(Undo* undo, int slot, const char* bytes) {
  SlotMask bit = SlotBit(slot);
  SlotMask stored = undo->stored | bit;
  ByteRunRef run =
      ByteRunRef::Make(static_cast<size_t>(std::popcount(stored)) * kSlotBytes);
  for (int s = 0; s < kSlotsPerPage; ++s) {
    if ((stored & SlotBit(s)) == 0) continue;
    const char* from = s == slot ? bytes
                                 : undo->run->bytes.get() +
                                       RankOf(undo->stored, s) * kSlotBytes;
    std::memcpy(run->bytes.get() + RankOf(stored, s) * kSlotBytes, from,
                kSlotBytes);
  }
  undo->run = std::move(run);
  undo->stored = stored;
  undo->fill &= static_cast<SlotMask>(~bit);
}

void CopySlot(const PageBlocks& blocks, int slot, char* out) {
  CopyBytes(blocks[slot / kSlotsPerBlock], slot % kSlotsPerBlock * kSlotBytes,
            kSlotBytes, out);
}

void SetSlot(PageBlocks& blocks, int slot, const char* bytes) {
  std::memcpy(MutableBytes(&blocks[slot / kSlotsPerBlock]) +
                  slot % kSlotsPerBlock * kSlotBytes,
              bytes, kSlotBytes);
}

void PushUndo(VersionChain* chain, const PageBlocks& blocks, uint64_t seq,
              UndoKind kind, SlotMask mask, SlotMask fill) {
  SIM_CHECK(mask != 0);
  SIM_CHECK(chain->undos.empty() || chain->undos.back().seq <= seq);
  Undo& undo = chain->undos.emplace_back();
  undo.seq = seq;
  undo.kind = kind;
  undo.live = mask;
  undo.fill = fill & mask;
  SlotMask copied = 0;
  for (int b = 0; b < kBlocksPerPage; ++b) {
    SlotMask wanted = mask & ~fill & BlockMask(b);
    if (wanted == BlockMask(b)) {
      undo.block[b] = blocks[b];
    } else if (blocks[b]) {
      copied |= wanted;
    }
  }
  if (copied == 0) return;
  undo.stored = copied;
  undo.run =
      ByteRunRef::Make(static_cast<size_t>(std::popcount(copied)) * kSlotBytes);
  char* to = undo.run->bytes.get();
  for (int slot = 0; slot < kSlotsPerPage; ++slot) {
    if ((copied & SlotBit(slot)) == 0) continue;
    CopySlot(blocks, slot, to);
    to += kSlotBytes;
  }
}

void BoundChain(VersionChain* chain, uint64_t floor) {
  std::vector<Undo>& undos = chain->undos;
  if (undos.size() <= kMaxUndos) return;
  // The first writes and the latest ones stay apart: those in between are the
  // least likely to tell states apart that the others do not.
  for (size_t i = 2; i + 1 < undos.size(); ++i) {
    if (undos[i].seq <= floor) continue;
    if (undos[i].kind != UndoKind::kWrite) continue;
    if (undos[i + 1].kind != UndoKind::kWrite) continue;
    MergeInto(&undos[i + 1], &undos[i]);
    undos.erase(undos.begin() + static_cast<ptrdiff_t>(i));
    return;
  }
}

void CoverChain(VersionChain* chain, uint64_t from, uint64_t to, SlotMask limit,
                std::vector<BlockRef>* freed) {
  SlotMask covered = 0;  // slots in which a later undo is durable
  for (size_t i = chain->undos.size(); i-- > 0;) {
    Undo& undo = chain->undos[i];
    if (undo.seq > to) continue;
    if (undo.seq > from && undo.kind != UndoKind::kFailed) {
      covered |= undo.live & limit;
    }
    if (freed != nullptr && undo.kind == UndoKind::kTruncate &&
        (undo.live & covered) != 0) {
      for (const BlockRef& block : undo.block) {
        if (block) freed->push_back(block);
      }
    }
    undo.live &= static_cast<SlotMask>(~covered);
  }
  Compact(chain);
}

void DropVersion(VersionChain* chain, PageBlocks& blocks, size_t k, int slot) {
  SlotMask bit = SlotBit(slot);
  Undo& dropped = chain->undos[k];
  SIM_CHECK((dropped.live & bit) != 0);
  char bytes[kSlotBytes] = {};
  bool fill = (dropped.fill & bit) != 0;
  if (!fill) CopyBefore(dropped, slot, bytes);
  dropped.live &= static_cast<SlotMask>(~bit);
  for (size_t j = k + 1; j < chain->undos.size(); ++j) {
    Undo& next = chain->undos[j];
    if ((next.live & bit) == 0) continue;
    if (fill) {
      next.fill |= bit;
    } else {
      StoreBefore(&next, slot, bytes);
    }
    return;
  }
  SetSlot(blocks, slot, bytes);
}

void ForgetSlots(VersionChain* chain, SlotMask mask) {
  for (Undo& undo : chain->undos) undo.live &= static_cast<SlotMask>(~mask);
  Compact(chain);
}

void Compact(VersionChain* chain) {
  std::erase_if(chain->undos, [](const Undo& undo) { return undo.live == 0; });
}

SlotMask FailedLast(const VersionChain& chain) {
  SlotMask failed = 0;
  for (const Undo& undo : chain.undos) {
    if (undo.kind == UndoKind::kFailed) {
      failed |= undo.live;
    } else {
      failed &= static_cast<SlotMask>(~undo.live);
    }
  }
  return failed;
}

}  // namespace sim
