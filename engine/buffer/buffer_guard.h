// BufferGuard: one pin, and at most one content lock, as an object.
#ifndef MUSTH_ENGINE_BUFFER_BUFFER_GUARD_H_
#define MUSTH_ENGINE_BUFFER_BUFFER_GUARD_H_

#include <utility>

#include "engine/buffer/bufmgr.h"

namespace engine {

class BufferGuard {
 public:
  BufferGuard() = default;
  // Takes over a pin (and the lock, when locked is true).
  BufferGuard(Backend& be, Buffer buffer, bool locked = false)
      : be_(&be), buffer_(buffer), locked_(locked) {}
  BufferGuard(BufferGuard&& other) noexcept { *this = std::move(other); }
  BufferGuard& operator=(BufferGuard&& other) noexcept {
    if (this != &other) {
      Release();
      be_ = other.be_;
      buffer_ = std::exchange(other.buffer_, kInvalidBuffer);
      locked_ = std::exchange(other.locked_, false);
    }
    return *this;
  }
  ~BufferGuard() { Release(); }

  void Lock(BufferLockMode mode) {
    LockBuffer(*be_, buffer_, mode);
    locked_ = true;
  }
  void Unlock() {
    if (locked_) LockBuffer(*be_, buffer_, BufferLockMode::kUnlock);
    locked_ = false;
  }
  // Drops lock and pin. Does nothing in a process that is being killed:
  // shared memory is discarded whole.
  void Release() {
    if (buffer_ == kInvalidBuffer) return;
    if (!be_->Killed()) {
      Unlock();
      ReleaseBuffer(*be_, buffer_);
    }
    buffer_ = kInvalidBuffer;
    locked_ = false;
  }
  // Gives the pin and lock to the caller.
  Buffer Detach() {
    locked_ = false;
    return std::exchange(buffer_, kInvalidBuffer);
  }

  bool valid() const { return buffer_ != kInvalidBuffer; }
  bool locked() const { return locked_; }
  Buffer get() const { return buffer_; }
  char* page() const { return BufferGetPage(*be_, buffer_); }

 private:
  Backend* be_ = nullptr;
  Buffer buffer_ = kInvalidBuffer;
  bool locked_ = false;
};

}  // namespace engine

#endif  // MUSTH_ENGINE_BUFFER_BUFFER_GUARD_H_
