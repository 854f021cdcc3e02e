// Putting an assembled record into the log: insertion locks, reservation, the
// ring of WAL buffers.
// Source: src/backend/access/transam/xlog.c XLogInsertRecord() and below.
#ifndef MUSTH_ENGINE_WAL_XLOGRESERVE_H_
#define MUSTH_ENGINE_WAL_XLOGRESERVE_H_

#include <span>

#include "engine/wal/xlog_ctl.h"

namespace engine {

// Inserts the record, whose header lacks xl_prev and whose xl_crc covers the
// bytes behind the header so far (not finished). fpw_lsn is the oldest LSN of
// a page that was registered without an image, or 0; flags are those of
// XLogInsertion::SetRecordFlags. Returns the record's end,
// or 0 if an image turned out to be needed: assemble again.
// Suspends: yes.
XLogRecPtr XLogInsertRecord(Backend& be, std::span<char> record,
                            XLogRecPtr fpw_lsn, uint8_t flags);

// One insertion lock, or all of them (nobody inserts, nothing is half copied).
// Suspends: yes (acquire).
void WALInsertLockAcquire(Backend& be);
void WALInsertLockAcquireExclusive(Backend& be);
void WALInsertLockRelease(Backend& be);

// Waits for all insertions before upto to be copied; returns how far all are,
// which is upto at least. Suspends: yes.
XLogRecPtr WaitXLogInsertionsToFinish(Backend& be, XLogRecPtr upto);

// Makes room in the ring until the page that holds upto is initialised. With
// opportunistic it stops where a write would be needed. Suspends: yes.
void AdvanceXLInsertBuffer(Backend& be, XLogRecPtr upto, bool opportunistic);

// Where the byte at lsn lives in the ring. Requires: an insertion lock on a
// range that includes lsn. Suspends: yes.
char* GetXLogBuffer(Backend& be, XLogRecPtr lsn);

// Start of the newest record that is not marked unimportant.
XLogRecPtr GetLastImportantRecPtr(Backend& be);

}  // namespace engine

#endif  // MUSTH_ENGINE_WAL_XLOGRESERVE_H_
