#include "engine/wal/xlog_redo.h"

#include <fmt/format.h>

#include <cstring>

#include "engine/common/errcodes.h"
#include "engine/wal/checkpoint.h"
#include "engine/wal/control_file.h"
#include "engine/wal/xlog_ctl.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xloginsert.h"
#include "engine/wal/xlogrecord.h"
#include "engine/wal/xlogutils.h"

namespace engine {
namespace {

Status WrongLength(const XLogReaderState& record, std::string_view what) {
  return SqlError(
      ERRCODE_DATA_CORRUPTED, "unexpected length {} of {} record at {}",
      record.main_data().size(), what, LsnToString(record.ReadRecPtr()));
}

template <typename T>
bool BodyAs(const XLogReaderState& record, T* out) {
  if (record.main_data().size() < sizeof(T)) return false;
  std::memcpy(out, record.main_data().data(), sizeof(T));
  return true;
}

Status RedoNextOid(Backend& be, XLogReaderState& record) {
  Oid next_oid = 0;
  if (!BodyAs(record, &next_oid)) return WrongLength(record, "NEXTOID");
  XLogCtl(be).checkpoint_client->SetNextOid(be, next_oid);
  return {};
}

Status RedoCheckpoint(Backend& be, XLogReaderState& record, bool shutdown) {
  ASSIGN_OR_RETURN(CheckPoint checkpoint, DecodeCheckPoint(record.main_data()));
  CheckpointClient& client = *XLogCtl(be).checkpoint_client;
  // Nobody ran when a shutdown checkpoint was taken: its counters are exact.
  if (shutdown) return client.ApplyCheckPoint(be, checkpoint);
  // Those of an online one may be behind. Its nextOid says nothing that
  // XLOG_NEXTOID did not.
  auto next_xid = static_cast<TransactionId>(checkpoint.nextXid);
  if (next_xid > kFirstNormalTransactionId) {
    client.AdvanceNextXid(be, next_xid - 1);
  }
  return {};
}

// Restores every block that has an image; that is all these records say.
Status RedoImages(Backend& be, XLogReaderState& record, bool hint) {
  for (int i = 0; i <= record.max_block_id(); ++i) {
    auto id = static_cast<uint8_t>(i);
    if (!record.HasBlock(id)) continue;
    // With full_page_writes off a hint's record has nothing to say.
    if (hint && !record.block(id).has_image) continue;
    ASSIGN_OR_RETURN(RedoBuffer redo, XLogReadBufferForRedo(be, record, id));
    if (redo.buffer != kInvalidBuffer) UnlockReleaseBuffer(be, redo.buffer);
    if (redo.action != XLogRedoAction::BLK_RESTORED) {
      return SqlError(ERRCODE_DATA_CORRUPTED,
                      "unexpected XLogReadBufferForRedo result when restoring "
                      "backup block");
    }
  }
  return {};
}

Status RedoOverwriteContrecord(XLogReaderState& record) {
  xl_overwrite_contrecord body;
  if (!BodyAs(record, &body))
    return WrongLength(record, "OVERWRITE_CONTRECORD");
  if (body.overwritten_lsn != record.overwrittenRecPtr()) {
    return SqlError(ERRCODE_DATA_CORRUPTED,
                    "mismatching overwritten LSN {} -> {}",
                    LsnToString(body.overwritten_lsn),
                    LsnToString(record.overwrittenRecPtr()));
  }
  return {};
}

Status RedoFpwChange(Backend& be, XLogReaderState& record) {
  uint8_t on = 0;
  if (!BodyAs(record, &on)) return WrongLength(record, "FPW_CHANGE");
  XLogCtl(be).fullPageWrites = on != 0;
  return {};
}

Status RedoParameterChange(Backend& be, XLogReaderState& record) {
  xl_parameter_change body;
  if (!BodyAs(record, &body)) return WrongLength(record, "PARAMETER_CHANGE");
  XLogCtlData& ctl = XLogCtl(be);
  LWLockGuard guard(be, ctl.ControlFileLock, LWLockMode::kExclusive);
  SetParameters(body, &ctl.control_file);
  WriteControlFile(be, ctl.control_file);
  return {};
}

}  // namespace

Result<CheckPoint> DecodeCheckPoint(std::string_view bytes) {
  if (bytes.size() != sizeof(CheckPoint)) {
    return SqlError(ERRCODE_DATA_CORRUPTED,
                    "invalid length of checkpoint record");
  }
  // A bool may hold only 0 and 1.
  char copy[sizeof(CheckPoint)];
  std::memcpy(copy, bytes.data(), sizeof(copy));
  char& flag = copy[offsetof(CheckPoint, fullPageWrites)];
  flag = flag != 0 ? 1 : 0;
  CheckPoint checkpoint;
  std::memcpy(&checkpoint, copy, sizeof(copy));
  return checkpoint;
}

Status XlogRedo(Backend& be, XLogReaderState& record) {
  switch (record.info() & XLR_RMGR_INFO_MASK) {
    case XLOG_NEXTOID:
      return RedoNextOid(be, record);
    case XLOG_CHECKPOINT_SHUTDOWN:
      return RedoCheckpoint(be, record, /*shutdown=*/true);
    case XLOG_CHECKPOINT_ONLINE:
      return RedoCheckpoint(be, record, /*shutdown=*/false);
    case XLOG_FPI:
      return RedoImages(be, record, /*hint=*/false);
    case XLOG_FPI_FOR_HINT:
      return RedoImages(be, record, /*hint=*/true);
    case XLOG_OVERWRITE_CONTRECORD:
      return RedoOverwriteContrecord(record);
    case XLOG_FPW_CHANGE:
      return RedoFpwChange(be, record);
    case XLOG_PARAMETER_CHANGE:
      return RedoParameterChange(be, record);
    case XLOG_NOOP:
    case XLOG_SWITCH:
    case XLOG_RESTORE_POINT:
    case XLOG_BACKUP_END:
    case XLOG_END_OF_RECOVERY:
      return {};
    default:
      return SqlError(ERRCODE_DATA_CORRUPTED, "xlog_redo: unknown op code {}",
                      record.info());
  }
}

void XLogPutNextOid(Backend& be, Oid next_oid) {
  XLogInsertion record(be);
  record.RegisterData(&next_oid, sizeof(next_oid));
  record.Insert(RM_XLOG_ID, XLOG_NEXTOID);
}

}  // namespace engine
