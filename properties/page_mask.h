// PageMask: what two copies of one page may differ in, and who looks instead.
//
// Redo does not write hint bits and knows no command ids; everything else of a
// page that do and redo produce must be equal, byte by byte. Each part that is
// not compared is a row of one table, with the oracle that covers it.
// Source: src/backend/access/common/bufmask.c, heap_mask().
// Differs: much less is masked. Hints may only be there in addition to what
// redo makes, unused space and pd_prune_xid are compared.
#ifndef MUSTH_PROPERTIES_PAGE_MASK_H_
#define MUSTH_PROPERTIES_PAGE_MASK_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace properties {

enum class MaskedPart : uint8_t {
  kLsn,         // pd_lsn
  kChecksum,    // pd_checksum
  kPageHints,   // PD_PAGE_FULL
  kTupleHints,  // HEAP_XMIN_*, HEAP_XMAX_COMMITTED, HEAP_XMAX_INVALID
  kCommandId,   // t_cid, HEAP_COMBOCID
};

struct MaskRow {
  MaskedPart part;
  const char* fields;
  const char* oracle;  // who judges these bits
  const char* why;
};
std::span<const MaskRow> MaskTable();

// Compares a page with what redo makes of it. Empty if they agree; otherwise
// the first field in which they do not, with both values:
// "t_xmax of line pointer 3 is 731, redo makes 0". Requires: 8192 bytes each.
std::string ComparePages(std::string_view redone, std::string_view found);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_PAGE_MASK_H_
