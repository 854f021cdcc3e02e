// The smgr layer's own state: what smgr.cc and sync.cc share.
#ifndef MUSTH_ENGINE_SMGR_SMGR_INTERNALS_H_
#define MUSTH_ENGINE_SMGR_SMGR_INTERNALS_H_

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/common/backend.h"
#include "sim/env/lookup_map.h"

namespace engine {

struct PendingUnlink {
  std::string path;
  uint64_t checkpoint_cycle;  // the cycle it was registered in
};

// Of each main fork, which blocks were written with content (heldblocks.h).
using HeldBlocks = std::map<RelFileNode, std::vector<bool>>;

// The shared slot of Layer::kSmgr.
class SmgrShared : public LayerState {
 public:
  // Raised when a relation is dropped or truncated: handles that backends have
  // cached may stand for files that are gone.
  uint64_t generation = 0;

  // Files waiting for fsync, each with the cycle of its oldest request. A
  // request of the current cycle belongs to the next checkpoint.
  std::map<std::string, uint64_t, std::less<>> pending_syncs;
  uint64_t sync_cycle = 0;
  // The file that the checkpointer is syncing now; it has left pending_syncs,
  // so that a request that arrives meanwhile makes a new entry.
  std::string syncing;
  bool syncing_forgotten = false;

  std::deque<PendingUnlink> pending_unlinks;  // in order of registration
  uint64_t checkpoint_cycle = 0;

  HeldBlocks held_blocks;
  HeldBlocks held_blocks_synced;  // by the checkpoint under way
};

inline SmgrShared& SharedSmgr(Backend& be) {
  return be.shared->slots.Get<SmgrShared>(Layer::kSmgr);
}

// Names one segment file.
struct SegmentKey {
  RelFileNode rnode;
  ForkNumber fork = kMainFork;
  uint32_t segno = 0;
  bool operator==(const SegmentKey&) const = default;
};
struct SegmentKeyHash {
  size_t operator()(const SegmentKey& k) const {
    uint64_t h = (uint64_t{k.rnode.relNode} << 32) | k.rnode.dbNode;
    h = (h ^ k.rnode.spcNode) * 0x9E3779B97F4A7C15ULL;
    h ^= (uint64_t{k.segno} << 8) | static_cast<uint8_t>(k.fork);
    h *= 0xD6E8FEB86659FD93ULL;
    return static_cast<size_t>(h ^ (h >> 32));
  }
};

// An open segment; the path is kept for messages and sync requests.
struct OpenSegment {
  std::unique_ptr<env::File> file;
  std::string path;
};

// The private slot of Layer::kSmgr: this backend's open files.
class SmgrLocal : public LayerState {
 public:
  uint64_t generation = 0;
  env::LookupMap<SegmentKey, OpenSegment, SegmentKeyHash> segments;
};

inline SmgrLocal& LocalSmgr(Backend& be) {
  return be.local.Get<SmgrLocal>(Layer::kSmgr);
}

}  // namespace engine

#endif  // MUSTH_ENGINE_SMGR_SMGR_INTERNALS_H_
