// What a node that did not shut down cleanly does before it trusts what it
// reads, and before it writes new log over what is left of the old.
#ifndef MUSTH_ENGINE_WAL_XLOGTRUST_H_
#define MUSTH_ENGINE_WAL_XLOGTRUST_H_

#include "engine/wal/xlog_ctl.h"

namespace engine {

// fsyncs every file and directory of the data directory. After a crash of the
// process alone recovery sees bytes that only the page cache holds; if it
// built on them, a power loss could take them away from under it.
// Suspends: yes. Errors: PANIC when an fsync fails.
// Source: src/backend/storage/file/fd.c SyncDataDirectory().
// Differs: PostgreSQL logs a failed fsync and goes on.
void SyncDataDirectory(Backend& be);

// Writes the log from the redo pointer on once more, with the bytes that are
// there, so that the next fsync really covers them: a failed fsync may have
// left pages that look clean and are not durable. Suspends: yes.
// Differs: PostgreSQL has nothing like it.
Status RewriteVisibleWal(Backend& be, XLogRecPtr redo);

// Zeroes the rest of the segment behind end and makes that durable. Old
// records there can follow a new one of the right length seamlessly: their
// prev-link names the position where it begins. Unflushed bytes never reach
// beyond one segment, so that no other one needs it. Suspends: yes.
// Differs: PostgreSQL zeroes the rest of the last page only, in memory.
Status WipeWalTail(Backend& be, XLogRecPtr end);

}  // namespace engine

#endif  // MUSTH_ENGINE_WAL_XLOGTRUST_H_
