// BootStrapXLOG and StartupXLOG: from files to a log that takes records.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "engine/common/checksum.h"
#include "engine/common/errcodes.h"
#include "engine/common/file_error.h"
#include "engine/common/file_io.h"
#include "engine/common/sites.h"
#include "engine/smgr/heldblocks.h"
#include "engine/wal/checkpoint.h"
#include "engine/wal/control_file.h"
#include "engine/wal/flushmark.h"
#include "engine/wal/xlog.h"
#include "engine/wal/xlog_ctl.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xlog_redo.h"
#include "engine/wal/xlogfile.h"
#include "engine/wal/xloginsert.h"
#include "engine/wal/xlogrecord.h"
#include "engine/wal/xlogrecovery.h"
#include "engine/wal/xlogreserve.h"
#include "engine/wal/xlogtrust.h"

namespace engine {
namespace {

// The first page of a new log: a long header and one shutdown checkpoint.
std::string BootstrapPage(const Config& config, const CheckPoint& checkpoint) {
  std::string page(XLOG_BLCKSZ, '\0');
  XLogLongPageHeaderData header;
  header.std.xlp_magic = XLOG_PAGE_MAGIC;
  header.std.xlp_info = XLP_LONG_HEADER;
  header.std.xlp_tli = checkpoint.ThisTimeLineID;
  header.std.xlp_pageaddr = config.wal_segment_size;
  header.xlp_sysid = config.system_identifier;
  header.xlp_seg_size = config.wal_segment_size;
  header.xlp_xlog_blcksz = XLOG_BLCKSZ;
  std::memcpy(page.data(), &header, sizeof(header));

  std::string body;
  body.push_back(static_cast<char>(XLR_BLOCK_ID_DATA_SHORT));
  body.push_back(static_cast<char>(sizeof(checkpoint)));
  body.append(reinterpret_cast<const char*>(&checkpoint), sizeof(checkpoint));
  XLogRecord record;
  record.xl_tot_len = static_cast<uint32_t>(kSizeOfXLogRecord + body.size());
  record.xl_info = XLOG_CHECKPOINT_SHUTDOWN;
  record.xl_rmid = RM_XLOG_ID;
  uint32_t crc = Crc32cComp(kCrc32cInit, body.data(), body.size());
  record.xl_crc =
      Crc32cFin(Crc32cComp(crc, &record, offsetof(XLogRecord, xl_crc)));
  std::memcpy(page.data() + sizeof(header), &record, sizeof(record));
  std::memcpy(page.data() + sizeof(header) + sizeof(record), body.data(),
              body.size());
  return page;
}

Status WriteBootstrapSegment(Backend& be, const std::string& page) {
  ASSIGN_OR_RETURN(std::unique_ptr<env::File> file, XLogFileInit(be, 1));
  Status status = WriteFully(*file, 0, page);
  if (!status.ok()) {
    return FileAccessError(status,
                           "could not write bootstrap write-ahead log file");
  }
  status = file->Fsync();
  if (status.ok()) return {};
  return FileAccessError(status,
                         "could not fsync bootstrap write-ahead log file");
}

void SetControlState(Backend& be, DBState state) {
  XLogCtlData& ctl = XLogCtl(be);
  LWLockGuard guard(be, ctl.ControlFileLock, LWLockMode::kExclusive);
  ctl.control_file.state = state;
  ctl.control_file.time = PgTimeNow(be);
  WriteControlFile(be, ctl.control_file);
}

// Judges what the control file says and, after a crash, makes durable what can
// be seen.
Status PrepareFiles(Backend& be) {
  XLogCtlData& ctl = XLogCtl(be);
  ASSIGN_OR_RETURN(ctl.control_file, ReadControlFile(be));
  const ControlFileData& control = ctl.control_file;
  if (!XRecOffIsValid(control.checkPoint)) {
    return SqlError(ERRCODE_DATA_CORRUPTED,
                    "control file contains invalid checkpoint location");
  }
  if (control.state > DB_IN_PRODUCTION) {
    return SqlError(ERRCODE_DATA_CORRUPTED,
                    "control file contains invalid database cluster state");
  }
  ctl.InsertTimeLineID = control.checkPointCopy.ThisTimeLineID;
  if (control.state == DB_SHUTDOWNED) return {};
  RETURN_IF_ERROR(RemoveTempXlogFiles(be));
  if (be.config().rewrite_wal_before_trust) {
    RETURN_IF_ERROR(RewriteVisibleWal(be, control.checkPointCopy.redo));
  }
  SyncDataDirectory(be);
  return {};
}

// Takes over the counters of the checkpoint that recovery starts at.
Status ApplyCheckPoint(Backend& be, const CheckPoint& checkpoint) {
  XLogCtlData& ctl = XLogCtl(be);
  ctl.RedoRecPtr = checkpoint.redo;
  ctl.fullPageWrites = checkpoint.fullPageWrites;
  XLogLocal(be).RedoRecPtr = ctl.RedoRecPtr;
  XLogLocal(be).doPageWrites = ctl.fullPageWrites;
  return ctl.checkpoint_client->ApplyCheckPoint(be, checkpoint);
}

Status Replay(Backend& be, WalRecovery* recovery) {
  XLogCtlData& ctl = XLogCtl(be);
  ctl.control_file.checkPoint = recovery->checkpoint_lsn;
  ctl.control_file.checkPointCopy = recovery->checkpoint;
  SetControlState(be, DB_IN_CRASH_RECOVERY);
  be.in_recovery = true;
  Status status = PerformWalRecovery(be, recovery);
  be.in_recovery = false;
  return status;
}

// Sets the insert position behind the last valid record. The last page goes
// into the ring, as if it had just been filled that far.
void OpenForInsertion(Backend& be, const EndOfWalRecoveryInfo& end) {
  XLogCtlData& ctl = XLogCtl(be);
  uint32_t segsize = be.config().wal_segment_size;
  ctl.PrevBytePos = XLogRecPtrToBytePos(end.lastRec, segsize);
  ctl.CurrBytePos = XLogRecPtrToBytePos(end.endOfLog, segsize);
  ctl.InitializedUpTo = end.endOfLog;
  if (!end.lastPage.empty()) {
    int idx = ctl.XLogRecPtrToBufIdx(end.lastPageBeginPtr);
    std::memcpy(ctl.page(idx), end.lastPage.data(), end.lastPage.size());
    std::memset(ctl.page(idx) + end.lastPage.size(), 0,
                XLOG_BLCKSZ - end.lastPage.size());
    ctl.InitializedUpTo = end.lastPageBeginPtr + XLOG_BLCKSZ;
    ctl.xlblocks[static_cast<size_t>(idx)] = ctl.InitializedUpTo;
  }
  ctl.LogwrtResult = {end.endOfLog, end.endOfLog};
  ctl.LogwrtRqst = ctl.LogwrtResult;
  ctl.lastReplayedEndRecPtr = end.endOfLog;
  ctl.fullPageWrites = be.config().full_page_writes;
  XLogLocal(be).doPageWrites = ctl.fullPageWrites;
  XLogLocal(be).LocalXLogInsertAllowed = 1;
}

// The log ended amid a record whose first part others may have copied already.
// It is not written over: the page that should have continued it says so.
void CreateOverwriteContrecordRecord(Backend& be,
                                     const EndOfWalRecoveryInfo& end) {
  CriticalSection crit(be);
  WALInsertLockAcquire(be);
  auto* header = reinterpret_cast<XLogPageHeaderData*>(
      GetXLogBuffer(be, end.missingContrecPtr));
  header->xlp_info |= XLP_FIRST_IS_OVERWRITE_CONTRECORD;
  WALInsertLockRelease(be);
  xl_overwrite_contrecord body;
  body.overwritten_lsn = end.abortedRecPtr;
  body.overwrite_time = be.env->clock->WallMicros();
  XLogInsertion record(be);
  record.RegisterData(&body, sizeof(body));
  XLogFlush(be, record.Insert(RM_XLOG_ID, XLOG_OVERWRITE_CONTRECORD));
}

// Logs the settings that whoever replays the log must know, if they are not
// those that pg_control holds.
void XLogReportParameters(Backend& be) {
  XLogCtlData& ctl = XLogCtl(be);
  xl_parameter_change now = ParametersOf(NewControlFile(be.config()));
  if (now == ParametersOf(ctl.control_file)) return;
  {
    CriticalSection crit(be);
    XLogInsertion record(be);
    record.RegisterData(&now, sizeof(now));
    XLogFlush(be, record.Insert(RM_XLOG_ID, XLOG_PARAMETER_CHANGE));
  }
  LWLockGuard guard(be, ctl.ControlFileLock, LWLockMode::kExclusive);
  SetParameters(now, &ctl.control_file);
  WriteControlFile(be, ctl.control_file);
}

}  // namespace

Status BootStrapXLOG(Backend& be) {
  XLogCtlData& ctl = XLogCtl(be);
  const Config& config = be.config();
  CheckPoint checkpoint;
  checkpoint.redo = uint64_t{config.wal_segment_size} + kSizeOfXLogLongPHD;
  checkpoint.fullPageWrites = config.full_page_writes;
  checkpoint.time = PgTimeNow(be);
  ctl.InsertTimeLineID = checkpoint.ThisTimeLineID;
  RETURN_IF_ERROR(WriteBootstrapSegment(be, BootstrapPage(config, checkpoint)));
  ControlFileData control = NewControlFile(config);
  control.state = DB_SHUTDOWNED;
  control.time = checkpoint.time;
  control.checkPoint = checkpoint.redo;
  control.checkPointCopy = checkpoint;
  ctl.control_file = control;
  return CreateControlFile(be, control);
}

Status StartupXLOG(Backend& be) {
  XLogCtlData& ctl = XLogCtl(be);
  SIM_CHECK(ctl.checkpoint_client != nullptr);
  SIM_CHECK(ctl.rmgr_table != nullptr);
  RETURN_IF_ERROR(PrepareFiles(be));
  if (be.config().detect_zeroed_pages) RETURN_IF_ERROR(LoadHeldBlocks(be));
  WalRecovery recovery(be);
  RETURN_IF_ERROR(InitWalRecovery(be, &recovery));
  RETURN_IF_ERROR(ApplyCheckPoint(be, recovery.checkpoint));
  be.env->events->Emit(env::EventKind::kRecoveryStart, recovery.checkpoint.redo,
                       recovery.checkpoint_lsn);
  if (recovery.in_recovery) RETURN_IF_ERROR(Replay(be, &recovery));
  EndOfWalRecoveryInfo end;
  RETURN_IF_ERROR(FinishWalRecovery(&recovery, &end));
  if (be.config().wal_flush_watermark) {
    RETURN_IF_ERROR(CheckFlushMark(be, end.endOfLog));
  }
  if (recovery.in_recovery) RETURN_IF_ERROR(WipeWalTail(be, end.endOfLog));
  OpenForInsertion(be, end);
  be.env->events->Emit(env::EventKind::kRecoveryEnd, end.endOfLog);
  if (end.abortedRecPtr != 0) CreateOverwriteContrecordRecord(be, end);
  RETURN_IF_ERROR(ctl.checkpoint_client->FinishRecovery(be));
  INJECTION_POINT(recovery_before_checkpoint);
  if (recovery.in_recovery) {
    RETURN_IF_ERROR(CreateCheckPoint(
        be, CHECKPOINT_END_OF_RECOVERY | CHECKPOINT_IMMEDIATE));
  }
  XLogReportParameters(be);
  INJECTION_POINT(recovery_before_production);
  SetControlState(be, DB_IN_PRODUCTION);
  XLogLocal(be).LocalXLogInsertAllowed = -1;
  ctl.recovery_in_progress = false;
  return {};
}

}  // namespace engine
