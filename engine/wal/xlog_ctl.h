// The log's shared state and each backend's part of it. Private to this
// directory (and to its tests).
//
//      LogwrtResult.Flush  LogwrtResult.Write      insert position
//             v                   v                       v
//   ..durable.|..in page cache....|....in WAL buffers.....|..initialised..|
//                                 |<-- at most wal_buffers pages -------->|
//                                                                InitializedUpTo
//
// Order of locks: WAL insertion locks (ascending), WALBufMappingLock,
// WALWriteLock, ControlFileLock; each may be skipped, none taken backwards.
// Source: src/backend/access/transam/xlog.c, XLogCtlData.
#ifndef MUSTH_ENGINE_WAL_XLOG_CTL_H_
#define MUSTH_ENGINE_WAL_XLOG_CTL_H_

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "engine/common/backend.h"
#include "engine/ipc/latch.h"
#include "engine/ipc/lwlock.h"
#include "engine/wal/checkpoint.h"
#include "engine/wal/control_file.h"
#include "engine/wal/rmgr.h"
#include "sim/env/files.h"
#include "sim/env/race.h"

namespace engine {

// Held from before a record's space is reserved until it is copied.
struct WALInsertLock {
  LWLock lock{env::AccessGroup::kLog};
  // The holder has copied everything before this; 0: not known, wait for it.
  XLogRecPtr insertingAt = 0;
  // Start of the last important record inserted under this lock.
  XLogRecPtr lastImportantAt = 0;
  // Tells a waiter that the insertion it waited for is over.
  uint64_t releases = 0;
  ConditionVariable progress{{}, env::AccessGroup::kLog};
};

struct XLogwrt {
  XLogRecPtr Write = 0;
  XLogRecPtr Flush = 0;
};

// The desk between RequestCheckpoint and the checkpointer.
struct CheckpointerShmem {
  uint64_t ckpt_started = 0;
  uint64_t ckpt_done = 0;
  uint64_t ckpt_failed = 0;
  int ckpt_flags = 0;
  bool shutdown_requested = false;
  ConditionVariable start_cv;
  ConditionVariable done_cv;
  ConditionVariable work_cv;
};

class XLogCtlData : public LayerState {
 public:
  explicit XLogCtlData(const Config& config);

  char* page(int idx) {
    return pages.get() + static_cast<size_t>(idx) * XLOG_BLCKSZ;
  }
  int XLogRecPtrToBufIdx(XLogRecPtr lsn) const {
    return static_cast<int>((lsn / XLOG_BLCKSZ) % xlblocks.size());
  }

  // What follows is guarded by spinlocks in PostgreSQL; here they are marked
  // only (sim/env/race.h). insertpos_lck: the positions. info_lck: RedoRecPtr
  // (changed under all insertion locks as well), LogwrtRqst, LogwrtResult
  // (changed under WALWriteLock as well) and asyncXactLSN.
  XLogwrt LogwrtResultNow() const {
    env::AtomicSection info_lck(&LogwrtRqst);
    return LogwrtResult;
  }
  XLogwrt LogwrtRqstNow() const {
    env::AtomicSection info_lck(&LogwrtRqst);
    return LogwrtRqst;
  }
  void RaiseWriteRqst(XLogRecPtr lsn) {
    env::AtomicSection info_lck(&LogwrtRqst);
    LogwrtRqst.Write = std::max(LogwrtRqst.Write, lsn);
  }
  XLogRecPtr RedoRecPtrNow() const {
    env::AtomicSection info_lck(&LogwrtRqst);
    return RedoRecPtr;
  }
  void SetRedoRecPtr(XLogRecPtr redo) {
    env::AtomicSection info_lck(&LogwrtRqst);
    RedoRecPtr = redo;
  }
  XLogRecPtr AsyncXactLSNNow() const {
    env::AtomicSection info_lck(&LogwrtRqst);
    return asyncXactLSN;
  }
  uint64_t CurrBytePosNow() const {
    env::AtomicSection insertpos_lck(&CurrBytePos);
    return CurrBytePos;
  }
  // The end of the page in a slot. PostgreSQL reads the word without a lock;
  // its memory barriers order it with the page's initialisation.
  XLogRecPtr XlBlock(int idx) const {
    env::AtomicSection barrier(&xlblocks[static_cast<size_t>(idx)]);
    return xlblocks[static_cast<size_t>(idx)];
  }
  void SetXlBlock(int idx, XLogRecPtr end) {
    env::AtomicSection barrier(&xlblocks[static_cast<size_t>(idx)]);
    xlblocks[static_cast<size_t>(idx)] = end;
  }

  // Insertion. Positions count usable bytes: page headers are left out.
  uint64_t CurrBytePos = 0;
  uint64_t PrevBytePos = 0;
  bool fullPageWrites = true;
  XLogRecPtr RedoRecPtr = 0;
  std::vector<std::unique_ptr<WALInsertLock>> insert_locks;

  // Writing.
  XLogwrt LogwrtRqst;
  XLogwrt LogwrtResult;
  // What flushmark.h keeps on the device, and in which of its sectors; 0:
  // there is no such file yet.
  XLogRecPtr flushMark = 0;
  size_t flushMarkSector = 0;
  XLogRecPtr asyncXactLSN = 0;
  LWLock WALWriteLock{env::AccessGroup::kLog};
  ConditionVariable wal_write_released{{}, env::AccessGroup::kLog};

  // The ring of pages. xlblocks[i] is the end of the page in slot i.
  LWLock WALBufMappingLock{env::AccessGroup::kLog};
  std::unique_ptr<char[]> pages;
  std::vector<XLogRecPtr> xlblocks;
  XLogRecPtr InitializedUpTo = 0;

  // Segments.
  TimeLineID InsertTimeLineID = 1;
  XLogSegNo lastRemovedSegNo = 0;
  // Bytes of WAL between checkpoints, as estimated.
  uint64_t CheckPointDistanceEstimate = 0;

  // pg_control, as last written.
  LWLock ControlFileLock;
  ControlFileData control_file;

  bool recovery_in_progress = true;
  XLogRecPtr lastReplayedEndRecPtr = 0;

  CheckpointerShmem checkpointer;

  // Bound by the node.
  const RmgrTable* rmgr_table = nullptr;
  CheckpointClient* checkpoint_client = nullptr;
};

class XLogLocalData : public LayerState {
 public:
  // Copies that may lag behind the shared values; checked under an insertion
  // lock.
  XLogRecPtr RedoRecPtr = 0;
  bool doPageWrites = true;
  XLogRecPtr ProcLastRecPtr = 0;  // start of the last record inserted here
  TransactionId xid = 0;
  // -1: as RecoveryInProgress says; else forced to no or yes.
  int LocalXLogInsertAllowed = -1;

  size_t MyLockNo = 0;
  size_t lockToTry = 0;
  bool holdingAllLocks = false;

  // The segment this process writes to.
  std::unique_ptr<env::File> openLogFile;
  XLogSegNo openLogSegNo = 0;

  env::TimeNs last_background_flush_ns = 0;

  // Idle workspaces of XLogInsertion.
  std::vector<std::unique_ptr<LayerState>> insertion_workspaces;

  // Redo: references to pages that do not exist (true: the page exists and is
  // all zeros), and forks whose file is known to exist.
  std::map<BufferTag, bool> invalid_page_tab;
  std::set<std::pair<RelFileNode, ForkNumber>> known_forks;
  // Start of the record that the current one says it replaced.
  XLogRecPtr overwrittenRecPtr = 0;
};

inline XLogCtlData& XLogCtl(Backend& be) {
  return be.shared->slots.Get<XLogCtlData>(Layer::kWal);
}
inline XLogLocalData& XLogLocal(Backend& be) {
  return be.local.Get<XLogLocalData>(Layer::kWal);
}

// Positions in usable bytes and back. Source: xlog.c XLogBytePosTo*().
XLogRecPtr XLogBytePosToRecPtr(uint64_t bytepos, uint32_t segsize);
// As above, but a position at a page's start stays there: where a record ends.
XLogRecPtr XLogBytePosToEndRecPtr(uint64_t bytepos, uint32_t segsize);
uint64_t XLogRecPtrToBytePos(XLogRecPtr lsn, uint32_t segsize);

// True if this process may insert records now.
bool XLogInsertAllowed(Backend& be);

}  // namespace engine

#endif  // MUSTH_ENGINE_WAL_XLOG_CTL_H_
