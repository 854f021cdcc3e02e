// Page images inside WAL records, as the judges read them.
//
//   stored:  the page without its hole, as it is or compressed
//   page:    | bytes before the hole | hole_length zeros | bytes behind it |
//
// Compression is pglz (decoded here, from the description of its format) or
// LZ4 (by that library). Source: src/include/access/xlogrecord.h,
// src/common/pg_lzcompress.c.
#ifndef MUSTH_PROPERTIES_DECODERS_WAL_IMAGE_H_
#define MUSTH_PROPERTIES_DECODERS_WAL_IMAGE_H_

#include <string>
#include <string_view>

#include "properties/decoders/wal_decoder.h"
#include "sim/env/status.h"

namespace properties {

// How an image is stored.
enum class WalImageMethod { kPlain, kPglz, kLz4, kUnknown };
WalImageMethod MethodOf(const WalBlockRef& block);

// The page of 8192 bytes that the block's image stands for. Errors:
// kCorrupted, saying what does not fit. Requires: block.has_image.
env::Result<std::string> RestoreWalImage(const WalBlockRef& block);

// Takes pglz apart: exactly raw_bytes, from exactly the given bytes. Errors:
// kCorrupted.
env::Result<std::string> DecodePglz(std::string_view compressed,
                                    size_t raw_bytes);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_DECODERS_WAL_IMAGE_H_
