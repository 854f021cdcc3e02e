// Clock sweep: PostgreSQL's page replacement.
//
// Buffers that hold nothing come first. Otherwise a hand goes round the
// buffers; it passes pinned ones, takes one from the usage count of the others
// and stops at the first whose count is 0. Every pin of a cached page adds one
// up to BM_MAX_USAGE_COUNT, so a popular page survives five rounds.
// Source: src/backend/storage/buffer/freelist.c StrategyGetBuffer().
// Differs: no ring strategies for bulk reads and vacuum.
#ifndef MUSTH_ENGINE_BUFFER_FREELIST_H_
#define MUSTH_ENGINE_BUFFER_FREELIST_H_

#include <deque>

#include "engine/buffer/buf_internals.h"

namespace engine {

class ClockSweep : public ReplacementPolicy {
 public:
  explicit ClockSweep(size_t buffers);

  Buffer NextVictim(std::vector<BufferDesc>& buffers) override;
  void Freed(Buffer buffer) override {
    env::AtomicSection buffer_strategy_lock(this);
    free_.push_front(buffer);
  }
  Buffer NextToScan() const override {
    env::AtomicSection buffer_strategy_lock(this);
    return static_cast<Buffer>(hand_ + 1);
  }

 private:
  std::deque<Buffer> free_;  // entries may be stale: then they are dropped
  size_t hand_ = 0;
};

}  // namespace engine

#endif  // MUSTH_ENGINE_BUFFER_FREELIST_H_
