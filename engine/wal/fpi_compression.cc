#include "engine/wal/fpi_compression.h"

#include <lz4.h>

#include <cstring>
#include <memory>

#include "engine/common/pglz.h"
#include "engine/wal/xlogrecord.h"

namespace engine {
namespace {

static_assert(kMaxCompressedImageBytes >= PGLZ_MAX_OUTPUT(BLCKSZ));
static_assert(kMaxCompressedImageBytes >= LZ4_COMPRESSBOUND(BLCKSZ));

std::optional<size_t> CompressLz4(std::span<const char> source,
                                  std::span<char> out) {
  // As LZ4_compress_default, with its 16 kB of state off the fiber's stack.
  auto state = std::make_unique<LZ4_stream_t>();
  int size = LZ4_compress_fast_extState(
      state.get(), source.data(), out.data(), static_cast<int>(source.size()),
      static_cast<int>(out.size()), /*acceleration=*/1);
  if (size <= 0) return std::nullopt;
  return static_cast<size_t>(size);
}

}  // namespace

uint8_t CompressionBit(WalCompression method) {
  switch (method) {
    case WalCompression::kOff:
      return 0;
    case WalCompression::kPglz:
      return BKPIMAGE_COMPRESS_PGLZ;
    case WalCompression::kLz4:
      return BKPIMAGE_COMPRESS_LZ4;
  }
  SIM_UNREACHABLE();
}

std::optional<uint16_t> CompressImage(
    WalCompression method, const char* page, PageHole hole,
    std::span<char, kMaxCompressedImageBytes> out) {
  if (method == WalCompression::kOff) return std::nullopt;
  SIM_CHECK(hole.offset + hole.length <= BLCKSZ);
  // Too large for a fiber's stack.
  std::unique_ptr<char[]> copy;
  std::span<const char> source(page, BLCKSZ);
  size_t extra_bytes = 0;
  if (hole.length > 0) {
    extra_bytes = kSizeOfXLogRecordBlockCompressHeader;
    size_t hole_end = size_t{hole.offset} + hole.length;
    copy.reset(new char[BLCKSZ]);
    std::memcpy(copy.get(), page, hole.offset);
    std::memcpy(copy.get() + hole.offset, page + hole_end, BLCKSZ - hole_end);
    source = {copy.get(), size_t{BLCKSZ} - hole.length};
  }
  std::optional<size_t> size =
      method == WalCompression::kPglz
          ? PglzCompress(source, out, PGLZ_strategy_default)
          : CompressLz4(source, out);
  // What it costs to say that the image is compressed counts, too.
  if (!size.has_value() || *size + extra_bytes >= source.size()) {
    return std::nullopt;
  }
  return static_cast<uint16_t>(*size);
}

bool DecompressImage(uint8_t compression_bits, std::string_view image,
                     std::span<char> out) {
  if (compression_bits == BKPIMAGE_COMPRESS_PGLZ) {
    return PglzDecompress(std::span<const char>(image.data(), image.size()),
                          out, /*check_complete=*/true)
        .has_value();
  }
  SIM_CHECK(compression_bits == BKPIMAGE_COMPRESS_LZ4);
  int size = LZ4_decompress_safe(image.data(), out.data(),
                                 static_cast<int>(image.size()),
                                 static_cast<int>(out.size()));
  return size >= 0 && static_cast<size_t>(size) == out.size();
}

}  // namespace engine
