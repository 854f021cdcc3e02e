// Commit log: two bits per transaction in pg_xact/, in 8 KiB pages of 32768
// transactions, 32 pages a segment file.
//
//   xid  = page * 32768 + byte * 4 + pair
//   byte = | xid+3 | xid+2 | xid+1 | xid |   two bits each, XidStatus
//
// Nothing here is logged but the creation of a page: commit and abort records
// say the rest, and redo repeats them.
// Source: src/backend/access/transam/{clog,slru,transam}.c.
#ifndef MUSTH_ENGINE_TXN_CLOG_H_
#define MUSTH_ENGINE_TXN_CLOG_H_

#include "engine/common/backend.h"
#include "engine/wal/xlogreader.h"

namespace engine {

// Record types. Source: src/include/access/clog.h.
inline constexpr uint8_t CLOG_ZEROPAGE = 0x00;
inline constexpr uint8_t CLOG_TRUNCATE = 0x10;

enum class XidStatus : uint8_t {
  kInProgress = 0,  // or crashed without a record
  kCommitted = 1,
  kAborted = 2,
  kSubCommitted = 3,
};

// Sets the status. lsn is the commit record's end for asynchronous commits
// (the page may not be written before that is flushed), else 0.
// Suspends: yes. Errors: I/O.
Status TransactionIdSetStatus(Backend& be, TransactionId xid, XidStatus status,
                              XLogRecPtr lsn);
// Reads the status; *lsn (unless null) gets the flush requirement before hint
// bits.
Result<XidStatus> TransactionIdGetStatus(Backend& be, TransactionId xid,
                                         XLogRecPtr* lsn);
// Committed or aborted for certain. Permanent xids are committed.
Result<bool> TransactionIdDidCommit(Backend& be, TransactionId xid);
Result<bool> TransactionIdDidAbort(Backend& be, TransactionId xid);

// Creates pg_xact with its first page. Bootstrap only.
Status BootStrapCLOG(Backend& be);
// Called while assigning xid, before it is used: makes its page exist.
// Requires: XidGenLock exclusively. Suspends: yes. WAL: CLOG_ZEROPAGE for the
// first xid of a page.
Status ExtendCLOG(Backend& be, TransactionId xid);
// End of recovery: zeroes the rest of the current page.
Status TrimCLOG(Backend& be);
// Writes all dirty pages and registers them for fsync. Suspends: yes.
Status CheckPointCLOG(Backend& be);

Status ClogRedo(Backend& be, XLogReaderState& record);

}  // namespace engine

#endif  // MUSTH_ENGINE_TXN_CLOG_H_
