// ItemIdData: a line pointer, the indirection between a tuple's address and
// its bytes on a page.
//
//   bit  0      14 15 16 17     31
//       | lp_off  | flags | lp_len |
//
// Line pointers come from disk, so nothing here trusts them: check
// ItemIdIsWithinPage() before touching the bytes behind one, or read through
// PageGetItemBytes(), which clips.
// Source: src/include/storage/itemid.h.
#ifndef MUSTH_ENGINE_PAGE_ITEMID_H_
#define MUSTH_ENGINE_PAGE_ITEMID_H_

#include <type_traits>

#include "engine/common/types.h"

namespace engine {

struct ItemIdData {
  uint32_t lp_off : 15;   // offset of the item from the start of the page
  uint32_t lp_flags : 2;  // one of LP_*
  uint32_t lp_len : 15;   // its length in bytes
};
static_assert(sizeof(ItemIdData) == 4);
static_assert(std::is_trivial_v<ItemIdData>);
static_assert(std::has_unique_object_representations_v<ItemIdData>);

inline constexpr uint32_t LP_UNUSED = 0;    // free; lp_len is 0
inline constexpr uint32_t LP_NORMAL = 1;    // points at an item
inline constexpr uint32_t LP_REDIRECT = 2;  // lp_off is a line pointer number
inline constexpr uint32_t LP_DEAD = 3;      // no longer reachable but by index

inline bool ItemIdIsUsed(const ItemIdData& lp) {
  return lp.lp_flags != LP_UNUSED;
}
inline bool ItemIdIsNormal(const ItemIdData& lp) {
  return lp.lp_flags == LP_NORMAL;
}
inline bool ItemIdIsRedirected(const ItemIdData& lp) {
  return lp.lp_flags == LP_REDIRECT;
}
inline bool ItemIdIsDead(const ItemIdData& lp) {
  return lp.lp_flags == LP_DEAD;
}
inline bool ItemIdHasStorage(const ItemIdData& lp) { return lp.lp_len != 0; }
inline OffsetNumber ItemIdGetRedirect(const ItemIdData& lp) {
  return static_cast<OffsetNumber>(lp.lp_off);
}
// True if the item's bytes lie between the page header and the page's end.
inline bool ItemIdIsWithinPage(const ItemIdData& lp) {
  return lp.lp_off >= 24 &&
         static_cast<uint32_t>(lp.lp_off) + lp.lp_len <= uint32_t{BLCKSZ};
}

inline void ItemIdSetUnused(ItemIdData& lp) { lp = {0, LP_UNUSED, 0}; }
inline void ItemIdSetNormal(ItemIdData& lp, uint32_t off, uint32_t len) {
  lp.lp_off = off & 0x7FFF;
  lp.lp_flags = LP_NORMAL;
  lp.lp_len = len & 0x7FFF;
}
inline void ItemIdSetRedirect(ItemIdData& lp, OffsetNumber link) {
  lp.lp_off = link & 0x7FFF;
  lp.lp_flags = LP_REDIRECT;
  lp.lp_len = 0;
}
// Forgets the storage as well.
inline void ItemIdSetDead(ItemIdData& lp) { lp = {0, LP_DEAD, 0}; }
// Keeps the storage: an index's hint that the tuple behind it is dead.
inline void ItemIdMarkDead(ItemIdData& lp) { lp.lp_flags = LP_DEAD; }

}  // namespace engine

#endif  // MUSTH_ENGINE_PAGE_ITEMID_H_
