#include "properties/decoders/page_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace properties {
namespace {

using env::Code;
using env::Status;

constexpr size_t kHeaderBytes = 24;
constexpr uint16_t kSizeVersion = 8192 | 4;
constexpr uint16_t kKnownFlags = 0x0007;
// (8192 - 24) / (24 + 4): what fits of the smallest tuples.
constexpr size_t kMaxHeapTuples = 291;

Status Corrupted(std::string message) {
  return Status(Code::kCorrupted, std::move(message));
}

Status CheckHeader(const DecodedPage& p) {
  if (p.size_version != kSizeVersion) {
    return Corrupted(fmt::format("page size and version are {:#x}, not {:#x}",
                                 p.size_version, kSizeVersion));
  }
  if ((p.flags & ~kKnownFlags) != 0) {
    return Corrupted(fmt::format("unknown page flags {:#x}", p.flags));
  }
  if (p.lower < kHeaderBytes || p.lower > p.upper || p.upper > p.special ||
      p.special > kPageBytes || p.special % 8 != 0) {
    return Corrupted(fmt::format("lower {}, upper {}, special {} out of order",
                                 p.lower, p.upper, p.special));
  }
  if ((p.lower - kHeaderBytes) % 4 != 0) {
    return Corrupted(fmt::format("lower {} cuts a line pointer", p.lower));
  }
  if ((p.lower - kHeaderBytes) / 4 > kMaxHeapTuples) {
    return Corrupted(fmt::format("{} line pointers on one heap page",
                                 (p.lower - kHeaderBytes) / 4));
  }
  return {};
}

Status CheckItem(const DecodedPage& p, size_t number, const LinePointer& lp) {
  switch (lp.kind) {
    case LinePointerKind::kUnused:
      if (lp.length == 0) return {};
      return Corrupted(fmt::format("unused line pointer {} has length {}",
                                   number, lp.length));
    case LinePointerKind::kRedirect:
      if (lp.offset >= 1 && lp.offset <= (p.lower - kHeaderBytes) / 4) {
        return {};
      }
      return Corrupted(
          fmt::format("line pointer {} redirects to {}", number, lp.offset));
    case LinePointerKind::kDead:
      if (lp.length == 0) return {};
      break;
    case LinePointerKind::kNormal:
      break;
  }
  if (lp.length == 0 || lp.offset % 8 != 0 || lp.offset < p.upper ||
      lp.offset + lp.length > p.special) {
    return Corrupted(fmt::format(
        "line pointer {} covers {}..{}, outside the items {}..{}", number,
        lp.offset, lp.offset + lp.length, p.upper, p.special));
  }
  return {};
}

Status CheckOverlap(const DecodedPage& p) {
  std::vector<std::pair<uint16_t, size_t>> by_offset;
  for (size_t i = 0; i < p.items.size(); ++i) {
    const LinePointer& lp = p.items[i];
    if (lp.kind == LinePointerKind::kNormal)
      by_offset.push_back({lp.offset, i});
  }
  std::sort(by_offset.begin(), by_offset.end());
  for (size_t k = 1; k < by_offset.size(); ++k) {
    const LinePointer& a = p.items[by_offset[k - 1].second];
    if (a.offset + a.length > by_offset[k].first) {
      return Corrupted(fmt::format("items {} and {} overlap",
                                   by_offset[k - 1].second + 1,
                                   by_offset[k].second + 1));
    }
  }
  return {};
}

}  // namespace

uint64_t PageLsn(std::string_view page) {
  return static_cast<uint64_t>(LoadField<uint32_t>(page, 0)) << 32 |
         LoadField<uint32_t>(page, 4);
}

env::Result<DecodedPage> DecodePage(std::string_view page) {
  if (page.size() != kPageBytes) {
    return Corrupted(fmt::format("a page of {} bytes", page.size()));
  }
  DecodedPage p;
  if (LoadField<uint16_t>(page, 14) == 0) {  // pd_upper
    if (!AllZero(page)) return Corrupted("a new page that is not all zeros");
    p.is_new = true;
    return p;
  }
  p.lsn = PageLsn(page);
  p.checksum = LoadField<uint16_t>(page, 8);
  p.flags = LoadField<uint16_t>(page, 10);
  p.lower = LoadField<uint16_t>(page, 12);
  p.upper = LoadField<uint16_t>(page, 14);
  p.special = LoadField<uint16_t>(page, 16);
  p.size_version = LoadField<uint16_t>(page, 18);
  p.prune_xid = LoadField<uint32_t>(page, 20);
  RETURN_IF_ERROR(CheckHeader(p));
  for (size_t at = kHeaderBytes; at < p.lower; at += 4) {
    uint32_t word = LoadField<uint32_t>(page, at);
    LinePointer lp;
    lp.offset = static_cast<uint16_t>(word & 0x7FFF);
    lp.kind = static_cast<LinePointerKind>((word >> 15) & 3);
    lp.length = static_cast<uint16_t>(word >> 17);
    RETURN_IF_ERROR(CheckItem(p, p.items.size() + 1, lp));
    p.items.push_back(lp);
  }
  RETURN_IF_ERROR(CheckOverlap(p));
  return p;
}

}  // namespace properties
