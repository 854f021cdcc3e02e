// What redo routines use: the record at hand and the buffers it touches.
// Source: src/backend/access/transam/xlogutils.c.
#ifndef MUSTH_ENGINE_WAL_XLOGUTILS_H_
#define MUSTH_ENGINE_WAL_XLOGUTILS_H_

#include "engine/buffer/bufmgr.h"
#include "engine/wal/xlogreader.h"

namespace engine {

enum class XLogRedoAction : uint8_t {
  BLK_NEEDS_REDO,  // apply the change
  BLK_DONE,        // the page is newer already
  BLK_RESTORED,    // restored from a full-page image
  BLK_NOTFOUND,    // block does not exist (dropped or truncated later)
};

struct RedoBuffer {
  XLogRedoAction action = XLogRedoAction::BLK_NOTFOUND;
  Buffer buffer = kInvalidBuffer;  // pinned and exclusively locked, or none
};

// Reads and locks the block that the record registered under block_id, and
// restores its image if it has one. Suspends: yes.
Result<RedoBuffer> XLogReadBufferForRedo(Backend& be, XLogReaderState& record,
                                         uint8_t block_id);
// For WILL_INIT blocks: a zeroed, exclusively locked page.
Result<Buffer> XLogInitBufferForRedo(Backend& be, XLogReaderState& record,
                                     uint8_t block_id);
// Relation drop and truncation resolve earlier references to missing pages.
void XLogDropRelation(Backend& be, const RelFileNode& rnode);
void XLogTruncateRelation(Backend& be, const RelFileNode& rnode,
                          ForkNumber fork, BlockNumber nblocks);

}  // namespace engine

#endif  // MUSTH_ENGINE_WAL_XLOGUTILS_H_
