// TxnShared: the transaction layer's part of shared memory. For this directory
// only.
#ifndef MUSTH_ENGINE_TXN_TXN_SHARED_H_
#define MUSTH_ENGINE_TXN_TXN_SHARED_H_

#include "engine/common/backend.h"
#include "engine/txn/slru.h"

namespace engine {

// 32 transactions share one flush requirement.
inline constexpr int CLOG_XACTS_PER_LSN_GROUP = 32;
inline constexpr TransactionId CLOG_XACTS_PER_PAGE = BLCKSZ * 4;
inline constexpr int CLOG_LSNS_PER_PAGE =
    static_cast<int>(CLOG_XACTS_PER_PAGE) / CLOG_XACTS_PER_LSN_GROUP;

class TxnShared : public LayerState {
 public:
  explicit TxnShared(const Config& config)
      : clog("pg_xact", config.clog_buffers, CLOG_LSNS_PER_PAGE,
             config.clog_checksums) {}

  // With the epoch in the high half. Guarded by XidGenLock, as nextOid and
  // oid_count are by OidGenLock.
  uint64_t next_full_xid = kFirstNormalTransactionId;
  Oid next_oid = kFirstNormalObjectId;
  uint32_t oid_count = 0;  // object ids that WAL already covers
  TransactionId oldest_xid = kFirstNormalTransactionId;
  // The newest xid that has ended. Changed under ProcArrayLock exclusively.
  TransactionId latest_completed_xid = kFrozenTransactionId;
  Slru clog;
};

inline TxnShared& SharedTxn(Backend& be) {
  return be.shared->slots.Get<TxnShared>(Layer::kTxn);
}

}  // namespace engine

#endif  // MUSTH_ENGINE_TXN_TXN_SHARED_H_
