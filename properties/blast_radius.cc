#include "properties/blast_radius.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "properties/decoders/bytes.h"

namespace properties {
namespace {

constexpr uint32_t kBlocksPerSegment = 131072;  // 1 GiB

// Takes a number off the front of the text; false if there is none.
bool TakeNumber(std::string_view* text, uint32_t* number) {
  auto [end, error] =
      std::from_chars(text->data(), text->data() + text->size(), *number);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return true;
}

bool TakePrefix(std::string_view* text, std::string_view prefix) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string PageRef::ToString() const {
  return fmt::format("page {}:{}", path, block);
}

bool PageRef::Relation(uint32_t* rel_node, uint32_t* fork) const {
  static constexpr std::string_view kForks[] = {"", "_fsm", "_vm", "_init"};
  std::string_view name = path;
  if (!TakePrefix(&name, "base/5/") && !TakePrefix(&name, "global/")) {
    return false;
  }
  if (!TakeNumber(&name, rel_node)) return false;
  const auto* found = std::find(std::begin(kForks), std::end(kForks), name);
  if (found == std::end(kForks)) return false;
  *fork = static_cast<uint32_t>(found - std::begin(kForks));
  return true;
}

std::optional<PageRef> PageInMessage(std::string_view message) {
  PageRef page;
  if (TakePrefix(&message, "invalid page in block ")) {
    if (!TakeNumber(&message, &page.block)) return std::nullopt;
    if (!TakePrefix(&message, " of relation ")) return std::nullopt;
    page.path = message;
    return page;
  }
  bool read = TakePrefix(&message, "could not read block ");
  if (!read && !TakePrefix(&message, "could not write block ")) {
    return std::nullopt;
  }
  if (!TakeNumber(&message, &page.block)) return std::nullopt;
  if (!TakePrefix(&message, " in file \"")) return std::nullopt;
  std::string_view file = message.substr(0, message.find('"'));
  // The block's number is that in the fork, whatever segment is named.
  size_t dot = file.rfind('.');
  page.path = file.substr(0, dot);
  return page;
}

std::vector<sim::FaultRecord> BlastRadius::OfRange(std::string_view path,
                                                   int64_t offset,
                                                   int64_t bytes) const {
  if (disk_ == nullptr) return {};
  return disk_->FaultsIn(path, offset, bytes);
}

std::vector<sim::FaultRecord> BlastRadius::OfPage(const PageRef& page) const {
  uint32_t segment = page.block / kBlocksPerSegment;
  std::string path =
      segment == 0 ? page.path : fmt::format("{}.{}", page.path, segment);
  auto bytes = static_cast<int64_t>(kPageBytes);
  return OfRange(path, int64_t{page.block % kBlocksPerSegment} * bytes, bytes);
}

std::vector<sim::FaultRecord> BlastRadius::OfWal(const WalLayout& layout,
                                                 uint64_t from,
                                                 uint64_t to) const {
  std::vector<sim::FaultRecord> faults;
  for (uint64_t at = from; at < to;) {
    uint64_t offset = at % layout.segment_bytes;
    uint64_t length = std::min(layout.segment_bytes - offset, to - at);
    std::vector<sim::FaultRecord> here =
        OfRange("pg_wal/" + WalSegmentName(layout, at),
                static_cast<int64_t>(offset), static_cast<int64_t>(length));
    std::move(here.begin(), here.end(), std::back_inserter(faults));
    at += length;
  }
  return faults;
}

}  // namespace properties
