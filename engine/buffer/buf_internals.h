// BufferDesc and the buffer manager's state.
//
// A descriptor's flags, refcount and tag change only between suspending calls,
// so their header lock is not taken, only marked (sim/env/race.h); whoever
// suspends looks at them again after.
// Source: src/include/storage/buf_internals.h.
#ifndef MUSTH_ENGINE_BUFFER_BUF_INTERNALS_H_
#define MUSTH_ENGINE_BUFFER_BUF_INTERNALS_H_

#include <memory>
#include <new>
#include <vector>

#include "engine/buffer/buf_table.h"
#include "engine/buffer/bufmgr.h"
#include "engine/common/checksum.h"
#include "engine/ipc/latch.h"
#include "engine/ipc/lwlock.h"
#include "sim/env/race.h"

namespace engine {

inline constexpr uint32_t BM_DIRTY = 1u << 0;  // must be written
inline constexpr uint32_t BM_VALID = 1u << 1;  // the page holds the block
// The buffer is in the table under its tag (and perhaps not read yet).
inline constexpr uint32_t BM_TAG_VALID = 1u << 2;
inline constexpr uint32_t BM_IO_IN_PROGRESS = 1u << 3;
inline constexpr uint32_t BM_IO_ERROR = 1u << 4;  // the last I/O failed
// Dirtied since its write began: it stays dirty when the write ends.
inline constexpr uint32_t BM_JUST_DIRTIED = 1u << 5;
// Somebody waits on pin_cv.
inline constexpr uint32_t BM_PIN_COUNT_WAITER = 1u << 6;
inline constexpr uint32_t BM_CHECKPOINT_NEEDED = 1u << 7;

inline constexpr int BM_MAX_USAGE_COUNT = 5;

struct BufferDesc {
  BufferTag tag;
  uint32_t flags = 0;
  int usage_count = 0;
  int refcount = 0;  // backends that have it pinned
  Buffer id = kInvalidBuffer;
  LWLock content_lock{env::AccessGroup::kPage};
  // The end of the I/O in progress; fewer pins.
  ConditionVariable io_cv{{}, env::AccessGroup::kPage};
  ConditionVariable pin_cv{{}, env::AccessGroup::kPage};

  // Requires: the header lock.
  bool Is(uint32_t flag) const { return (flags & flag) != 0; }
  bool IsDirtiedAnew() const {
    constexpr uint32_t kDirtied = BM_DIRTY | BM_JUST_DIRTIED;
    return (flags & kDirtied) == kDirtied;
  }
  // As of now.
  bool IsNow(uint32_t flag) const {
    env::AtomicSection buf_hdr_lock(&flags);
    return Is(flag);
  }
  int PinsNow() const {
    env::AtomicSection buf_hdr_lock(&flags);
    return refcount;
  }
};

// The pages, aligned as a device wants them. Not cleared: a page is read or
// zeroed before it counts as valid.
class BufferBlocks {
 public:
  explicit BufferBlocks(size_t count)
      : bytes_(static_cast<char*>(
            ::operator new (count* BLCKSZ, std::align_val_t{BLCKSZ}))) {}
  ~BufferBlocks() { ::operator delete (bytes_, std::align_val_t{BLCKSZ}); }
  BufferBlocks(const BufferBlocks&) = delete;
  BufferBlocks& operator=(const BufferBlocks&) = delete;

  char* Page(size_t index) const { return bytes_ + index * BLCKSZ; }

 private:
  char* bytes_;
};

// Chooses the buffer to reuse next.
class ReplacementPolicy {
 public:
  virtual ~ReplacementPolicy() = default;
  // A buffer without pins, or kInvalidBuffer if there is none.
  virtual Buffer NextVictim(std::vector<BufferDesc>& buffers) = 0;
  // The buffer holds nothing any more and is the first choice.
  virtual void Freed(Buffer buffer) = 0;
  // Where the background writer should start looking.
  virtual Buffer NextToScan() const = 0;
};

// The shared slot of Layer::kBuffer.
class BufferShared : public LayerState {
 public:
  BufferShared(size_t count, std::unique_ptr<ReplacementPolicy> replacement)
      : buffers(count),
        blocks(count),
        table(count),
        policy(std::move(replacement)) {
    for (size_t i = 0; i < count; ++i) {
      buffers[i].id = static_cast<Buffer>(i + 1);
    }
  }

  std::vector<BufferDesc> buffers;
  BufferBlocks blocks;
  BufTable table;
  std::unique_ptr<ReplacementPolicy> policy;
  BufferWalHooks* wal_hooks = nullptr;
};

// The private slot of Layer::kBuffer.
class BufferLocal : public LayerState {
 public:
  explicit BufferLocal(size_t count) : pins(count, 0) {}

  std::vector<int32_t> pins;  // by buffer - 1: this backend's pins on it
  int pinned = 0;             // buffers with at least one
  // What FlushBuffer writes: others may set hint bits in the page meanwhile.
  alignas(64) char write_copy[BLCKSZ];
};

inline BufferShared& SharedBuffers(Backend& be) {
  return be.shared->slots.Get<BufferShared>(Layer::kBuffer);
}
inline BufferLocal& LocalBuffers(Backend& be) {
  return be.local.Get<BufferLocal>(Layer::kBuffer);
}
inline BufferDesc& GetBufferDescriptor(Backend& be, Buffer buffer) {
  BufferShared& shared = SharedBuffers(be);
  SIM_CHECK(buffer > 0 && static_cast<size_t>(buffer) <= shared.buffers.size());
  return shared.buffers[static_cast<size_t>(buffer - 1)];
}
inline char* PageOf(Backend& be, const BufferDesc& buf) {
  return SharedBuffers(be).blocks.Page(static_cast<size_t>(buf.id - 1));
}
// Pins this backend holds on the buffer.
inline int32_t& PrivateRefCount(Backend& be, const BufferDesc& buf) {
  return LocalBuffers(be).pins[static_cast<size_t>(buf.id - 1)];
}
// rel << 32 | block: the page in events.
// The block number that the page's checksum is made with.
inline BlockNumber ChecksumBlock(const Config& config, const BufferTag& tag) {
  if (!config.checksum_relation) return tag.blockNum;
  return tag.blockNum ^ ChecksumSalt(tag.rnode, tag.forkNum);
}

inline uint64_t EventPage(const BufferTag& tag) {
  return (uint64_t{tag.rnode.relNode} << 32) | tag.blockNum;
}

// Suspends: no, for all of these.
// bump: count it as a use that keeps the page cached.
void PinBuffer(Backend& be, BufferDesc& buf, bool bump);
void UnpinBuffer(Backend& be, BufferDesc& buf);
// Takes the buffer out of the table and empties it.
// Requires: no pins but, if own_pin, the caller's.
void ForgetBuffer(Backend& be, BufferDesc& buf);

// Waits until nobody does I/O on buf, then begins it unless it has become
// needless (valid for a read, clean for a write). Returns whether it began.
// Requires: pin. Suspends: yes.
bool StartBufferIO(Backend& be, BufferDesc& buf, bool for_input);
// Ends it and wakes those who wait. clear_dirty: the write succeeded. Suspends:
// no.
void TerminateBufferIO(Backend& be, BufferDesc& buf, bool clear_dirty,
                       uint32_t set_flags);
// Waits until fewer than `pins` backends have the buffer pinned or its tag is
// no longer `tag`. Suspends: yes.
void WaitForPins(Backend& be, BufferDesc& buf, const BufferTag& tag, int pins);

// Writes the page if it is dirty, after the WAL that it depends on.
// Requires: pin and content lock (shared will do). Suspends: yes.
// Errors: those of SmgrWrite; the page stays dirty.
Status FlushBuffer(Backend& be, BufferDesc& buf);
// Pins, share-locks and flushes. Suspends: yes.
Status LockAndFlushBuffer(Backend& be, BufferDesc& buf);

}  // namespace engine

#endif  // MUSTH_ENGINE_BUFFER_BUF_INTERNALS_H_
