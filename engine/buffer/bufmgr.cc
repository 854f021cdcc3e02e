#include "engine/buffer/bufmgr.h"

#include <cstring>

#include "engine/buffer/buf_internals.h"
#include "engine/buffer/freelist.h"
#include "engine/common/errcodes.h"
#include "engine/common/sites.h"
#include "engine/ipc/proc.h"
#include "engine/smgr/heldblocks.h"
#include "engine/smgr/smgr.h"

namespace engine {
namespace {

// A pinned buffer for a tag; unless valid, its I/O is the caller's to do.
struct Allocation {
  BufferDesc* buf;
  bool valid;
};

// Gives back a victim that is not needed after all.
void ReturnVictim(Backend& be, BufferDesc& buf) {
  UnpinBuffer(be, buf);
  env::AtomicSection buf_hdr_lock(&buf.flags);
  if (buf.refcount == 0 && !buf.Is(BM_TAG_VALID)) {
    SharedBuffers(be).policy->Freed(buf.id);
  }
}

// Writes a pinned dirty victim. Suspends: yes.
Status WriteVictim(Backend& be, BufferDesc& buf) {
  // Whoever holds the lock has a pin, and the victim had none.
  SIM_CHECK(
      LWLockConditionalAcquire(be, buf.content_lock, LWLockMode::kShared));
  INJECTION_POINT_BEFORE(buffer_evict_dirty, buf.content_lock.NextReads());
  Status status = FlushBuffer(be, buf);
  LWLockRelease(be, buf.content_lock);
  return status;
}

// Requires: pin.
bool IsCleanAndMine(const BufferDesc& buf) {
  env::AtomicSection buf_hdr_lock(&buf.flags);
  return buf.refcount == 1 && !buf.Is(BM_DIRTY);
}

// A clean buffer that only this backend has pinned. Suspends: yes.
Result<BufferDesc*> GetVictimBuffer(Backend& be) {
  BufferShared& shared = SharedBuffers(be);
  while (true) {
    Buffer id = shared.policy->NextVictim(shared.buffers);
    if (id == kInvalidBuffer) {
      return SqlError(ERRCODE_OUT_OF_MEMORY, "no unpinned buffers available");
    }
    BufferDesc& buf = GetBufferDescriptor(be, id);
    PinBuffer(be, buf, /*bump=*/false);
    if (buf.IsNow(BM_DIRTY)) {
      Status status = WriteVictim(be, buf);
      if (!status.ok()) {
        UnpinBuffer(be, buf);
        return status;
      }
    }
    // While it was written somebody may have pinned or dirtied it.
    if (IsCleanAndMine(buf)) return &buf;
    ReturnVictim(be, buf);
  }
}

// Gives a victim its new identity and begins its I/O. Suspends: no.
void RetagVictim(Backend& be, BufferDesc& buf, const BufferTag& tag) {
  env::AtomicSection buf_hdr_lock(&buf.flags);
  SIM_CHECK(buf.refcount == 1 && PrivateRefCount(be, buf) == 1);
  SIM_CHECK(!buf.Is(BM_DIRTY | BM_IO_IN_PROGRESS) && buf.content_lock.free());
  BufTable& table = SharedBuffers(be).table;
  if (buf.Is(BM_TAG_VALID)) table.Delete(buf.tag);
  table.Insert(tag, buf.id);
  bool awaited = buf.Is(BM_PIN_COUNT_WAITER);
  buf.tag = tag;
  buf.flags = BM_TAG_VALID | BM_IO_IN_PROGRESS;
  buf.usage_count = 1;
  // Whoever waits for the old page's pins sees that it is gone.
  if (awaited) ConditionVariableBroadcast(be, buf.pin_cv);
}

// Suspends: yes, unless the page is cached.
Result<Allocation> BufferAlloc(Backend& be, const BufferTag& tag) {
  BufTable& table = SharedBuffers(be).table;
  while (true) {
    if (Buffer id = table.Lookup(tag); id != kInvalidBuffer) {
      BufferDesc& buf = GetBufferDescriptor(be, id);
      PinBuffer(be, buf, /*bump=*/true);
      if (buf.IsNow(BM_VALID)) return Allocation{&buf, true};
      // Somebody is reading it. If that fails, it is this backend's turn.
      bool mine = StartBufferIO(be, buf, /*for_input=*/true);
      return Allocation{&buf, !mine};
    }
    ASSIGN_OR_RETURN(BufferDesc * victim, GetVictimBuffer(be));
    if (table.Lookup(tag) != kInvalidBuffer) {
      ReturnVictim(be, *victim);  // it was read while this backend waited
      continue;
    }
    RetagVictim(be, *victim, tag);
    return Allocation{victim, false};
  }
}

// The I/O of an allocation failed: others who wait for the page try themselves.
void AbandonInput(Backend& be, BufferDesc& buf) {
  TerminateBufferIO(be, buf, /*clear_dirty=*/false, BM_IO_ERROR);
  UnpinBuffer(be, buf);
}

// Locks a page that nobody else can have locked, as it is not valid yet.
void LockInvisible(Backend& be, BufferDesc& buf) {
  SIM_CHECK(
      LWLockConditionalAcquire(be, buf.content_lock, LWLockMode::kExclusive));
}

// Zeros where the option detect_zeroed_pages knows of content. Redo looks after
// such pages itself: it may yet come to where the relation was truncated.
bool LostItsContent(Backend& be, const BufferTag& tag, const char* page) {
  return be.config().detect_zeroed_pages && !be.in_recovery &&
         tag.forkNum == kMainFork && PageIsNew(page) &&
         IsHeldBlock(be, tag.rnode, tag.blockNum);
}

Status VerifyBlock(Backend& be, const BufferTag& tag, const char* page) {
  Status verified = PageVerify(page, ChecksumBlock(be.config(), tag),
                               be.config().data_checksums);
  bool lost = verified.ok() && LostItsContent(be, tag, page);
  if (verified.ok() && !lost) return {};
  return SqlError(ERRCODE_DATA_CORRUPTED,
                  "invalid page in block {} of relation {}", tag.blockNum,
                  RelationPath(tag.rnode, tag.forkNum))
      .WithDetail(lost ? "The page is all zeros but has held data."
                       : std::string(verified.message()));
}

// Reads and verifies the block. Suspends: yes.
Status ReadBlock(Backend& be, BufferDesc& buf, ReadBufferMode mode) {
  char* page = PageOf(be, buf);
  const BufferTag& tag = buf.tag;
  RETURN_IF_ERROR(SmgrRead(be, tag.rnode, tag.forkNum, tag.blockNum,
                           std::span<char, BLCKSZ>(page, BLCKSZ)));
  Status verified = VerifyBlock(be, tag, page);
  if (!verified.ok()) {
    if (mode != ReadBufferMode::kZeroOnError) return verified;
    std::memset(page, 0, BLCKSZ);
  }
  be.env->events->Emit(env::EventKind::kPageRead, EventPage(tag),
                       static_cast<uint64_t>(tag.forkNum), PageGetLSN(page));
  return {};
}

// Whether the file has the block; a missing file has none.
Result<bool> BlockExists(Backend& be, const BufferTag& tag) {
  Result<BlockNumber> blocks = SmgrNblocks(be, tag.rnode, tag.forkNum);
  if (blocks.ok()) return tag.blockNum < *blocks;
  if (blocks.status().sqlstate() == ERRCODE_UNDEFINED_FILE) return false;
  return blocks.status();
}

void SetDirty(Backend& be, BufferDesc& buf) {
  env::AtomicSection buf_hdr_lock(&buf.flags);
  if (buf.IsDirtiedAnew()) return;
  buf.flags |= BM_DIRTY | BM_JUST_DIRTIED;
  be.env->events->Emit(env::EventKind::kPageDirty, EventPage(buf.tag),
                       static_cast<uint64_t>(buf.tag.forkNum),
                       PageGetLSN(PageOf(be, buf)));
}

// The descriptor of a buffer that this backend has pinned.
BufferDesc& PinnedBuffer(Backend& be, Buffer buffer) {
  BufferDesc& buf = GetBufferDescriptor(be, buffer);
  SIM_CHECK(PrivateRefCount(be, buf) > 0);
  return buf;
}

}  // namespace

void BufferShmemInit(SharedMemory& shared) {
  SIM_CHECK(shared.config.shared_buffers > 0);
  auto count = static_cast<size_t>(shared.config.shared_buffers);
  shared.slots.Set(Layer::kBuffer,
                   std::make_unique<BufferShared>(
                       count, std::make_unique<ClockSweep>(count)));
}

void SetBufferWalHooks(SharedMemory& shared, BufferWalHooks* hooks) {
  shared.slots.Get<BufferShared>(Layer::kBuffer).wal_hooks = hooks;
}

void BufferInit(Backend& be) {
  be.local.Set(Layer::kBuffer,
               std::make_unique<BufferLocal>(SharedBuffers(be).buffers.size()));
}

Result<Buffer> ReadBufferExtended(Backend& be, const RelFileNode& rnode,
                                  ForkNumber fork, BlockNumber block,
                                  ReadBufferMode mode) {
  SIM_CHECK(block != kInvalidBlockNumber);
  BufferTag tag{rnode, fork, block};
  if (mode == ReadBufferMode::kNormalNoLog) {
    ASSIGN_OR_RETURN(bool exists, BlockExists(be, tag));
    if (!exists) return kInvalidBuffer;
  }
  ASSIGN_OR_RETURN(Allocation got, BufferAlloc(be, tag));
  BufferDesc& buf = *got.buf;
  if (got.valid) {
    if (mode == ReadBufferMode::kZeroAndLock) {
      LWLockAcquire(be, buf.content_lock, LWLockMode::kExclusive);
    }
    return buf.id;
  }
  if (mode == ReadBufferMode::kZeroAndLock) {
    std::memset(PageOf(be, buf), 0, BLCKSZ);
    LockInvisible(be, buf);
  } else {
    Status status = ReadBlock(be, buf, mode);
    if (!status.ok()) {
      AbandonInput(be, buf);
      return status;
    }
  }
  TerminateBufferIO(be, buf, /*clear_dirty=*/false, BM_VALID);
  return buf.id;
}

Result<Buffer> ExtendRelation(Backend& be, const RelFileNode& rnode,
                              ForkNumber fork) {
  ASSIGN_OR_RETURN(BlockNumber block, SmgrNblocks(be, rnode, fork));
  if (block == kInvalidBlockNumber) {
    return SqlError(ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                    "cannot extend relation {} beyond {} blocks",
                    RelationPath(rnode, fork), kInvalidBlockNumber);
  }
  ASSIGN_OR_RETURN(Allocation got,
                   BufferAlloc(be, BufferTag{rnode, fork, block}));
  BufferDesc& buf = *got.buf;
  char* page = PageOf(be, buf);
  if (got.valid && PLANTED(extension_trusts_valid_buffer)) {
    LWLockAcquire(be, buf.content_lock, LWLockMode::kExclusive);
    return buf.id;
  }
  if (got.valid) {
    // Redo may have left a cached zero page behind the end of the file.
    if (!PageIsNew(page) || buf.IsNow(BM_DIRTY)) {
      UnpinBuffer(be, buf);
      return SqlError(ERRCODE_DATA_CORRUPTED,
                      "unexpected data beyond EOF in block {} of relation {}",
                      block, RelationPath(rnode, fork));
    }
    {
      env::AtomicSection buf_hdr_lock(&buf.flags);
      buf.flags &= ~BM_VALID;
    }
    SIM_CHECK(StartBufferIO(be, buf, /*for_input=*/true));
  }
  std::memset(page, 0, BLCKSZ);
  Status status = SmgrExtend(be, rnode, fork, block,
                             std::span<const char, BLCKSZ>(page, BLCKSZ));
  if (!status.ok()) {
    AbandonInput(be, buf);
    // The page stays in the pool, as if the file had it.
    if (PLANTED(extension_trusts_valid_buffer)) buf.flags |= BM_VALID;
    return status;
  }
  LockInvisible(be, buf);
  TerminateBufferIO(be, buf, /*clear_dirty=*/false, BM_VALID);
  return buf.id;
}

void ReleaseBuffer(Backend& be, Buffer buffer) {
  UnpinBuffer(be, GetBufferDescriptor(be, buffer));
}

void IncrBufferRefCount(Backend& be, Buffer buffer) {
  ++PrivateRefCount(be, PinnedBuffer(be, buffer));
}

void UnlockReleaseBuffer(Backend& be, Buffer buffer) {
  LockBuffer(be, buffer, BufferLockMode::kUnlock);
  ReleaseBuffer(be, buffer);
}

void LockBuffer(Backend& be, Buffer buffer, BufferLockMode mode) {
  LWLock& lock = PinnedBuffer(be, buffer).content_lock;
  switch (mode) {
    case BufferLockMode::kUnlock:
      return LWLockRelease(be, lock);
    case BufferLockMode::kShare:
      return LWLockAcquire(be, lock, LWLockMode::kShared);
    case BufferLockMode::kExclusive:
      return LWLockAcquire(be, lock, LWLockMode::kExclusive);
  }
}

bool ConditionalLockBuffer(Backend& be, Buffer buffer) {
  return LWLockConditionalAcquire(be, PinnedBuffer(be, buffer).content_lock,
                                  LWLockMode::kExclusive);
}

void LockBufferForCleanup(Backend& be, Buffer buffer) {
  BufferDesc& buf = PinnedBuffer(be, buffer);
  SIM_CHECK(PrivateRefCount(be, buf) == 1);
  while (true) {
    LWLockAcquire(be, buf.content_lock, LWLockMode::kExclusive);
    if (buf.PinsNow() == 1) return;
    LWLockRelease(be, buf.content_lock);
    WaitForPins(be, buf, buf.tag, 2);
  }
}

bool ConditionalLockBufferForCleanup(Backend& be, Buffer buffer) {
  BufferDesc& buf = PinnedBuffer(be, buffer);
  if (PrivateRefCount(be, buf) != 1 || buf.PinsNow() != 1) return false;
  return ConditionalLockBuffer(be, buffer);
}

bool IsBufferCleanupOK(Backend& be, Buffer buffer) {
  BufferDesc& buf = PinnedBuffer(be, buffer);
  SIM_CHECK(buf.content_lock.held_exclusive() &&
            LWLockHeldByMe(be, buf.content_lock));
  return PrivateRefCount(be, buf) == 1 && buf.PinsNow() == 1;
}

char* BufferGetPage(Backend& be, Buffer buffer) {
  return PageOf(be, PinnedBuffer(be, buffer));
}

BufferTag BufferGetTag(Backend& be, Buffer buffer) {
  return PinnedBuffer(be, buffer).tag;
}

XLogRecPtr BufferGetLSNAtomic(Backend& be, Buffer buffer) {
  const BufferDesc& buf = PinnedBuffer(be, buffer);
  env::AtomicSection buf_hdr_lock(&buf.flags);
  return PageGetLSN(PageOf(be, buf));
}

void MarkBufferDirty(Backend& be, Buffer buffer) {
  BufferDesc& buf = PinnedBuffer(be, buffer);
  SIM_CHECK(buf.content_lock.held_exclusive() &&
            LWLockHeldByMe(be, buf.content_lock));
  SetDirty(be, buf);
}

void MarkBufferDirtyHint(Backend& be, Buffer buffer) {
  BufferDesc& buf = PinnedBuffer(be, buffer);
  SIM_CHECK(LWLockHeldByMe(be, buf.content_lock));
  {
    env::AtomicSection buf_hdr_lock(&buf.flags);
    if (buf.IsDirtiedAnew()) return;
  }
  bool logs_hints = be.config().data_checksums || be.config().wal_log_hints;
  BufferWalHooks* hooks = SharedBuffers(be).wal_hooks;
  if (!logs_hints || hooks == nullptr) return SetDirty(be, buf);

  // Redo cannot write WAL, so a hint is not worth a torn page: it stays in
  // memory only.
  if (be.in_recovery) return;
  // The image must not fall before a redo point while the page is marked dirty
  // after it: a checkpoint that begins in between waits for this process.
  uint8_t& delay = MyProc(be).delayChkptFlags;
  uint8_t before = delay;
  delay |= DELAY_CHKPT_START;
  XLogRecPtr lsn = hooks->SaveBufferForHint(be, buffer);
  {
    env::AtomicSection buf_hdr_lock(&buf.flags);
    if (lsn != kInvalidXLogRecPtr && !buf.Is(BM_DIRTY)) {
      PageSetLSN(PageOf(be, buf), lsn);
    }
    SetDirty(be, buf);
  }
  delay = before;
}

void ReleaseAllBuffers(Backend& be) {
  BufferLocal& local = LocalBuffers(be);
  for (size_t i = 0; i < local.pins.size() && local.pinned > 0; ++i) {
    if (local.pins[i] == 0) continue;
    BufferDesc& buf = SharedBuffers(be).buffers[i];
    while (LWLockHeldByMe(be, buf.content_lock)) {
      LWLockRelease(be, buf.content_lock);
    }
    local.pins[i] = 1;
    UnpinBuffer(be, buf);
  }
}

int BuffersPinned(Backend& be) { return LocalBuffers(be).pinned; }

}  // namespace engine
