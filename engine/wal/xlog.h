// The write-ahead log's shared state: positions, flushing, redo pointer.
// Source: src/backend/access/transam/xlog.c.
#ifndef MUSTH_ENGINE_WAL_XLOG_H_
#define MUSTH_ENGINE_WAL_XLOG_H_

#include <memory>

#include "engine/buffer/bufmgr.h"
#include "engine/common/backend.h"

namespace engine {

// What the buffer manager needs of the log; the node binds it.
std::unique_ptr<BufferWalHooks> MakeBufferWalHooks();

void XLogShmemInit(SharedMemory& shared);
void XLogInit(Backend& be);  // this backend's local copies

// Returns once WAL up to upto (exclusive) is durable. Suspends: yes. A write
// or fsync failure is a PANIC.
void XLogFlush(Backend& be, XLogRecPtr upto);
// True if part of WAL before upto is not known to be flushed.
bool XLogNeedsFlush(Backend& be, XLogRecPtr upto);
// One round of the WAL writer: writes and flushes complete pages, and
// asynchronous commits. Returns true if it did anything. Suspends: yes.
bool XLogBackgroundFlush(Backend& be);
// Tells the WAL writer how far an asynchronous commit wants WAL flushed.
void XLogSetAsyncXactLSN(Backend& be, XLogRecPtr lsn);

// End of the last record, which XLogFlush can reach.
// Differs: PostgreSQL's steps over a page header that follows.
XLogRecPtr GetXLogInsertRecPtr(Backend& be);
XLogRecPtr GetFlushRecPtr(Backend& be);
XLogRecPtr GetRedoRecPtr(Backend& be);
bool RecoveryInProgress(Backend& be);

}  // namespace engine

#endif  // MUSTH_ENGINE_WAL_XLOG_H_
