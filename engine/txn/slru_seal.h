// Sealed pages: how an Slru page lies on the device when every sector carries
// a checksum of its own. An option beyond PostgreSQL (clog_checksums).
//
//   8192 bytes of the page ─► 17 sectors of 512: data 504 | CRC-32C 4 | zeros 4
//
// A page-wide checksum would not do: the commit log has no page images, so that
// a page torn by a crash is whole in the only sense that counts, each sector
// being an older or a newer one. The device never tears a sector, so a sector
// whose checksum is wrong was damaged. The CRC covers page number and sector
// number as well.
#ifndef MUSTH_ENGINE_TXN_SLRU_SEAL_H_
#define MUSTH_ENGINE_TXN_SLRU_SEAL_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/common/types.h"

namespace engine {

inline constexpr size_t kSealSectorBytes = 512;
inline constexpr size_t kSealDataBytes = 504;
inline constexpr size_t kSealSectors =
    (BLCKSZ + kSealDataBytes - 1) / kSealDataBytes;
inline constexpr size_t kSealedPageBytes = kSealSectors * kSealSectorBytes;

void SealPage(std::span<const char, BLCKSZ> page, int64_t pageno,
              std::span<char, kSealedPageBytes> out);
// False if a sector is damaged; page is then of no use.
bool UnsealPage(std::span<const char, kSealedPageBytes> sealed, int64_t pageno,
                std::span<char, BLCKSZ> page);

}  // namespace engine

#endif  // MUSTH_ENGINE_TXN_SLRU_SEAL_H_
