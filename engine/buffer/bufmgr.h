// Buffer manager: shared pages of relation forks.
//
// Rules (F7 of PostgreSQL's README): pin before lock; share lock to read
// tuple headers, pin alone to go on reading a visible tuple; exclusive lock to
// change a page; cleanup lock (exclusive, sole pin) to move tuples. Dirtying:
// MarkBufferDirty, XLogInsert, PageSetLSN in one critical section under the
// exclusive lock. A dirty page is written only after WAL up to its LSN is
// flushed. Replacement: clock sweep, usage count at most 5.
// Source: src/backend/storage/buffer/{bufmgr,freelist,buf_table}.c.
#ifndef MUSTH_ENGINE_BUFFER_BUFMGR_H_
#define MUSTH_ENGINE_BUFFER_BUFMGR_H_

#include <functional>

#include "engine/common/backend.h"
#include "engine/page/bufpage.h"

namespace engine {

// 1-based index of a shared buffer; 0 is none.
using Buffer = int32_t;
inline constexpr Buffer kInvalidBuffer = 0;

enum class ReadBufferMode : uint8_t {
  kNormal,       // verify; a bad page is ERRCODE_DATA_CORRUPTED
  kZeroOnError,  // a bad page becomes zeros
  kZeroAndLock,  // do not read: zeros, returned exclusively locked
  kNormalNoLog,  // as kNormal; a block past EOF yields kInvalidBuffer
};

enum class BufferLockMode : uint8_t { kUnlock, kShare, kExclusive };

// What the write-ahead log does for the buffer manager; bound by the node.
class BufferWalHooks {
 public:
  virtual ~BufferWalHooks() = default;
  // Returns once WAL up to lsn is durable. Suspends: yes. PANICs on failure.
  virtual void FlushWal(Backend& be, XLogRecPtr lsn) = 0;
  // WAL-logs a page image before its first hint-bit change since the redo
  // point. Returns the record's end, or kInvalidXLogRecPtr if none was needed.
  virtual XLogRecPtr SaveBufferForHint(Backend& be, Buffer buffer) = 0;
  // How far WAL is known durable (for events and background writing).
  virtual XLogRecPtr FlushedUpTo(Backend& be) = 0;
};

void BufferShmemInit(SharedMemory& shared);
void SetBufferWalHooks(SharedMemory& shared, BufferWalHooks* hooks);
// Creates this backend's pin table.
void BufferInit(Backend& be);

// Pins the block, reading it if it is not cached. block may not be
// kInvalidBlockNumber; extending is ExtendRelation().
// Suspends: yes. Errors: ERRCODE_DATA_CORRUPTED ("invalid page in block %u of
// relation %s"), I/O errors, 53200 when every buffer is pinned.
Result<Buffer> ReadBufferExtended(Backend& be, const RelFileNode& rnode,
                                  ForkNumber fork, BlockNumber block,
                                  ReadBufferMode mode);
inline Result<Buffer> ReadBuffer(Backend& be, const RelFileNode& rnode,
                                 BlockNumber block) {
  return ReadBufferExtended(be, rnode, kMainFork, block,
                            ReadBufferMode::kNormal);
}

// Appends one zeroed block and returns it pinned and exclusively locked.
// Requires: the caller holds the relation extension lock, or nobody else can
// see the relation. Suspends: yes.
Result<Buffer> ExtendRelation(Backend& be, const RelFileNode& rnode,
                              ForkNumber fork);

// Suspends: no.
void ReleaseBuffer(Backend& be, Buffer buffer);
void IncrBufferRefCount(Backend& be, Buffer buffer);
void UnlockReleaseBuffer(Backend& be, Buffer buffer);

// Suspends: yes, unless mode is kUnlock.
void LockBuffer(Backend& be, Buffer buffer, BufferLockMode mode);
// Locks exclusively once the caller's pin is the only one. Requires: exactly
// one pin. Suspends: yes.
void LockBufferForCleanup(Backend& be, Buffer buffer);
// Suspends: no.
bool ConditionalLockBuffer(Backend& be, Buffer buffer);
bool ConditionalLockBufferForCleanup(Backend& be, Buffer buffer);
// Whether an exclusive lock that is held is good as a cleanup lock.
bool IsBufferCleanupOK(Backend& be, Buffer buffer);

// The page. Valid while pinned.
char* BufferGetPage(Backend& be, Buffer buffer);
BufferTag BufferGetTag(Backend& be, Buffer buffer);
// The page's LSN where only a share lock, or none, is held: MarkBufferDirtyHint
// may be moving it.
XLogRecPtr BufferGetLSNAtomic(Backend& be, Buffer buffer);

// Requires: exclusive lock. Suspends: no.
void MarkBufferDirty(Backend& be, Buffer buffer);
// For hint bits. Requires: share lock at least. May WAL-log the page first,
// so it may suspend.
void MarkBufferDirtyHint(Backend& be, Buffer buffer);

// Writes every page that was dirty when the call began. Suspends: yes.
Status CheckPointBuffers(Backend& be);
// One round of the background writer: writes up to max_pages cold dirty
// pages. Returns how many.
Result<int> BgBufferSync(Backend& be, int max_pages);
// Forgets, without writing, pages of the fork from first_block on. Waits for
// writes of them that are under way. Requires: no pin of this backend's on
// them, no other user of the relation. Suspends: yes.
void DropRelationBuffers(Backend& be, const RelFileNode& rnode, ForkNumber fork,
                         BlockNumber first_block);
// As above for all forks.
void DropRelationAllBuffers(Backend& be, const RelFileNode& rnode);
// Writes all dirty pages of one relation, without fsync. Suspends: yes.
Status FlushRelationBuffers(Backend& be, const RelFileNode& rnode);

// Drops every pin and content lock of this backend (transaction abort).
void ReleaseAllBuffers(Backend& be);
// Pins this backend holds; 0 between statements.
int BuffersPinned(Backend& be);

}  // namespace engine

#endif  // MUSTH_ENGINE_BUFFER_BUFMGR_H_
