// EventSink: what code tells the world it did.
//
// Oracles subscribe synchronously, the trace file and the rolling hash are two
// more subscribers. Emitting never suspends and never changes what the caller
// does next.
#ifndef MUSTH_SIM_ENV_EVENT_SINK_H_
#define MUSTH_SIM_ENV_EVENT_SINK_H_

#include <cstdint>
#include <string_view>

#include "sim/env/ids.h"

namespace env {

// The comment names the arguments a[0], a[1], ... and bytes.
enum class EventKind : uint8_t {
  // World.
  kTaskStart,    // parent; name
  kTaskExit,     // ExitReason
  kSwitch,       // from task, n-th sync operation of it, to task
  kTimer,        // deadline, task
  kCrash,        // crash kind, incarnation
  kHostStart,    // incarnation
  kPanic,        // -; message
  kCheckFailed,  // line; condition
  kPlan,         // statement id, phase (0 begin, 1 end); text
  // Devices.
  kFileOpen,   // inode, flags; path
  kFileWrite,  // inode, offset, length, hash of the bytes
  kFileRead,   // inode, offset, length, hash of the bytes
  kFileSync,   // inode, phase (0 start, 1 middle, 2 done), errno
  kFileSize,   // inode, new size
  kDirOp,      // operation, inode; path
  kFault,      // family, detail, detail
  // Write-ahead log.
  kWalInsert,   // start lsn, end lsn, rmid << 8 | info, xid, prev; record bytes
  kWalFlush,    // flushed up to
  kWalSegment,  // segment number, 0 created 1 recycled 2 removed
  // Transactions.
  kXidAssigned,   // xid, top xid
  kSnapshot,      // xmin, xmax, command id, count, 1 a statement's; xip uint32s
  kCommand,       // xid or 0, command id, 1 + index if a statement begins
  kCommitRecord,  // xid, end lsn, 1 synchronous
  kAbort,         // xid
  kVisible,       // xid: removed from the procarray
  kAcked,         // xid, end lsn: the client was told
  kXactWait,      // waiter's xid, holder's xid, 0 begin 1 end 2 deadlock
  kClogSet,       // xid, status
  kResourcesHeld,  // 0 a statement ends 1 a process; buffer pins, LWLocks
  // Heap. rel is relNode; a tid is block << 16 | offset.
  kTupleInsert,  // xid, rel, tid, command id; tuple bytes from t_infomask2 on
  kTupleUpdate,  // xid, rel, old tid, new tid, command id; new tuple bytes
  kTupleDelete,  // xid, rel, tid, command id
  kTupleRead,    // rel, tid, xmin, xmax
  kTupleLock,    // xid, rel, tid, mode
  // Buffers. page is rel << 32 | block.
  kPageDirty,  // page, fork, lsn
  kPageWrite,  // page, fork, lsn, flushed lsn at that time
  kPageRead,   // page, fork, lsn
  kLockGrant,  // tag, mode, task
  // Life cycle.
  kCheckpoint,     // phase, redo lsn, checkpoint lsn
  kRecoveryStart,  // redo lsn, checkpoint lsn
  kRedo,           // start lsn, end lsn, rmid << 8 | info
  kRedoPage,       // lsn, page, fork, action (BLK_*)
  kRecoveryEnd,    // end of valid WAL: every record ends at or before it
  kReady,          // the node accepts sessions
  kShutdown,       // 0 begin, 1 end
  kCount,
};

struct Event {
  EventKind kind = EventKind::kCount;
  uint64_t a[6] = {};
  std::string_view bytes;
  // Filled in by the sink.
  HostId host = 0;
  TaskId task = kNoTask;
  TimeNs time_ns = 0;
  uint64_t seq = 0;
};

class EventSink {
 public:
  virtual ~EventSink() = default;

  // Suspends: no.
  virtual void Emit(Event event) = 0;

  void Emit(EventKind kind, uint64_t a0 = 0, uint64_t a1 = 0, uint64_t a2 = 0,
            uint64_t a3 = 0, uint64_t a4 = 0, uint64_t a5 = 0) {
    Event e;
    e.kind = kind;
    e.a[0] = a0;
    e.a[1] = a1;
    e.a[2] = a2;
    e.a[3] = a3;
    e.a[4] = a4;
    e.a[5] = a5;
    Emit(e);
  }
};

}  // namespace env

#endif  // MUSTH_SIM_ENV_EVENT_SINK_H_
