#include "engine/wal/xlogutils.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "engine/buffer/buffer_guard.h"
#include "engine/common/errcodes.h"
#include "engine/common/sites.h"
#include "engine/smgr/smgr.h"
#include "engine/wal/xlog_ctl.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xlogrecovery.h"

namespace engine {
namespace {

void LogInvalidPage(Backend& be, const BufferTag& tag, bool present) {
  // The first reference says most about what went missing.
  XLogLocal(be).invalid_page_tab.emplace(tag, present);
}

void EmitRedoPage(Backend& be, const XLogReaderState& record,
                  const BufferTag& tag, XLogRedoAction action) {
  be.env->events->Emit(
      env::EventKind::kRedoPage, record.EndRecPtr(),
      static_cast<uint64_t>(tag.rnode.relNode) << 32 | tag.blockNum,
      static_cast<uint64_t>(tag.forkNum), static_cast<uint64_t>(action));
}

// Creates the fork's file if it does not exist: a later record may drop it,
// and then nobody can tell that it was missing here.
Status EnsureForkExists(Backend& be, const BufferTag& tag) {
  auto& known = XLogLocal(be).known_forks;
  std::pair<RelFileNode, ForkNumber> key(tag.rnode, tag.forkNum);
  if (known.count(key) != 0) return {};
  RETURN_IF_ERROR(SmgrCreate(be, tag.rnode, tag.forkNum, /*is_redo=*/true));
  known.insert(key);
  return {};
}

// Appends zeroed blocks until tag's exists; returns it pinned and exclusively
// locked.
Result<Buffer> ExtendTo(Backend& be, const BufferTag& tag) {
  for (;;) {
    ASSIGN_OR_RETURN(Buffer buffer, ExtendRelation(be, tag.rnode, tag.forkNum));
    BlockNumber block = BufferGetTag(be, buffer).blockNum;
    if (block == tag.blockNum) return buffer;
    UnlockReleaseBuffer(be, buffer);
    if (block > tag.blockNum) {
      return SqlError(ERRCODE_INTERNAL_ERROR,
                      "unexpected block number {} while extending relation {} "
                      "to block {}",
                      block, RelationPath(tag.rnode, tag.forkNum),
                      tag.blockNum);
    }
  }
}

// A block whose content does not matter: zeroed and exclusively locked.
Result<Buffer> ReadZeroedBlock(Backend& be, const BufferTag& tag) {
  RETURN_IF_ERROR(EnsureForkExists(be, tag));
  ASSIGN_OR_RETURN(BlockNumber nblocks,
                   SmgrNblocks(be, tag.rnode, tag.forkNum));
  if (tag.blockNum >= nblocks) return ExtendTo(be, tag);
  return ReadBufferExtended(be, tag.rnode, tag.forkNum, tag.blockNum,
                            ReadBufferMode::kZeroAndLock);
}

// A block that must hold something: pinned and exclusively locked, or
// kInvalidBuffer (and noted) if it is missing or all zeros.
Result<Buffer> ReadExistingBlock(Backend& be, const BufferTag& tag) {
  RETURN_IF_ERROR(EnsureForkExists(be, tag));
  ASSIGN_OR_RETURN(BlockNumber nblocks,
                   SmgrNblocks(be, tag.rnode, tag.forkNum));
  if (tag.blockNum >= nblocks) {
    LogInvalidPage(be, tag, /*present=*/false);
    return kInvalidBuffer;
  }
  ASSIGN_OR_RETURN(Buffer buffer,
                   ReadBufferExtended(be, tag.rnode, tag.forkNum, tag.blockNum,
                                      ReadBufferMode::kNormal));
  LockBuffer(be, buffer, BufferLockMode::kExclusive);
  if (PageIsNew(BufferGetPage(be, buffer))) {
    UnlockReleaseBuffer(be, buffer);
    LogInvalidPage(be, tag, /*present=*/true);
    return kInvalidBuffer;
  }
  return buffer;
}

Result<RedoBuffer> RestoreBlock(Backend& be, XLogReaderState& record,
                                uint8_t block_id) {
  const BufferTag& tag = record.block(block_id).tag;
  ASSIGN_OR_RETURN(Buffer buffer, ReadZeroedBlock(be, tag));
  BufferGuard guard(be, buffer, /*locked=*/true);
  RETURN_IF_ERROR(record.RestoreBlockImage(
      block_id, std::span<char, BLCKSZ>(guard.page(), BLCKSZ)));
  // The image was taken before the record had a position. An all-zero page
  // stays as it is.
  if (!PageIsNew(guard.page()) && !PLANTED(page_lsn_not_set_in_redo)) {
    PageSetLSN(guard.page(), record.EndRecPtr());
  }
  MarkBufferDirty(be, buffer);
  EmitRedoPage(be, record, tag, XLogRedoAction::BLK_RESTORED);
  return RedoBuffer{XLogRedoAction::BLK_RESTORED, guard.Detach()};
}

Status NoSuchBlock(const XLogReaderState& record, uint8_t block_id) {
  return SqlError(ERRCODE_DATA_CORRUPTED,
                  "failed to locate backup block with ID {} in WAL record at "
                  "{}",
                  block_id, LsnToString(record.ReadRecPtr()));
}

}  // namespace

Result<RedoBuffer> XLogReadBufferForRedo(Backend& be, XLogReaderState& record,
                                         uint8_t block_id) {
  if (!record.HasBlock(block_id)) return NoSuchBlock(record, block_id);
  const DecodedBkpBlock& block = record.block(block_id);
  if (block.will_init()) {
    return SqlError(ERRCODE_DATA_CORRUPTED,
                    "block with WILL_INIT flag in WAL record must be zeroed by "
                    "redo routine");
  }
  if (block.has_image && block.apply_image) {
    return RestoreBlock(be, record, block_id);
  }
  ASSIGN_OR_RETURN(Buffer buffer, ReadExistingBlock(be, block.tag));
  XLogRedoAction action = XLogRedoAction::BLK_NOTFOUND;
  if (buffer != kInvalidBuffer) {
    bool newer = record.EndRecPtr() <= PageGetLSN(BufferGetPage(be, buffer));
    action = newer ? XLogRedoAction::BLK_DONE : XLogRedoAction::BLK_NEEDS_REDO;
    // A newer page may live in the page cache alone, after a failed fsync.
    // Images rewrite such pages; without them redo must.
    if (newer && !XLogCtl(be).fullPageWrites) MarkBufferDirty(be, buffer);
  }
  EmitRedoPage(be, record, block.tag, action);
  return RedoBuffer{action, buffer};
}

Result<Buffer> XLogInitBufferForRedo(Backend& be, XLogReaderState& record,
                                     uint8_t block_id) {
  if (!record.HasBlock(block_id)) return NoSuchBlock(record, block_id);
  const DecodedBkpBlock& block = record.block(block_id);
  if (!block.will_init()) {
    return SqlError(ERRCODE_DATA_CORRUPTED,
                    "block to be initialized in redo routine must be marked "
                    "with WILL_INIT flag in the WAL record");
  }
  if (PLANTED(redo_init_needs_existing_page)) {
    ASSIGN_OR_RETURN(BlockNumber nblocks,
                     SmgrNblocks(be, block.tag.rnode, block.tag.forkNum));
    if (block.tag.blockNum >= nblocks) return NoSuchBlock(record, block_id);
  }
  ASSIGN_OR_RETURN(Buffer buffer, ReadZeroedBlock(be, block.tag));
  EmitRedoPage(be, record, block.tag, XLogRedoAction::BLK_NEEDS_REDO);
  return buffer;
}

void XLogDropRelation(Backend& be, const RelFileNode& rnode) {
  XLogLocalData& local = XLogLocal(be);
  std::erase_if(local.invalid_page_tab,
                [&](const auto& entry) { return entry.first.rnode == rnode; });
  std::erase_if(local.known_forks,
                [&](const auto& key) { return key.first == rnode; });
}

void XLogTruncateRelation(Backend& be, const RelFileNode& rnode,
                          ForkNumber fork, BlockNumber nblocks) {
  std::erase_if(XLogLocal(be).invalid_page_tab, [&](const auto& entry) {
    const BufferTag& tag = entry.first;
    return tag.rnode == rnode && tag.forkNum == fork && tag.blockNum >= nblocks;
  });
}

void XLogCheckInvalidPages(Backend& be) {
  const auto& table = XLogLocal(be).invalid_page_tab;
  if (table.empty()) return;
  const auto& [tag, present] = *table.begin();
  Panic(be, fmt::format("WAL contains references to invalid pages: page {} of "
                        "relation {} {}",
                        tag.blockNum, RelationPath(tag.rnode, tag.forkNum),
                        present ? "is uninitialized" : "does not exist"));
}

}  // namespace engine
