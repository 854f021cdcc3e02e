// The transaction layer's part in recovery and checkpoints.
#include <fmt/format.h>

#include <algorithm>

#include "engine/buffer/bufmgr.h"
#include "engine/common/sites.h"
#include "engine/ipc/proc.h"
#include "engine/smgr/smgr.h"
#include "engine/txn/clog.h"
#include "engine/txn/procarray.h"
#include "engine/txn/txn_shared.h"
#include "engine/txn/varsup.h"
#include "engine/txn/xact.h"
#include "engine/txn/xact_xlog.h"
#include "engine/wal/xlogutils.h"

namespace engine {
namespace {

class TxnCheckpointClient : public CheckpointClient {
 public:
  void FillCheckPoint(Backend& be, CheckPoint* checkpoint) override {
    TxnShared& txn = SharedTxn(be);
    {
      LWLockGuard lock(be, Procs(be).xid_gen_lock, LWLockMode::kShared);
      checkpoint->nextXid = txn.next_full_xid;
      checkpoint->oldestXid = txn.oldest_xid;
    }
    {
      LWLockGuard lock(be, Procs(be).oid_gen_lock, LWLockMode::kShared);
      // Ids that an earlier XLOG_NEXTOID already covers may be in use.
      checkpoint->nextOid = txn.next_oid + txn.oid_count;
    }
    checkpoint->oldestActiveXid = GetOldestActiveTransactionId(be);
  }

  Status CheckPointGuts(Backend& be) override { return CheckPointCLOG(be); }

  // Never moves a counter back: redo applies the checkpoints it meets, too.
  Status ApplyCheckPoint(Backend& be, const CheckPoint& checkpoint) override {
    TxnShared& txn = SharedTxn(be);
    if (!TransactionIdIsNormal(
            static_cast<TransactionId>(checkpoint.nextXid))) {
      return Status(env::Code::kCorrupted, "checkpoint has no next xid");
    }
    txn.next_full_xid = std::max(txn.next_full_xid, checkpoint.nextXid);
    if (checkpoint.nextOid > txn.next_oid) {
      SetNextObjectId(be, checkpoint.nextOid);
    }
    txn.oldest_xid = checkpoint.oldestXid;
    SetLatestCompleted(txn);
    return {};
  }

  void AdvanceNextXid(Backend& be, TransactionId xid) override {
    AdvanceNextTransactionIdPastXid(be, xid);
  }

  void SetNextOid(Backend& be, Oid next_oid) override {
    SetNextObjectId(be, next_oid);
  }

  Status FinishRecovery(Backend& be) override {
    SetLatestCompleted(SharedTxn(be));
    return TrimCLOG(be);
  }

 private:
  // Nothing runs: whatever was assigned has ended, with or without a record.
  static void SetLatestCompleted(TxnShared& txn) {
    auto next = static_cast<TransactionId>(txn.next_full_xid);
    TransactionId latest = next - 1;
    if (!TransactionIdIsNormal(latest)) {
      // At the very start, or just after a wraparound.
      latest = (txn.next_full_xid >> 32) == 0 ? kFrozenTransactionId
                                              : ~TransactionId{0};
    }
    txn.latest_completed_xid = latest;
  }
};

Status DropRelationFilesInRedo(Backend& be,
                               const std::vector<RelFileNode>& files) {
  for (const RelFileNode& rnode : files) {
    XLogDropRelation(be, rnode);
    DropRelationAllBuffers(be, rnode);
    RETURN_IF_ERROR(SmgrUnlink(be, rnode, true));
  }
  return {};
}

}  // namespace

std::unique_ptr<CheckpointClient> MakeTxnCheckpointClient() {
  return std::make_unique<TxnCheckpointClient>();
}

Status XactRedo(Backend& be, XLogReaderState& record) {
  uint8_t op = record.info() & XLOG_XACT_OPMASK;
  if (op != XLOG_XACT_COMMIT && op != XLOG_XACT_ABORT) {
    return Status(env::Code::kCorrupted,
                  fmt::format("xact_redo: unknown op code {}", op));
  }
  TransactionId xid = record.xid();
  if (!TransactionIdIsNormal(xid)) {
    return Status(env::Code::kCorrupted,
                  fmt::format("xact_redo: bad transaction id {}", xid));
  }
  ASSIGN_OR_RETURN(ParsedXact parsed,
                   ParseXactRecord(record.info(), record.main_data()));
  bool committed = op == XLOG_XACT_COMMIT || PLANTED(abort_redo_as_commit);
  RETURN_IF_ERROR(TransactionIdSetStatus(
      be, xid, committed ? XidStatus::kCommitted : XidStatus::kAborted,
      kInvalidXLogRecPtr));
  return DropRelationFilesInRedo(be, parsed.dropped);
}

}  // namespace engine
