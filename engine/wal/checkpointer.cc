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

namespace engine {
namespace {

// One checkpoint, with its start and end announced.
Status DoCheckpoint(Backend& be, int extra_flags) {
  CheckpointerShmem& desk = XLogCtl(be).checkpointer;
  int flags = desk.ckpt_flags | extra_flags;
  desk.ckpt_flags = 0;
  uint64_t number = ++desk.ckpt_started;
  ConditionVariableBroadcast(be, desk.start_cv);
  Status status = CreateCheckPoint(be, flags & ~CHECKPOINT_WAIT);
  if (!status.ok()) ++desk.ckpt_failed;
  desk.ckpt_done = number;
  ConditionVariableBroadcast(be, desk.done_cv);
  return status;
}

Status ShutdownCheckpoint(Backend& be) {
  CheckpointerShmem& desk = XLogCtl(be).checkpointer;
  Status status =
      DoCheckpoint(be, CHECKPOINT_IS_SHUTDOWN | CHECKPOINT_IMMEDIATE);
  desk.shutdown_requested = false;
  return status;
}

}  // namespace

Status RequestCheckpoint(Backend& be, int flags) {
  CheckpointerShmem& desk = XLogCtl(be).checkpointer;
  uint64_t old_started = desk.ckpt_started;
  uint64_t old_failed = desk.ckpt_failed;
  desk.ckpt_flags |= flags;
  ConditionVariableBroadcast(be, desk.work_cv);
  if ((flags & CHECKPOINT_WAIT) == 0) return {};
  while (desk.ckpt_started == old_started) {
    ConditionVariableSleep(be, desk.start_cv);
  }
  ConditionVariableCancelSleep(be, desk.start_cv);
  uint64_t new_started = desk.ckpt_started;
  while (desk.ckpt_done < new_started) {
    ConditionVariableSleep(be, desk.done_cv);
  }
  ConditionVariableCancelSleep(be, desk.done_cv);
  if (desk.ckpt_failed != old_failed) {
    return SqlError(ERRCODE_INTERNAL_ERROR, "checkpoint request failed")
        .WithHint("Consult recent messages in the server log for details.");
  }
  return {};
}

Status CheckpointerMain(Backend& be) {
  CheckpointerShmem& desk = XLogCtl(be).checkpointer;
  env::TimeNs last = be.env->clock->Now();
  for (;;) {
    if (desk.shutdown_requested) {
      ConditionVariableCancelSleep(be, desk.work_cv);
      return ShutdownCheckpoint(be);
    }
    env::TimeNs deadline = last + be.config().checkpoint_timeout_ns;
    bool timeout = be.env->clock->Now() >= deadline;
    if (desk.ckpt_flags == 0 && !timeout) {
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
  desk.shutdown_requested = true;
  ConditionVariableBroadcast(be, desk.work_cv);
}

}  // namespace engine
