// The two checksums of the file formats: CRC-32C (WAL records, pg_control) and
// the page checksum.
// Source: src/port/pg_crc32c_sb8.c, src/include/storage/checksum_impl.h.
#ifndef MUSTH_ENGINE_COMMON_CHECKSUM_H_
#define MUSTH_ENGINE_COMMON_CHECKSUM_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/common/types.h"

namespace engine {

// A CRC is built up as PostgreSQL does it:
//   uint32_t crc = kCrc32cInit;
//   crc = Crc32cComp(crc, part1, len1); ...
//   crc = Crc32cFin(crc);
inline constexpr uint32_t kCrc32cInit = 0xFFFFFFFF;
uint32_t Crc32cComp(uint32_t crc, const void* data, size_t len);
inline uint32_t Crc32cFin(uint32_t crc) { return crc ^ 0xFFFFFFFF; }

// The CRC of one stretch of bytes.
inline uint32_t Crc32c(std::string_view bytes) {
  return Crc32cFin(Crc32cComp(kCrc32cInit, bytes.data(), bytes.size()));
}

// The same function without the processor's help, for machines that lack
// SSE 4.2 and for the test that compares the two.
uint32_t Crc32cCompPortable(uint32_t crc, const void* data, size_t len);

// The checksum of an 8192-byte page as if its pd_checksum were 0; never 0.
// The block number is mixed in, so that a page at the wrong place is found.
// Requires: page is 4-byte aligned.
uint16_t PageChecksum(const char* page, BlockNumber blkno);

// With the option checksum_relation: what a page's block number is combined
// with (exclusive or) before it goes into the checksum, so that the page of
// another relation or fork is found at the same block.
uint32_t ChecksumSalt(const RelFileNode& rnode, ForkNumber fork);

}  // namespace engine

#endif  // MUSTH_ENGINE_COMMON_CHECKSUM_H_
