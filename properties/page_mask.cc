#include "properties/page_mask.h"

#include <fmt/format.h>

#include <algorithm>

#include "properties/decoders/bytes.h"
#include "properties/decoders/tuple_decoder.h"

namespace properties {
namespace {

constexpr size_t kChecksumAt = 8;
constexpr size_t kFlagsAt = 10;
constexpr size_t kLowerAt = 12;
constexpr size_t kHeaderBytes = 24;
constexpr uint16_t kPageFull = 0x0002;
constexpr size_t kCidAt = 8;
constexpr size_t kInfomaskAt = 20;
constexpr uint16_t kComboCid = 0x0020;
constexpr uint16_t kXmaxHints = kHeapXmaxCommitted | kHeapXmaxInvalid;

constexpr MaskRow kTable[] = {
    {MaskedPart::kLsn, "pd_lsn", "shadow",
     "compared apart: it must be the end of the last record that touched the "
     "page, with more than one right answer after a hint's image"},
    {MaskedPart::kChecksum, "pd_checksum", "structure",
     "computed when a page is written; redo works on pages in memory"},
    {MaskedPart::kPageHints, "pd_flags: PD_PAGE_FULL", "structure",
     "set without a record; only tells where pruning would pay"},
    {MaskedPart::kTupleHints,
     "t_infomask: HEAP_XMIN_COMMITTED, HEAP_XMIN_INVALID, "
     "HEAP_XMAX_COMMITTED, HEAP_XMAX_INVALID, where redo has none",
     "shadow, structure",
     "set without a record; each must agree with the commit records flushed "
     "by then (shadow, at every write) and with the commit log (structure)"},
    {MaskedPart::kCommandId, "t_cid, t_infomask: HEAP_COMBOCID", "model",
     "matters to the transaction itself alone and ends with it; redo writes "
     "the first command's"},
};

// Space for a page that is changed for comparison.
struct PageCopy {
  explicit PageCopy(std::string_view page) {
    std::copy(page.begin(), page.end(), bytes);
  }
  template <typename T>
  T Get(size_t at) const {
    return LoadField<T>({bytes, kPageBytes}, at);
  }
  template <typename T>
  void Set(size_t at, T value) {
    std::memcpy(bytes + at, &value, sizeof value);
  }
  char bytes[kPageBytes];
};

// Which of found's hint bits are in addition to redone's and no statement of
// their own.
uint16_t ExtraHints(uint16_t redone, uint16_t found) {
  auto extra = static_cast<uint16_t>(found & ~redone);
  auto hints = static_cast<uint16_t>(extra & kXmaxHints);
  // Both xmin bits together mean frozen, which only a record can do.
  bool frozen = (found & kHeapXminFrozen) == kHeapXminFrozen;
  if (!frozen) hints |= extra & kHeapXminFrozen;
  return hints;
}

struct ItemPlace {
  size_t at = 0;
  size_t length = 0;
};

// Where line pointer n's tuple is; length 0 if it has none.
ItemPlace PlaceOf(std::string_view page, size_t n) {
  auto word = LoadField<uint32_t>(page, kHeaderBytes + (n - 1) * 4);
  size_t at = word & 0x7FFF;
  size_t length = word >> 17;
  if ((word >> 15 & 3) != 1 || length < kTupleHeaderBytes ||
      at + length > kPageBytes) {
    return {};
  }
  return {at, length};
}

size_t PointerCount(std::string_view page) {
  size_t lower =
      std::min<size_t>(LoadField<uint16_t>(page, kLowerAt), kPageBytes);
  return lower < kHeaderBytes ? 0 : (lower - kHeaderBytes) / 4;
}

// Takes out of both copies what may differ. Requires: same line pointers.
void Mask(PageCopy* redone, PageCopy* found) {
  for (PageCopy* page : {redone, found}) {
    page->Set<uint64_t>(0, 0);
    page->Set<uint16_t>(kChecksumAt, 0);
  }
  auto flags = redone->Get<uint16_t>(kFlagsAt);
  auto found_flags = found->Get<uint16_t>(kFlagsAt);
  auto extra = static_cast<uint16_t>(found_flags & ~flags & kPageFull);
  found->Set(kFlagsAt, static_cast<uint16_t>(found_flags & ~extra));
  std::string_view page(redone->bytes, kPageBytes);
  size_t count = PointerCount(page);
  for (size_t n = 1; n <= count; ++n) {
    ItemPlace item = PlaceOf(page, n);
    if (item.length == 0) continue;
    auto mask = static_cast<uint16_t>(
        redone->Get<uint16_t>(item.at + kInfomaskAt) & ~kComboCid);
    auto found_mask = static_cast<uint16_t>(
        found->Get<uint16_t>(item.at + kInfomaskAt) & ~kComboCid);
    found_mask &= static_cast<uint16_t>(~ExtraHints(mask, found_mask));
    redone->Set(item.at + kInfomaskAt, mask);
    found->Set(item.at + kInfomaskAt, found_mask);
    redone->Set<uint32_t>(item.at + kCidAt, 0);
    found->Set<uint32_t>(item.at + kCidAt, 0);
  }
}

struct FieldName {
  const char* name;
  size_t at;
  size_t bytes;
};
constexpr FieldName kHeaderFields[] = {
    {"pd_flags", 10, 2},
    {"pd_lower", 12, 2},
    {"pd_upper", 14, 2},
    {"pd_special", 16, 2},
    {"pd_pagesize_version", 18, 2},
    {"pd_prune_xid", 20, 4},
};
constexpr FieldName kTupleFields[] = {
    {"t_xmin", 0, 4},        {"t_xmax", 4, 4},         {"t_cid", 8, 4},
    {"t_ctid block", 12, 4}, {"t_ctid offset", 16, 2}, {"t_infomask2", 18, 2},
    {"t_infomask", 20, 2},   {"t_hoff", 22, 1},
};

uint64_t Number(std::string_view page, size_t at, size_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, page.data() + at, bytes);
  return value;
}

std::string Differ(const std::string& field, uint64_t redone, uint64_t found) {
  return fmt::format("{} is {:#x}, redo makes {:#x}", field, found, redone);
}

std::string DescribeField(std::span<const FieldName> fields, size_t base,
                          const std::string& of, std::string_view redone,
                          std::string_view found, size_t at) {
  for (const FieldName& f : fields) {
    if (at < base + f.at || at >= base + f.at + f.bytes) continue;
    return Differ(f.name + of, Number(redone, base + f.at, f.bytes),
                  Number(found, base + f.at, f.bytes));
  }
  return {};
}

// Names the field that byte `at` belongs to.
std::string Describe(std::string_view redone, std::string_view found,
                     size_t at) {
  if (at < kHeaderBytes) {
    return DescribeField(kHeaderFields, 0, "", redone, found, at);
  }
  size_t count = PointerCount(redone);
  if (at < kHeaderBytes + count * 4) {
    size_t n = (at - kHeaderBytes) / 4 + 1;
    size_t pointer = kHeaderBytes + (n - 1) * 4;
    return Differ(fmt::format("line pointer {}", n), Number(redone, pointer, 4),
                  Number(found, pointer, 4));
  }
  for (size_t n = 1; n <= count; ++n) {
    ItemPlace item = PlaceOf(redone, n);
    if (at < item.at || at >= item.at + item.length) continue;
    std::string of = fmt::format(" of line pointer {}", n);
    std::string field =
        DescribeField(kTupleFields, item.at, of, redone, found, at);
    if (!field.empty()) return field;
    return Differ(
        fmt::format("byte {} of line pointer {}'s tuple", at - item.at, n),
        Number(redone, at, 1), Number(found, at, 1));
  }
  return Differ(fmt::format("byte {}, outside all tuples,", at),
                Number(redone, at, 1), Number(found, at, 1));
}

}  // namespace

std::span<const MaskRow> MaskTable() { return kTable; }

std::string ComparePages(std::string_view redone, std::string_view found) {
  PageCopy a(redone);
  PageCopy b(found);
  // Where line pointers differ there is no telling which bytes are tuples.
  size_t pointers_end = kHeaderBytes + PointerCount(redone) * 4;
  bool same_pointers = redone.substr(kLowerAt, pointers_end - kLowerAt) ==
                       found.substr(kLowerAt, pointers_end - kLowerAt);
  if (same_pointers) {
    Mask(&a, &b);
    if (std::memcmp(a.bytes, b.bytes, kPageBytes) == 0) return {};
  }
  size_t at = same_pointers ? 0 : kLowerAt;
  while (a.bytes[at] == b.bytes[at]) ++at;
  return Describe({a.bytes, kPageBytes}, {b.bytes, kPageBytes}, at);
}

}  // namespace properties
