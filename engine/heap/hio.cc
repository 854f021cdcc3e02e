#include "engine/heap/hio.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/common/errcodes.h"
#include "engine/common/sites.h"
#include "engine/lock/lmgr.h"
#include "engine/smgr/smgr.h"

namespace engine {
namespace {

// A page with at least this much free counts as empty, whatever fillfactor
// says: one eighth of its line pointers may be left over.
constexpr size_t kNearlyEmptyFreeSpace =
    MaxHeapTupleSize - MaxHeapTuplesPerPage / 8 * sizeof(ItemIdData);

BlockNumber BlockOf(Backend& be, const BufferGuard& buffer) {
  return BufferGetTag(be, buffer.get()).blockNum;
}

// Locks buffer, and other if there is one, in block order.
void LockBoth(Backend& be, BufferGuard* buffer, BufferGuard* other) {
  if (other != nullptr && BlockOf(be, *other) < BlockOf(be, *buffer)) {
    other->Lock(BufferLockMode::kExclusive);
    buffer->Lock(BufferLockMode::kExclusive);
    return;
  }
  buffer->Lock(BufferLockMode::kExclusive);
  if (other != nullptr) other->Lock(BufferLockMode::kExclusive);
}

void InitPage(Backend& be, const BufferGuard& buffer) {
  PageInit(buffer.page(), 0);
  MarkBufferDirty(be, buffer.get());
}

void InitIfNew(Backend& be, const BufferGuard& buffer) {
  if (PageIsNew(buffer.page())) InitPage(be, buffer);
}

// The block, locked, if it has the room; else nothing is left locked.
Result<std::optional<BufferGuard>> TryBlock(Backend& be,
                                            const RelationData& rel,
                                            BlockNumber block, size_t need,
                                            BufferGuard* other) {
  BufferGuard buffer;
  BufferGuard* target = &buffer;
  std::optional<size_t> early_answer;
  if (other != nullptr && BlockOf(be, *other) == block) {
    target = other;
    other->Lock(BufferLockMode::kExclusive);
  } else {
    ASSIGN_OR_RETURN(Buffer pinned, ReadBuffer(be, rel.rd_node, block));
    buffer = BufferGuard(be, pinned);
    bool was_new =
        PLANTED(page_initialised_unlocked) && PageIsNew(buffer.page());
    if (was_new) YIELD_POINT(new_page_seen);
    if (PLANTED(free_space_read_unlocked)) {
      early_answer = PageGetHeapFreeSpace(buffer.page());
    }
    LockBoth(be, &buffer, other);
    if (was_new) InitPage(be, buffer);
  }
  InitIfNew(be, *target);
  size_t room = early_answer.value_or(PageGetHeapFreeSpace(target->page()));
  if (room >= need) {
    rel.target_block = block;
    return std::optional<BufferGuard>(std::move(buffer));
  }
  if (other != nullptr) other->Unlock();
  return std::optional<BufferGuard>();
}

// Adds a block and returns it, locked, with other locked as well.
Result<BufferGuard> AddBlock(Backend& be, const RelationData& rel,
                             RelationExtensionGuard* extension,
                             BufferGuard* other) {
  ASSIGN_OR_RETURN(Buffer added, ExtendRelation(be, rel.rd_node, kMainFork));
  BufferGuard buffer(be, added, true);
  InitIfNew(be, buffer);
  extension->Release();
  if (other == nullptr) return buffer;
  if (PLANTED(update_pages_locked_in_any_order)) {
    other->Lock(BufferLockMode::kExclusive);
    return buffer;
  }
  if (ConditionalLockBuffer(be, other->get())) {
    *other = BufferGuard(be, other->Detach(), true);
    return buffer;
  }
  // Against the order; others may fill the new page meanwhile.
  buffer.Unlock();
  LockBoth(be, &buffer, other);
  return buffer;
}

}  // namespace

size_t HeapTargetFreeSpace(const RelationData& rel, size_t len) {
  size_t save = static_cast<size_t>(BLCKSZ) *
                static_cast<size_t>(100 - rel.fillfactor) / 100;
  if (len + save > kNearlyEmptyFreeSpace) {
    return std::max(len, kNearlyEmptyFreeSpace);
  }
  return len + save;
}

Result<BufferGuard> RelationGetBufferForTuple(Backend& be,
                                              const RelationData& rel,
                                              size_t len, BufferGuard* other) {
  len = MaxAlign(len);
  if (len > MaxHeapTupleSize) {
    return SqlError(ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                    "row is too big: size {}, maximum size {}", len,
                    MaxHeapTupleSize);
  }
  size_t need = HeapTargetFreeSpace(rel, len);
  BlockNumber candidate = rel.target_block;
  for (;;) {
    if (candidate != kInvalidBlockNumber) {
      ASSIGN_OR_RETURN(auto found, TryBlock(be, rel, candidate, need, other));
      if (found.has_value()) return std::move(*found);
    }
    ASSIGN_OR_RETURN(BlockNumber seen, SmgrNblocks(be, rel.rd_node, kMainFork));
    if (seen > 0 && candidate != seen - 1) {
      candidate = seen - 1;
      continue;
    }
    RelationExtensionGuard extension(be, rel.rd_node);
    ASSIGN_OR_RETURN(BlockNumber now, SmgrNblocks(be, rel.rd_node, kMainFork));
    if (now > seen) {
      candidate = now - 1;  // somebody else added it while this one waited
      continue;
    }
    ASSIGN_OR_RETURN(BufferGuard buffer, AddBlock(be, rel, &extension, other));
    candidate = BlockOf(be, buffer);
    if (PageGetHeapFreeSpace(buffer.page()) >= len) {
      rel.target_block = candidate;
      return buffer;
    }
    if (other != nullptr) other->Unlock();
  }
}

void RelationPutHeapTuple(Backend& be, Buffer buffer, HeapTuple* tuple) {
  SIM_CHECK(be.crit_section_count > 0);
  char* page = BufferGetPage(be, buffer);
  OffsetNumber offset = PageAddItem(page, tuple->data, 0, false, true);
  if (offset == kInvalidOffsetNumber) Panic(be, "failed to add tuple to page");
  tuple->t_self = ItemPointerData(BufferGetTag(be, buffer).blockNum, offset);
  tuple->header()->t_ctid = tuple->t_self;
  auto* item = reinterpret_cast<HeapTupleHeaderData*>(
      PageGetItem(page, PageGetItemId(page, offset)));
  item->t_ctid = tuple->t_self;
}

}  // namespace engine
