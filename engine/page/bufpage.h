// The bytes of a page: header, line pointers, items, special space.
//
//   0        24              pd_lower      pd_upper    pd_special    8192
//   | header | lp 1 | lp 2 ... |   hole      | items ...  | special  |
//
// Line pointers grow upwards, items downwards. An item's line pointer number
// (OffsetNumber, from 1) never changes while something may refer to it; its
// bytes may move (PageRepairFragmentation). An all-zero page is "new" and
// valid: a crash leaves such pages behind when a file was extended.
//
// A page that was read from disk is input. Every function here stays within
// the page's 8192 bytes whatever they hold; those that cannot do what was
// asked on a damaged page return 0, a failure or kCorrupted and change
// nothing.
// Page code takes no Backend and cannot suspend.
// Source: src/include/storage/bufpage.h, src/backend/storage/page/bufpage.c.
#ifndef MUSTH_ENGINE_PAGE_BUFPAGE_H_
#define MUSTH_ENGINE_PAGE_BUFPAGE_H_

#include <algorithm>
#include <span>
#include <string_view>

#include "engine/common/types.h"
#include "engine/page/itemid.h"

namespace engine {

struct PageXLogRecPtr {
  uint32_t xlogid;   // high half
  uint32_t xrecoff;  // low half
};

struct PageHeaderData {
  PageXLogRecPtr pd_lsn;         // end of the last WAL record that touched it
  uint16_t pd_checksum;          // 0 in memory; set when written
  uint16_t pd_flags;             // PD_*
  uint16_t pd_lower;             // start of the hole
  uint16_t pd_upper;             // end of the hole
  uint16_t pd_special;           // start of the special space
  uint16_t pd_pagesize_version;  // 8192 | 4
  TransactionId pd_prune_xid;    // oldest xid that may be prunable, or 0
};
static_assert(sizeof(PageHeaderData) == 24);
static_assert(offsetof(PageHeaderData, pd_checksum) == 8);
static_assert(offsetof(PageHeaderData, pd_flags) == 10);
static_assert(offsetof(PageHeaderData, pd_lower) == 12);
static_assert(offsetof(PageHeaderData, pd_upper) == 14);
static_assert(offsetof(PageHeaderData, pd_special) == 16);
static_assert(offsetof(PageHeaderData, pd_pagesize_version) == 18);
static_assert(offsetof(PageHeaderData, pd_prune_xid) == 20);
static_assert(std::has_unique_object_representations_v<PageHeaderData>);

inline constexpr uint16_t kSizeOfPageHeaderData = sizeof(PageHeaderData);
inline constexpr uint16_t kPageLayoutVersion = 4;
inline constexpr uint16_t kPageSizeVersion = BLCKSZ | kPageLayoutVersion;

inline constexpr uint16_t PD_HAS_FREE_LINES = 0x0001;  // a hint
inline constexpr uint16_t PD_PAGE_FULL = 0x0002;       // a hint
inline constexpr uint16_t PD_ALL_VISIBLE = 0x0004;
inline constexpr uint16_t PD_VALID_FLAG_BITS = 0x0007;

// Bytes of the smallest heap tuple and its line pointer: (8192-24)/(24+4).
inline constexpr OffsetNumber MaxHeapTuplesPerPage = 291;
// Line pointers that fit on a page that holds nothing else.
inline constexpr int kMaxLinePointers =
    (BLCKSZ - kSizeOfPageHeaderData) / static_cast<int>(sizeof(ItemIdData));

// --- Header ---------------------------------------------------------------

inline PageHeaderData* PageHeader(char* page) {
  return reinterpret_cast<PageHeaderData*>(page);
}
inline const PageHeaderData* PageHeader(const char* page) {
  return reinterpret_cast<const PageHeaderData*>(page);
}

// Makes an empty page with special_size bytes of special space.
void PageInit(char* page, size_t special_size);

// True for a page that was never initialised (all zeros, or zeroed).
inline bool PageIsNew(const char* page) {
  return PageHeader(page)->pd_upper == 0;
}
inline XLogRecPtr PageGetLSN(const char* page) {
  const PageXLogRecPtr& lsn = PageHeader(page)->pd_lsn;
  return (static_cast<XLogRecPtr>(lsn.xlogid) << 32) | lsn.xrecoff;
}
inline void PageSetLSN(char* page, XLogRecPtr lsn) {
  PageHeader(page)->pd_lsn = {static_cast<uint32_t>(lsn >> 32),
                              static_cast<uint32_t>(lsn)};
}

inline bool PageHasFlag(const char* page, uint16_t flag) {
  return (PageHeader(page)->pd_flags & flag) != 0;
}
inline void PageSetFlag(char* page, uint16_t flag) {
  PageHeader(page)->pd_flags |= flag;
}
inline void PageClearFlag(char* page, uint16_t flag) {
  PageHeader(page)->pd_flags &= static_cast<uint16_t>(~flag);
}
inline bool PageHasFreeLinePointers(const char* page) {
  return PageHasFlag(page, PD_HAS_FREE_LINES);
}
inline void PageSetHasFreeLinePointers(char* page) {
  PageSetFlag(page, PD_HAS_FREE_LINES);
}
inline void PageClearHasFreeLinePointers(char* page) {
  PageClearFlag(page, PD_HAS_FREE_LINES);
}
inline bool PageIsFull(const char* page) {
  return PageHasFlag(page, PD_PAGE_FULL);
}
inline void PageSetFull(char* page) { PageSetFlag(page, PD_PAGE_FULL); }
inline void PageClearFull(char* page) { PageClearFlag(page, PD_PAGE_FULL); }
inline bool PageIsAllVisible(const char* page) {
  return PageHasFlag(page, PD_ALL_VISIBLE);
}
inline void PageSetAllVisible(char* page) { PageSetFlag(page, PD_ALL_VISIBLE); }
inline void PageClearAllVisible(char* page) {
  PageClearFlag(page, PD_ALL_VISIBLE);
}

// Remembers that xid's work may be prunable once xid is behind all snapshots.
// Keeps the older of it and what is there. Requires: xid is normal.
inline void PageSetPrunable(char* page, TransactionId xid) {
  TransactionId& prune = PageHeader(page)->pd_prune_xid;
  if (!TransactionIdIsValid(prune) || TransactionIdPrecedes(xid, prune)) {
    prune = xid;
  }
}
inline void PageClearPrunable(char* page) {
  PageHeader(page)->pd_prune_xid = kInvalidTransactionId;
}
inline TransactionId PageGetPruneXid(const char* page) {
  return PageHeader(page)->pd_prune_xid;
}

// --- Line pointers and items ----------------------------------------------

// Number of the last line pointer, 0 if there is none.
inline OffsetNumber PageGetMaxOffsetNumber(const char* page) {
  int lower = std::min<int>(PageHeader(page)->pd_lower, BLCKSZ);
  if (lower <= kSizeOfPageHeaderData) return 0;
  return static_cast<OffsetNumber>((lower - kSizeOfPageHeaderData) /
                                   static_cast<int>(sizeof(ItemIdData)));
}
inline bool PageIsEmpty(const char* page) {
  return PageHeader(page)->pd_lower <= kSizeOfPageHeaderData;
}

// Requires: 1 <= offnum <= kMaxLinePointers.
inline ItemIdData* PageGetItemId(char* page, OffsetNumber offnum) {
  return reinterpret_cast<ItemIdData*>(page + kSizeOfPageHeaderData) +
         (offnum - 1);
}
inline const ItemIdData* PageGetItemId(const char* page, OffsetNumber offnum) {
  return reinterpret_cast<const ItemIdData*>(page + kSizeOfPageHeaderData) +
         (offnum - 1);
}

// The item's first byte. On a damaged page it is some byte of the page, and
// lp_len bytes from it may reach beyond: see ItemIdIsWithinPage().
inline char* PageGetItem(char* page, const ItemIdData& lp) {
  return page + (lp.lp_off & (BLCKSZ - 1));
}
inline const char* PageGetItem(const char* page, const ItemIdData& lp) {
  return page + (lp.lp_off & (BLCKSZ - 1));
}
inline char* PageGetItem(char* page, const ItemIdData* lp) {
  return PageGetItem(page, *lp);
}
inline const char* PageGetItem(const char* page, const ItemIdData* lp) {
  return PageGetItem(page, *lp);
}
// The item's bytes, clipped at the page's end.
inline std::string_view PageGetItemBytes(const char* page,
                                         const ItemIdData& lp) {
  uint32_t off = lp.lp_off & (BLCKSZ - 1);
  return {page + off, std::min<size_t>(lp.lp_len, size_t{BLCKSZ} - off)};
}

// The special space; empty when pd_special is damaged.
inline std::span<char> PageGetSpecial(char* page) {
  size_t special = PageHeader(page)->pd_special;
  if (special < kSizeOfPageHeaderData || special > size_t{BLCKSZ}) return {};
  return {page + special, size_t{BLCKSZ} - special};
}
inline std::span<const char> PageGetSpecial(const char* page) {
  return PageGetSpecial(const_cast<char*>(page));
}

// Adds an item and returns its line pointer's number, or 0 if it does not fit
// (or if the page's pointers are damaged).
// offnum 0: reuse a free line pointer if PD_HAS_FREE_LINES, else append.
// offnum n, overwrite: use line pointer n, which must be free or the next one.
// offnum n, no overwrite: insert at n, shifting the later ones up (indexes).
// is_heap: never use more than MaxHeapTuplesPerPage line pointers.
OffsetNumber PageAddItem(char* page, std::string_view item, OffsetNumber offnum,
                         bool overwrite, bool is_heap);

// --- Space ----------------------------------------------------------------

// Units of all: bytes. Space for one more item after its line pointer; 0 if
// there is none.
size_t PageGetFreeSpace(const char* page);
// As above for n items.
size_t PageGetFreeSpaceForMultipleTuples(const char* page, int ntups);
// Size of the hole.
size_t PageGetExactFreeSpace(const char* page);
// As PageGetFreeSpace, but 0 if a heap page's line pointers are used up.
size_t PageGetHeapFreeSpace(const char* page);

// --- Reorganisation -------------------------------------------------------

// Closes the gaps between items, drops unused line pointers at the array's end
// and sets PD_HAS_FREE_LINES to what is then true. Items keep their numbers
// and their physical order.
// Requires: cleanup lock. Errors: kCorrupted, nothing changed.
Status PageRepairFragmentation(char* page);
// Drops unused line pointers at the array's end, keeping at least one.
void PageTruncateLinePointerArray(char* page);

// Removes one item, its line pointer and its bytes; later ones move down.
// Errors: kCorrupted, nothing changed.
Status PageIndexTupleDelete(char* page, OffsetNumber offnum);
// As above for several, which must be in ascending order.
Status PageIndexMultiDelete(char* page, std::span<const OffsetNumber> offnums);
// Puts item in the place of the one at offnum. Returns false, changing
// nothing, if it does not fit or the page is damaged.
bool PageIndexTupleOverwrite(char* page, OffsetNumber offnum,
                             std::string_view item);

// --- Reading and writing --------------------------------------------------

// True if the header's offsets are in order and within the page.
bool PageHeaderIsSane(const char* page);
// Checks a page just read: all zeros passes, else the header must be sane and
// (with checksums) the checksum right. Errors: kCorrupted.
Status PageVerify(const char* page, BlockNumber blkno, bool checksums);
// Sets pd_checksum for writing at blkno. Does nothing to a new page.
void PageSetChecksumInplace(char* page, BlockNumber blkno);
// Copies page into copy and, with checksums, sets the copy's. The original may
// be shared with processes that set hint bits.
void PageSetChecksumCopy(const char* page, BlockNumber blkno, bool checksums,
                         std::span<char, BLCKSZ> copy);

}  // namespace engine

#endif  // MUSTH_ENGINE_PAGE_BUFPAGE_H_
