// File data, part 3: the power fails, and somebody looks at what is left.
#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "sim/env/check.h"
#include "sim/fault_log.h"
#include "sim/file_data.h"

namespace sim {
namespace {

bool IsZero(const char* bytes, int size) {
  return std::all_of(bytes, bytes + size, [](char c) { return c == 0; });
}

// Zeroes bytes [keep, end of page) in what the undo holds of its slots.
void TrimBefore(Undo* undo, int keep) {
  undo->fill_limit = std::min(undo->fill_limit, static_cast<uint16_t>(keep));
  for (int slot = keep / kSlotBytes; slot < kSlotsPerPage; ++slot) {
    SlotMask bit = SlotBit(slot);
    if ((undo->live & bit) == 0 || (undo->fill & bit) != 0) continue;
    char bytes[kSlotBytes];
    CopyBefore(*undo, slot, bytes);
    int from = std::max(keep - slot * kSlotBytes, 0);
    if (IsZero(bytes + from, kSlotBytes - from)) continue;
    std::memset(bytes + from, 0, kSlotBytes - from);
    StoreBefore(undo, slot, bytes);
  }
}

// Those of the ascending seqs that lie in (from, to].
std::span<const uint64_t> Between(const std::vector<uint64_t>& seqs,
                                  uint64_t from, uint64_t to) {
  auto low = std::upper_bound(seqs.begin(), seqs.end(), from);
  auto high = std::upper_bound(low, seqs.end(), to);
  return std::span(seqs).subspan(low - seqs.begin(), high - low);
}

// Sectors lose their undos one by one as they are determined; what the block
// went through must not depend on their order.
void NoteInstants(VersionChain* chain) {
  for (const Undo& undo : chain->undos) {
    for (int b = 0; b < kBlocksPerPage; ++b) {
      std::vector<uint64_t>& seqs = chain->instants[b];
      if ((undo.live & BlockMask(b)) == 0) continue;
      if (seqs.empty() || seqs.back() < undo.seq) seqs.push_back(undo.seq);
    }
  }
}

template <typename F>
void ForEachSlot(SlotMask mask, F f) {
  for (int slot = 0; slot < kSlotsPerPage; ++slot) {
    if ((mask & SlotBit(slot)) != 0) f(slot);
  }
}

// True if the versions of an open unit are not all the same bytes. A fill that
// is not tracked is zeros.
bool VersionsDiffer(const PageSlot& page, int first, int unit_slots) {
  bool differ = false;
  ForEachSlot(SlotRange(first, first + unit_slots), [&](int slot) {
    char newest[kSlotBytes];
    CopySlot(page.block, slot, newest);
    for (const Undo& undo : page.chain->undos) {
      if (differ || (undo.live & SlotBit(slot)) == 0) continue;
      char before[kSlotBytes];
      if ((undo.fill & SlotBit(slot)) != 0) {
        differ = true;
        continue;
      }
      CopyBefore(undo, slot, before);
      differ = std::memcmp(before, newest, kSlotBytes) != 0;
    }
  });
  return differ;
}

}  // namespace

void FileData::CheckStamps(const PageSlot& slot, SlotMask slots) {
  if (!slot.stamp) return;
  SIM_CHECK(StampHolds(*slot.stamp, slot.block, slots));
}

void FileData::DropFailed(PageSlot* slot) {
  VersionChain& chain = slot->chain.Mutable();
  for (size_t k = 0; k < chain.undos.size(); ++k) {
    if (chain.undos[k].kind != UndoKind::kFailed) continue;
    ForEachSlot(chain.undos[k].live,
                [&](int s) { DropVersion(&chain, slot->block, k, s); });
  }
  Compact(&chain);
}

// Truncations up to size_seq have happened, later ones have not.
void FileData::SettleTruncations(PageSlot* slot, uint64_t size_seq) {
  VersionChain& chain = slot->chain.Mutable();
  for (size_t k = 0; k < chain.undos.size(); ++k) {
    Undo& undo = chain.undos[k];
    if (undo.kind == UndoKind::kTruncate) {
      SlotMask slots = undo.live;
      bool kept = undo.seq <= size_seq;
      if (!kept) {
        ForEachSlot(slots, [&](int s) {
          char bytes[kSlotBytes];
          CopyBefore(undo, s, bytes);
          SetSlot(slot->block, s, bytes);
        });
      }
      for (size_t i = 0; i < chain.undos.size(); ++i) {
        if (kept ? i <= k : i >= k) {
          chain.undos[i].live &= static_cast<SlotMask>(~slots);
        }
      }
    } else if (undo.kind == UndoKind::kTruncateTail) {
      if (undo.seq <= size_seq) {
        // No version may bring back what was cut off.
        SlotMask slots = undo.live;
        for (size_t i = 0; i <= k; ++i) {
          Undo older = chain.undos[i];
          older.live &= slots;
          if (older.live == 0) continue;
          TrimBefore(&older, undo.tail);
          older.live = chain.undos[i].live;
          chain.undos[i] = older;
        }
        chain.undos[k].kind = UndoKind::kWrite;
      } else {
        ForEachSlot(undo.live,
                    [&](int s) { DropVersion(&chain, slot->block, k, s); });
      }
    }
  }
  Compact(&chain);
}

// The file ends `keep` bytes into the page.
void FileData::TrimPage(PageSlot* slot, int keep, const DataTraits& traits) {
  if (keep >= kPageBytes) return;
  VersionChain& chain = slot->chain.Mutable();
  int unit_bytes = traits.unit_slots * kSlotBytes;
  int units_end = (keep + unit_bytes - 1) / unit_bytes * unit_bytes;
  SlotMask beyond = SlotRange(units_end / kSlotBytes, kSlotsPerPage);
  ForgetSlots(&chain, beyond);
  chain.open &= static_cast<SlotMask>(~beyond);
  for (Undo& undo : chain.undos) TrimBefore(&undo, keep);
  for (int b = keep / kBlockBytes; b < kBlocksPerPage; ++b) {
    int from = std::max(keep - b * kBlockBytes, 0);
    if (!slot->block[b]) continue;
    if (from == 0) {
      slot->block[b] = nullptr;
    } else if (!IsZero(slot->block[b]->bytes + from, kBlockBytes - from)) {
      std::memset(MutableBytes(&slot->block[b]) + from, 0, kBlockBytes - from);
    }
  }
}

void FileData::OpenPage(PageSlot* slot, uint32_t page, const DataTraits& traits,
                        CrashResult* result) {
  VersionChain& chain = slot->chain.Mutable();
  SlotMask live = chain.Live();
  SlotMask fresh = live & static_cast<SlotMask>(~chain.open);
  result->opened +=
      static_cast<uint64_t>(std::popcount(fresh)) / traits.unit_slots;
  chain.open |= live;
  if (traits.track_instants) NoteInstants(&chain);
  if (chain.open != 0 && !chain.listed_open) {
    chain.listed_open = true;
    open_.push_back(page);
  }
  chain.listed_dirty = false;
  CheckStamps(*slot, static_cast<SlotMask>(~chain.open));
  Tidy(slot);
}

FileData::CrashResult FileData::PowerLoss(size_t crash,
                                          const DataTraits& traits,
                                          VersionPicker* picker) {
  CrashResult result;
  int64_t known_end = std::max(size_, durable_size_);
  for (const SizeOp& op : size_ops_) known_end = std::max(known_end, op.size);
  size_ = durable_size_;
  if (!size_ops_.empty()) {
    std::vector<uint64_t> seqs;
    for (const SizeOp& op : size_ops_) seqs.push_back(op.seq);
    size_t pick = picker->PickSize(crash, seqs);
    if (picker->Watched()) {
      std::vector<uint64_t> sizes = {static_cast<uint64_t>(durable_size_)};
      for (const SizeOp& op : size_ops_) {
        sizes.push_back(static_cast<uint64_t>(op.size));
      }
      pick = picker->OnCell(ImageCell::Kind::kSize, 0, pick, sizes);
    }
    SIM_CHECK(pick <= seqs.size());
    if (pick > 0) CoverSizes(seqs[pick - 1]);
    size_ = durable_size_;
    size_ops_.clear();
    result.size_drawn = true;
  }
  SIM_CHECK(size_ >= stamped_size_);
  for (uint32_t page : DirtyPages()) {
    PageSlot& slot = MutablePage(page);
    DropFailed(&slot);
    SettleTruncations(&slot, durable_size_seq_);
    int64_t keep =
        std::clamp<int64_t>(size_ - int64_t{page} * kPageBytes, 0, kPageBytes);
    TrimPage(&slot, static_cast<int>(keep), traits);
    OpenPage(&slot, page, traits, &result);
  }
  dirty_.clear();
  TrimBeyond(known_end, traits);
  flush_floor_ = 0;
  PruneLists();
  return result;
}

// Pages that a write-back had made durable before the size that reaches them
// was lost are not in the list of dirty ones.
void FileData::TrimBeyond(int64_t known_end, const DataTraits& traits) {
  for (int64_t at = size_ / kPageBytes * kPageBytes; at < known_end;
       at += kPageBytes) {
    uint32_t page = static_cast<uint32_t>(at / kPageBytes);
    const PageSlot* found = Find(page);
    if (found == nullptr ||
        (!found->block[0] && !found->block[1] && !found->chain)) {
      continue;
    }
    PageSlot& slot = MutablePage(page);
    TrimPage(&slot, static_cast<int>(std::max<int64_t>(size_ - at, 0)), traits);
    Tidy(&slot);
  }
}

uint64_t FileData::Resolve(uint32_t page, SlotMask slots,
                           const DataTraits& traits, VersionPicker* picker,
                           ReadResult* note) {
  const PageSlot* found = Find(page);
  if (found == nullptr || !found->chain) return 0;
  SlotMask open = found->chain->open & slots;
  if (open == 0) return 0;
  uint64_t drawn = 0;
  PageSlot& slot = MutablePage(page);
  for (int first = 0; first < kSlotsPerPage; first += traits.unit_slots) {
    if ((open & SlotBit(first)) == 0) continue;
    bool ambiguous =
        note != nullptr && VersionsDiffer(slot, first, traits.unit_slots);
    bool older = ResolveUnit(&slot, page, first, traits, picker);
    ++drawn;
    if (!ambiguous) continue;
    int64_t at = int64_t{page} * kPageBytes + first * kSlotBytes;
    if (note->ambiguous++ == 0) note->from = at;
    note->to = at + traits.unit_slots * kSlotBytes;
    if (older) ++note->older;
  }
  return drawn;
}

struct FileData::UnitVersions {
  std::vector<size_t> undos;  // those of this unit, oldest first
  size_t version = 0;         // undos.size(): the newest
  size_t crash = 0;           // which power loss decided
};

FileData::UnitVersions FileData::DrawUnit(const PageSlot& slot, uint32_t page,
                                          int first, const DataTraits& traits,
                                          VersionPicker* picker) const {
  const VersionChain& chain = *slot.chain;
  UnitVersions out;
  std::vector<uint64_t> seqs;
  for (size_t i = 0; i < chain.undos.size(); ++i) {
    if ((chain.undos[i].live & SlotBit(first)) == 0) continue;
    out.undos.push_back(i);
    seqs.push_back(chain.undos[i].seq);
  }
  // The latest power loss decides among what was issued before it; where it
  // leaves the older state, the one before decides, and so on.
  std::span<const uint64_t> crashes = picker->CrashSeqs();
  out.version = seqs.size();
  out.crash = crashes.size();
  while (out.version > 0 && out.crash > 0) {
    --out.crash;
    uint64_t from = out.crash == 0 ? 0 : crashes[out.crash - 1];
    size_t low =
        std::upper_bound(seqs.begin(), seqs.end(), from) - seqs.begin();
    if (low >= out.version) continue;
    std::span<const uint64_t> block_seqs = Between(
        chain.instants[first / kSlotsPerBlock], from, crashes[out.crash]);
    uint64_t sector = (uint64_t{page} * kSlotsPerPage + first) /
                      static_cast<uint64_t>(traits.unit_slots);
    size_t pick = picker->PickVersion(
        out.crash, sector, std::span(seqs).subspan(low, out.version - low),
        block_seqs);
    SIM_CHECK(pick <= out.version - low);
    out.version = low + pick;
    if (pick > 0) break;
  }
  return out;
}

// The bytes of a slot before the undo. crash: whose fill it shows, if any.
void FileData::CopyOlder(const Undo& undo, uint32_t page, int slot,
                         size_t crash, VersionPicker* picker, char* out) {
  if ((undo.fill & SlotBit(slot)) == 0) {
    CopyBefore(undo, slot, out);
    return;
  }
  picker->FillSlot(crash, uint64_t{page} * kSlotsPerPage + slot, out);
  int limit = std::clamp(undo.fill_limit - slot * kSlotBytes, 0, kSlotBytes);
  std::memset(out + limit, 0, kSlotBytes - limit);
}

std::vector<uint64_t> FileData::ContentsOf(const UnitVersions& versions,
                                           const PageSlot& slot, uint32_t page,
                                           int first, const DataTraits& traits,
                                           VersionPicker* picker) {
  std::vector<uint64_t> contents;
  for (size_t v = 0; v <= versions.undos.size(); ++v) {
    uint64_t hash = 0;
    for (int s = first; s < first + traits.unit_slots; ++s) {
      char bytes[kSlotBytes];
      if (v == versions.undos.size()) {
        CopySlot(slot.block, s, bytes);
      } else {
        CopyOlder(slot.chain->undos[versions.undos[v]], page, s, versions.crash,
                  picker, bytes);
      }
      hash = hash * 0x9e3779b97f4a7c15ULL + HashSector(bytes);
    }
    contents.push_back(hash);
  }
  return contents;
}

bool FileData::ResolveUnit(PageSlot* slot, uint32_t page, int first,
                           const DataTraits& traits, VersionPicker* picker) {
  SlotMask unit = SlotRange(first, first + traits.unit_slots);
  UnitVersions versions = DrawUnit(*slot, page, first, traits, picker);
  if (picker->Watched()) {
    uint64_t sector = (uint64_t{page} * kSlotsPerPage + first) /
                      static_cast<uint64_t>(traits.unit_slots);
    versions.version = picker->OnCell(
        ImageCell::Kind::kSector, sector, versions.version,
        ContentsOf(versions, *slot, page, first, traits, picker));
    SIM_CHECK(versions.version <= versions.undos.size());
  }
  VersionChain& chain = slot->chain.Mutable();
  bool older = versions.version < versions.undos.size();
  if (older) {
    const Undo& undo = chain.undos[versions.undos[versions.version]];
    ForEachSlot(unit, [&](int s) {
      char bytes[kSlotBytes];
      CopyOlder(undo, page, s, versions.crash, picker, bytes);
      if ((undo.fill & SlotBit(s)) != 0 && !IsZero(bytes, kSlotBytes)) {
        picker->Filled(uint64_t{page} * kSlotsPerPage + s, bytes);
      }
      SetSlot(slot->block, s, bytes);
    });
  }
  ForgetSlots(&chain, unit);
  chain.open &= static_cast<SlotMask>(~unit);
  CheckStamps(*slot, unit);
  return older;
}

std::optional<uint64_t> FileData::ForeseeSector(uint64_t sector,
                                                const DataTraits& traits,
                                                VersionPicker* picker) const {
  uint64_t slot_number = sector * static_cast<uint64_t>(traits.unit_slots);
  auto page = static_cast<uint32_t>(slot_number / kSlotsPerPage);
  int first = static_cast<int>(slot_number % kSlotsPerPage);
  const PageSlot* slot = Find(page);
  if (slot == nullptr || !slot->chain ||
      (slot->chain->open & SlotBit(first)) == 0) {
    return std::nullopt;
  }
  UnitVersions versions = DrawUnit(*slot, page, first, traits, picker);
  std::vector<uint64_t> contents =
      ContentsOf(versions, *slot, page, first, traits, picker);
  return contents[versions.version];
}

uint64_t FileData::Freeze(const DataTraits& traits, VersionPicker* picker) {
  uint64_t drawn = 0;
  std::vector<uint32_t> pages = open_;
  std::sort(pages.begin(), pages.end());
  for (uint32_t page : pages) drawn += Resolve(page, kAllSlots, traits, picker);
  PruneLists();
  return drawn;
}

}  // namespace sim
