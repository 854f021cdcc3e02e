// WAL pages, segments and their names.
//
// The log is one sequence of bytes, cut into segment files of a fixed power of
// two and into pages of XLOG_BLCKSZ. Each page begins with a header, the first
// page of a segment with a longer one:
//
//   page:     | short header 24 | record bytes ...                |
//   segment:  | long header 40 | ... | page | page | ...          |
//
// A record that does not fit on its page goes on behind the next page's header,
// which then says XLP_FIRST_IS_CONTRECORD and how many bytes are still to come.
// Source: src/include/access/xlog_internal.h.
#ifndef MUSTH_ENGINE_WAL_XLOG_INTERNAL_H_
#define MUSTH_ENGINE_WAL_XLOG_INTERNAL_H_

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "engine/common/types.h"

namespace engine {

inline constexpr uint16_t XLOG_PAGE_MAGIC = 0xD110;
inline constexpr char kXLogDir[] = "pg_wal";

struct XLogPageHeaderData {
  uint16_t xlp_magic = 0;
  uint16_t xlp_info = 0;  // XLP_*
  TimeLineID xlp_tli = 0;
  XLogRecPtr xlp_pageaddr = 0;
  uint32_t xlp_rem_len = 0;  // bytes of the continued record still to come
  uint32_t xlp_pad = 0;
};
static_assert(sizeof(XLogPageHeaderData) == 24);
static_assert(offsetof(XLogPageHeaderData, xlp_tli) == 4);
static_assert(offsetof(XLogPageHeaderData, xlp_pageaddr) == 8);
static_assert(offsetof(XLogPageHeaderData, xlp_rem_len) == 16);
static_assert(std::has_unique_object_representations_v<XLogPageHeaderData>);

struct XLogLongPageHeaderData {
  XLogPageHeaderData std;
  uint64_t xlp_sysid = 0;
  uint32_t xlp_seg_size = 0;
  uint32_t xlp_xlog_blcksz = 0;
};
static_assert(sizeof(XLogLongPageHeaderData) == 40);
static_assert(offsetof(XLogLongPageHeaderData, xlp_sysid) == 24);
static_assert(offsetof(XLogLongPageHeaderData, xlp_seg_size) == 32);
static_assert(std::has_unique_object_representations_v<XLogLongPageHeaderData>);

inline constexpr uint32_t kSizeOfXLogShortPHD = sizeof(XLogPageHeaderData);
inline constexpr uint32_t kSizeOfXLogLongPHD = sizeof(XLogLongPageHeaderData);

// Flags in xlp_info.
inline constexpr uint16_t XLP_FIRST_IS_CONTRECORD = 0x0001;
inline constexpr uint16_t XLP_LONG_HEADER = 0x0002;
inline constexpr uint16_t XLP_BKP_REMOVABLE = 0x0004;
inline constexpr uint16_t XLP_FIRST_IS_OVERWRITE_CONTRECORD = 0x0008;
inline constexpr uint16_t XLP_ALL_FLAGS = 0x000F;

inline constexpr uint32_t WalSegMinSize = 8 * XLOG_BLCKSZ;
inline constexpr uint32_t WalSegMaxSize = 1u << 30;

// PostgreSQL's least is 1 MiB; see Config::wal_segment_size.
inline constexpr bool IsValidWalSegSize(uint32_t size) {
  return size >= WalSegMinSize && size <= WalSegMaxSize &&
         (size & (size - 1)) == 0;
}

inline XLogSegNo XLByteToSeg(XLogRecPtr lsn, uint32_t segsize) {
  return lsn / segsize;
}
// The segment of the byte before lsn: where a write that ends at lsn goes.
inline XLogSegNo XLByteToPrevSeg(XLogRecPtr lsn, uint32_t segsize) {
  return (lsn - 1) / segsize;
}
inline bool XLByteInPrevSeg(XLogRecPtr lsn, XLogSegNo segno, uint32_t segsize) {
  return XLByteToPrevSeg(lsn, segsize) == segno;
}
inline uint32_t XLogSegmentOffset(XLogRecPtr lsn, uint32_t segsize) {
  return static_cast<uint32_t>(lsn & (segsize - 1));
}
inline XLogRecPtr XLogSegNoOffsetToRecPtr(XLogSegNo segno, uint32_t offset,
                                          uint32_t segsize) {
  return segno * segsize + offset;
}
// Size of the page header that begins at the page-aligned position lsn.
inline uint32_t XLogPageHeaderSizeAt(XLogRecPtr page, uint32_t segsize) {
  return XLogSegmentOffset(page, segsize) == 0 ? kSizeOfXLogLongPHD
                                               : kSizeOfXLogShortPHD;
}
inline XLogRecPtr XLogPageStart(XLogRecPtr lsn) {
  return lsn - lsn % XLOG_BLCKSZ;
}
// True if a record, or a continuation, can begin at lsn.
inline bool XRecOffIsValid(XLogRecPtr lsn) {
  return lsn % XLOG_BLCKSZ >= kSizeOfXLogShortPHD;
}

inline uint64_t XLogSegmentsPerXLogId(uint32_t segsize) {
  return uint64_t{0x100000000} / segsize;
}
inline std::string XLogFileName(TimeLineID tli, XLogSegNo segno,
                                uint32_t segsize) {
  uint64_t per_id = XLogSegmentsPerXLogId(segsize);
  return fmt::format("{:08X}{:08X}{:08X}", tli, segno / per_id, segno % per_id);
}
inline std::string XLogFilePath(TimeLineID tli, XLogSegNo segno,
                                uint32_t segsize) {
  return fmt::format("{}/{}", kXLogDir, XLogFileName(tli, segno, segsize));
}
inline bool IsXLogFileName(std::string_view name) {
  return name.size() == 24 &&
         name.find_first_not_of("0123456789ABCDEF") == std::string_view::npos;
}

// "1A/2B3C": how PostgreSQL prints a position.
inline std::string LsnToString(XLogRecPtr lsn) {
  return fmt::format("{:X}/{:X}", lsn >> 32, lsn & 0xFFFFFFFF);
}

}  // namespace engine

#endif  // MUSTH_ENGINE_WAL_XLOG_INTERNAL_H_
