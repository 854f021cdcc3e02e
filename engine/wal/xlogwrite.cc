#include "engine/wal/xlogwrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/common/file_error.h"
#include "engine/common/sites.h"
#include "engine/ipc/proc.h"
#include "engine/wal/flushmark.h"
#include "engine/wal/xlog.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xlogfile.h"
#include "engine/wal/xlogreserve.h"

namespace engine {
namespace {

// wal_writer_flush_after: 1 MiB of complete pages.
constexpr XLogRecPtr kWalWriterFlushAfter = XLogRecPtr{1} << 20;

void ReleaseWALWriteLock(Backend& be) {
  XLogCtlData& ctl = XLogCtl(be);
  LWLockRelease(be, ctl.WALWriteLock);
  ConditionVariableBroadcast(be, ctl.wal_write_released);
}

// Takes the lock if it is free and returns true; else waits for its holder,
// who may well flush what this process needs, and returns false.
bool AcquireOrWaitForWALWriteLock(Backend& be) {
  XLogCtlData& ctl = XLogCtl(be);
  if (LWLockConditionalAcquire(be, ctl.WALWriteLock, LWLockMode::kExclusive)) {
    return true;
  }
  ConditionVariableSleep(be, ctl.wal_write_released);
  ConditionVariableCancelSleep(be, ctl.wal_write_released);
  return false;
}

// What follows a writer's points: who waits for the log to be written looks at
// the lock that the writer holds.
env::Access NextOfWriter(Backend& be) {
  return XLogCtl(be).WALWriteLock.NextChanges();
}

// commit_delay: gives others that are about to commit the time to put their
// records before the flush. Requires: WALWriteLock. Returns whether it slept.
bool LeaveTimeForCommits(Backend& be) {
  env::TimeNs delay = be.config().commit_delay_ns;
  if (delay == 0 || !MinimumActiveBackends(be, be.config().commit_siblings)) {
    return false;
  }
  env::TimeNs deadline = be.env->clock->Now() + delay;
  bool woken = false;
  while (be.env->clock->Now() < deadline) {
    woken |= be.env->tasks->ParkUntil(SITE_ID(commit_delay_sleep), deadline);
  }
  if (woken) be.env->tasks->Unpark(be.pid);  // it was meant for another wait
  return true;
}

// Makes the open segment durable.
void IssueXLogFsync(Backend& be) {
  XLogLocalData& local = XLogLocal(be);
  Status status = local.openLogFile->Fdatasync();
  if (status.ok() || PLANTED(wal_fsync_failure_ignored)) return;
  Panic(be, fmt::format(
                "could not fsync file \"{}\": {}",
                XLogFileName(XLogCtl(be).InsertTimeLineID, local.openLogSegNo,
                             be.config().wal_segment_size),
                ErrnoText(status.code())));
}

// Opens the segment that the byte before lsn lies in, creating it if needed.
void OpenSegmentBefore(Backend& be, XLogRecPtr lsn) {
  XLogLocalData& local = XLogLocal(be);
  uint32_t segsize = be.config().wal_segment_size;
  if (local.openLogFile != nullptr &&
      XLByteInPrevSeg(lsn, local.openLogSegNo, segsize)) {
    return;
  }
  local.openLogFile.reset();
  local.openLogSegNo = XLByteToPrevSeg(lsn, segsize);
  INJECTION_POINT(wal_segment_switch);
  Result<std::unique_ptr<env::File>> file =
      XLogFileInit(be, local.openLogSegNo);
  if (!file.ok()) Panic(be, std::string(file.status().message()));
  local.openLogFile = std::move(file).value();
}

// Writes bytes to the open segment; a short write goes on where it stopped.
void WriteFully(Backend& be, int64_t offset, std::span<const char> bytes) {
  XLogLocalData& local = XLogLocal(be);
  INJECTION_POINT_BEFORE(wal_before_write, NextOfWriter(be));
  while (!bytes.empty()) {
    Result<int64_t> written = local.openLogFile->Pwrite(offset, bytes);
    if (!written.ok()) {
      if (written.status().code() == env::Code::kInterrupted) continue;
      Panic(be,
            fmt::format(
                "could not write to log file {} at offset {}, "
                "length {}: {}",
                XLogFileName(XLogCtl(be).InsertTimeLineID, local.openLogSegNo,
                             be.config().wal_segment_size),
                offset, bytes.size(), ErrnoText(written.status().code())));
    }
    offset += *written;
    bytes = bytes.subspan(static_cast<size_t>(*written));
  }
}

// One run of XLogWrite: its private progress and the pages gathered for the
// next pwrite.
class Writer {
 public:
  Writer(Backend& be, XLogwrt request, bool flexible)
      : be_(be),
        ctl_(XLogCtl(be)),
        request_(request),
        flexible_(flexible),
        result_(ctl_.LogwrtResult) {}

  void Run() {
    WritePages();
    if (result_.Flush < request_.Flush && result_.Flush < result_.Write) {
      FlushToWrite();
    }
    Publish();
  }

 private:
  void WritePages() {
    int idx = ctl_.XLogRecPtrToBufIdx(result_.Write);
    bool written = false;
    while (result_.Write < request_.Write) {
      XLogRecPtr end = ctl_.XlBlock(idx);
      if (result_.Write >= end) {
        Panic(be_, fmt::format("xlog write request {} is past end of log {}",
                               LsnToString(result_.Write), LsnToString(end)));
      }
      result_.Write = end;
      bool partial = request_.Write < result_.Write;
      if (npages_ == 0) {
        OpenSegmentBefore(be_, result_.Write);
        start_idx_ = idx;
        start_offset_ = XLogSegmentOffset(result_.Write - XLOG_BLCKSZ,
                                          be_.config().wal_segment_size);
      }
      ++npages_;
      bool finishing = !partial && start_offset_ + npages_ * XLOG_BLCKSZ >=
                                       be_.config().wal_segment_size;
      bool last = request_.Write <= result_.Write;
      bool ring_end = static_cast<size_t>(idx) + 1 == ctl_.xlblocks.size();
      if (last || ring_end || finishing) {
        WriteGathered();
        written = true;
        if (finishing) FinishSegment();
      }
      if (partial) {
        // The rest of the page is not ours to claim.
        result_.Write = request_.Write;
        break;
      }
      idx = ring_end ? 0 : idx + 1;
      if (flexible_ && written && npages_ == 0) break;
    }
    SIM_CHECK(npages_ == 0);
  }

  void WriteGathered() {
    const char* pages = ctl_.page(start_idx_);
    size_t size_bytes = size_t{npages_} * XLOG_BLCKSZ;
    // Within the pages, where the request ends.
    XLogRecPtr begin = result_.Write - size_bytes;
    env::RaceRead(pages, std::min(result_.Write, request_.Write) - begin);
    env::UnlockedAccess unlocked(
        "records behind the request are being copied; they are written again");
    WriteFully(be_, start_offset_, {pages, size_bytes});
    npages_ = 0;
  }

  void FinishSegment() {
    INJECTION_POINT_BEFORE(wal_between_write_and_fsync, NextOfWriter(be_));
    if (!PLANTED(wal_segment_not_synced_at_switch)) IssueXLogFsync(be_);
    result_.Flush = result_.Write;
    INJECTION_POINT_BEFORE(wal_after_fsync, NextOfWriter(be_));
    if (XLogCheckpointNeeded(be_, XLogLocal(be_).openLogSegNo)) {
      PanicIfError(be_, RequestCheckpoint(be_, CHECKPOINT_CAUSE_XLOG));
    }
  }

  void FlushToWrite() {
    OpenSegmentBefore(be_, result_.Write);
    INJECTION_POINT_BEFORE(wal_between_write_and_fsync, NextOfWriter(be_));
    IssueXLogFsync(be_);
    result_.Flush = result_.Write;
    INJECTION_POINT_BEFORE(wal_after_fsync, NextOfWriter(be_));
  }

  void Publish() {
    env::AtomicSection info_lck(&ctl_.LogwrtRqst);
    bool advanced = result_.Flush > ctl_.LogwrtResult.Flush;
    ctl_.LogwrtResult = result_;
    ctl_.LogwrtRqst.Write = std::max(ctl_.LogwrtRqst.Write, result_.Write);
    ctl_.LogwrtRqst.Flush = std::max(ctl_.LogwrtRqst.Flush, result_.Flush);
    if (advanced) {
      be_.env->events->Emit(env::EventKind::kWalFlush, result_.Flush);
    }
  }

  Backend& be_;
  XLogCtlData& ctl_;
  const XLogwrt request_;
  const bool flexible_;
  XLogwrt result_;
  uint32_t npages_ = 0;
  int start_idx_ = 0;
  uint32_t start_offset_ = 0;
};

}  // namespace

WALWriteGuard::WALWriteGuard(Backend& be) : be_(be) {
  LWLockAcquire(be, XLogCtl(be).WALWriteLock, LWLockMode::kExclusive);
}

WALWriteGuard::~WALWriteGuard() {
  if (!be_.Killed()) ReleaseWALWriteLock(be_);
}

void XLogWrite(Backend& be, XLogwrt request, bool flexible) {
  SIM_CHECK(LWLockHeldByMe(be, XLogCtl(be).WALWriteLock));
  CriticalSection crit(be);
  Writer(be, request, flexible).Run();
}

void XLogFlush(Backend& be, XLogRecPtr upto) {
  // During recovery no WAL is written, and what is replayed is durable.
  if (!XLogInsertAllowed(be)) return;
  XLogCtlData& ctl = XLogCtl(be);
  if (PLANTED(flush_one_page_short)) upto = XLogPageStart(upto);
  CriticalSection crit(be);
  while (ctl.LogwrtResultNow().Flush < upto) {
    XLogRecPtr want = std::max(upto, ctl.LogwrtRqstNow().Write);
    XLogRecPtr insertpos = WaitXLogInsertionsToFinish(be, want);
    if (insertpos < upto) {
      Panic(be, fmt::format("xlog flush request {} is not satisfied --- "
                            "flushed only to {}",
                            LsnToString(upto), LsnToString(insertpos)));
    }
    if (!AcquireOrWaitForWALWriteLock(be)) continue;
    if (ctl.LogwrtResult.Flush < upto) {
      if (LeaveTimeForCommits(be)) {
        insertpos = WaitXLogInsertionsToFinish(be, insertpos);
      }
      XLogWrite(be, XLogwrt{insertpos, insertpos}, false);
    }
    ReleaseWALWriteLock(be);
  }
  if (be.config().wal_flush_watermark) RaiseFlushMark(be, upto);
}

bool XLogNeedsFlush(Backend& be, XLogRecPtr upto) {
  if (!XLogInsertAllowed(be)) return false;
  return upto > XLogCtl(be).LogwrtResultNow().Flush;
}

void XLogSetAsyncXactLSN(Backend& be, XLogRecPtr lsn) {
  XLogCtlData& ctl = XLogCtl(be);
  env::AtomicSection info_lck(&ctl.LogwrtRqst);
  ctl.asyncXactLSN = std::max(ctl.asyncXactLSN, lsn);
}

bool XLogBackgroundFlush(Backend& be) {
  if (RecoveryInProgress(be)) return false;
  XLogCtlData& ctl = XLogCtl(be);
  XLogLocalData& local = XLogLocal(be);
  bool flexible = true;
  XLogwrt request;
  request.Write = XLogPageStart(ctl.LogwrtRqstNow().Write);
  XLogRecPtr flushed = ctl.LogwrtResultNow().Flush;
  // Nothing complete to write: asynchronous commits may wait on a part page.
  if (request.Write <= flushed) {
    request.Write = ctl.AsyncXactLSNNow();
    flexible = false;
  }
  if (request.Write <= flushed) return false;
  env::TimeNs now = be.env->clock->Now();
  if (local.last_background_flush_ns == 0 ||
      now - local.last_background_flush_ns >= be.config().wal_writer_delay_ns ||
      request.Write - flushed >= kWalWriterFlushAfter) {
    request.Flush = request.Write;
    local.last_background_flush_ns = now;
  }
  CriticalSection crit(be);
  WaitXLogInsertionsToFinish(be, request.Write);
  {
    WALWriteGuard guard(be);
    if (request.Write > ctl.LogwrtResult.Write ||
        request.Flush > ctl.LogwrtResult.Flush) {
      XLogWrite(be, request, flexible);
    }
  }
  // Have empty pages ready for those who insert.
  AdvanceXLInsertBuffer(be, 0, true);
  return true;
}

}  // namespace engine
