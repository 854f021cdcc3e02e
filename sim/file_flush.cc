// File data, part 2: what becomes durable, and what a failed flush leaves.
#include <algorithm>
#include <utility>

#include "sim/env/check.h"
#include "sim/file_data.h"

namespace sim {
namespace {

// Slots of a page that overlap bytes [from, to) of the file, by unit.
SlotMask SlotsInRange(uint32_t page, int64_t from, int64_t to, int unit_slots) {
  int64_t unit_bytes = int64_t{unit_slots} * kSlotBytes;
  int64_t base = int64_t{page} * kPageBytes;
  int64_t low = std::clamp<int64_t>(from - base, 0, kPageBytes);
  int64_t high = std::clamp<int64_t>(to - base, 0, kPageBytes);
  if (low >= high) return 0;
  int64_t first = low / unit_bytes * unit_slots;
  int64_t last = (high + unit_bytes - 1) / unit_bytes * unit_slots;
  return SlotRange(static_cast<int>(first), static_cast<int>(last));
}

}  // namespace

void FileData::PruneLists() {
  auto prune = [&](std::vector<uint32_t>* list, bool VersionChain::*listed,
                   auto wanted) {
    std::erase_if(*list, [&](uint32_t page) {
      if (wanted(*Find(page)->chain)) return false;
      PageSlot& slot = MutablePage(page);
      slot.chain.Mutable().*listed = false;
      Tidy(&slot);
      return true;
    });
  };
  prune(&dirty_, &VersionChain::listed_dirty, [](const VersionChain& chain) {
    return (chain.Live() & static_cast<SlotMask>(~chain.open)) != 0;
  });
  prune(&open_, &VersionChain::listed_open,
        [](const VersionChain& chain) { return chain.open != 0; });
}

void FileData::CoverSizes(uint64_t seq) {
  size_t covered = 0;
  while (covered < size_ops_.size() && size_ops_[covered].seq <= seq) {
    durable_size_ = size_ops_[covered].size;
    durable_size_seq_ = size_ops_[covered].seq;
    ++covered;
  }
  size_ops_.erase(size_ops_.begin(),
                  size_ops_.begin() + static_cast<ptrdiff_t>(covered));
}

FileData::Flush FileData::BeginFlush(uint64_t seq, int64_t from, int64_t to) {
  Flush flush;
  flush.seq = seq;
  flush.from = from;
  flush.to = to;
  flush_floor_ = std::max(flush_floor_, seq);
  for (uint32_t page : dirty_) {
    const PageSlot& slot = *Find(page);
    int64_t base = int64_t{page} * kPageBytes;
    SlotMask mask =
        SlotsInRange(page, from, to, 1) &
        static_cast<SlotMask>(~(slot.chain->open | FailedLast(*slot.chain)));
    int64_t bytes = std::clamp<int64_t>(size_ - base, 0, kPageBytes);
    if (mask == 0 || bytes == 0) continue;
    StampRef stamp = MakeStamp(slot.block, static_cast<int>(bytes), mask);
    // Only what the flush was asked for counts in its border sectors.
    if (from > base) StrikeOut(&stamp, 0, static_cast<int>(from - base));
    if (to - base < kPageBytes) {
      StrikeOut(&stamp, static_cast<int>(to - base), kPageBytes);
    }
    flush.stamps.emplace_back(page, std::move(stamp));
  }
  return flush;
}

void FileData::StrikeOutOf(Flush* flush, int64_t from, int64_t to) {
  for (auto& [page, stamp] : flush->stamps) {
    int64_t base = int64_t{page} * kPageBytes;
    int64_t low = std::clamp<int64_t>(from - base, 0, kPageBytes);
    int64_t high = std::clamp<int64_t>(to - base, 0, kPageBytes);
    if (low < high) {
      StrikeOut(&stamp, static_cast<int>(low), static_cast<int>(high));
    }
  }
}

void FileData::EndFlush(Flush flush, const DataTraits& traits,
                        std::vector<BlockRef>* freed) {
  for (uint32_t page : dirty_) {
    SlotMask limit =
        SlotsInRange(page, flush.from, flush.to, traits.unit_slots);
    if (limit == 0) continue;
    PageSlot& slot = MutablePage(page);
    CoverChain(&slot.chain.Mutable(), traits.last_crash_seq, flush.seq, limit,
               freed);
  }
  CoverSizes(flush.seq);
  PruneLists();
  for (auto& [page, stamp] : flush.stamps) {
    MergeStamp(&MutablePage(page).stamp, stamp);
  }
  stamped_size_ = durable_size_;
  for (const SizeOp& op : size_ops_) {
    if (op.shrink) stamped_size_ = std::min(stamped_size_, op.size);
  }
}

SlotMask FileData::FlushableSlots(uint32_t page, const Flush& flush,
                                  const DataTraits& traits) const {
  SlotMask slots = 0;
  for (const Undo& undo : Find(page)->chain->undos) {
    if (undo.seq > traits.last_crash_seq && undo.seq <= flush.seq &&
        undo.kind != UndoKind::kFailed) {
      slots |= undo.live;
    }
  }
  return slots & SlotsInRange(page, flush.from, flush.to, traits.unit_slots);
}

std::vector<FileData::Replaced> FileData::ReplacedBy(
    const Flush& flush, const DataTraits& traits) const {
  std::vector<Replaced> all;
  for (uint32_t page : dirty_) {
    const VersionChain& chain = *Find(page)->chain;
    SlotMask left = FlushableSlots(page, flush, traits);
    for (const Undo& undo : chain.undos) {
      bool plain = undo.kind == UndoKind::kWrite && undo.seq <= flush.seq &&
                   undo.seq > traits.last_crash_seq;
      if (!plain) left &= static_cast<SlotMask>(~undo.live);
    }
    if (left == 0) continue;
    Replaced& replaced = all.emplace_back();
    replaced.page = page;
    replaced.slots = left;
    // Oldest first: that is what the device had.
    for (const Undo& undo : chain.undos) {
      for (int slot = 0; slot < kSlotsPerPage; ++slot) {
        SlotMask bit = SlotBit(slot) & undo.live & left;
        if (bit == 0) continue;
        left &= static_cast<SlotMask>(~bit);
        if ((undo.fill & bit) != 0) continue;
        CopyBefore(undo, slot, replaced.before.data() + slot * kSlotBytes);
      }
    }
  }
  return all;
}

bool FileData::SettleSlot(uint32_t page, int slot, const DataTraits& traits,
                          char* before, char* after) {
  SlotMask bit = SlotBit(slot);
  const Undo* only = nullptr;
  for (const Undo& undo : Find(page)->chain->undos) {
    if ((undo.live & bit) == 0) continue;
    if (only != nullptr || undo.kind != UndoKind::kWrite) return false;
    only = &undo;
  }
  if (only == nullptr || only->seq <= traits.last_crash_seq) return false;
  std::fill_n(before, kSlotBytes, '\0');
  if ((only->fill & bit) == 0) CopyBefore(*only, slot, before);
  CopySlot(Find(page)->block, slot, after);
  return WriteBackSlots(page, bit, traits) == bit;
}

void FileData::FailSlots(uint32_t page, uint64_t seq, SlotMask slots,
                         const DataTraits& traits) {
  VersionChain& chain = MutablePage(page).chain.Mutable();
  Undo failed;
  failed.seq = seq;
  failed.kind = UndoKind::kFailed;
  SlotMask wanted = slots;
  auto at = chain.undos.begin();
  for (; at != chain.undos.end() && at->seq <= seq; ++at) {
    if (at->seq <= traits.last_crash_seq) continue;
    // The oldest bytes of a slot are what the device keeps.
    for (int slot = 0; slot < kSlotsPerPage; ++slot) {
      SlotMask bit = SlotBit(slot);
      if ((at->live & wanted & bit) == 0) continue;
      char bytes[kSlotBytes];
      if ((at->fill & bit) != 0) {
        failed.fill |= bit;
        failed.fill_limit = std::min(failed.fill_limit, at->fill_limit);
      } else {
        CopyBefore(*at, slot, bytes);
        StoreBefore(&failed, slot, bytes);
      }
      failed.live |= bit;
    }
    wanted &= static_cast<SlotMask>(~at->live);
    at->live &= static_cast<SlotMask>(~slots);
  }
  if (failed.live != 0) chain.undos.insert(at, std::move(failed));
  Compact(&chain);
}

void FileData::Revert(const Flush& flush, const DataTraits& traits) {
  for (uint32_t page : dirty_) {
    SlotMask reverted = FlushableSlots(page, flush, traits);
    PageSlot& slot = MutablePage(page);
    VersionChain& chain = slot.chain.Mutable();
    for (const Undo& undo : chain.undos) {
      if (undo.kind != UndoKind::kWrite) {
        reverted &= static_cast<SlotMask>(~undo.live);
      }
    }
    // Oldest first: what a dropped version replaced is handed to the next one.
    for (size_t k = 0; k < chain.undos.size(); ++k) {
      const Undo& undo = chain.undos[k];
      if (undo.seq <= traits.last_crash_seq || undo.seq > flush.seq) continue;
      SlotMask dropped = undo.live & reverted;
      for (int s = 0; s < kSlotsPerPage; ++s) {
        if ((dropped & SlotBit(s)) != 0) DropVersion(&chain, slot.block, k, s);
      }
    }
    ReopenUncovered(&slot, page, traits);
  }
  PruneLists();
}

// Below versions that are gone, candidates of an earlier power loss may be
// left: the slot is undetermined again.
void FileData::ReopenUncovered(PageSlot* slot, uint32_t page,
                               const DataTraits& traits) {
  VersionChain& chain = slot->chain.Mutable();
  for (const Undo& undo : chain.undos) {
    if (undo.seq <= traits.last_crash_seq) chain.open |= undo.live;
  }
  for (const Undo& undo : chain.undos) {
    if (undo.seq > traits.last_crash_seq) {
      chain.open &= static_cast<SlotMask>(~undo.live);
    }
  }
  Compact(&chain);
  if (chain.open != 0 && !chain.listed_open) {
    chain.listed_open = true;
    open_.push_back(page);
  }
}

SlotMask FileData::WriteBackSlots(uint32_t page, SlotMask slots,
                                  const DataTraits& traits) {
  Flush all;
  all.seq = UINT64_MAX;
  SlotMask eligible = slots & FlushableSlots(page, all, traits);
  PageSlot& slot = MutablePage(page);
  for (const Undo& undo : slot.chain->undos) {
    if (undo.kind != UndoKind::kWrite) {
      eligible &= static_cast<SlotMask>(~undo.live);
    }
  }
  if (eligible == 0) return 0;
  CoverChain(&slot.chain.Mutable(), traits.last_crash_seq, UINT64_MAX, eligible,
             nullptr);
  PruneLists();
  return eligible;
}

bool FileData::WriteBackSize() {
  if (size_ops_.empty()) return false;
  for (const SizeOp& op : size_ops_) {
    if (op.shrink) return false;
  }
  CoverSizes(UINT64_MAX);
  return true;
}

void FileData::Evict(const DataTraits& traits) {
  for (uint32_t page : dirty_) {
    SlotMask evicted = FailedLast(*Find(page)->chain);
    if (evicted == 0) continue;
    PageSlot& slot = MutablePage(page);
    VersionChain& chain = slot.chain.Mutable();
    for (size_t k = chain.undos.size(); k-- > 0;) {
      if (chain.undos[k].kind != UndoKind::kFailed) continue;
      SlotMask dropped = chain.undos[k].live & evicted;
      for (int s = 0; s < kSlotsPerPage; ++s) {
        if ((dropped & SlotBit(s)) != 0) DropVersion(&chain, slot.block, k, s);
      }
      evicted &= static_cast<SlotMask>(~dropped);
    }
    ReopenUncovered(&slot, page, traits);
  }
  PruneLists();
}

void FileData::MakeDurable() {
  for (uint32_t page : dirty_) {
    VersionChain& chain = MutablePage(page).chain.Mutable();
    ForgetSlots(&chain, static_cast<SlotMask>(~chain.open));
  }
  size_ops_.clear();
  durable_size_ = size_;
  PruneLists();
}

}  // namespace sim
