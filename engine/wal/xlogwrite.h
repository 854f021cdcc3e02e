// Writing the ring of WAL buffers to segment files.
// Source: src/backend/access/transam/xlog.c XLogWrite(), XLogFlush().
#ifndef MUSTH_ENGINE_WAL_XLOGWRITE_H_
#define MUSTH_ENGINE_WAL_XLOGWRITE_H_

#include "engine/wal/xlog_ctl.h"

namespace engine {

// WALWriteLock for a scope. Whoever waits for its release, rather than for
// the lock, is woken too.
class WALWriteGuard {
 public:
  explicit WALWriteGuard(Backend& be);
  ~WALWriteGuard();
  WALWriteGuard(const WALWriteGuard&) = delete;
  WALWriteGuard& operator=(const WALWriteGuard&) = delete;

 private:
  Backend& be_;
};

// Writes pages up to request.Write at least, fsyncs up to request.Flush. With
// flexible it may stop early, at a convenient border.
// Requires: WALWriteLock; insertions before request.Write have finished.
// Suspends: yes. Errors: PANIC.
void XLogWrite(Backend& be, XLogwrt request, bool flexible);

}  // namespace engine

#endif  // MUSTH_ENGINE_WAL_XLOGWRITE_H_
