#include "properties/decoders/wal_image.h"

#include <fmt/format.h>
#include <lz4.h>

#include <utility>

#include "properties/decoders/bytes.h"

namespace properties {
namespace {

using env::Code;
using env::Status;

constexpr uint8_t kCompressPglz = 0x04;
constexpr uint8_t kCompressLz4 = 0x08;
constexpr uint8_t kCompressMask = 0x1C;

Status Corrupted(std::string message) {
  return Status(Code::kCorrupted, std::move(message));
}

env::Result<std::string> DecodeLz4(std::string_view compressed,
                                   size_t raw_bytes) {
  std::string raw(raw_bytes, '\0');
  int got = LZ4_decompress_safe(compressed.data(), raw.data(),
                                static_cast<int>(compressed.size()),
                                static_cast<int>(raw.size()));
  if (got < 0 || static_cast<size_t>(got) != raw_bytes) {
    return Corrupted(
        fmt::format("LZ4 gives {} bytes instead of {}", got, raw_bytes));
  }
  return raw;
}

}  // namespace

WalImageMethod MethodOf(const WalBlockRef& block) {
  switch (block.image_info & kCompressMask) {
    case 0:
      return WalImageMethod::kPlain;
    case kCompressPglz:
      return WalImageMethod::kPglz;
    case kCompressLz4:
      return WalImageMethod::kLz4;
    default:
      return WalImageMethod::kUnknown;
  }
}

env::Result<std::string> DecodePglz(std::string_view compressed,
                                    size_t raw_bytes) {
  std::string raw;
  raw.reserve(raw_bytes);
  size_t at = 0;
  // A marker bit above the control byte tells when its eight bits are used up.
  unsigned control = 1;
  while (raw.size() < raw_bytes) {
    if (control == 1) {
      if (at == compressed.size()) return Corrupted("pglz data ends early");
      control = 0x100u | static_cast<uint8_t>(compressed[at++]);
    }
    bool copies = (control & 1) != 0;
    control >>= 1;
    size_t need = copies ? 2 : 1;
    if (compressed.size() - at < need) return Corrupted("pglz data ends early");
    if (!copies) {
      raw += compressed[at++];
      continue;
    }
    auto head = static_cast<uint8_t>(compressed[at]);
    size_t back =
        (head >> 4) * size_t{256} + static_cast<uint8_t>(compressed[at + 1]);
    size_t length = (head & 15) + size_t{3};
    at += 2;
    if (length == 18) {
      if (at == compressed.size()) return Corrupted("pglz data ends early");
      length += static_cast<uint8_t>(compressed[at++]);
    }
    if (back == 0 || back > raw.size() || length > raw_bytes - raw.size()) {
      return Corrupted(
          fmt::format("pglz copies {} bytes from {} bytes back, "
                      "{} bytes into {}",
                      length, back, raw.size(), raw_bytes));
    }
    for (size_t i = 0; i < length; ++i) raw += raw[raw.size() - back];
  }
  if (at != compressed.size()) {
    return Corrupted(fmt::format("{} bytes behind the end of pglz data",
                                 compressed.size() - at));
  }
  return raw;
}

env::Result<std::string> RestoreWalImage(const WalBlockRef& block) {
  size_t raw_bytes = kPageBytes - block.hole_length;
  std::string raw;
  switch (MethodOf(block)) {
    case WalImageMethod::kPlain:
      raw.assign(block.image);
      break;
    case WalImageMethod::kPglz: {
      ASSIGN_OR_RETURN(raw, DecodePglz(block.image, raw_bytes));
      break;
    }
    case WalImageMethod::kLz4: {
      ASSIGN_OR_RETURN(raw, DecodeLz4(block.image, raw_bytes));
      break;
    }
    case WalImageMethod::kUnknown:
      return Corrupted(
          fmt::format("unknown compression {:#04x}", block.image_info));
  }
  if (raw.size() != raw_bytes || block.hole_offset > raw.size()) {
    return Corrupted(fmt::format("an image of {} bytes and a hole of {} at {}",
                                 raw.size(), block.hole_length,
                                 block.hole_offset));
  }
  raw.insert(block.hole_offset, block.hole_length, '\0');
  return raw;
}

}  // namespace properties
