// Reading little-endian fields out of bytes that came from a disk.
//
// The decoders are the judges' own: they share no code with the engine, so
// that a format mistake of the engine cannot hide in both.
#ifndef MUSTH_PROPERTIES_DECODERS_BYTES_H_
#define MUSTH_PROPERTIES_DECODERS_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace properties {

inline constexpr size_t kPageBytes = 8192;

// Requires: offset + sizeof(T) <= bytes.size(); callers check lengths first.
template <typename T>
T LoadField(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

inline constexpr size_t AlignUp(size_t n, size_t alignment) {
  return (n + alignment - 1) / alignment * alignment;
}

inline bool AllZero(std::string_view bytes) {
  if (bytes.empty()) return true;
  // Comparing the bytes with themselves shifted by one is a memcmp.
  return bytes[0] == '\0' &&
         std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

}  // namespace properties

#endif  // MUSTH_PROPERTIES_DECODERS_BYTES_H_
