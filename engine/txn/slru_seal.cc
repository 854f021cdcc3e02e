#include "engine/txn/slru_seal.h"

#include <algorithm>
#include <cstring>

#include "engine/common/checksum.h"

namespace engine {
namespace {

uint32_t SectorCrc(const char* sector, int64_t pageno, size_t number) {
  uint64_t place = static_cast<uint64_t>(pageno) * kSealSectors + number;
  uint32_t crc = Crc32cComp(kCrc32cInit, sector, kSealDataBytes);
  return Crc32cFin(Crc32cComp(crc, &place, sizeof(place)));
}

// Bytes of the page that the sector holds: the last one holds fewer.
size_t DataIn(size_t number) {
  return std::min(kSealDataBytes, size_t{BLCKSZ} - number * kSealDataBytes);
}

}  // namespace

void SealPage(std::span<const char, BLCKSZ> page, int64_t pageno,
              std::span<char, kSealedPageBytes> out) {
  std::memset(out.data(), 0, out.size());
  for (size_t i = 0; i < kSealSectors; ++i) {
    char* sector = out.data() + i * kSealSectorBytes;
    std::memcpy(sector, page.data() + i * kSealDataBytes, DataIn(i));
    uint32_t crc = SectorCrc(sector, pageno, i);
    std::memcpy(sector + kSealDataBytes, &crc, sizeof(crc));
  }
}

bool UnsealPage(std::span<const char, kSealedPageBytes> sealed, int64_t pageno,
                std::span<char, BLCKSZ> page) {
  for (size_t i = 0; i < kSealSectors; ++i) {
    const char* sector = sealed.data() + i * kSealSectorBytes;
    uint32_t crc;
    std::memcpy(&crc, sector + kSealDataBytes, sizeof(crc));
    if (crc != SectorCrc(sector, pageno, i)) return false;
    std::memcpy(page.data() + i * kSealDataBytes, sector, DataIn(i));
  }
  return true;
}

}  // namespace engine
