// CreateCheckPoint: bounding what recovery has to replay.
//
//   redo pointer ──► pages written ──► files fsynced ──► record flushed
//        ──► pg_control names the record ──► old files and segments go
//
// A crash before pg_control is written leaves the previous checkpoint in
// force; whatever this one did is harmless extra work. Records that follow the
// redo pointer are replayed, whether or not their pages were written.
#include "engine/wal/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/buffer/bufmgr.h"
#include "engine/common/errcodes.h"
#include "engine/common/sites.h"
#include "engine/ipc/proc.h"
#include "engine/smgr/heldblocks.h"
#include "engine/smgr/sync.h"
#include "engine/wal/xlog.h"
#include "engine/wal/xlog_ctl.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xlog_redo.h"
#include "engine/wal/xlogfile.h"
#include "engine/wal/xloginsert.h"
#include "engine/wal/xlogreserve.h"
#include "sim/env/race.h"

namespace engine {
namespace {

constexpr env::TimeNs kDelayPollNs = 10 * env::kMillisecond;

// One transaction: a PGPROC slot and what ran in it.
struct VirtualTransaction {
  size_t slot;
  env::TaskId pid;
  uint32_t lxid;
  uint8_t delayChkptFlags;
};

// Flags and virtual transaction of a process that goes on meanwhile.
VirtualTransaction Look(Backend& be, size_t slot) {
  const std::vector<PGPROC>& procs = Procs(be).procs;
  env::AtomicSection proc_array_lock(&procs);
  env::UnlockedAccess unlocked(
      "a flag that matters was set before a WAL insertion lock was taken that "
      "the caller has held since; one that goes away is looked at again");
  return {slot, procs[slot].pid, procs[slot].lxid, procs[slot].delayChkptFlags};
}

bool StillDelays(Backend& be, const VirtualTransaction& vxid, uint8_t flag) {
  VirtualTransaction now = Look(be, vxid.slot);
  return now.pid == vxid.pid && now.lxid == vxid.lxid &&
         (now.delayChkptFlags & flag) != 0;
}

// Waits for those transactions that are, at this moment, between a WAL record
// and the change of shared state that belongs to it.
void WaitForDelayingTransactions(Backend& be, uint8_t flag) {
  std::vector<VirtualTransaction> delaying;
  for (size_t i = 0; i < Procs(be).procs.size(); ++i) {
    VirtualTransaction vxid = Look(be, i);
    bool delays = (vxid.delayChkptFlags & flag) != 0;
    if (vxid.pid != env::kNoTask && delays) delaying.push_back(vxid);
  }
  for (const VirtualTransaction& vxid : delaying) {
    while (StillDelays(be, vxid, flag)) {
      be.env->tasks->ParkUntil(
          SITE_ID(checkpoint_delay_wait), be.env->clock->Now() + kDelayPollNs,
          env::Access::Of(&Procs(be).procs[vxid.slot].delayChkptFlags, false,
                          env::AccessGroup::kSessions));
    }
  }
}

class CheckPointer {
 public:
  CheckPointer(Backend& be, int flags)
      : be_(be),
        ctl_(XLogCtl(be)),
        client_(*ctl_.checkpoint_client),
        flags_(flags),
        end_of_recovery_((flags & CHECKPOINT_END_OF_RECOVERY) != 0),
        shutdown_((flags & (CHECKPOINT_IS_SHUTDOWN |
                            CHECKPOINT_END_OF_RECOVERY)) != 0) {}

  Status Run() {
    if (RecoveryInProgress(be_) && !end_of_recovery_) {
      return SqlError(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                      "can't create a checkpoint during recovery");
    }
    Emit(CheckpointPhase::kStart);
    SyncPreCheckpoint(be_);
    if (shutdown_) SetState(DB_SHUTDOWNING);
    if (PLANTED(redo_pointer_after_buffers)) RETURN_IF_ERROR(WriteBuffers());
    INJECTION_POINT(checkpoint_before_redo_pointer);
    if (!TakeRedoPointer()) {
      Emit(CheckpointPhase::kSkipped);
      return {};
    }
    INJECTION_POINT(checkpoint_after_redo_pointer);
    client_.FillCheckPoint(be_, &checkpoint_);
    // Only online checkpoints tell a standby what still runs.
    if (shutdown_) checkpoint_.oldestActiveXid = 0;
    RETURN_IF_ERROR(CheckPointGuts());
    XLogRecPtr end = InsertRecord();
    UpdateControlFile();
    if (PLANTED(checkpoint_before_fsync)) ProcessSyncRequests(be_);
    CleanUp(end);
    Emit(CheckpointPhase::kEnd);
    return {};
  }

 private:
  void Emit(CheckpointPhase phase) {
    be_.env->events->Emit(env::EventKind::kCheckpoint,
                          static_cast<uint64_t>(phase), checkpoint_.redo,
                          checkpoint_lsn_);
  }

  void SetState(DBState state) {
    LWLockGuard guard(be_, ctl_.ControlFileLock, LWLockMode::kExclusive);
    ctl_.control_file.state = state;
    ctl_.control_file.time = PgTimeNow(be_);
    WriteControlFile(be_, ctl_.control_file);
  }

  // Where the next record will start: behind the page header, if the position
  // is at a page's start.
  XLogRecPtr NextRecordStart() {
    return XLogBytePosToRecPtr(ctl_.CurrBytePosNow(),
                               be_.config().wal_segment_size);
  }

  // Sets the redo pointer at a moment when no record is half inserted: from
  // then on the first change of each page carries an image. Returns false if
  // there is nothing to do.
  bool TakeRedoPointer() {
    checkpoint_.time = PgTimeNow(be_);
    CriticalSection crit(be_);
    WALInsertLockAcquireExclusive(be_);
    constexpr int kMust =
        CHECKPOINT_IS_SHUTDOWN | CHECKPOINT_END_OF_RECOVERY | CHECKPOINT_FORCE;
    if ((flags_ & kMust) == 0 &&
        GetLastImportantRecPtr(be_) == ctl_.control_file.checkPoint) {
      WALInsertLockRelease(be_);
      return false;
    }
    checkpoint_.ThisTimeLineID = ctl_.InsertTimeLineID;
    checkpoint_.PrevTimeLineID = ctl_.InsertTimeLineID;
    checkpoint_.fullPageWrites = ctl_.fullPageWrites;
    checkpoint_.redo = NextRecordStart();
    ctl_.SetRedoRecPtr(checkpoint_.redo);
    XLogLocal(be_).RedoRecPtr = checkpoint_.redo;
    Emit(CheckpointPhase::kRedo);
    WALInsertLockRelease(be_);
    return true;
  }

  Status WriteBuffers() {
    Emit(CheckpointPhase::kBuffers);
    INJECTION_POINT(checkpoint_before_buffers);
    return CheckPointBuffers(be_);
  }

  Status CheckPointGuts() {
    // A commit whose record precedes the redo pointer must be in the commit
    // log before that is written.
    WaitForDelayingTransactions(be_, DELAY_CHKPT_START);
    RETURN_IF_ERROR(client_.CheckPointGuts(be_));
    if (!PLANTED(redo_pointer_after_buffers)) RETURN_IF_ERROR(WriteBuffers());
    if (PLANTED(wal_recycled_before_sync)) {
      static_cast<void>(
          RemoveOldXlogFiles(be_, checkpoint_.redo, ctl_.LogwrtResult.Write));
    }
    Emit(CheckpointPhase::kSync);
    INJECTION_POINT(checkpoint_before_sync);
    if (be_.config().detect_zeroed_pages) BeginHeldBlocks(be_);
    if (!PLANTED(checkpoint_before_fsync)) ProcessSyncRequests(be_);
    WaitForDelayingTransactions(be_, DELAY_CHKPT_COMPLETE);
    return be_.config().detect_zeroed_pages ? SaveHeldBlocks(be_) : Status();
  }

  XLogRecPtr InsertRecord() {
    INJECTION_POINT(checkpoint_before_record);
    CriticalSection crit(be_);
    XLogInsertion record(be_);
    record.RegisterData(&checkpoint_, sizeof(checkpoint_));
    XLogRecPtr end =
        record.Insert(RM_XLOG_ID, shutdown_ ? XLOG_CHECKPOINT_SHUTDOWN
                                            : XLOG_CHECKPOINT_ONLINE);
    XLogFlush(be_, end);
    checkpoint_lsn_ = XLogLocal(be_).ProcLastRecPtr;
    if (shutdown_ && checkpoint_.redo != checkpoint_lsn_) {
      Panic(be_,
            "concurrent write-ahead log activity while database system is "
            "shutting down");
    }
    // After a shutdown checkpoint this process may log nothing more. The one
    // that ends a recovery goes on as before.
    if (shutdown_ && !end_of_recovery_) {
      XLogLocal(be_).LocalXLogInsertAllowed = 0;
    }
    Emit(CheckpointPhase::kRecord);
    return end;
  }

  void UpdateControlFile() {
    INJECTION_POINT(checkpoint_before_control_file);
    CriticalSection crit(be_);
    LWLockGuard guard(be_, ctl_.ControlFileLock, LWLockMode::kExclusive);
    ControlFileData& data = ctl_.control_file;
    prior_redo_ = data.checkPointCopy.redo;
    if (shutdown_) data.state = DB_SHUTDOWNED;
    data.checkPoint = checkpoint_lsn_;
    data.checkPointCopy = checkpoint_;
    data.time = PgTimeNow(be_);
    data.minRecoveryPoint = 0;
    data.minRecoveryPointTLI = 0;
    WriteControlFile(be_, data);
    Emit(CheckpointPhase::kControlFile);
  }

  // Nothing here matters to recovery; what fails is tried again next time.
  void CleanUp(XLogRecPtr end) {
    INJECTION_POINT(checkpoint_before_unlink);
    SyncPostCheckpoint(be_);
    UpdateCheckPointDistanceEstimate(ctl_, checkpoint_.redo - prior_redo_);
    INJECTION_POINT(checkpoint_before_recycle);
    static_cast<void>(RemoveOldXlogFiles(be_, checkpoint_.redo, end));
    if (!shutdown_) static_cast<void>(PreallocXlogFiles(be_, end));
  }

  Backend& be_;
  XLogCtlData& ctl_;
  CheckpointClient& client_;
  const int flags_;
  const bool end_of_recovery_;
  const bool shutdown_;
  CheckPoint checkpoint_;
  XLogRecPtr checkpoint_lsn_ = 0;
  XLogRecPtr prior_redo_ = 0;
};

}  // namespace

Status CreateCheckPoint(Backend& be, int flags) {
  SIM_CHECK(XLogCtl(be).checkpoint_client != nullptr);
  return CheckPointer(be, flags).Run();
}

}  // namespace engine
