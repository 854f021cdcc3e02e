#include "properties/blast_radius.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "properties/decoders/bytes.h"

namespace properties {
namespace {

constexpr uint32_t kBlocksPerSegment = 131072;  // 1 GiB

constexpr auto kPageSize = static_cast<int64_t>(kPageBytes);

// Where a page is.
struct FileRange {
  std::string path;
  int64_t offset = 0;
};

FileRange FileRangeOf(const PageRef& page) {
  uint32_t segment = page.block / kBlocksPerSegment;
  return {segment == 0 ? page.path : fmt::format("{}.{}", page.path, segment),
          int64_t{page.block % kBlocksPerSegment} * kPageSize};
}

bool Overlaps(const sim::FaultRecord& record, const FileRange& page) {
  return record.path == page.path && record.offset < page.offset + kPageSize &&
         page.offset < record.offset + record.bytes;
}

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

// The page that a message, or the one inside a PANIC's, speaks of.
std::optional<PageRef> PageInside(std::string_view message) {
  for (std::string_view words :
       {"invalid page in block ", "could not read block ",
        "could not write block ", "references to invalid pages: page "}) {
    size_t at = message.find(words);
    if (at != std::string_view::npos) {
      return PageInMessage(message.substr(at));
    }
  }
  return std::nullopt;
}

// The file of the commit log that has the status of the transaction that the
// message names; empty if it names none.
std::string ClogFileInside(std::string_view message) {
  constexpr std::string_view kWords = "could not access status of transaction ";
  constexpr uint32_t kXidsPerFile = 32 * kPageBytes * 4;
  size_t at = message.find(kWords);
  if (at == std::string_view::npos) return "";
  message.remove_prefix(at + kWords.size());
  uint32_t xid = 0;
  if (!TakeNumber(&message, &xid)) return "";
  return fmt::format("pg_xact/{:04X}", xid / kXidsPerFile);
}

// Whether the message speaks of this file, which is no relation's.
bool NamesFile(std::string_view message, std::string_view path) {
  auto says = [&](std::string_view words) {
    return message.find(words) != std::string_view::npos;
  };
  if (path == "global/pg_control") {
    return says("control file") || says("pg_control") ||
           says("PG_CONTROL_VERSION");
  }
  if (TakePrefix(&path, "pg_wal/")) {
    // Some refusals speak of the log from its checkpoint to its end.
    return says(path) || says("write-ahead log ends before it should") ||
           says("last page of the write-ahead log") ||
           says("could not locate a valid checkpoint record") ||
           says("could not find redo location");
  }
  return says(path) || ClogFileInside(message) == path;
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
  if (TakePrefix(&message, "invalid page in block ") ||
      TakePrefix(&message, "references to invalid pages: page ")) {
    if (!TakeNumber(&message, &page.block)) return std::nullopt;
    if (!TakePrefix(&message, " of relation ")) return std::nullopt;
    page.path = message.substr(0, message.find_first_of(" ,;:("));
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
  FileRange range = FileRangeOf(page);
  return OfRange(range.path, range.offset, kPageSize);
}

std::vector<sim::FaultRecord> BlastRadius::OfMessage(std::string_view message,
                                                     uint64_t since) const {
  std::vector<sim::FaultRecord> faults;
  if (disk_ == nullptr) return faults;
  std::optional<PageRef> page = PageInside(message);
  if (page.has_value()) faults = OfPage(*page);
  for (const sim::FaultRecord& record : disk_->fault_log().records()) {
    bool named = page.has_value() ? Overlaps(record, FileRangeOf(*page))
                                  : NamesFile(message, record.path);
    if (!named) continue;
    if (record.ended) {
      if (record.id > since) faults.push_back(record);
    } else if (!page.has_value()) {
      std::vector<sim::FaultRecord> live =
          OfRange(record.path, record.offset, record.bytes);
      std::move(live.begin(), live.end(), std::back_inserter(faults));
    }
  }
  return faults;
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
