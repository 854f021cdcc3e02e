#include "engine/page/bufpage.h"

#include <fmt/format.h>

#include <cstring>

#include "engine/common/checksum.h"

namespace engine {
namespace {

constexpr int kItemIdSize = sizeof(ItemIdData);

Status Damaged(std::string message) {
  return Status(env::Code::kCorrupted, std::move(message));
}

Status DamagedHeader(const char* page) {
  const PageHeaderData* h = PageHeader(page);
  return Damaged(fmt::format(
      "corrupted page pointers: lower = {}, upper = {}, special = {}",
      h->pd_lower, h->pd_upper, h->pd_special));
}

Status DamagedItem(const ItemIdData& lp) {
  uint32_t offset = lp.lp_off;
  uint32_t size = lp.lp_len;
  return Damaged(fmt::format("corrupted line pointer: offset = {}, size = {}",
                             offset, size));
}

// Bytes that an item's storage takes.
int StorageSize(const ItemIdData& lp) {
  return static_cast<int>(MaxAlign(lp.lp_len));
}

// True if the item with storage lies where items may lie.
bool StorageIsSane(const char* page, const ItemIdData& lp) {
  const PageHeaderData* h = PageHeader(page);
  return lp.lp_off >= h->pd_upper && lp.lp_off % 8 == 0 &&
         lp.lp_off + StorageSize(lp) <= h->pd_special;
}

// Moves by `distance` all items whose storage starts at or below `limit`.
void ShiftItems(char* page, int limit, int distance) {
  OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
  for (OffsetNumber i = kFirstOffsetNumber; i <= maxoff; ++i) {
    ItemIdData* lp = PageGetItemId(page, i);
    if (ItemIdHasStorage(*lp) && static_cast<int>(lp->lp_off) <= limit) {
      lp->lp_off = static_cast<uint32_t>(lp->lp_off + distance) & 0x7FFF;
    }
  }
}

// The first line pointer that is free to reuse, or 0.
OffsetNumber FindFreeLinePointer(const char* page, OffsetNumber maxoff) {
  for (OffsetNumber i = kFirstOffsetNumber; i <= maxoff; ++i) {
    const ItemIdData* lp = PageGetItemId(page, i);
    if (!ItemIdIsUsed(*lp) && !ItemIdHasStorage(*lp)) return i;
  }
  return kInvalidOffsetNumber;
}

// The line pointer that an insertion takes.
struct Placement {
  OffsetNumber offnum = kInvalidOffsetNumber;  // 0: the insertion is refused
  bool shuffle = false;                        // shift the later ones up
};

Placement ChooseLinePointer(char* page, OffsetNumber wanted, bool overwrite) {
  OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
  auto limit = static_cast<OffsetNumber>(maxoff + 1);
  if (wanted > limit) return {};
  if (wanted != kInvalidOffsetNumber) {
    if (wanted == limit) return {wanted, false};
    if (!overwrite) return {wanted, true};
    const ItemIdData* lp = PageGetItemId(page, wanted);
    bool taken = ItemIdIsUsed(*lp) || ItemIdHasStorage(*lp);
    return {taken ? kInvalidOffsetNumber : wanted, false};
  }
  if (!PageHasFreeLinePointers(page)) return {limit, false};
  OffsetNumber found = FindFreeLinePointer(page, maxoff);
  if (found != kInvalidOffsetNumber) return {found, false};
  PageClearHasFreeLinePointers(page);  // the hint was wrong
  return {limit, false};
}

// The items of a page during compaction; index is a line pointer, from 0.
struct CompactItem {
  uint16_t index;
  uint16_t offset;
  uint16_t aligned_size;
};
struct CompactList {
  CompactItem items[kMaxLinePointers];
  size_t count = 0;
  int total = 0;  // bytes

  void Add(size_t index, const ItemIdData& lp) {
    items[count++] = {static_cast<uint16_t>(index),
                      static_cast<uint16_t>(lp.lp_off),
                      static_cast<uint16_t>(StorageSize(lp))};
    total += StorageSize(lp);
  }
  // Overlapping items can claim more than there is.
  Status Verify(const char* page) const {
    int room = PageHeader(page)->pd_special - PageHeader(page)->pd_lower;
    if (total <= room) return {};
    return Damaged(fmt::format(
        "corrupted item lengths: total {}, available space {}", total, room));
  }
};

// Packs the items against the special space, in their physical order.
void CompactifyTuples(char* page, CompactList& list) {
  std::span<CompactItem> items(list.items, list.count);
  auto physically_later = [](const CompactItem& a, const CompactItem& b) {
    return a.offset != b.offset ? a.offset > b.offset : a.index > b.index;
  };
  if (!std::is_sorted(items.begin(), items.end(), physically_later)) {
    std::sort(items.begin(), items.end(), physically_later);
  }
  int upper = PageHeader(page)->pd_special;
  for (const CompactItem& item : items) {
    upper -= item.aligned_size;
    std::memmove(page + upper, page + item.offset, item.aligned_size);
    PageGetItemId(page, static_cast<OffsetNumber>(item.index + 1))->lp_off =
        static_cast<uint32_t>(upper) & 0x7FFF;
  }
  PageHeader(page)->pd_upper = static_cast<uint16_t>(upper);
}

}  // namespace

void PageInit(char* page, size_t special_size) {
  special_size = MaxAlign(special_size);
  SIM_CHECK(special_size + kSizeOfPageHeaderData < size_t{BLCKSZ});
  std::memset(page, 0, BLCKSZ);
  PageHeaderData* h = PageHeader(page);
  h->pd_lower = kSizeOfPageHeaderData;
  h->pd_upper = static_cast<uint16_t>(BLCKSZ - special_size);
  h->pd_special = h->pd_upper;
  h->pd_pagesize_version = kPageSizeVersion;
}

bool PageHeaderIsSane(const char* page) {
  const PageHeaderData* h = PageHeader(page);
  return h->pd_lower >= kSizeOfPageHeaderData && h->pd_lower <= h->pd_upper &&
         h->pd_upper <= h->pd_special && h->pd_special <= BLCKSZ &&
         h->pd_special % 8 == 0;
}

OffsetNumber PageAddItem(char* page, std::string_view item, OffsetNumber offnum,
                         bool overwrite, bool is_heap) {
  if (!PageHeaderIsSane(page) || item.size() > size_t{BLCKSZ}) return 0;
  Placement place = ChooseLinePointer(page, offnum, overwrite);
  if (place.offnum == kInvalidOffsetNumber) return 0;
  if (is_heap && place.offnum > MaxHeapTuplesPerPage) return 0;

  PageHeaderData* h = PageHeader(page);
  bool grows = place.shuffle || place.offnum > PageGetMaxOffsetNumber(page);
  int lower = h->pd_lower + (grows ? kItemIdSize : 0);
  int upper = h->pd_upper - static_cast<int>(MaxAlign(item.size()));
  if (lower > upper) return 0;

  ItemIdData* lp = PageGetItemId(page, place.offnum);
  if (place.shuffle) {
    std::memmove(
        lp + 1, lp,
        static_cast<size_t>(page + h->pd_lower - reinterpret_cast<char*>(lp)));
  }
  ItemIdSetNormal(*lp, static_cast<uint32_t>(upper),
                  static_cast<uint32_t>(item.size()));
  if (!item.empty()) std::memcpy(page + upper, item.data(), item.size());
  std::memset(page + upper + item.size(), 0,
              MaxAlign(item.size()) - item.size());
  h->pd_lower = static_cast<uint16_t>(lower);
  h->pd_upper = static_cast<uint16_t>(upper);
  return place.offnum;
}

size_t PageGetExactFreeSpace(const char* page) {
  const PageHeaderData* h = PageHeader(page);
  if (h->pd_lower >= h->pd_upper || h->pd_upper > BLCKSZ) return 0;
  return static_cast<size_t>(h->pd_upper - h->pd_lower);
}

size_t PageGetFreeSpaceForMultipleTuples(const char* page, int ntups) {
  size_t pointers = static_cast<size_t>(ntups) * kItemIdSize;
  size_t space = PageGetExactFreeSpace(page);
  return space < pointers ? 0 : space - pointers;
}

size_t PageGetFreeSpace(const char* page) {
  return PageGetFreeSpaceForMultipleTuples(page, 1);
}

size_t PageGetHeapFreeSpace(const char* page) {
  size_t space = PageGetFreeSpace(page);
  OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
  if (space == 0 || maxoff < MaxHeapTuplesPerPage) return space;
  // No new line pointer may be made; the hint says whether one can be reused.
  if (!PageHasFreeLinePointers(page)) return 0;
  return FindFreeLinePointer(page, maxoff) == kInvalidOffsetNumber ? 0 : space;
}

Status PageRepairFragmentation(char* page) {
  if (!PageHeaderIsSane(page)) return DamagedHeader(page);
  PageHeaderData* h = PageHeader(page);
  OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
  CompactList list;
  OffsetNumber last_used = 0;
  int unused = 0;
  for (OffsetNumber i = kFirstOffsetNumber; i <= maxoff; ++i) {
    const ItemIdData* lp = PageGetItemId(page, i);
    if (!ItemIdIsUsed(*lp)) {
      ++unused;
      continue;
    }
    last_used = i;
    if (!ItemIdHasStorage(*lp)) continue;
    if (!StorageIsSane(page, *lp)) {
      return DamagedItem(*lp);
    }
    list.Add(i - 1, *lp);
  }
  RETURN_IF_ERROR(list.Verify(page));
  for (OffsetNumber i = kFirstOffsetNumber; i <= maxoff; ++i) {
    ItemIdData* lp = PageGetItemId(page, i);
    if (!ItemIdIsUsed(*lp)) ItemIdSetUnused(*lp);
  }
  CompactifyTuples(page, list);

  int trailing = maxoff - last_used;
  h->pd_lower = static_cast<uint16_t>(h->pd_lower - trailing * kItemIdSize);
  if (unused > trailing) {
    PageSetHasFreeLinePointers(page);
  } else {
    PageClearHasFreeLinePointers(page);
  }
  return {};
}

void PageTruncateLinePointerArray(char* page) {
  OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
  OffsetNumber last = maxoff;
  bool unused_left = false;
  while (last > kFirstOffsetNumber && !ItemIdIsUsed(*PageGetItemId(page, last)))
    --last;
  for (OffsetNumber i = kFirstOffsetNumber; i <= last; ++i) {
    if (!ItemIdIsUsed(*PageGetItemId(page, i))) unused_left = true;
  }
  if (last < maxoff) {
    PageHeader(page)->pd_lower =
        static_cast<uint16_t>(kSizeOfPageHeaderData + last * kItemIdSize);
  }
  if (unused_left) {
    PageSetHasFreeLinePointers(page);
  } else {
    PageClearHasFreeLinePointers(page);
  }
}

Status PageIndexTupleDelete(char* page, OffsetNumber offnum) {
  if (!PageHeaderIsSane(page)) return DamagedHeader(page);
  OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
  if (offnum < kFirstOffsetNumber || offnum > maxoff) {
    return Damaged(fmt::format("invalid index offnum: {}", offnum));
  }
  ItemIdData lp = *PageGetItemId(page, offnum);
  if (!StorageIsSane(page, lp)) {
    return DamagedItem(lp);
  }
  PageHeaderData* h = PageHeader(page);
  int size = StorageSize(lp);
  int offset = lp.lp_off;
  std::memmove(PageGetItemId(page, offnum),
               PageGetItemId(page, static_cast<OffsetNumber>(offnum + 1)),
               static_cast<size_t>(maxoff - offnum) * kItemIdSize);
  h->pd_lower = static_cast<uint16_t>(h->pd_lower - kItemIdSize);
  std::memmove(page + h->pd_upper + size, page + h->pd_upper,
               static_cast<size_t>(offset - h->pd_upper));
  h->pd_upper = static_cast<uint16_t>(h->pd_upper + size);
  ShiftItems(page, offset, size);
  return {};
}

Status PageIndexMultiDelete(char* page, std::span<const OffsetNumber> offnums) {
  if (!PageHeaderIsSane(page)) return DamagedHeader(page);
  OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
  ItemIdData kept[kMaxLinePointers];
  CompactList list;
  size_t nkept = 0;
  size_t next = 0;
  for (OffsetNumber i = kFirstOffsetNumber; i <= maxoff; ++i) {
    ItemIdData lp = *PageGetItemId(page, i);
    if (!StorageIsSane(page, lp)) {
      return DamagedItem(lp);
    }
    if (next < offnums.size() && offnums[next] == i) {
      ++next;
      continue;
    }
    if (ItemIdHasStorage(lp)) list.Add(nkept, lp);
    kept[nkept++] = lp;
  }
  if (next != offnums.size())
    return Damaged("incorrect index offsets supplied");
  RETURN_IF_ERROR(list.Verify(page));
  PageHeaderData* h = PageHeader(page);
  std::memcpy(page + kSizeOfPageHeaderData, kept, nkept * kItemIdSize);
  h->pd_lower =
      static_cast<uint16_t>(kSizeOfPageHeaderData + nkept * kItemIdSize);
  CompactifyTuples(page, list);
  return {};
}

bool PageIndexTupleOverwrite(char* page, OffsetNumber offnum,
                             std::string_view item) {
  if (!PageHeaderIsSane(page) || item.empty()) return false;
  if (offnum < kFirstOffsetNumber || offnum > PageGetMaxOffsetNumber(page)) {
    return false;
  }
  ItemIdData* lp = PageGetItemId(page, offnum);
  if (!StorageIsSane(page, *lp)) return false;
  PageHeaderData* h = PageHeader(page);
  int old_size = StorageSize(*lp);
  int new_size = static_cast<int>(MaxAlign(item.size()));
  if (new_size > old_size + (h->pd_upper - h->pd_lower)) return false;

  int offset = lp->lp_off;
  int shift = old_size - new_size;
  if (shift != 0) {
    std::memmove(page + h->pd_upper + shift, page + h->pd_upper,
                 static_cast<size_t>(offset - h->pd_upper));
    h->pd_upper = static_cast<uint16_t>(h->pd_upper + shift);
    ShiftItems(page, offset, shift);
  }
  lp->lp_off = static_cast<uint32_t>(offset + shift) & 0x7FFF;
  lp->lp_len = item.size() & 0x7FFF;
  std::memcpy(page + offset + shift, item.data(), item.size());
  std::memset(page + offset + shift + item.size(), 0,
              MaxAlign(item.size()) - item.size());
  return true;
}

Status PageVerify(const char* page, BlockNumber blkno, bool checksums) {
  const PageHeaderData* h = PageHeader(page);
  std::string why = "page header is not valid";
  if (!PageIsNew(page)) {
    bool sum_ok = true;
    if (checksums) {
      uint16_t sum = PageChecksum(page, blkno);
      sum_ok = sum == h->pd_checksum;
      if (!sum_ok) {
        why = fmt::format(
            "page verification failed, calculated checksum {} but expected {}",
            sum, h->pd_checksum);
      }
    }
    if (sum_ok && (h->pd_flags & ~PD_VALID_FLAG_BITS) == 0 &&
        h->pd_lower <= h->pd_upper && h->pd_upper <= h->pd_special &&
        h->pd_special <= BLCKSZ && h->pd_special % 8 == 0) {
      return {};
    }
  }
  // A file extended just before a crash has such pages.
  if (std::all_of(page, page + BLCKSZ, [](char c) { return c == 0; })) {
    return {};
  }
  return Damaged(std::move(why));
}

void PageSetChecksumInplace(char* page, BlockNumber blkno) {
  if (PageIsNew(page)) return;
  PageHeader(page)->pd_checksum = PageChecksum(page, blkno);
}

void PageSetChecksumCopy(const char* page, BlockNumber blkno, bool checksums,
                         std::span<char, BLCKSZ> copy) {
  std::memcpy(copy.data(), page, BLCKSZ);
  if (checksums) PageSetChecksumInplace(copy.data(), blkno);
}

}  // namespace engine
