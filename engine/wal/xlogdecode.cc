// Taking a whole, checked record apart.
#include "engine/wal/xlogdecode.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "engine/wal/fpi_compression.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xlogreader.h"
#include "engine/wal/xlogrecord.h"

namespace engine {
namespace {

std::string ShortData(XLogRecPtr lsn) {
  return fmt::format("record with invalid length at {}", LsnToString(lsn));
}

// What is wrong with an image's header, or "".
std::string ImageHeaderFault(const DecodedBkpBlock& block, uint16_t length) {
  bool hole = (block.bimg_info & BKPIMAGE_HAS_HOLE) != 0;
  bool compressed = (block.bimg_info & BKPIMAGE_COMPRESSED) != 0;
  if (hole &&
      (block.hole_offset == 0 || block.hole_length == 0 || length == BLCKSZ)) {
    return fmt::format(
        "BKPIMAGE_HAS_HOLE set, but hole offset {} length {} block image "
        "length {}",
        block.hole_offset, block.hole_length, length);
  }
  if (!hole && (block.hole_offset != 0 || block.hole_length != 0)) {
    return fmt::format(
        "BKPIMAGE_HAS_HOLE not set, but hole offset {} length {}",
        block.hole_offset, block.hole_length);
  }
  if (compressed && length == BLCKSZ) {
    return fmt::format("BKPIMAGE_COMPRESSED set, but block image length {}",
                       length);
  }
  if (!hole && !compressed && length != BLCKSZ) {
    return fmt::format(
        "neither BKPIMAGE_HAS_HOLE nor BKPIMAGE_COMPRESSED set, but block "
        "image length is {}",
        length);
  }
  // Beyond PostgreSQL, which trusts what passed the CRC.
  if (block.hole_offset + block.hole_length > BLCKSZ) {
    return fmt::format("hole offset {} length {} beyond the end of the page",
                       block.hole_offset, block.hole_length);
  }
  return {};
}

}  // namespace

bool XLogReaderState::DecodeImageHeader(ByteCursor* in, DecodedBkpBlock* block,
                                        uint16_t* image_length,
                                        XLogRecPtr lsn) {
  if (!in->Get(image_length) || !in->Get(&block->hole_offset) ||
      !in->Get(&block->bimg_info)) {
    return Fail(ShortData(lsn));
  }
  block->apply_image = (block->bimg_info & BKPIMAGE_APPLY) != 0;
  bool hole = (block->bimg_info & BKPIMAGE_HAS_HOLE) != 0;
  if ((block->bimg_info & BKPIMAGE_COMPRESSED) == 0) {
    if (*image_length > BLCKSZ) return Fail(ShortData(lsn));
    block->hole_length = static_cast<uint16_t>(BLCKSZ - *image_length);
  } else if (hole && !in->Get(&block->hole_length)) {
    return Fail(ShortData(lsn));
  }
  std::string fault = ImageHeaderFault(*block, *image_length);
  if (fault.empty()) return true;
  return Fail(fmt::format("{} at {}", fault, LsnToString(lsn)));
}

// Decodes one block header. The lengths of image and data go into the views,
// whose pointers DecodePayload sets; payload is their sum so far.
bool XLogReaderState::DecodeBlockHeader(ByteCursor* in, uint8_t id,
                                        XLogRecPtr lsn,
                                        const BufferTag** last_rel,
                                        uint64_t* payload) {
  if (static_cast<int>(id) <= max_block_id_) {
    return Fail(
        fmt::format("out-of-order block_id {} at {}", id, LsnToString(lsn)));
  }
  max_block_id_ = id;
  DecodedBkpBlock& block = blocks_[id];
  block = {};
  block.in_use = true;
  uint16_t data_length = 0;
  if (!in->Get(&block.flags) || !in->Get(&data_length)) {
    return Fail(ShortData(lsn));
  }
  block.has_image = (block.flags & BKPBLOCK_HAS_IMAGE) != 0;
  block.has_data = (block.flags & BKPBLOCK_HAS_DATA) != 0;
  if (block.has_data && data_length == 0) {
    return Fail(fmt::format("BKPBLOCK_HAS_DATA set, but no data included at {}",
                            LsnToString(lsn)));
  }
  if (!block.has_data && data_length != 0) {
    return Fail(
        fmt::format("BKPBLOCK_HAS_DATA not set, but data length is {} at {}",
                    data_length, LsnToString(lsn)));
  }
  uint16_t image_length = 0;
  if (block.has_image && !DecodeImageHeader(in, &block, &image_length, lsn)) {
    return false;
  }
  block.tag.forkNum = static_cast<ForkNumber>(block.flags & BKPBLOCK_FORK_MASK);
  if ((block.flags & BKPBLOCK_SAME_REL) == 0) {
    if (!in->Get(&block.tag.rnode)) return Fail(ShortData(lsn));
  } else if (*last_rel == nullptr) {
    return Fail(fmt::format("BKPBLOCK_SAME_REL set but no previous rel at {}",
                            LsnToString(lsn)));
  } else {
    block.tag.rnode = (*last_rel)->rnode;
  }
  *last_rel = &block.tag;
  if (!in->Get(&block.tag.blockNum)) return Fail(ShortData(lsn));
  block.image = std::string_view(page_.data(), image_length);
  block.data = std::string_view(page_.data(), data_length);
  *payload += image_length + data_length;
  return true;
}

bool XLogReaderState::DecodePayload(ByteCursor* in, uint32_t main_data_length,
                                    XLogRecPtr lsn) {
  for (int id = 0; id <= max_block_id_; ++id) {
    DecodedBkpBlock& block = blocks_[static_cast<size_t>(id)];
    if (!block.in_use) continue;
    if (!in->GetBytes(block.image.size(), &block.image) ||
        !in->GetBytes(block.data.size(), &block.data)) {
      return Fail(ShortData(lsn));
    }
  }
  if (!in->GetBytes(main_data_length, &main_data_)) return Fail(ShortData(lsn));
  return true;
}

bool XLogReaderState::DecodeRecord(std::string_view record, XLogRecPtr lsn) {
  for (int id = 0; id <= max_block_id_; ++id) {
    blocks_[static_cast<size_t>(id)].in_use = false;
  }
  max_block_id_ = -1;
  main_data_ = {};
  ByteCursor in(record);
  XLogRecord header;
  if (!in.Get(&header)) return Fail(ShortData(lsn));
  const BufferTag* last_rel = nullptr;
  uint64_t payload = 0;
  uint32_t main_data_length = 0;
  while (in.left() > payload) {
    uint8_t id = 0;
    if (!in.Get(&id)) return Fail(ShortData(lsn));
    if (id == XLR_BLOCK_ID_DATA_SHORT || id == XLR_BLOCK_ID_DATA_LONG) {
      uint8_t short_length = 0;
      bool ok = id == XLR_BLOCK_ID_DATA_SHORT ? in.Get(&short_length)
                                              : in.Get(&main_data_length);
      if (!ok) return Fail(ShortData(lsn));
      if (id == XLR_BLOCK_ID_DATA_SHORT) main_data_length = short_length;
      payload += main_data_length;
      break;  // by convention the last header
    }
    uint32_t toplevel_xid = 0;
    uint16_t origin = 0;
    if (id == XLR_BLOCK_ID_ORIGIN) {
      if (!in.Get(&origin)) return Fail(ShortData(lsn));
    } else if (id == XLR_BLOCK_ID_TOPLEVEL_XID) {
      if (!in.Get(&toplevel_xid)) return Fail(ShortData(lsn));
    } else if (id > XLR_MAX_BLOCK_ID) {
      return Fail(
          fmt::format("invalid block_id {} at {}", id, LsnToString(lsn)));
    } else if (!DecodeBlockHeader(&in, id, lsn, &last_rel, &payload)) {
      return false;
    }
  }
  if (in.left() != payload) return Fail(ShortData(lsn));
  if (!DecodePayload(&in, main_data_length, lsn)) return false;
  rmid_ = header.xl_rmid;
  info_ = header.xl_info;
  xid_ = header.xl_xid;
  prev_ = header.xl_prev;
  total_length_ = header.xl_tot_len;
  return true;
}

Status XLogReaderState::RestoreBlockImage(uint8_t id,
                                          std::span<char, BLCKSZ> page) const {
  auto corrupted = [&](std::string_view what, std::string_view how) {
    return Status(env::Code::kCorrupted,
                  fmt::format("could not {} image at {}{}, block {}", what,
                              LsnToString(read_rec_ptr_), how, id));
  };
  if (!HasBlock(id)) {
    return corrupted("restore", " with invalid block specified");
  }
  const DecodedBkpBlock& block = blocks_[id];
  if (!block.has_image) return corrupted("restore", " with invalid state");
  std::string_view image = block.image;
  size_t stored = BLCKSZ - size_t{block.hole_length};
  std::unique_ptr<char[]> raw;
  uint8_t method = block.bimg_info & BKPIMAGE_COMPRESSED;
  if (method == BKPIMAGE_COMPRESS_PGLZ || method == BKPIMAGE_COMPRESS_LZ4) {
    raw.reset(new char[BLCKSZ]);
    if (!DecompressImage(method, image, {raw.get(), stored})) {
      return corrupted("decompress", "");
    }
    image = {raw.get(), stored};
  } else if (method == BKPIMAGE_COMPRESS_ZSTD) {
    return corrupted("restore", " compressed with zstd not supported by build");
  } else if (method != 0) {
    return corrupted("restore", " compressed with unknown method");
  }
  // The decoder made sure that image and hole add up to a page.
  SIM_CHECK(image.size() == stored);
  size_t hole_end = size_t{block.hole_offset} + block.hole_length;
  std::memcpy(page.data(), image.data(), block.hole_offset);
  std::memset(page.data() + block.hole_offset, 0, block.hole_length);
  std::memcpy(page.data() + hole_end, image.data() + block.hole_offset,
              page.size() - hole_end);
  return {};
}

}  // namespace engine
