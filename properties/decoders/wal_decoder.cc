#include "properties/decoders/wal_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "properties/decoders/bytes.h"

namespace properties {
namespace {

constexpr uint16_t kPageMagic = 0xD110;
constexpr size_t kShortHeader = 24;
constexpr size_t kLongHeader = 40;
constexpr size_t kRecordHeader = 24;
constexpr uint16_t kFirstIsContrecord = 1;
constexpr uint16_t kLongHeaderFlag = 2;
constexpr uint16_t kOverwriteContrecord = 8;
constexpr uint16_t kKnownFlags = 0x0F;
constexpr uint8_t kLastBuiltinRm = 21;
constexpr uint8_t kFirstCustomRm = 128;
constexpr uint8_t kInfoSwitch = 0x40;

size_t HeaderBytes(std::string_view page) {
  bool is_long = (LoadField<uint16_t>(page, 2) & kLongHeaderFlag) != 0;
  return is_long ? kLongHeader : kShortHeader;
}
uint16_t PageFlags(std::string_view page) {
  return LoadField<uint16_t>(page, 2);
}
uint32_t RemainingLength(std::string_view page) {
  return LoadField<uint32_t>(page, 16);
}

}  // namespace

std::string WalSegmentName(const WalLayout& layout, uint64_t lsn) {
  uint64_t per_id = (uint64_t{1} << 32) / layout.segment_bytes;
  uint64_t number = lsn / layout.segment_bytes;
  return fmt::format("{:08X}{:08X}{:08X}", layout.timeline, number / per_id,
                     number % per_id);
}

std::string LsnToText(uint64_t lsn) {
  return fmt::format("{:X}/{:X}", lsn >> 32, lsn & 0xFFFFFFFF);
}

WalDecoder::WalDecoder(const ClusterView* files, const WalLayout& layout)
    : files_(files), layout_(layout) {}

void WalDecoder::BeginRead(uint64_t lsn) {
  next_ = lsn;
  end_ = lsn;
  last_start_ = 0;
  last_page_ = 0;
  missing_continuation_ = 0;
  reason_.clear();
}

bool WalDecoder::BeginAtSegment(uint64_t lsn) {
  BeginRead(lsn / layout_.segment_bytes * layout_.segment_bytes);
  uint64_t at = next_;
  for (;;) {
    std::string_view page = Page(at);
    if (page.empty()) return false;
    uint16_t flags = PageFlags(page);
    size_t room = kPageBytes - HeaderBytes(page);
    uint32_t rest = RemainingLength(page);
    if ((flags & kFirstIsContrecord) == 0) break;
    if (rest <= room) {
      // The next record begins behind the rest, maybe on the next page.
      next_ = at + std::min(kPageBytes, HeaderBytes(page) + AlignUp(rest, 8));
      end_ = next_;
      return true;
    }
    at += kPageBytes;
  }
  next_ = at;
  end_ = at;
  return true;
}

const std::string* WalDecoder::Segment(uint64_t lsn) {
  uint64_t number = lsn / layout_.segment_bytes;
  if (number != segment_number_) {
    segment_number_ = number;
    WalLayout named = layout_;
    if (latest_timeline_ != 0) named.timeline = latest_timeline_;
    segment_ = files_->Read("pg_wal/" + WalSegmentName(named, lsn));
  }
  return segment_;
}

std::string_view WalDecoder::Page(uint64_t lsn) {
  uint64_t page_lsn = lsn / kPageBytes * kPageBytes;
  const std::string* segment = Segment(lsn);
  if (segment == nullptr) {
    Stop(
        fmt::format("could not open file \"pg_wal/{}\": No such file or "
                    "directory",
                    WalSegmentName(layout_, lsn)));
    return {};
  }
  size_t offset = page_lsn % layout_.segment_bytes;
  if (segment->size() < offset + kPageBytes) {
    Stop(fmt::format("could not read from {}: read {} of {}", Where(page_lsn),
                     segment->size() - std::min(segment->size(), offset),
                     kPageBytes));
    return {};
  }
  std::string_view page = std::string_view(*segment).substr(offset, kPageBytes);
  if (!CheckPageHeader(page, page_lsn)) return {};
  latest_page_ = page_lsn;
  latest_timeline_ = LoadField<uint32_t>(page, 4);
  return page;
}

// The fields in PostgreSQL's order, with its words.
bool WalDecoder::CheckPageHeader(std::string_view page, uint64_t page_lsn) {
  bool first = page_lsn % layout_.segment_bytes == 0;
  uint16_t magic = LoadField<uint16_t>(page, 0);
  if (magic != kPageMagic) {
    return Stop(fmt::format("invalid magic number {:04X} in {}", magic,
                            Where(page_lsn)));
  }
  uint16_t flags = PageFlags(page);
  if ((flags & ~kKnownFlags) != 0 ||
      first != ((flags & kLongHeaderFlag) != 0)) {
    return Stop(
        fmt::format("invalid info bits {:04X} in {}", flags, Where(page_lsn)));
  }
  if ((flags & kLongHeaderFlag) != 0) {
    constexpr char kForeign[] = "WAL file is from different database system: ";
    uint64_t identifier = LoadField<uint64_t>(page, 24);
    if (identifier != layout_.system_identifier) {
      return Stop(fmt::format(
          "{}WAL file database system identifier is {}, pg_control database "
          "system identifier is {}",
          kForeign, identifier, layout_.system_identifier));
    }
    if (LoadField<uint32_t>(page, 32) != layout_.segment_bytes) {
      return Stop(std::string(kForeign) +
                  "incorrect segment size in page header");
    }
    if (LoadField<uint32_t>(page, 36) != kPageBytes) {
      return Stop(std::string(kForeign) +
                  "incorrect XLOG_BLCKSZ in page header");
    }
  }
  uint64_t address = LoadField<uint64_t>(page, 8);
  if (address != page_lsn) {
    return Stop(fmt::format("unexpected pageaddr {} in {}", LsnToText(address),
                            Where(page_lsn)));
  }
  // Timelines may only go up from page to page.
  uint32_t timeline = LoadField<uint32_t>(page, 4);
  if (page_lsn > latest_page_ && timeline < latest_timeline_) {
    return Stop(fmt::format("out-of-sequence timeline ID {} (after {}) in {}",
                            timeline, latest_timeline_, Where(page_lsn)));
  }
  return true;
}

// "log segment 000000010000000000000001, offset 8192"
std::string WalDecoder::Where(uint64_t page_lsn) const {
  return fmt::format("log segment {}, offset {}",
                     WalSegmentName(layout_, page_lsn),
                     page_lsn % layout_.segment_bytes);
}

bool WalDecoder::Stop(std::string reason) {
  reason_ = std::move(reason);
  return false;
}

bool WalDecoder::CheckHeader(std::string_view head) {
  uint8_t rmid = LoadField<uint8_t>(head, 17);
  if (rmid > kLastBuiltinRm && rmid < kFirstCustomRm) {
    return Stop(fmt::format("invalid resource manager ID {} at {}", rmid,
                            LsnToText(start_)));
  }
  uint64_t prev = LoadField<uint64_t>(head, 8);
  if (last_start_ != 0 ? prev != last_start_ : prev >= start_) {
    return Stop(fmt::format("record with incorrect prev-link {} at {}",
                            LsnToText(prev), LsnToText(start_)));
  }
  return true;
}

// page: the next page of a record of which `rest` bytes are missing; empty if
// there is none.
bool WalDecoder::CheckContinuation(std::string_view page, uint32_t rest) {
  if (page.empty()) return false;  // the reason is known
  if ((PageFlags(page) & kFirstIsContrecord) == 0) {
    return Stop(
        fmt::format("there is no contrecord flag at {}", LsnToText(start_)));
  }
  if (RemainingLength(page) != rest) {
    return Stop(fmt::format("invalid contrecord length {} (expected {}) at {}",
                            RemainingLength(page), rest, LsnToText(start_)));
  }
  return true;
}

bool WalDecoder::Assemble(std::string_view page, size_t at, bool* restarted) {
  uint32_t total = LoadField<uint32_t>(page, at);
  if (total < kRecordHeader) {
    return Stop(fmt::format("invalid record length at {}: wanted {}, got {}",
                            LsnToText(start_), kRecordHeader, total));
  }
  size_t room = kPageBytes - at;
  bool header_seen = room >= kRecordHeader;
  if (header_seen && !CheckHeader(page.substr(at))) return false;
  buffer_.assign(page.substr(at, std::min<size_t>(room, total)));
  uint64_t page_lsn = start_ / kPageBytes * kPageBytes;
  record_.end = start_ + AlignUp(total, 8);
  while (buffer_.size() < total) {
    page_lsn += kPageBytes;
    page = Page(page_lsn);
    uint32_t rest = total - static_cast<uint32_t>(buffer_.size());
    if (!page.empty() && (PageFlags(page) & kOverwriteContrecord) != 0) {
      next_ = page_lsn;  // what was cut off here has been written off
      *restarted = true;
      return false;
    }
    if (!CheckContinuation(page, rest)) {
      missing_continuation_ = page_lsn;
      return false;
    }
    size_t header = HeaderBytes(page);
    buffer_.append(
        page.substr(header, std::min<size_t>(rest, kPageBytes - header)));
    record_.end = page_lsn + header + AlignUp(rest, 8);
    last_page_ = page_lsn;
    if (!header_seen && buffer_.size() >= kRecordHeader) {
      header_seen = true;
      if (!CheckHeader(buffer_)) {
        missing_continuation_ = page_lsn;
        return false;
      }
    }
  }
  return true;
}

bool WalDecoder::Next() {
  for (;;) {
    start_ = next_;
    if (start_ % 8 != 0) {
      return Stop(
          fmt::format("invalid record offset at {}", LsnToText(start_)));
    }
    std::string_view page = Page(start_);
    if (page.empty()) return false;
    size_t at = start_ % kPageBytes;
    if (at == 0) {
      at = HeaderBytes(page);
      start_ += at;
      if ((PageFlags(page) & kFirstIsContrecord) != 0) {
        return Stop(
            fmt::format("contrecord is requested by {}", LsnToText(start_)));
      }
    } else if (at < HeaderBytes(page)) {
      return Stop(
          fmt::format("invalid record offset at {}", LsnToText(start_)));
    }
    bool restarted = false;
    uint64_t end_before = record_.end;
    if (!Assemble(page, at, &restarted)) {
      record_.end = end_before;
      if (restarted) continue;
      return false;
    }
    break;
  }
  if (!WalRecordCrcMatches(buffer_)) {
    // A record over several pages is written off at the last of them.
    if (last_page_ > start_) missing_continuation_ = last_page_;
    return Stop(
        fmt::format("incorrect resource manager data checksum in record at {}",
                    LsnToText(start_)));
  }
  env::Result<WalRecord> decoded = DecodeWalRecord(buffer_);
  if (!decoded.ok()) {
    return Stop(
        fmt::format("{} at {}", decoded.status().message(), LsnToText(start_)));
  }
  uint64_t end = record_.end;
  record_ = std::move(*decoded);
  record_.start = start_;
  record_.end = end;
  if (record_.rmid == kRmXlog && (record_.info & 0xF0) == kInfoSwitch) {
    record_.end = AlignUp(end, layout_.segment_bytes);
  }
  last_start_ = start_;
  next_ = record_.end;
  end_ = record_.end;
  return true;
}

}  // namespace properties
