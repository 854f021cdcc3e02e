// Storage manager: relation forks as files of env::Files, segmented at 1 GB.
//
// Paths: base/DB/REL, global/REL, with _fsm, _vm, _init and .SEGNO suffixes.
// Open files are cached per backend; the cache is dropped when a relation is
// dropped or truncated by anyone (a shared generation number).
// Source: src/backend/storage/smgr/{smgr,md}.c.
#ifndef MUSTH_ENGINE_SMGR_SMGR_H_
#define MUSTH_ENGINE_SMGR_SMGR_H_

#include <span>
#include <string>

#include "engine/common/backend.h"

namespace engine {

// "base/5/16384", "base/5/16384_vm". segno > 0 appends ".segno".
std::string RelationPath(const RelFileNode& rnode, ForkNumber fork,
                         uint32_t segno = 0);

// Creates the shared state (sync requests, generations).
void SmgrShmemInit(SharedMemory& shared);
// Creates this backend's file cache.
void SmgrInit(Backend& be);

// Creates the fork's file. With is_redo an existing file is fine.
// Suspends: yes. Errors: 58P01, 53100, 58030 as PostgreSQL words them.
Status SmgrCreate(Backend& be, const RelFileNode& rnode, ForkNumber fork,
                  bool is_redo);
Result<bool> SmgrExists(Backend& be, const RelFileNode& rnode, ForkNumber fork);
// Units: blocks.
Result<BlockNumber> SmgrNblocks(Backend& be, const RelFileNode& rnode,
                                ForkNumber fork);
// Reads one block. A short read is an error unless in_recovery and beyond end
// of file, which yields zeros.
Status SmgrRead(Backend& be, const RelFileNode& rnode, ForkNumber fork,
                BlockNumber block, std::span<char, BLCKSZ> page);
// Overwrites an existing block and registers its segment for fsync at the
// next checkpoint. A short write is an error.
Status SmgrWrite(Backend& be, const RelFileNode& rnode, ForkNumber fork,
                 BlockNumber block, std::span<const char, BLCKSZ> page);
// Appends block (which must be the current length or beyond it).
Status SmgrExtend(Backend& be, const RelFileNode& rnode, ForkNumber fork,
                  BlockNumber block, std::span<const char, BLCKSZ> page);
// Shortens the fork to nblocks. WAL and buffers are the caller's business.
Status SmgrTruncate(Backend& be, const RelFileNode& rnode, ForkNumber fork,
                    BlockNumber nblocks);
// Removes all forks: the main fork's first segment is truncated now and
// unlinked after the next checkpoint, unless is_redo.
Status SmgrUnlink(Backend& be, const RelFileNode& rnode, bool is_redo);
// fsyncs all segments of the fork at once (bootstrap, copies).
Status SmgrImmedSync(Backend& be, const RelFileNode& rnode, ForkNumber fork);

}  // namespace engine

#endif  // MUSTH_ENGINE_SMGR_SMGR_H_
