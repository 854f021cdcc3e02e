// BufTable: which buffer holds which block.
// Source: src/backend/storage/buffer/buf_table.c.
// Differs: one table whose lock is not taken; nothing suspends inside.
#ifndef MUSTH_ENGINE_BUFFER_BUF_TABLE_H_
#define MUSTH_ENGINE_BUFFER_BUF_TABLE_H_

#include "engine/common/types.h"
#include "sim/env/lookup_map.h"
#include "sim/env/race.h"

namespace engine {

struct BufferTagHash {
  size_t operator()(const BufferTag& tag) const {
    uint64_t h = (uint64_t{tag.rnode.relNode} << 32) | tag.blockNum;
    h *= 0x9E3779B97F4A7C15ULL;
    h ^= (uint64_t{tag.rnode.dbNode} << 32) | tag.rnode.spcNode;
    h ^= (h >> 29) + static_cast<uint8_t>(tag.forkNum);
    h *= 0xD6E8FEB86659FD93ULL;
    return static_cast<size_t>(h ^ (h >> 32));
  }
};

class BufTable {
 public:
  // Room for one entry per buffer, so that no later insertion rehashes.
  explicit BufTable(size_t buffers) { map_.Reserve(buffers + 1); }

  // The buffer (1-based), or 0.
  int32_t Lookup(const BufferTag& tag) const {
    env::AtomicSection buf_mapping_lock(this);
    const int32_t* found = map_.Find(tag);
    return found == nullptr ? 0 : *found;
  }
  // Requires: tag is absent.
  void Insert(const BufferTag& tag, int32_t buffer) {
    env::AtomicSection buf_mapping_lock(this);
    SIM_CHECK(map_.Insert(tag, buffer));
  }
  // Requires: tag is present.
  void Delete(const BufferTag& tag) {
    env::AtomicSection buf_mapping_lock(this);
    SIM_CHECK(map_.Erase(tag));
  }
  size_t size() const { return map_.size(); }

 private:
  env::LookupMap<BufferTag, int32_t, BufferTagHash> map_;
};

}  // namespace engine

#endif  // MUSTH_ENGINE_BUFFER_BUF_TABLE_H_
