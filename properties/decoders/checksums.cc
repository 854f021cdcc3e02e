#include "properties/decoders/checksums.h"

#include <array>
#include <cstring>

#include "properties/decoders/bytes.h"
#include "sim/env/check.h"

namespace properties {
namespace {

// Slicing by four: table[k][b] is the CRC register after byte b and k zeros.
using SliceTables = std::array<std::array<uint32_t, 256>, 4>;

constexpr SliceTables BuildTables() {
  SliceTables t{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t r = byte;
    for (int i = 0; i < 8; ++i) r = (r & 1) ? (r >> 1) ^ 0x82F63B78u : r >> 1;
    t[0][byte] = r;
  }
  for (size_t k = 1; k < t.size(); ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      uint32_t r = t[k - 1][byte];
      t[k][byte] = (r >> 8) ^ t[0][r & 0xFF];
    }
  }
  return t;
}

constexpr SliceTables kTables = BuildTables();

// The lanes' starting values are part of the format.
constexpr uint32_t kLaneSeeds[32] = {
    0x5B1F36E9, 0xB8525960, 0x02AB50AA, 0x1DE66D2A, 0x79FF467A, 0x9BB9F8A3,
    0x217E7CD2, 0x83E13D2C, 0xF8D4474F, 0xE39EB970, 0x42C6AE16, 0x993216FA,
    0x7B093B5D, 0x98DAFF3C, 0xF718902A, 0x0B1C9CDB, 0xE58F764B, 0x187636BC,
    0x5D7B3BB1, 0xE73DE7DE, 0x92BEC979, 0xCCA6C0B2, 0x304A0979, 0x85AA43D4,
    0x783125BB, 0x6CA8EAA2, 0xE407EAC6, 0x4B5CFC3E, 0x9FBF8C76, 0x15CA20BE,
    0xF2CA9FD3, 0x959BD756};
constexpr uint32_t kFnvPrime = 16777619;
constexpr size_t kChecksumOffset = 8;  // of pd_checksum in the page

}  // namespace

uint32_t CrcAppend(uint32_t crc, std::string_view bytes) {
  size_t i = 0;
  for (; i + 4 <= bytes.size(); i += 4) {
    crc ^= LoadField<uint32_t>(bytes, i);
    crc = kTables[3][crc & 0xFF] ^ kTables[2][(crc >> 8) & 0xFF] ^
          kTables[1][(crc >> 16) & 0xFF] ^ kTables[0][crc >> 24];
  }
  for (; i < bytes.size(); ++i) {
    crc = kTables[0][(crc ^ static_cast<unsigned char>(bytes[i])) & 0xFF] ^
          (crc >> 8);
  }
  return crc;
}

uint16_t ComputePageChecksum(std::string_view page, uint32_t block) {
  SIM_CHECK(page.size() == kPageBytes);
  uint32_t words[kPageBytes / 4];
  std::memcpy(words, page.data(), kPageBytes);
  words[kChecksumOffset / 4] &= 0xFFFF0000u;  // pd_checksum counts as zero
  uint32_t lanes[32];
  std::memcpy(lanes, kLaneSeeds, sizeof lanes);
  // Two rounds of zeros follow the page, so that its last words mix as well.
  constexpr size_t kRows = kPageBytes / sizeof lanes;
  for (size_t row = 0; row < kRows + 2; ++row) {
    for (size_t lane = 0; lane < 32; ++lane) {
      uint32_t word = row < kRows ? words[row * 32 + lane] : 0;
      uint32_t mixed = lanes[lane] ^ word;
      lanes[lane] = mixed * kFnvPrime ^ (mixed >> 17);
    }
  }
  uint32_t sum = 0;
  for (uint32_t lane : lanes) sum ^= lane;
  return static_cast<uint16_t>((sum ^ block) % 65535 + 1);
}

uint32_t RelationChecksumSalt(uint32_t spc_node, uint32_t db_node,
                              uint32_t rel_node, uint32_t fork) {
  // One odd multiplier for each part of the name.
  uint32_t mixed = (spc_node * 3266489909u) ^ (db_node * 2246822507u) ^
                   (rel_node * 2654435761u) ^ ((fork + 1) * 668265263u);
  return mixed ^ (mixed >> 15);
}

}  // namespace properties
