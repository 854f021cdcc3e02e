// Snapshots: which transactions a statement sees.
// Source: src/include/utils/snapshot.h, src/backend/storage/ipc/procarray.c.
#ifndef MUSTH_ENGINE_TXN_SNAPSHOT_H_
#define MUSTH_ENGINE_TXN_SNAPSHOT_H_

#include <vector>

#include "engine/common/backend.h"

namespace engine {

struct SnapshotData {
  TransactionId xmin = kInvalidTransactionId;  // all below are finished
  TransactionId xmax = kInvalidTransactionId;  // all from here on are invisible
  // In progress then, own xid excluded; xmin <= x < xmax, ascending as numbers.
  std::vector<TransactionId> xip;
  CommandId curcid = 0;  // own changes before this command show
};

// True if xid was still running when the snapshot was taken (or is later).
bool XidInMVCCSnapshot(TransactionId xid, const SnapshotData& snapshot);

}  // namespace engine

#endif  // MUSTH_ENGINE_TXN_SNAPSHOT_H_
