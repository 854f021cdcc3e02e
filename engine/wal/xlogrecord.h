// The bytes of one WAL record.
//
//   | XLogRecord 24 | block header 0 | ... | block header n | main data header
//   | | image 0 | data 0 | ... | image n | data n | main data |
//
//   block header:  id u8, fork_flags u8, data length u16
//                  [image: length u16, hole offset u16, bimg_info u8
//                   [compressed and with hole: hole length u16]]
//                  [unless SAME_REL: spcNode u32, dbNode u32, relNode u32]
//                  block number u32
//   main data header:  255, length u8   or   254, length u32
//
// Nothing after the XLogRecord is aligned: read and write it with memcpy.
// Source: src/include/access/xlogrecord.h.
#ifndef MUSTH_ENGINE_WAL_XLOGRECORD_H_
#define MUSTH_ENGINE_WAL_XLOGRECORD_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "engine/common/types.h"

namespace engine {

struct XLogRecord {
  uint32_t xl_tot_len = 0;   // of the whole record, this header included
  TransactionId xl_xid = 0;  // or 0
  XLogRecPtr xl_prev = 0;    // start of the previous record
  uint8_t xl_info = 0;       // high half: rmgr's, low half: XLR_*
  RmgrId xl_rmid = 0;
  uint8_t xl_pad[2] = {};
  uint32_t xl_crc = 0;  // CRC-32C: what follows, then the bytes before it
};
static_assert(sizeof(XLogRecord) == 24);
static_assert(offsetof(XLogRecord, xl_prev) == 8);
static_assert(offsetof(XLogRecord, xl_info) == 16);
static_assert(offsetof(XLogRecord, xl_rmid) == 17);
static_assert(offsetof(XLogRecord, xl_crc) == 20);
static_assert(std::has_unique_object_representations_v<XLogRecord>);

inline constexpr uint32_t kSizeOfXLogRecord = sizeof(XLogRecord);

// The halves of xl_info.
inline constexpr uint8_t XLR_INFO_MASK = 0x0F;
inline constexpr uint8_t XLR_RMGR_INFO_MASK = 0xF0;
inline constexpr uint8_t XLR_CHECK_CONSISTENCY = 0x02;

// Flags in fork_flags; the low four bits are the fork.
inline constexpr uint8_t BKPBLOCK_FORK_MASK = 0x0F;
inline constexpr uint8_t BKPBLOCK_HAS_IMAGE = 0x10;
inline constexpr uint8_t BKPBLOCK_HAS_DATA = 0x20;
inline constexpr uint8_t BKPBLOCK_WILL_INIT = 0x40;
inline constexpr uint8_t BKPBLOCK_SAME_REL = 0x80;

// Flags in bimg_info.
inline constexpr uint8_t BKPIMAGE_HAS_HOLE = 0x01;
inline constexpr uint8_t BKPIMAGE_APPLY = 0x02;
inline constexpr uint8_t BKPIMAGE_COMPRESS_PGLZ = 0x04;
inline constexpr uint8_t BKPIMAGE_COMPRESS_LZ4 = 0x08;
inline constexpr uint8_t BKPIMAGE_COMPRESS_ZSTD = 0x10;
inline constexpr uint8_t BKPIMAGE_COMPRESSED =
    BKPIMAGE_COMPRESS_PGLZ | BKPIMAGE_COMPRESS_LZ4 | BKPIMAGE_COMPRESS_ZSTD;

// Ids of headers that are not blocks'.
inline constexpr uint8_t XLR_BLOCK_ID_DATA_SHORT = 255;
inline constexpr uint8_t XLR_BLOCK_ID_DATA_LONG = 254;
inline constexpr uint8_t XLR_BLOCK_ID_ORIGIN = 253;
inline constexpr uint8_t XLR_BLOCK_ID_TOPLEVEL_XID = 252;

// Sizes of the unaligned headers, in bytes.
inline constexpr uint32_t kSizeOfXLogRecordBlockHeader = 4;
inline constexpr uint32_t kSizeOfXLogRecordBlockImageHeader = 5;
inline constexpr uint32_t kSizeOfXLogRecordBlockCompressHeader = 2;
inline constexpr uint32_t kSizeOfXLogRecordDataHeaderShort = 2;
inline constexpr uint32_t kSizeOfXLogRecordDataHeaderLong = 5;

}  // namespace engine

#endif  // MUSTH_ENGINE_WAL_XLOGRECORD_H_
