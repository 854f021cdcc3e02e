// Block store: the bytes of a simulated disk, shared copy-on-write.
//
// Content lives in 4 KiB blocks with an intrusive reference count. A block
// that more than one holder refers to is immutable; a null reference is a
// block of zeros. Counts are not atomic: a disk and its clones belong to one
// OS thread.
#ifndef MUSTH_SIM_BLOCK_STORE_H_
#define MUSTH_SIM_BLOCK_STORE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

namespace sim {

inline constexpr int kBlockBytes = 4096;
inline constexpr int kPageBytes = 8192;  // the grain of version chains
inline constexpr int kSlotBytes = 512;   // the smallest sector
inline constexpr int kSlotsPerPage = kPageBytes / kSlotBytes;
inline constexpr int kSlotsPerBlock = kBlockBytes / kSlotBytes;
inline constexpr int kBlocksPerPage = kPageBytes / kBlockBytes;

// A number of bytes in whole blocks.
constexpr int64_t BlocksUp(int64_t bytes) {
  return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

// One bit per slot of a page, lowest offset first.
using SlotMask = uint16_t;
inline constexpr SlotMask kAllSlots = 0xFFFF;
constexpr SlotMask SlotBit(int slot) {
  return static_cast<SlotMask>(1u << slot);
}
constexpr SlotMask BlockMask(int block) {
  return static_cast<SlotMask>(0xFFu << (block * kSlotsPerBlock));
}
// Slots first, first + 1, ... last - 1.
constexpr SlotMask SlotRange(int first, int last) {
  return static_cast<SlotMask>(((1u << last) - 1) & ~((1u << first) - 1));
}

// A counted reference to a T, which has a member `mutable uint32_t refs = 0`.
template <typename T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  Ref(const Ref& other) : p_(other.p_) {
    if (p_ != nullptr) ++p_->refs;
  }
  Ref(Ref&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(p_, other.p_);
    return *this;
  }
  ~Ref() {
    if (p_ != nullptr && --p_->refs == 0) delete p_;
  }

  template <typename... Args>
  static Ref Make(Args&&... args) {
    Ref ref;
    ref.p_ = new T(std::forward<Args>(args)...);
    ref.p_->refs = 1;
    return ref;
  }

  const T* get() const { return p_; }
  const T* operator->() const { return p_; }
  const T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool operator==(const Ref& other) const { return p_ == other.p_; }

  // The object for writing: created if null, copied if somebody shares it.
  T& Mutable() {
    if (p_ == nullptr) {
      *this = Make();
    } else if (p_->refs > 1) {
      *this = Make(std::as_const(*p_));
    }
    return *p_;
  }

 private:
  T* p_ = nullptr;
};

// A 64-bit hash of bytes; the same on every machine Musth runs on.
uint64_t HashBytes(const char* data, size_t size, uint64_t seed = 0);

struct Block {
  mutable uint32_t refs = 0;
  mutable bool hashed = false;
  mutable uint64_t hash = 0;
  char bytes[kBlockBytes];

  Block() : bytes{} {}
  // Leaves the bytes to the caller, who overwrites all of them.
  struct Uninitialized {};
  explicit Block(Uninitialized) {
  }  // NOLINT(cppcoreguidelines-pro-type-member-init)
  Block(const Block& other) { std::memcpy(bytes, other.bytes, kBlockBytes); }
  Block& operator=(const Block&) = delete;
};
using BlockRef = Ref<Block>;

// HashBytes of the block, computed once.
uint64_t BlockHash(const BlockRef& block);
// The bytes of the block for writing.
char* MutableBytes(BlockRef* block);
// Replaces the block by one that holds these kBlockBytes bytes.
void ReplaceBytes(BlockRef* block, const char* data);
// Bytes [offset, offset + size) of the block; zeros if it is null.
void CopyBytes(const BlockRef& block, int offset, int size, char* out);

// A fixed number of bytes with a reference count.
struct ByteRun {
  mutable uint32_t refs = 0;
  std::unique_ptr<char[]> bytes;

  explicit ByteRun(size_t size) : bytes(new char[size]) {}
};
using ByteRunRef = Ref<ByteRun>;

}  // namespace sim

#endif  // MUSTH_SIM_BLOCK_STORE_H_
