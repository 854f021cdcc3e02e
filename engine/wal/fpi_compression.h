// Compression of full-page images in the log.
//
// What is compressed is the page without its hole, so that a page goes into the
// log as | compressed bytes | and comes back as
//
//   | before the hole | hole_length zeros | behind the hole |
//
// The record says with which method (a BKPIMAGE_COMPRESS_* bit), and how long
// the hole was, as the length of what is stored no longer tells.
// Source: src/backend/access/transam/xloginsert.c XLogCompressBackupBlock(),
// xlogreader.c RestoreBlockImage().
#ifndef MUSTH_ENGINE_WAL_FPI_COMPRESSION_H_
#define MUSTH_ENGINE_WAL_FPI_COMPRESSION_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/common/config.h"
#include "engine/common/types.h"

namespace engine {

// The unused middle of a page; both 0 if there is none.
struct PageHole {
  uint16_t offset = 0;
  uint16_t length = 0;
};

// Space for one compressed image, as long as it may get before anybody knows
// that it did not shrink.
inline constexpr size_t kMaxCompressedImageBytes = BLCKSZ + BLCKSZ / 255 + 16;

// The BKPIMAGE_COMPRESS_* bit of a method; 0 for kOff.
uint8_t CompressionBit(WalCompression method);

// Compresses the page without its hole; returns the length, or nothing if that
// saves no byte of the record. Suspends: no.
std::optional<uint16_t> CompressImage(
    WalCompression method, const char* page, PageHole hole,
    std::span<char, kMaxCompressedImageBytes> out);

// The reverse: exactly out.size() bytes, those of the page without its hole.
// False if the image is damaged. Requires: compression_bits is one of the
// methods that CompressionBit knows.
bool DecompressImage(uint8_t compression_bits, std::string_view image,
                     std::span<char> out);

}  // namespace engine

#endif  // MUSTH_ENGINE_WAL_FPI_COMPRESSION_H_
