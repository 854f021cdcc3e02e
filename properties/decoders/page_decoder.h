// PageDecoder: the header and line pointers of an 8 KiB heap page.
//
//   pd_lsn 8 | checksum 2 | flags 2 | lower 2 | upper 2 | special 2 |
//   size+version 2 | prune_xid 4 | line pointers 4 each ... hole ... items
// Source: src/include/storage/bufpage.h, itemid.h.
#ifndef MUSTH_PROPERTIES_DECODERS_PAGE_DECODER_H_
#define MUSTH_PROPERTIES_DECODERS_PAGE_DECODER_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "properties/decoders/bytes.h"
#include "sim/env/status.h"

namespace properties {

enum class LinePointerKind : uint8_t { kUnused, kNormal, kRedirect, kDead };

struct LinePointer {
  LinePointerKind kind = LinePointerKind::kUnused;
  uint16_t offset = 0;  // kRedirect: a line pointer's number
  uint16_t length = 0;
};

struct DecodedPage {
  // All zeros: the file was extended and the page never written.
  bool is_new = false;
  uint64_t lsn = 0;
  uint16_t checksum = 0;
  uint16_t flags = 0;
  uint16_t lower = 0;
  uint16_t upper = 0;
  uint16_t special = 0;
  uint16_t size_version = 0;
  uint32_t prune_xid = 0;
  std::vector<LinePointer> items;  // items[i] is line pointer i + 1
};

// The page's LSN without further checks. Requires: 8192 bytes.
uint64_t PageLsn(std::string_view page);

// Takes a page apart. Errors: kCorrupted, saying which field cannot be right:
// offsets out of order, line pointers outside the item area or overlapping,
// a wrong size or version. A checksum is not verified here.
env::Result<DecodedPage> DecodePage(std::string_view page);

// The bytes of item `number` (from 1). Requires: DecodePage accepted the page
// and the line pointer is kNormal.
inline std::string_view PageItem(std::string_view page,
                                 const DecodedPage& decoded, size_t number) {
  const LinePointer& lp = decoded.items[number - 1];
  return page.substr(lp.offset, lp.length);
}

}  // namespace properties

#endif  // MUSTH_PROPERTIES_DECODERS_PAGE_DECODER_H_
