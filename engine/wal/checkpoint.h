// Checkpoints, start-up and shutdown of the log.
// Source: src/backend/access/transam/xlog.c CreateCheckPoint(), StartupXLOG().
#ifndef MUSTH_ENGINE_WAL_CHECKPOINT_H_
#define MUSTH_ENGINE_WAL_CHECKPOINT_H_

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "engine/common/backend.h"
#include "engine/wal/rmgr.h"

namespace engine {

// Body of a checkpoint record. Source: src/include/catalog/pg_control.h.
struct CheckPoint {
  XLogRecPtr redo = 0;
  TimeLineID ThisTimeLineID = 1;
  TimeLineID PrevTimeLineID = 1;
  bool fullPageWrites = true;
  uint8_t pad1[7] = {};
  uint64_t nextXid = kFirstNormalTransactionId;  // with epoch in the high half
  Oid nextOid = kFirstNormalObjectId;
  uint32_t nextMulti = 1;
  uint32_t nextMultiOffset = 0;
  TransactionId oldestXid = kFirstNormalTransactionId;
  Oid oldestXidDB = 1;
  uint32_t oldestMulti = 1;
  Oid oldestMultiDB = 1;
  uint32_t pad2 = 0;
  int64_t time = 0;  // seconds since 1970
  TransactionId oldestCommitTsXid = 0;
  TransactionId newestCommitTsXid = 0;
  TransactionId oldestActiveXid = 0;
  uint32_t pad3 = 0;
};
static_assert(sizeof(CheckPoint) == 88);
static_assert(offsetof(CheckPoint, nextXid) == 24);
static_assert(offsetof(CheckPoint, nextOid) == 32);
static_assert(offsetof(CheckPoint, time) == 64);
static_assert(offsetof(CheckPoint, oldestActiveXid) == 80);
static_assert(std::has_unique_object_representations_v<CheckPoint>);

// The body of a checkpoint record. Errors: kCorrupted if it has another size.
Result<CheckPoint> DecodeCheckPoint(std::string_view bytes);

// What the layers above the log contribute to checkpoints and start-up; bound
// by the node.
class CheckpointClient {
 public:
  virtual ~CheckpointClient() = default;
  // Fills nextXid, nextOid, oldestXid, oldestActiveXid. Suspends: yes.
  virtual void FillCheckPoint(Backend& be, CheckPoint* checkpoint) = 0;
  // Writes what the client buffers outside the buffer pool (clog) and
  // registers it for fsync. Suspends: yes.
  virtual Status CheckPointGuts(Backend& be) = 0;
  // Start-up: sets the counters from the checkpoint that recovery starts at.
  virtual Status ApplyCheckPoint(Backend& be, const CheckPoint& checkpoint) = 0;
  // Start-up: an xid was seen in a record; advance nextXid beyond it.
  virtual void AdvanceNextXid(Backend& be, TransactionId xid) = 0;
  // Start-up: XLOG_NEXTOID was replayed; oids below next_oid may be in use.
  virtual void SetNextOid(Backend& /*be*/, Oid /*next_oid*/) {}
  // End of recovery, before the end-of-recovery checkpoint.
  virtual Status FinishRecovery(Backend& be) = 0;
};

void SetRmgrTable(SharedMemory& shared, const RmgrTable* table);
void SetCheckpointClient(SharedMemory& shared, CheckpointClient* client);

// First argument of a kCheckpoint event. The redo and checkpoint positions are
// 0 where they are not known yet.
enum class CheckpointPhase : uint8_t {
  kStart,
  kRedo,         // the redo pointer is taken and published
  kBuffers,      // pages are being written
  kSync,         // files are being fsynced
  kRecord,       // the record is durable
  kControlFile,  // pg_control names it: the checkpoint counts from here
  kEnd,          // old files and segments are gone
  kSkipped,      // nothing was logged since the last one
};

// Flags of CreateCheckPoint. Source: src/include/access/xlog.h.
inline constexpr int CHECKPOINT_IS_SHUTDOWN = 0x0001;
inline constexpr int CHECKPOINT_END_OF_RECOVERY = 0x0002;
inline constexpr int CHECKPOINT_IMMEDIATE = 0x0004;
inline constexpr int CHECKPOINT_FORCE = 0x0008;
inline constexpr int CHECKPOINT_WAIT = 0x0020;
inline constexpr int CHECKPOINT_CAUSE_XLOG = 0x0080;
inline constexpr int CHECKPOINT_CAUSE_TIME = 0x0100;

// Creates a fresh cluster's pg_control and first WAL segment with its
// shutdown checkpoint record. Requires: an empty data directory (the node
// made the directories). Suspends: yes.
Status BootStrapXLOG(Backend& be);

// Recovers: replays from the last checkpoint's redo point, then writes the
// end-of-recovery checkpoint. Requires: the startup process. Suspends: yes.
// Errors: "invalid checkpoint record", bad pg_control and the like: the node
// refuses to start. Emits kRecoveryStart, kRedo, kRedoPage, kRecoveryEnd.
Status StartupXLOG(Backend& be);

// Does a checkpoint in the calling process (the checkpointer, the startup
// process or bootstrap). Suspends: yes.
Status CreateCheckPoint(Backend& be, int flags);

// Asks the checkpointer for one; with CHECKPOINT_WAIT returns when a
// checkpoint that began after the call has ended. Suspends: yes.
Status RequestCheckpoint(Backend& be, int flags);
// Main loop step of the checkpointer: sleeps until a request, a timeout or
// enough WAL, then does a checkpoint. Returns when shutdown was asked for,
// after the shutdown checkpoint. Suspends: yes.
Status CheckpointerMain(Backend& be);
// Asks CheckpointerMain to do the shutdown checkpoint and return.
void RequestShutdownCheckpoint(Backend& be);

}  // namespace engine

#endif  // MUSTH_ENGINE_WAL_CHECKPOINT_H_
