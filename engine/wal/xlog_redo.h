// The log's own records and how they are replayed.
// Source: src/include/catalog/pg_control.h, src/backend/access/transam/xlog.c
// xlog_redo().
#ifndef MUSTH_ENGINE_WAL_XLOG_REDO_H_
#define MUSTH_ENGINE_WAL_XLOG_REDO_H_

#include "engine/common/backend.h"
#include "engine/wal/xlogreader.h"

namespace engine {

// Infos of RM_XLOG_ID.
inline constexpr uint8_t XLOG_CHECKPOINT_SHUTDOWN = 0x00;
inline constexpr uint8_t XLOG_CHECKPOINT_ONLINE = 0x10;
inline constexpr uint8_t XLOG_NOOP = 0x20;
inline constexpr uint8_t XLOG_NEXTOID = 0x30;
inline constexpr uint8_t XLOG_SWITCH = 0x40;
inline constexpr uint8_t XLOG_BACKUP_END = 0x50;
inline constexpr uint8_t XLOG_PARAMETER_CHANGE = 0x60;
inline constexpr uint8_t XLOG_RESTORE_POINT = 0x70;
inline constexpr uint8_t XLOG_FPW_CHANGE = 0x80;
inline constexpr uint8_t XLOG_END_OF_RECOVERY = 0x90;
inline constexpr uint8_t XLOG_FPI_FOR_HINT = 0xA0;
inline constexpr uint8_t XLOG_FPI = 0xB0;
inline constexpr uint8_t XLOG_OVERWRITE_CONTRECORD = 0xD0;

// Body of XLOG_OVERWRITE_CONTRECORD.
struct xl_overwrite_contrecord {
  XLogRecPtr overwritten_lsn = 0;
  TimestampTz overwrite_time = 0;
};
static_assert(sizeof(xl_overwrite_contrecord) == 16);

// Body of XLOG_END_OF_RECOVERY.
struct xl_end_of_recovery {
  TimestampTz end_time = 0;
  TimeLineID ThisTimeLineID = 0;
  TimeLineID PrevTimeLineID = 0;
};
static_assert(sizeof(xl_end_of_recovery) == 16);

// Replays a record of RM_XLOG_ID. Suspends: yes.
Status XlogRedo(Backend& be, XLogReaderState& record);

// Logs that oids below next_oid may be in use after a crash. Not flushed: a
// catalog change that uses one of them is flushed later in the log.
// WAL: XLOG_NEXTOID. Suspends: yes.
void XLogPutNextOid(Backend& be, Oid next_oid);

}  // namespace engine

#endif  // MUSTH_ENGINE_WAL_XLOG_REDO_H_
