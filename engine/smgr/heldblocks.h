// Held blocks: which blocks of relations have been written with content. An
// option beyond PostgreSQL (detect_zeroed_pages), off by default.
//
// To PostgreSQL a page of zeros is a new one, so that a page that the device
// lost reads as an empty one, and its rows are gone without a word. With the
// option on, a page of zeros that held content is refused.
//
//   global/pg_held_blocks   magic 8 | CRC-32C of the rest 4 | relations 4, then
//                           for each: spcNode 4 | dbNode 4 | relNode 4 |
//                           blocks 4 | a bit per block, in bytes
//
// Memory is ahead of the file: a block counts from its first write on. What was
// written before the fsyncs of a checkpoint, and has not been truncated since,
// goes into the file after them and before the checkpoint counts. So a bit in
// the file says that the content was on the device; a block that was first
// written later is made anew by redo, which does not read it, and a truncation
// whose record the checkpoint does not cover is repeated by redo. Main forks
// alone: the other ones are hints.
#ifndef MUSTH_ENGINE_SMGR_HELDBLOCKS_H_
#define MUSTH_ENGINE_SMGR_HELDBLOCKS_H_

#include <string>

#include "engine/common/backend.h"

namespace engine {

inline constexpr char kHeldBlocksPath[] = "global/pg_held_blocks";

// The block of the main fork has content in its file. Suspends: no.
void NoteHeldBlock(Backend& be, const RelFileNode& rnode, BlockNumber block);
bool IsHeldBlock(Backend& be, const RelFileNode& rnode, BlockNumber block);
// Blocks from first on are gone. Suspends: no.
void ForgetHeldBlocks(Backend& be, const RelFileNode& rnode, BlockNumber first);

// A checkpoint is about to sync what has been written. Suspends: no.
void BeginHeldBlocks(Backend& be);
// It has synced it, and no truncation is half done: replaces the file.
// Suspends: yes. Errors: the device's.
Status SaveHeldBlocks(Backend& be);
// Takes over the file; a cluster that never had the option on has none.
// Suspends: yes. Errors: ERRCODE_DATA_CORRUPTED, the device's.
Status LoadHeldBlocks(Backend& be);

}  // namespace engine

#endif  // MUSTH_ENGINE_SMGR_HELDBLOCKS_H_
