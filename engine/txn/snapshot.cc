#include "engine/txn/snapshot.h"

#include <algorithm>

namespace engine {

bool XidInMVCCSnapshot(TransactionId xid, const SnapshotData& snapshot) {
  if (TransactionIdPrecedes(xid, snapshot.xmin)) return false;
  if (TransactionIdFollowsOrEquals(xid, snapshot.xmax)) return true;
  return std::binary_search(snapshot.xip.begin(), snapshot.xip.end(), xid);
}

}  // namespace engine
