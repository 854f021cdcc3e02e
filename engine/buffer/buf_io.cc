// Pins, the I/O-in-progress state, and writing one page.
#include "engine/buffer/buf_internals.h"
#include "engine/common/sites.h"
#include "engine/smgr/heldblocks.h"
#include "engine/smgr/smgr.h"

namespace engine {

void PinBuffer(Backend& be, BufferDesc& buf, bool bump) {
  int32_t& mine = PrivateRefCount(be, buf);
  if (mine++ > 0) return;
  ++LocalBuffers(be).pinned;
  env::AtomicSection buf_hdr_lock(&buf.flags);
  ++buf.refcount;
  if (bump && buf.usage_count < BM_MAX_USAGE_COUNT) ++buf.usage_count;
}

void UnpinBuffer(Backend& be, BufferDesc& buf) {
  int32_t& mine = PrivateRefCount(be, buf);
  SIM_CHECK(mine > 0);
  if (--mine > 0) return;
  --LocalBuffers(be).pinned;
  env::AtomicSection buf_hdr_lock(&buf.flags);
  SIM_CHECK(buf.refcount > 0);
  SIM_CHECK(buf.content_lock.free() || !LWLockHeldByMe(be, buf.content_lock));
  --buf.refcount;
  if (buf.Is(BM_PIN_COUNT_WAITER)) {
    buf.flags &= ~BM_PIN_COUNT_WAITER;
    ConditionVariableBroadcast(be, buf.pin_cv);
  }
}

void ForgetBuffer(Backend& be, BufferDesc& buf) {
  env::AtomicSection buf_hdr_lock(&buf.flags);
  SIM_CHECK(buf.refcount == 0 && !buf.Is(BM_IO_IN_PROGRESS));
  BufferShared& shared = SharedBuffers(be);
  if (buf.Is(BM_TAG_VALID)) shared.table.Delete(buf.tag);
  buf.tag = {};
  buf.flags = 0;
  buf.usage_count = 0;
  shared.policy->Freed(buf.id);
}

bool StartBufferIO(Backend& be, BufferDesc& buf, bool for_input) {
  if (buf.IsNow(BM_IO_IN_PROGRESS)) {
    do {
      ConditionVariableSleep(be, buf.io_cv);
    } while (buf.IsNow(BM_IO_IN_PROGRESS));
    ConditionVariableCancelSleep(be, buf.io_cv);
  }
  env::AtomicSection buf_hdr_lock(&buf.flags);
  bool needless = for_input ? buf.Is(BM_VALID) : !buf.Is(BM_DIRTY);
  if (needless) return false;
  buf.flags |= BM_IO_IN_PROGRESS;
  return true;
}

void TerminateBufferIO(Backend& be, BufferDesc& buf, bool clear_dirty,
                       uint32_t set_flags) {
  env::AtomicSection buf_hdr_lock(&buf.flags);
  SIM_CHECK(buf.Is(BM_IO_IN_PROGRESS));
  buf.flags &= ~(BM_IO_IN_PROGRESS | BM_IO_ERROR);
  bool redirtied = buf.Is(BM_JUST_DIRTIED);
  if (clear_dirty && (!redirtied || PLANTED(evict_ignores_just_dirtied))) {
    buf.flags &= ~(BM_DIRTY | BM_CHECKPOINT_NEEDED);
  }
  buf.flags |= set_flags;
  ConditionVariableBroadcast(be, buf.io_cv);
}

namespace {

// Says that somebody waits, unless there is nothing to wait for.
bool MustWaitForPins(BufferDesc& buf, const BufferTag& tag, int pins,
                     bool say_so) {
  env::AtomicSection buf_hdr_lock(&buf.flags);
  if (buf.refcount < pins || buf.tag != tag) return false;
  if (say_so) buf.flags |= BM_PIN_COUNT_WAITER;
  return true;
}

}  // namespace

void WaitForPins(Backend& be, BufferDesc& buf, const BufferTag& tag, int pins) {
  if (buf.PinsNow() < pins) return;
  bool late = PLANTED(pin_waiter_flag_set_late);
  while (MustWaitForPins(buf, tag, pins, !late)) {
    if (late) {
      YIELD_POINT_BEFORE(pin_waiter_gap, buf.pin_cv.NextChanges());
      buf.flags |= BM_PIN_COUNT_WAITER;
    }
    ConditionVariableSleep(be, buf.pin_cv);
  }
  ConditionVariableCancelSleep(be, buf.pin_cv);
}

namespace {

// Makes WAL durable up to lsn.
void FlushWalForPage(Backend& be, XLogRecPtr lsn) {
  if (lsn == kInvalidXLogRecPtr || PLANTED(page_written_before_wal)) return;
  BufferWalHooks* hooks = SharedBuffers(be).wal_hooks;
  SIM_CHECK(hooks != nullptr);
  hooks->FlushWal(be, lsn);
}

// The LSN may move under a share lock, as long as the page is clean.
XLogRecPtr LsnOf(const BufferDesc& buf, const char* page) {
  env::AtomicSection buf_hdr_lock(&buf.flags);
  return PageGetLSN(page);
}

// Returns the page's LSN. From here on whoever dirties it does so anew.
XLogRecPtr BeginWrite(BufferDesc& buf, const char* page) {
  env::AtomicSection buf_hdr_lock(&buf.flags);
  buf.flags &= ~BM_JUST_DIRTIED;
  return PageGetLSN(page);
}

XLogRecPtr WalFlushedUpTo(Backend& be) {
  BufferWalHooks* hooks = SharedBuffers(be).wal_hooks;
  return hooks == nullptr ? kInvalidXLogRecPtr : hooks->FlushedUpTo(be);
}

// Writes the copy of the page that FlushBuffer made, and ends the I/O.
Status WriteCopy(Backend& be, BufferDesc& buf, XLogRecPtr lsn) {
  std::span<char, BLCKSZ> copy(LocalBuffers(be).write_copy);
  INJECTION_POINT_BEFORE(buffer_flush_after_wal, buf.content_lock.NextReads());
  be.env->events->Emit(env::EventKind::kPageWrite, EventPage(buf.tag),
                       static_cast<uint64_t>(buf.tag.forkNum), lsn,
                       WalFlushedUpTo(be));
  Status status =
      SmgrWrite(be, buf.tag.rnode, buf.tag.forkNum, buf.tag.blockNum, copy);
  if (!status.ok()) {
    TerminateBufferIO(be, buf, PLANTED(io_error_leaves_clean), BM_IO_ERROR);
    return status;
  }
  if (be.config().detect_zeroed_pages && buf.tag.forkNum == kMainFork &&
      !PageIsNew(copy.data())) {
    NoteHeldBlock(be, buf.tag.rnode, buf.tag.blockNum);
  }
  INJECTION_POINT_BEFORE(buffer_flush_after_write,
                         buf.content_lock.NextChanges());
  TerminateBufferIO(be, buf, /*clear_dirty=*/true, 0);
  return {};
}

}  // namespace

Status FlushBuffer(Backend& be, BufferDesc& buf) {
  SIM_CHECK(!buf.content_lock.free());
  if (!StartBufferIO(be, buf, /*for_input=*/false)) return {};
  const char* page = PageOf(be, buf);
  XLogRecPtr lsn = BeginWrite(buf, page);
  FlushWalForPage(be, lsn);

  // Hint bits may have been set meanwhile, but a share lock does not let the
  // LSN of a dirty page move.
  SIM_CHECK(LsnOf(buf, page) == lsn);
  std::span<char, BLCKSZ> copy(LocalBuffers(be).write_copy);
  PageSetChecksumCopy(page, ChecksumBlock(be.config(), buf.tag),
                      be.config().data_checksums, copy);
  if (!PLANTED(evict_ignores_just_dirtied)) return WriteCopy(be, buf, lsn);
  // Nothing keeps others from changing the page meanwhile.
  LWLockRelease(be, buf.content_lock);
  Status status = WriteCopy(be, buf, lsn);
  LWLockAcquire(be, buf.content_lock, LWLockMode::kShared);
  return status;
}

Status LockAndFlushBuffer(Backend& be, BufferDesc& buf) {
  PinBuffer(be, buf, /*bump=*/false);
  LWLockAcquire(be, buf.content_lock, LWLockMode::kShared);
  Status status = FlushBuffer(be, buf);
  LWLockRelease(be, buf.content_lock);
  UnpinBuffer(be, buf);
  return status;
}

}  // namespace engine
