// The two checksums of the file formats, for the judges' own use.
//
// CRC-32C guards WAL records and pg_control; a 16-bit sum over 32 parallel
// FNV-1a lanes guards data pages.
// Source: src/include/port/pg_crc32c.h, src/include/storage/checksum_impl.h.
#ifndef MUSTH_PROPERTIES_DECODERS_CHECKSUMS_H_
#define MUSTH_PROPERTIES_DECODERS_CHECKSUMS_H_

#include <cstdint>
#include <string_view>

namespace properties {

// CRC-32C of `bytes`, going on from `crc`: a running value starts as
// kCrcStart and is finished by complementing it.
inline constexpr uint32_t kCrcStart = 0xFFFFFFFFu;
uint32_t CrcAppend(uint32_t crc, std::string_view bytes);
inline uint32_t CrcOf(std::string_view bytes) {
  return ~CrcAppend(kCrcStart, bytes);
}

// What pd_checksum of this page must be at this block; never 0.
// Requires: page has 8192 bytes.
uint16_t ComputePageChecksum(std::string_view page, uint32_t block);

// What the block number is combined with (exclusive or) where the engine's
// option checksum_relation is on.
uint32_t RelationChecksumSalt(uint32_t spc_node, uint32_t db_node,
                              uint32_t rel_node, uint32_t fork);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_DECODERS_CHECKSUMS_H_
