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
    Stop(fmt::format("no segment {}", WalSegmentName(layout_, lsn)));
    return {};
  }
  size_t offset = page_lsn % layout_.segment_bytes;
  if (segment->size() < offset + kPageBytes) {
    Stop(fmt::format("the segment ends before {}", LsnToText(lsn)));
    return {};
  }
  std::string_view page = std::string_view(*segment).substr(offset, kPageBytes);
  uint16_t flags = PageFlags(page);
  bool first = offset == 0;
  if (LoadField<uint16_t>(page, 0) != kPageMagic ||
      (flags & ~kKnownFlags) != 0 ||
      ((flags & kLongHeaderFlag) != 0) != first ||
      LoadField<uint64_t>(page, 8) != page_lsn) {
    Stop(fmt::format("no valid page header at {}", LsnToText(page_lsn)));
    return {};
  }
  // Timelines may only go up from page to page.
  uint32_t timeline = LoadField<uint32_t>(page, 4);
  if (page_lsn > latest_page_ && timeline < latest_timeline_) {
    Stop(fmt::format("timeline {} after {} at {}", timeline, latest_timeline_,
                     LsnToText(page_lsn)));
    return {};
  }
  if (first && (LoadField<uint64_t>(page, 24) != layout_.system_identifier ||
                LoadField<uint32_t>(page, 32) != layout_.segment_bytes ||
                LoadField<uint32_t>(page, 36) != kPageBytes)) {
    Stop(fmt::format("the segment header at {} is another cluster's",
                     LsnToText(page_lsn)));
    return {};
  }
  latest_page_ = page_lsn;
  latest_timeline_ = timeline;
  return page;
}

bool WalDecoder::Stop(std::string reason) {
  reason_ = std::move(reason);
  return false;
}

bool WalDecoder::CheckHeader(std::string_view head) {
  uint8_t rmid = LoadField<uint8_t>(head, 17);
  if (rmid > kLastBuiltinRm && rmid < kFirstCustomRm) {
    return Stop(
        fmt::format("resource manager {} at {}", rmid, LsnToText(start_)));
  }
  uint64_t prev = LoadField<uint64_t>(head, 8);
  if (last_start_ != 0 ? prev != last_start_ : prev >= start_) {
    return Stop(
        fmt::format("xl_prev {} at {}", LsnToText(prev), LsnToText(start_)));
  }
  return true;
}

bool WalDecoder::Assemble(std::string_view page, size_t at, bool* restarted) {
  uint32_t total = LoadField<uint32_t>(page, at);
  if (total < kRecordHeader) {
    return Stop(
        fmt::format("record length {} at {}", total, LsnToText(start_)));
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
    if (page.empty() || (PageFlags(page) & kFirstIsContrecord) == 0 ||
        RemainingLength(page) != rest) {
      missing_continuation_ = page_lsn;
      return Stop(fmt::format("no continuation at {}", LsnToText(page_lsn)));
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
    std::string_view page = Page(start_);
    if (page.empty()) return false;
    size_t at = start_ % kPageBytes;
    if (at == 0) {
      at = HeaderBytes(page);
      start_ += at;
      if ((PageFlags(page) & kFirstIsContrecord) != 0) {
        return Stop(
            fmt::format("{} begins inside a record", LsnToText(start_)));
      }
    } else if (at < HeaderBytes(page)) {
      return Stop(fmt::format("{} is inside a page header", LsnToText(start_)));
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
    return Stop(fmt::format("CRC mismatch at {}", LsnToText(start_)));
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
