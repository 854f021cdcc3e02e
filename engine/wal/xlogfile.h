// Segment files: creating, recycling, removing.
//
//   create:   xlogtemp.PID: zeros, fsync ──rename──► next free segment name
//   recycle:  old segment ──fsync, rename──► next free segment name
//   remove:   unlink
//   each followed by an fsync of pg_wal
//
// A recycled segment keeps its old bytes. They are no valid log at their new
// place: page addresses and prev-links name the old one.
// Source: src/backend/access/transam/xlog.c XLogFileInit(),
// RemoveOldXlogFiles().
#ifndef MUSTH_ENGINE_WAL_XLOGFILE_H_
#define MUSTH_ENGINE_WAL_XLOGFILE_H_

#include <memory>

#include "engine/wal/xlog_ctl.h"

namespace engine {

// Opens a segment for writing, creating it if it does not exist.
// Suspends: yes. Errors: I/O errors that name the file.
Result<std::unique_ptr<env::File>> XLogFileInit(Backend& be, XLogSegNo segno);

// Creates the next segment if the current one is mostly used.
// Suspends: yes. Errors: as XLogFileInit.
Status PreallocXlogFiles(Backend& be, XLogRecPtr endptr);

// Recycles or removes the segments that precede the one of last_redo, except
// the one right before it. endptr: a position in the current segment.
// Suspends: yes. Errors: I/O errors; what was not removed is tried again.
Status RemoveOldXlogFiles(Backend& be, XLogRecPtr last_redo, XLogRecPtr endptr);

// Removes what an interrupted creation left behind. Suspends: yes.
Status RemoveTempXlogFiles(Backend& be);

// True if the segment is so far behind the redo pointer that a checkpoint
// should begin.
bool XLogCheckpointNeeded(Backend& be, XLogSegNo segno);

// Feeds the distance between two redo pointers to the estimate.
void UpdateCheckPointDistanceEstimate(XLogCtlData& ctl, uint64_t nbytes);

// Renames so that after a crash either name has its old or its new file, and
// the new one with its content. Suspends: yes.
Status DurableRename(Backend& be, const std::string& from,
                     const std::string& to);

}  // namespace engine

#endif  // MUSTH_ENGINE_WAL_XLOGFILE_H_
