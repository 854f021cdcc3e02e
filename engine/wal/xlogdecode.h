// ByteCursor: reading unaligned fields from bytes that nobody vouches for.
#ifndef MUSTH_ENGINE_WAL_XLOGDECODE_H_
#define MUSTH_ENGINE_WAL_XLOGDECODE_H_

#include <cstring>
#include <string_view>

namespace engine {

class ByteCursor {
 public:
  explicit ByteCursor(std::string_view bytes) : left_(bytes) {}

  size_t left() const { return left_.size(); }

  // Takes a T off the front; false, taking nothing, if there are too few
  // bytes.
  template <typename T>
  bool Get(T* out) {
    if (left_.size() < sizeof(T)) return false;
    std::memcpy(out, left_.data(), sizeof(T));
    left_.remove_prefix(sizeof(T));
    return true;
  }
  bool GetBytes(size_t size_bytes, std::string_view* out) {
    if (left_.size() < size_bytes) return false;
    *out = left_.substr(0, size_bytes);
    left_.remove_prefix(size_bytes);
    return true;
  }

 private:
  std::string_view left_;
};

}  // namespace engine

#endif  // MUSTH_ENGINE_WAL_XLOGDECODE_H_
