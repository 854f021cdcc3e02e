#include "engine/buffer/freelist.h"

namespace engine {

ClockSweep::ClockSweep(size_t buffers) {
  for (size_t i = 0; i < buffers; ++i) {
    free_.push_back(static_cast<Buffer>(i + 1));
  }
}

Buffer ClockSweep::NextVictim(std::vector<BufferDesc>& buffers) {
  env::AtomicSection buffer_strategy_lock(this);
  while (!free_.empty()) {
    Buffer buffer = free_.front();
    free_.pop_front();
    const BufferDesc& buf = buffers[static_cast<size_t>(buffer - 1)];
    env::AtomicSection buf_hdr_lock(&buf.flags);
    if (buf.refcount == 0 && !buf.Is(BM_TAG_VALID)) return buffer;
  }
  // A whole round without any count to take from means that all are pinned.
  size_t tries = buffers.size();
  while (tries > 0) {
    BufferDesc& buf = buffers[hand_];
    hand_ = (hand_ + 1) % buffers.size();
    env::AtomicSection buf_hdr_lock(&buf.flags);
    if (buf.refcount != 0) {
      --tries;
    } else if (buf.usage_count > 0) {
      --buf.usage_count;
      tries = buffers.size();
    } else {
      return buf.id;
    }
  }
  return kInvalidBuffer;
}

}  // namespace engine
