#include "engine/wal/xlogreader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/common/checksum.h"
#include "engine/common/sites.h"
#include "engine/wal/rmgr.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xlog_redo.h"
#include "engine/wal/xlogrecord.h"

namespace engine {

// The record under assembly. Positions are those of the attempt at hand.
struct XLogReaderState::Assembly {
  XLogRecPtr lsn = 0;   // start of the record
  XLogRecPtr page = 0;  // page looked at last
  uint32_t total_length = 0;
  bool header_checked = false;
  std::string_view bytes;  // the whole record, once found
  XLogRecPtr end = 0;
};

namespace {

constexpr RmgrId kMaxBuiltinRmgrId = 21;
constexpr RmgrId kMinCustomRmgrId = 128;

bool RmgrIdIsValid(RmgrId rmid) {
  return rmid <= kMaxBuiltinRmgrId || rmid >= kMinCustomRmgrId;
}

}  // namespace

XLogReaderState::XLogReaderState(uint32_t wal_segment_size,
                                 uint64_t system_identifier,
                                 XLogPageRead read_page)
    : wal_segment_size_(wal_segment_size),
      system_identifier_(system_identifier),
      read_page_(std::move(read_page)) {}

void XLogReaderState::BeginRead(XLogRecPtr lsn) {
  next_ = lsn;
  random_access_ = true;
}

bool XLogReaderState::Fail(std::string message) {
  error_message_ = std::move(message);
  return false;
}

// "log segment 000000010000000000000001, offset 8192".
std::string XLogReaderState::Where(XLogRecPtr page) const {
  return fmt::format(
      "log segment {}, offset {}",
      XLogFileName(std::max<TimeLineID>(latest_page_tli_, 1),
                   XLByteToSeg(page, wal_segment_size_), wal_segment_size_),
      XLogSegmentOffset(page, wal_segment_size_));
}

bool XLogReaderState::CheckLongHeader(const char* bytes) {
  XLogLongPageHeaderData header;
  std::memcpy(&header, bytes, sizeof(header));
  if (system_identifier_ != 0 && header.xlp_sysid != system_identifier_) {
    return Fail(fmt::format(
        "WAL file is from different database system: WAL file database system "
        "identifier is {}, pg_control database system identifier is {}",
        header.xlp_sysid, system_identifier_));
  }
  if (header.xlp_seg_size != wal_segment_size_) {
    return Fail(
        "WAL file is from different database system: incorrect segment size "
        "in page header");
  }
  if (header.xlp_xlog_blcksz != XLOG_BLCKSZ) {
    return Fail(
        "WAL file is from different database system: incorrect XLOG_BLCKSZ in "
        "page header");
  }
  return true;
}

bool XLogReaderState::CheckPageHeader(XLogRecPtr page, const char* bytes) {
  XLogPageHeaderData header;
  std::memcpy(&header, bytes, sizeof(header));
  if (header.xlp_magic != XLOG_PAGE_MAGIC) {
    return Fail(fmt::format("invalid magic number {:04X} in {}",
                            header.xlp_magic, Where(page)));
  }
  bool starts_segment = XLogSegmentOffset(page, wal_segment_size_) == 0;
  bool is_long = (header.xlp_info & XLP_LONG_HEADER) != 0;
  if ((header.xlp_info & ~XLP_ALL_FLAGS) != 0 || (starts_segment && !is_long)) {
    return Fail(fmt::format("invalid info bits {:04X} in {}", header.xlp_info,
                            Where(page)));
  }
  if (is_long && !CheckLongHeader(bytes)) return false;
  // A recycled segment, or a page that never was overwritten since.
  if (header.xlp_pageaddr != page) {
    return Fail(fmt::format("unexpected pageaddr {} in {}",
                            LsnToString(header.xlp_pageaddr), Where(page)));
  }
  if (page > latest_page_ptr_ && header.xlp_tli < latest_page_tli_) {
    return Fail(fmt::format("out-of-sequence timeline ID {} (after {}) in {}",
                            header.xlp_tli, latest_page_tli_, Where(page)));
  }
  latest_page_ptr_ = page;
  latest_page_tli_ = header.xlp_tli;
  return true;
}

// Makes page_ hold the page, with its header checked.
bool XLogReaderState::ReadPage(XLogRecPtr page) {
  if (page == page_ptr_) return true;
  // A segment's first page says whether the file is ours at all.
  XLogRecPtr first = page - XLogSegmentOffset(page, wal_segment_size_);
  bool new_segment =
      page_ptr_ == kNoPage || XLByteToSeg(page_ptr_, wal_segment_size_) !=
                                  XLByteToSeg(page, wal_segment_size_);
  page_ptr_ = kNoPage;
  for (XLogRecPtr p : {first, page}) {
    if (p == first && p != page && !new_segment) continue;
    page_status_ = read_page_(p, std::span<char, XLOG_BLCKSZ>(page_));
    if (!page_status_.ok()) return Fail(std::string(page_status_.message()));
    if (!CheckPageHeader(p, page_.data())) return false;
    if (p == page) break;
  }
  page_ptr_ = page;
  return true;
}

bool XLogReaderState::CheckRecordHeader(const XLogRecord& header,
                                        XLogRecPtr lsn) {
  if (header.xl_tot_len < kSizeOfXLogRecord) {
    return Fail(fmt::format("invalid record length at {}: wanted {}, got {}",
                            LsnToString(lsn), kSizeOfXLogRecord,
                            header.xl_tot_len));
  }
  if (!RmgrIdIsValid(header.xl_rmid)) {
    return Fail(fmt::format("invalid resource manager ID {} at {}",
                            header.xl_rmid, LsnToString(lsn)));
  }
  // The link to the predecessor tells records of this log from those that
  // happened to be left behind it, by a recycled file or a torn tail.
  bool link_ok =
      random_access_ ? header.xl_prev < lsn : header.xl_prev == read_rec_ptr_;
  if (!link_ok && !PLANTED(prev_link_ignored)) {
    return Fail(fmt::format("record with incorrect prev-link {} at {}",
                            LsnToString(header.xl_prev), LsnToString(lsn)));
  }
  return true;
}

bool XLogReaderState::CheckRecordCrc(std::string_view record, XLogRecPtr lsn) {
  XLogRecord header;
  std::memcpy(&header, record.data(), sizeof(header));
  std::string_view body = record.substr(kSizeOfXLogRecord);
  uint32_t crc = Crc32cComp(kCrc32cInit, body.data(), body.size());
  crc = Crc32cFin(Crc32cComp(crc, record.data(), offsetof(XLogRecord, xl_crc)));
  if (crc == header.xl_crc || PLANTED(record_crc_ignored)) return true;
  return Fail(
      fmt::format("incorrect resource manager data checksum in record at {}",
                  LsnToString(lsn)));
}

// Looks at the record's first page: finds its length and, if it is whole, its
// header.
bool XLogReaderState::AssembleFirstPage(Assembly* a) {
  a->page = XLogPageStart(a->lsn);
  if (!ReadPage(a->page)) return false;
  uint32_t header_size = XLogPageHeaderSizeAt(a->page, wal_segment_size_);
  auto offset = static_cast<uint32_t>(a->lsn - a->page);
  if (offset == 0) {
    offset = header_size;
    a->lsn += header_size;
  } else if (offset < header_size) {
    return Fail(
        fmt::format("invalid record offset at {}", LsnToString(a->lsn)));
  }
  XLogPageHeaderData page_header;
  std::memcpy(&page_header, page_.data(), sizeof(page_header));
  if ((page_header.xlp_info & XLP_FIRST_IS_CONTRECORD) != 0 &&
      offset == header_size) {
    return Fail(
        fmt::format("contrecord is requested by {}", LsnToString(a->lsn)));
  }
  if (offset % 8 != 0) {
    return Fail(
        fmt::format("invalid record offset at {}", LsnToString(a->lsn)));
  }
  // Alignment puts the length, the record's first word, on this page.
  std::memcpy(&a->total_length, page_.data() + offset, sizeof(uint32_t));
  uint32_t here = XLOG_BLCKSZ - offset;
  a->header_checked = here >= kSizeOfXLogRecord;
  if (a->header_checked) {
    XLogRecord header;
    std::memcpy(&header, page_.data() + offset, sizeof(header));
    if (!CheckRecordHeader(header, a->lsn)) return false;
  } else if (a->total_length < kSizeOfXLogRecord) {
    return Fail(fmt::format("invalid record length at {}: wanted {}, got {}",
                            LsnToString(a->lsn), kSizeOfXLogRecord,
                            a->total_length));
  }
  here = std::min(here, a->total_length);
  a->bytes = {page_.data() + offset, here};
  a->end = a->lsn + MaxAlign(here);
  return true;
}

// Appends the next page's part of the record to record_. restart: the page
// says that the record will never be completed.
bool XLogReaderState::AssembleContinuation(Assembly* a, bool* restart) {
  a->page += XLOG_BLCKSZ;
  if (!ReadPage(a->page)) return false;
  XLogPageHeaderData header;
  std::memcpy(&header, page_.data(), sizeof(header));
  if ((header.xlp_info & XLP_FIRST_IS_OVERWRITE_CONTRECORD) != 0) {
    overwritten_rec_ptr_ = a->lsn;
    a->lsn = a->page;
    *restart = true;
    return true;
  }
  if ((header.xlp_info & XLP_FIRST_IS_CONTRECORD) == 0) {
    return Fail(
        fmt::format("there is no contrecord flag at {}", LsnToString(a->lsn)));
  }
  uint64_t missing = a->total_length - record_.size();
  if (header.xlp_rem_len != missing) {
    return Fail(fmt::format("invalid contrecord length {} (expected {}) at {}",
                            header.xlp_rem_len, missing, LsnToString(a->lsn)));
  }
  uint32_t header_size = XLogPageHeaderSizeAt(a->page, wal_segment_size_);
  uint64_t here = std::min<uint64_t>(missing, XLOG_BLCKSZ - header_size);
  record_.append(page_.data() + header_size, here);
  if (!a->header_checked) {
    // The header was split; total_length, checked before, makes it whole now.
    SIM_CHECK(record_.size() >= kSizeOfXLogRecord);
    XLogRecord record_header;
    std::memcpy(&record_header, record_.data(), sizeof(record_header));
    if (!CheckRecordHeader(record_header, a->lsn)) return false;
    a->header_checked = true;
  }
  a->end = a->page + header_size + MaxAlign(here);
  return true;
}

bool XLogReaderState::AssembleRecord(Assembly* a) {
  for (;;) {
    if (!AssembleFirstPage(a)) return false;
    if (a->bytes.size() == a->total_length) return true;
    record_.assign(a->bytes);
    bool restart = false;
    while (record_.size() < a->total_length && !restart) {
      if (!AssembleContinuation(a, &restart)) return false;
    }
    if (!restart) {
      a->bytes = record_;
      return true;
    }
  }
}

bool XLogReaderState::ReadRecord() {
  error_message_.clear();
  page_status_ = {};
  aborted_rec_ptr_ = 0;
  missing_contrec_ptr_ = 0;
  overwritten_rec_ptr_ = 0;
  Assembly a;
  a.lsn = next_;
  bool ok = AssembleRecord(&a) && CheckRecordCrc(a.bytes, a.lsn);
  if (!ok) {
    if (a.page > XLogPageStart(a.lsn)) {
      aborted_rec_ptr_ = a.lsn;
      missing_contrec_ptr_ = a.page;
    }
    // Whatever follows may be written yet.
    page_ptr_ = kNoPage;
    return false;
  }
  if (!DecodeRecord(a.bytes, a.lsn)) return false;
  read_rec_ptr_ = a.lsn;
  end_rec_ptr_ = a.end;
  if (rmid_ == RM_XLOG_ID && (info_ & XLR_RMGR_INFO_MASK) == XLOG_SWITCH) {
    // The rest of the segment is unused.
    end_rec_ptr_ += wal_segment_size_ - 1;
    end_rec_ptr_ -= XLogSegmentOffset(end_rec_ptr_, wal_segment_size_);
  }
  next_ = end_rec_ptr_;
  random_access_ = false;
  return true;
}

}  // namespace engine
