// Arena: memory that is freed all at once (PostgreSQL's memory contexts).
#ifndef MUSTH_ENGINE_COMMON_ARENA_H_
#define MUSTH_ENGINE_COMMON_ARENA_H_

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace engine {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Uninitialised, 8-byte aligned memory that lives until Reset().
  char* Allocate(size_t size) {
    size = (size + 7) & ~size_t{7};
    if (size > left_) NewBlock(size);
    char* out = at_;
    at_ += size;
    left_ -= size;
    return out;
  }
  std::string_view Copy(std::string_view bytes) {
    char* out = Allocate(bytes.size());
    if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
    return {out, bytes.size()};
  }
  // Frees everything but the first block.
  void Reset() {
    if (blocks_.size() > 1) blocks_.resize(1);
    at_ = blocks_.empty() ? nullptr : blocks_[0].get();
    left_ = blocks_.empty() ? 0 : first_size_;
  }

 private:
  void NewBlock(size_t size) {
    size_t block = size > kBlockSize ? size : kBlockSize;
    blocks_.emplace_back(new char[block]);
    if (blocks_.size() == 1) first_size_ = block;
    at_ = blocks_.back().get();
    left_ = block;
  }

  static constexpr size_t kBlockSize = 8192;
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t first_size_ = 0;
  char* at_ = nullptr;
  size_t left_ = 0;
};

}  // namespace engine

#endif  // MUSTH_ENGINE_COMMON_ARENA_H_
