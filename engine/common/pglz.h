// pglz: PostgreSQL's own compression, byte for byte.
//
//   control byte: eight items follow, lowest bit first
//     bit 0   a literal byte
//     bit 1   a reference to bytes that were put out before:
//               | offset 11..8 (4 bits), length - 3 (4 bits) | offset 7..0 |
//             length - 3 = 15: a third byte holds length - 18
//
// References are 3 to 273 bytes long and reach back at most 4094 bytes; they
// may overlap what they produce. The stream carries no length: who stores it
// stores the raw size too. Used for page images in the log (wal_compression)
// and for large values.
//
// The compressor finds references through chains of earlier positions, hashed
// by their first four bytes, newest first; the longer it looks, the shorter a
// match satisfies it. Output depends on nothing but input and strategy, and is
// the same as PostgreSQL's on a machine where char is signed.
// Source: src/common/pg_lzcompress.c.
#ifndef MUSTH_ENGINE_COMMON_PGLZ_H_
#define MUSTH_ENGINE_COMMON_PGLZ_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace engine {

// When compression is worth it, and how hard to look for it.
struct PGLZ_Strategy {
  size_t min_input_size;     // smaller and ...
  size_t max_input_size;     // ... larger input is not tried
  uint32_t min_comp_rate;    // give up unless so many percent are saved
  size_t first_success_by;   // give up without a match in so much output
  uint32_t match_size_good;  // stop looking at a match of so many bytes
  uint32_t match_size_drop;  // lower that by so many percent per candidate
};

inline constexpr PGLZ_Strategy PGLZ_strategy_default = {32,   INT32_MAX, 25,
                                                        1024, 128,       10};
// Compresses whatever shrinks at all.
inline constexpr PGLZ_Strategy PGLZ_strategy_always = {0,         INT32_MAX, 0,
                                                       INT32_MAX, 128,       6};

// Space that PglzCompress needs for an input of size_bytes, before it knows
// that the result will be smaller.
inline constexpr size_t PGLZ_MAX_OUTPUT(size_t size_bytes) {
  return size_bytes + 4;
}

// Most bytes of a compressed stream that hold its first rawsize raw bytes,
// knowing that the whole stream has total_compressed_size.
size_t PglzMaximumCompressedSize(size_t rawsize, size_t total_compressed_size);

// Compresses source into dest; returns the compressed size, or nothing if the
// strategy says that it is not worth it (dest's content is undefined then).
// Requires: dest has PGLZ_MAX_OUTPUT(source.size()) bytes.
std::optional<size_t> PglzCompress(std::span<const char> source,
                                   std::span<char> dest,
                                   const PGLZ_Strategy& strategy);

// Decompresses source into dest and returns how many bytes that gave; nothing
// if source is corrupt. Stops when dest is full: with check_complete, both
// must end together. Trusts nothing in source.
std::optional<size_t> PglzDecompress(std::span<const char> source,
                                     std::span<char> dest, bool check_complete);

}  // namespace engine

#endif  // MUSTH_ENGINE_COMMON_PGLZ_H_
