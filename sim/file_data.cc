#include "sim/file_data.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/choices.h"
#include "sim/env/check.h"

namespace sim {
namespace {

constexpr int64_t kMaxFileBytes = int64_t{1} << 44;

uint32_t PageOf(int64_t offset) {
  return static_cast<uint32_t>(offset / kPageBytes);
}

// Units that overlap bytes [from, to) of a page.
SlotMask TouchedUnits(int from, int to, int unit_slots) {
  int unit_bytes = unit_slots * kSlotBytes;
  int first = from / unit_bytes * unit_slots;
  int last = (to + unit_bytes - 1) / unit_bytes * unit_slots;
  return SlotRange(first, last);
}

// Units that bytes [from, to) of a page cover.
SlotMask CoveredUnits(int from, int to, int unit_slots) {
  int unit_bytes = unit_slots * kSlotBytes;
  int first = (from + unit_bytes - 1) / unit_bytes * unit_slots;
  int last = to / unit_bytes * unit_slots;
  return first < last ? SlotRange(first, last) : SlotMask{0};
}

int CountUnits(SlotMask mask, int unit_slots) {
  return std::popcount(mask) / unit_slots;
}

// Calls f(page, first byte, last byte + 1, offset of these bytes in the range)
// for the pages that [offset, offset + length) touches.
template <typename F>
void ForEachPage(int64_t offset, int64_t length, F f) {
  for (int64_t at = offset; at < offset + length;) {
    int from = static_cast<int>(at % kPageBytes);
    int to = static_cast<int>(
        std::min<int64_t>(kPageBytes, from + (offset + length - at)));
    f(PageOf(at), from, to, at - offset);
    at += to - from;
  }
}

// Calls f(block, first byte, last byte + 1) for the blocks of bytes [from, to).
template <typename F>
void ForEachBlock(int from, int to, F f) {
  for (int b = from / kBlockBytes; b * kBlockBytes < to; ++b) {
    f(b, std::max(from - b * kBlockBytes, 0),
      std::min(to - b * kBlockBytes, kBlockBytes));
  }
}

void CopyPage(const PageSlot& slot, int from, int to, char* out) {
  ForEachBlock(from, to, [&](int b, int first, int last) {
    CopyBytes(slot.block[b], first, last - first, out);
    out += last - first;
  });
}

}  // namespace

const PageSlot* FileData::Find(uint32_t page) const {
  size_t chunk = page / kPagesPerChunk;
  if (chunk >= chunks_.size() || !chunks_[chunk]) return nullptr;
  return &chunks_[chunk]->pages[page % kPagesPerChunk];
}

PageSlot& FileData::MutablePage(uint32_t page) {
  size_t chunk = page / kPagesPerChunk;
  if (chunk >= chunks_.size()) chunks_.resize(chunk + 1);
  return chunks_[chunk].Mutable().pages[page % kPagesPerChunk];
}

void FileData::ListDirty(PageSlot* slot, uint32_t page) {
  VersionChain& chain = slot->chain.Mutable();
  if (chain.listed_dirty) return;
  chain.listed_dirty = true;
  dirty_.push_back(page);
}

void FileData::Tidy(PageSlot* slot) {
  // A listed chain stays: its list would otherwise name the page twice.
  if (slot->chain && slot->chain->Empty() && !slot->chain->listed_dirty &&
      !slot->chain->listed_open) {
    slot->chain = nullptr;
  }
}

FileData::ReadResult FileData::Read(int64_t offset, std::span<char> out,
                                    const DataTraits& traits,
                                    VersionPicker* picker) {
  SIM_CHECK(offset >= 0 && offset + static_cast<int64_t>(out.size()) <= size_);
  ReadResult result;
  ForEachPage(offset, static_cast<int64_t>(out.size()),
              [&](uint32_t page, int from, int to, int64_t at) {
                const PageSlot* slot = Find(page);
                if (slot == nullptr) {
                  std::memset(out.data() + at, 0, to - from);
                  return;
                }
                if (slot->chain && slot->chain->open != 0) {
                  result.drawn +=
                      Resolve(page, TouchedUnits(from, to, traits.unit_slots),
                              traits, picker, &result);
                  slot = Find(page);
                }
                CopyPage(*slot, from, to, out.data() + at);
              });
  return result;
}

void FileData::Peek(int64_t offset, std::span<char> out) const {
  ForEachPage(offset, static_cast<int64_t>(out.size()),
              [&](uint32_t page, int from, int to, int64_t at) {
                const PageSlot* slot = Find(page);
                if (slot == nullptr) {
                  std::memset(out.data() + at, 0, to - from);
                  return;
                }
                SIM_CHECK(!slot->chain ||
                          (slot->chain->open & TouchedUnits(from, to, 1)) == 0);
                CopyPage(*slot, from, to, out.data() + at);
              });
}

bool FileData::PeekSlot(int64_t offset, char* out) const {
  if (offset < 0 || offset >= size_) return false;
  const PageSlot* slot = Find(PageOf(offset));
  int index = static_cast<int>(offset % kPageBytes / kSlotBytes);
  if (slot == nullptr) {
    std::memset(out, 0, kSlotBytes);
    return true;
  }
  if (slot->chain && (slot->chain->open & SlotBit(index)) != 0) return false;
  CopySlot(slot->block, index, out);
  return true;
}

bool FileData::AtRest(int64_t offset) const {
  const PageSlot* slot = Find(PageOf(offset));
  if (slot == nullptr || !slot->chain) return true;
  SlotMask busy = slot->chain->open | slot->chain->Live();
  return (busy & SlotBit(static_cast<int>(offset % kPageBytes / kSlotBytes))) ==
         0;
}

void FileData::ReplaceAtRest(int64_t offset, const char* bytes) {
  SIM_CHECK(offset % kSlotBytes == 0 && AtRest(offset));
  PageSlot& slot = MutablePage(PageOf(offset));
  int from = static_cast<int>(offset % kPageBytes);
  SetSlot(slot.block, from / kSlotBytes, bytes);
  StrikeOut(&slot.stamp, from, from + kSlotBytes);
}

uint64_t FileData::HashRange(int64_t offset, int64_t length) const {
  uint64_t h = static_cast<uint64_t>(length);
  ForEachPage(offset, length, [&](uint32_t page, int from, int to, int64_t) {
    const PageSlot* slot = Find(page);
    ForEachBlock(from, to, [&](int b, int first, int last) {
      BlockRef block = slot == nullptr ? BlockRef() : slot->block[b];
      if (last - first == kBlockBytes) {
        h = Mix(h, BlockHash(block));
      } else if (block) {
        h = HashBytes(block->bytes + first, last - first, h);
      } else {
        h = Mix(h, static_cast<uint64_t>(last - first));
      }
    });
  });
  return h;
}

void FileData::BeforeWrite(uint32_t page, int from, int to, uint64_t seq,
                           int64_t old_size, const DataTraits& traits,
                           VersionPicker* picker, WriteResult* result) {
  SlotMask touched = TouchedUnits(from, to, traits.unit_slots);
  const PageSlot* before = Find(page);
  if (before != nullptr && before->chain && before->chain->open != 0) {
    SlotMask whole = CoveredUnits(from, to, traits.unit_slots);
    result->drawn +=
        Resolve(page, touched & static_cast<SlotMask>(~whole), traits, picker);
  }
  PageSlot& slot = MutablePage(page);
  VersionChain& chain = slot.chain.Mutable();
  result->closed += CountUnits(chain.open & touched, traits.unit_slots);
  chain.open &= static_cast<SlotMask>(~touched);
  SlotMask fill = 0;
  if (traits.track_fill) {
    int64_t known = old_size - int64_t{page} * kPageBytes;
    if (known <= 0) {
      fill = touched;
    } else if (known < kPageBytes) {
      fill = touched & static_cast<SlotMask>(~TouchedUnits(
                           0, static_cast<int>(known), traits.unit_slots));
    }
  }
  PushUndo(&chain, slot.block, seq, UndoKind::kWrite, touched, fill);
  BoundChain(&chain, std::max(flush_floor_, traits.last_crash_seq));
  ListDirty(&slot, page);
  StrikeOut(&slot.stamp, from, to);
}

FileData::WriteResult FileData::Write(uint64_t seq, int64_t offset,
                                      std::span<const char> data,
                                      const DataTraits& traits,
                                      VersionPicker* picker) {
  WriteResult result;
  int64_t length = static_cast<int64_t>(data.size());
  SIM_CHECK(offset >= 0 && length > 0 && offset + length <= kMaxFileBytes);
  int64_t unit_bytes = int64_t{traits.unit_slots} * kSlotBytes;
  int64_t old_size = size_;
  ExposeZeros(seq, old_size, offset / unit_bytes * unit_bytes, traits);
  ForEachPage(offset, length, [&](uint32_t page, int from, int to, int64_t at) {
    BeforeWrite(page, from, to, seq, old_size, traits, picker, &result);
    PageSlot& slot = MutablePage(page);
    const char* bytes = data.data() + at;
    ForEachBlock(from, to, [&](int b, int first, int last) {
      if (last - first == kBlockBytes) {
        ReplaceBytes(&slot.block[b], bytes);
      } else {
        std::memcpy(MutableBytes(&slot.block[b]) + first, bytes, last - first);
      }
      bytes += last - first;
    });
  });
  if (offset + length > size_) {
    PushSizeOp(seq, offset + length, /*shrink=*/false, traits);
  }
  return result;
}

// Units wholly inside [from, to) become readable and were never written.
void FileData::ExposeZeros(uint64_t seq, int64_t from, int64_t to,
                           const DataTraits& traits) {
  if (!traits.track_fill || to <= from) return;
  int64_t unit_bytes = int64_t{traits.unit_slots} * kSlotBytes;
  int64_t first = (from + unit_bytes - 1) / unit_bytes * unit_bytes;
  int64_t last = (to + unit_bytes - 1) / unit_bytes * unit_bytes;
  if (last <= first) return;
  ForEachPage(first, last - first,
              [&](uint32_t page, int low, int high, int64_t) {
                SlotMask mask = TouchedUnits(low, high, traits.unit_slots);
                PageSlot& slot = MutablePage(page);
                PushUndo(&slot.chain.Mutable(), slot.block, seq,
                         UndoKind::kWrite, mask, mask);
                ListDirty(&slot, page);
              });
}

void FileData::PushSizeOp(uint64_t seq, int64_t size, bool shrink,
                          const DataTraits& traits) {
  size_ = size;
  size_ops_.push_back({seq, size, shrink});
  if (size_ops_.size() <= kMaxUndos) return;
  uint64_t floor = std::max(flush_floor_, traits.last_crash_seq);
  for (size_t i = 2; i + 1 < size_ops_.size(); ++i) {
    if (size_ops_[i].seq <= floor || size_ops_[i].shrink) continue;
    size_ops_.erase(size_ops_.begin() + static_cast<ptrdiff_t>(i));
    return;
  }
}

FileData::WriteResult FileData::Truncate(uint64_t seq, int64_t size,
                                         const DataTraits& traits,
                                         VersionPicker* picker) {
  WriteResult result;
  SIM_CHECK(size >= 0 && size <= kMaxFileBytes);
  if (size == size_) return result;
  if (size > size_) {
    ExposeZeros(seq, size_, size, traits);
    PushSizeOp(seq, size, /*shrink=*/false, traits);
    return result;
  }
  uint32_t last = PageOf(size_ - 1);
  for (uint32_t page = PageOf(size); page <= last; ++page) {
    // Holes too: bytes written there later go with a lost shrink.
    int64_t keep = std::max<int64_t>(size - int64_t{page} * kPageBytes, 0);
    TruncatePage(page, static_cast<int>(keep), seq, traits, picker, &result);
  }
  PushSizeOp(seq, size, /*shrink=*/true, traits);
  stamped_size_ = std::min(stamped_size_, size);
  return result;
}

void FileData::TruncatePage(uint32_t page, int keep, uint64_t seq,
                            const DataTraits& traits, VersionPicker* picker,
                            WriteResult* result) {
  int unit_bytes = traits.unit_slots * kSlotBytes;
  int units_end = (keep + unit_bytes - 1) / unit_bytes * unit_bytes;
  SlotMask tail = keep == units_end
                      ? SlotMask{0}
                      : TouchedUnits(keep, units_end, traits.unit_slots);
  result->drawn += Resolve(page, tail, traits, picker);
  PageSlot& slot = MutablePage(page);
  VersionChain& chain = slot.chain.Mutable();
  if (tail != 0) {
    PushUndo(&chain, slot.block, seq, UndoKind::kTruncateTail, tail, 0);
    chain.undos.back().tail = static_cast<uint16_t>(keep);
  }
  SlotMask gone = SlotRange(units_end / kSlotBytes, kSlotsPerPage);
  if (gone != 0) {
    result->closed += CountUnits(chain.open & gone, traits.unit_slots);
    chain.open &= static_cast<SlotMask>(~gone);
    PushUndo(&chain, slot.block, seq, UndoKind::kTruncate, gone, 0);
  }
  ForEachBlock(keep, kPageBytes, [&](int b, int first, int last) {
    if (last - first == kBlockBytes) {
      slot.block[b] = nullptr;
    } else if (slot.block[b] && first < last) {
      std::memset(MutableBytes(&slot.block[b]) + first, 0, last - first);
    }
  });
  ListDirty(&slot, page);
  StrikeOut(&slot.stamp, keep, kPageBytes);
}

bool FileData::Dirty(const DataTraits& traits) const {
  if (!size_ops_.empty()) return true;
  Flush all;
  all.seq = UINT64_MAX;
  return std::any_of(dirty_.begin(), dirty_.end(), [&](uint32_t page) {
    return FlushableSlots(page, all, traits) != 0;
  });
}

bool FileData::HasOpen() const {
  return std::any_of(open_.begin(), open_.end(), [&](uint32_t page) {
    return Find(page)->chain->open != 0;
  });
}

uint64_t FileData::CountPending(const DataTraits& traits) const {
  uint64_t count = 0;
  for (uint32_t page : dirty_) {
    const VersionChain& chain = *Find(page)->chain;
    count += CountUnits(chain.Live() & static_cast<SlotMask>(~chain.open),
                        traits.unit_slots);
  }
  return count;
}

uint64_t FileData::CountDirty(const DataTraits& traits) const {
  uint64_t count = 0;
  for (uint32_t page : dirty_) {
    const VersionChain& chain = *Find(page)->chain;
    SlotMask clean = static_cast<SlotMask>(chain.open | FailedLast(chain));
    count += CountUnits(chain.Live() & static_cast<SlotMask>(~clean),
                        traits.unit_slots);
  }
  return count;
}

uint64_t FileData::CountOpen(const DataTraits& traits) const {
  uint64_t count = 0;
  for (uint32_t page : open_) {
    count += CountUnits(Find(page)->chain->open, traits.unit_slots);
  }
  return count;
}

void FileData::PendingSeqs(std::vector<uint64_t>* seqs) const {
  for (const SizeOp& op : size_ops_) seqs->push_back(op.seq);
  for (uint32_t page : dirty_) {
    for (const Undo& undo : Find(page)->chain->undos) {
      seqs->push_back(undo.seq);
    }
  }
}

std::vector<uint32_t> FileData::DirtyPages() const {
  std::vector<uint32_t> pages = dirty_;
  std::sort(pages.begin(), pages.end());
  return pages;
}

void FileData::CollectBlocks(std::vector<BlockRef>* out) const {
  for (const Ref<Chunk>& chunk : chunks_) {
    if (!chunk) continue;
    for (const PageSlot& slot : chunk->pages) {
      for (const BlockRef& block : slot.block) {
        if (block) out->push_back(block);
      }
    }
  }
}

uint64_t FileData::Hash() const {
  SIM_CHECK(!HasOpen());
  uint64_t h = HashBytes(nullptr, 0, static_cast<uint64_t>(size_));
  for (uint32_t page = 0; int64_t{page} * kPageBytes < size_; ++page) {
    const PageSlot* slot = Find(page);
    for (int b = 0; b < kBlocksPerPage; ++b) {
      uint64_t block = BlockHash(slot == nullptr ? BlockRef() : slot->block[b]);
      h = HashBytes(reinterpret_cast<const char*>(&block), sizeof block, h);
    }
  }
  return h;
}

}  // namespace sim
