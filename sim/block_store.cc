#include "sim/block_store.h"

#include <array>

#include "sim/choices.h"

namespace sim {
namespace {

uint64_t LoadWord(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

constexpr std::array<char, kBlockBytes> kZeros = {};

}  // namespace

// Four lanes of 16 bytes hide the multiplier's latency.
uint64_t HashBytes(const char* data, size_t size, uint64_t seed) {
  uint64_t lane[4] = {
      seed ^ 0x243f6a8885a308d3ULL, seed ^ 0x13198a2e03707344ULL,
      seed ^ 0xa4093822299f31d0ULL, seed ^ 0x082efa98ec4e6c89ULL};
  size_t at = 0;
  for (; at + 64 <= size; at += 64) {
    for (int i = 0; i < 4; ++i) {
      lane[i] = Mix(lane[i] ^ LoadWord(data + at + 16 * i),
                    LoadWord(data + at + 16 * i + 8) + i + 1);
    }
  }
  uint64_t h = Mix(Mix(lane[0], lane[1]), Mix(lane[2], lane[3]));
  for (; at + 8 <= size; at += 8) h = Mix(h, LoadWord(data + at));
  uint64_t rest = 0;
  if (at < size) std::memcpy(&rest, data + at, size - at);
  return Mix(Mix(h, rest), size);
}

uint64_t BlockHash(const BlockRef& block) {
  if (!block) return HashBytes(kZeros.data(), kZeros.size());
  if (!block->hashed) {
    block->hash = HashBytes(block->bytes, kBlockBytes);
    block->hashed = true;
  }
  return block->hash;
}

char* MutableBytes(BlockRef* block) {
  Block& b = block->Mutable();
  b.hashed = false;
  return b.bytes;
}

void ReplaceBytes(BlockRef* block, const char* data) {
  if (!*block || (*block)->refs > 1) {
    *block = BlockRef::Make(Block::Uninitialized{});
  }
  std::memcpy(MutableBytes(block), data, kBlockBytes);
}

void CopyBytes(const BlockRef& block, int offset, int size, char* out) {
  if (block) {
    std::memcpy(out, block->bytes + offset, size);
  } else {
    std::memset(out, 0, size);
  }
}

}  // namespace sim
