#include "engine/common/checksum.h"

#include <array>
#include <cstring>

namespace engine {
namespace {

constexpr uint32_t kCastagnoli = 0x82F63B78;  // reversed bit order

using CrcTables = std::array<std::array<uint32_t, 256>, 8>;

// tables[k][b] is the CRC of byte b followed by k zero bytes.
constexpr CrcTables MakeCrcTables() {
  CrcTables tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kCastagnoli : 0);
    }
    tables[0][b] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t b = 0; b < 256; ++b) {
      uint32_t shorter = tables[k - 1][b];
      tables[k][b] = (shorter >> 8) ^ tables[0][shorter & 0xFF];
    }
  }
  return tables;
}

constexpr CrcTables kCrcTables = MakeCrcTables();

inline uint64_t Load64(const unsigned char* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t Crc32cCompSse42(
    uint32_t crc, const unsigned char* p, size_t len) {
  uint64_t wide = crc;
  for (; len >= 8; p += 8, len -= 8) {
    wide = __builtin_ia32_crc32di(wide, Load64(p));
  }
  crc = static_cast<uint32_t>(wide);
  for (; len > 0; ++p, --len) crc = __builtin_ia32_crc32qi(crc, *p);
  return crc;
}
#endif

// --- Page checksum ---

constexpr int kSums = 32;
constexpr uint32_t kFnvPrime = 16777619;

// Where the lanes start, so that no two of them are interchangeable.
constexpr uint32_t kLaneOffsets[kSums] = {
    0x5B1F36E9, 0xB8525960, 0x02AB50AA, 0x1DE66D2A, 0x79FF467A, 0x9BB9F8A3,
    0x217E7CD2, 0x83E13D2C, 0xF8D4474F, 0xE39EB970, 0x42C6AE16, 0x993216FA,
    0x7B093B5D, 0x98DAFF3C, 0xF718902A, 0x0B1C9CDB, 0xE58F764B, 0x187636BC,
    0x5D7B3BB1, 0xE73DE7DE, 0x92BEC979, 0xCCA6C0B2, 0x304A0979, 0x85AA43D4,
    0x783125BB, 0x6CA8EAA2, 0xE407EAC6, 0x4B5CFC3E, 0x9FBF8C76, 0x15CA20BE,
    0xF2CA9FD3, 0x959BD756};

inline uint32_t Mix(uint32_t sum, uint32_t value) {
  uint32_t t = sum ^ value;
  return (t * kFnvPrime) ^ (t >> 17);
}

}  // namespace

uint32_t Crc32cCompPortable(uint32_t crc, const void* data, size_t len) {
  const unsigned char* p = static_cast<const unsigned char*>(data);
  for (; len >= 8; p += 8, len -= 8) {
    uint64_t v = Load64(p) ^ crc;
    crc = 0;
    for (size_t i = 0; i < 8; ++i) {
      crc ^= kCrcTables[7 - i][(v >> (8 * i)) & 0xFF];
    }
  }
  for (; len > 0; ++p, --len) {
    crc = (crc >> 8) ^ kCrcTables[0][(crc ^ *p) & 0xFF];
  }
  return crc;
}

uint32_t Crc32cComp(uint32_t crc, const void* data, size_t len) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) {
    return Crc32cCompSse42(crc, static_cast<const unsigned char*>(data), len);
  }
#endif
  return Crc32cCompPortable(crc, data, len);
}

uint16_t PageChecksum(const char* page, BlockNumber blkno) {
  uint32_t sums[kSums];
  std::memcpy(sums, kLaneOffsets, sizeof sums);
  constexpr size_t kRow = sizeof sums;
  for (size_t at = 0; at < size_t{BLCKSZ}; at += kRow) {
    uint32_t row[kSums];
    std::memcpy(row, page + at, kRow);
    // pd_checksum is the low half of the header's third word.
    if (at == 0) row[2] &= 0xFFFF0000;
    for (int lane = 0; lane < kSums; ++lane) {
      sums[lane] = Mix(sums[lane], row[lane]);
    }
  }
  uint32_t folded = 0;
  for (uint32_t sum : sums) {
    sum = Mix(sum, 0);
    folded ^= Mix(sum, 0);
  }
  return static_cast<uint16_t>((folded ^ blkno) % 65535 + 1);
}

uint32_t ChecksumSalt(const RelFileNode& rnode, ForkNumber fork) {
  uint32_t salt = rnode.relNode * 0x9E3779B1u;
  salt ^= rnode.dbNode * 0x85EBCA6Bu;
  salt ^= rnode.spcNode * 0xC2B2AE35u;
  salt ^= (static_cast<uint32_t>(fork) + 1) * 0x27D4EB2Fu;
  return salt ^ (salt >> 15);
}

}  // namespace engine
