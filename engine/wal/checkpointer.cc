// The checkpointer's desk: who asks, who waits, when it is time.
//
//   RequestCheckpoint: flags ──► ckpt_flags, wake the checkpointer
//       waits for ckpt_started to move: its flags were seen
//       waits for ckpt_done to reach that start: its checkpoint is over
//
// Source: src/backend/postmaster/checkpointer.c.
#include <algorithm>

#include "engine/common/errcodes.h"
#include "engine/wal/checkpoint.h"
#include "engine/wal/xlog_ctl.h"
#include "sim/env/race.h"

namespace engine {
namespace {

struct Counters {
  uint64_t started;
  uint64_t done;
  uint64_t failed;
};
Counters CountersOf(const CheckpointerShmem& desk) {
  env::AtomicSection ckpt_lck(&desk);
  return {desk.ckpt_started, desk.ckpt_done, desk.ckpt_failed};
}

// Leaves the flags on the desk; returns the counters as of then.
Counters AskFor(CheckpointerShmem& desk, int flags) {
  env::AtomicSection ckpt_lck(&desk);
  desk.ckpt_flags |= flags;
  return CountersOf(desk);
}

bool IsAsked(const CheckpointerShmem& desk) {
  env::AtomicSection ckpt_lck(&desk);
  return desk.ckpt_flags != 0;
}

bool ShutdownRequested(const CheckpointerShmem& desk) {
  env::AtomicSection ckpt_lck(&desk);
  return desk.shutdown_requested;
}

// One checkpoint, with its start and end announced.
Status DoCheckpoint(Backend& be, int extra_flags) {
  CheckpointerShmem& desk = XLogCtl(be).checkpointer;
  int flags = 0;
  uint64_t number = 0;
  {
    env::AtomicSection ckpt_lck(&desk);
    flags = desk.ckpt_flags | extra_flags;
    desk.ckpt_flags = 0;
    number = ++desk.ckpt_started;
  }
  ConditionVariableBroadcast(be, desk.start_cv);
  Status status = CreateCheckPoint(be, flags & ~CHECKPOINT_WAIT);
  {
    env::AtomicSection ckpt_lck(&desk);
    if (!status.ok()) ++desk.ckpt_failed;
    desk.ckpt_done = number;
  }
  ConditionVariableBroadcast(be, desk.done_cv);
  return status;
}

Status ShutdownCheckpoint(Backend& be) {
  CheckpointerShmem& desk = XLogCtl(be).checkpointer;
  Status status =
      DoCheckpoint(be, CHECKPOINT_IS_SHUTDOWN | CHECKPOINT_IMMEDIATE);
  env::AtomicSection ckpt_lck(&desk);
  desk.shutdown_requested = false;
  return status;
}

}  // namespace

Status RequestCheckpoint(Backend& be, int flags) {
  CheckpointerShmem& desk = XLogCtl(be).checkpointer;
  Counters old = AskFor(desk, flags);
  ConditionVariableBroadcast(be, desk.work_cv);
  if ((flags & CHECKPOINT_WAIT) == 0) return {};
  while (CountersOf(desk).started == old.started) {
    ConditionVariableSleep(be, desk.start_cv);
  }
  ConditionVariableCancelSleep(be, desk.start_cv);
  uint64_t new_started = CountersOf(desk).started;
  while (CountersOf(desk).done < new_started) {
    ConditionVariableSleep(be, desk.done_cv);
  }
  ConditionVariableCancelSleep(be, desk.done_cv);
  if (CountersOf(desk).failed != old.failed) {
    return SqlError(ERRCODE_INTERNAL_ERROR, "checkpoint request failed")
        .WithHint("Consult recent messages in the server log for details.");
  }
  return {};
}

Status CheckpointerMain(Backend& be) {
  CheckpointerShmem& desk = XLogCtl(be).checkpointer;
  env::TimeNs last = be.env->clock->Now();
  for (;;) {
    if (ShutdownRequested(desk)) {
      ConditionVariableCancelSleep(be, desk.work_cv);
      return ShutdownCheckpoint(be);
    }
    env::TimeNs deadline = last + be.config().checkpoint_timeout_ns;
    bool timeout = be.env->clock->Now() >= deadline;
    if (!IsAsked(desk) && !timeout) {
      ConditionVariableTimedSleep(be, desk.work_cv, deadline);
      continue;
    }
    ConditionVariableCancelSleep(be, desk.work_cv);
    // A failed checkpoint leaves the previous one in force; those who waited
    // for it are told, the next request or timeout tries again.
    static_cast<void>(DoCheckpoint(be, timeout ? CHECKPOINT_CAUSE_TIME : 0));
    last = be.env->clock->Now();
  }
}

void RequestShutdownCheckpoint(Backend& be) {
  CheckpointerShmem& desk = XLogCtl(be).checkpointer;
  {
    env::AtomicSection ckpt_lck(&desk);
    desk.shutdown_requested = true;
  }
  ConditionVariableBroadcast(be, desk.work_cv);
}

}  // namespace engine
