// Writing many pages (checkpoint, background writer, one relation) and
// forgetting those of dropped relations.
#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "engine/buffer/buf_internals.h"
#include "engine/common/sites.h"

namespace engine {
namespace {

// Requires: the header lock.
bool BelongsTo(const BufferDesc& buf, const RelFileNode& rnode) {
  return buf.Is(BM_TAG_VALID) && buf.tag.rnode == rnode;
}

// Forgets the buffer if it `matches` and nobody has it pinned. Returns the tag
// of one that is pinned.
template <typename Predicate>
std::optional<BufferTag> TryForget(Backend& be, BufferDesc& buf,
                                   const Predicate& matches) {
  env::AtomicSection buf_hdr_lock(&buf.flags);
  if (!matches(buf)) return std::nullopt;
  if (buf.refcount > 0) return buf.tag;
  ForgetBuffer(be, buf);
  return std::nullopt;
}

// Forgets every buffer that `matches`, waiting for others to unpin it.
template <typename Predicate>
void DropMatching(Backend& be, Predicate matches) {
  for (BufferDesc& buf : SharedBuffers(be).buffers) {
    std::optional<BufferTag> pinned = TryForget(be, buf, matches);
    while (pinned.has_value()) {
      SIM_CHECK(PrivateRefCount(be, buf) == 0);
      if (PLANTED(drop_ignores_write_in_progress)) break;
      // Somebody is writing it out.
      WaitForPins(be, buf, *pinned, 1);
      pinned = TryForget(be, buf, matches);
    }
  }
}

bool IsColdAndDirty(const BufferDesc& buf) {
  env::AtomicSection buf_hdr_lock(&buf.flags);
  bool cold = buf.refcount == 0 && buf.usage_count == 0;
  return cold && buf.Is(BM_VALID) && buf.Is(BM_DIRTY);
}

bool IsDirtyPageOf(const BufferDesc& buf, const RelFileNode& rnode) {
  env::AtomicSection buf_hdr_lock(&buf.flags);
  return BelongsTo(buf, rnode) && buf.Is(BM_DIRTY);
}

}  // namespace

Status CheckPointBuffers(Backend& be) {
  std::vector<BufferDesc>& buffers = SharedBuffers(be).buffers;
  std::vector<std::pair<BufferTag, Buffer>> marked;
  for (BufferDesc& buf : buffers) {
    env::AtomicSection buf_hdr_lock(&buf.flags);
    if (!buf.Is(BM_DIRTY)) continue;
    buf.flags |= BM_CHECKPOINT_NEEDED;
    marked.emplace_back(buf.tag, buf.id);
  }
  auto order = [](const BufferTag& tag) {
    return std::tuple(tag.rnode.spcNode, tag.rnode.relNode, tag.forkNum,
                      tag.blockNum, tag.rnode.dbNode);
  };
  std::sort(marked.begin(), marked.end(),
            [&order](const auto& a, const auto& b) {
              return order(a.first) < order(b.first);
            });
  for (const auto& [tag, id] : marked) {
    // It may have been written by another process since, and even hold
    // another page.
    BufferDesc& buf = GetBufferDescriptor(be, id);
    if (!buf.IsNow(BM_CHECKPOINT_NEEDED)) continue;
    RETURN_IF_ERROR(LockAndFlushBuffer(be, buf));
  }
  return {};
}

Result<int> BgBufferSync(Backend& be, int max_pages) {
  BufferShared& shared = SharedBuffers(be);
  size_t count = shared.buffers.size();
  auto at = static_cast<size_t>(shared.policy->NextToScan() - 1);
  int written = 0;
  for (size_t i = 0; i < count && written < max_pages; ++i) {
    BufferDesc& buf = shared.buffers[(at + i) % count];
    if (!IsColdAndDirty(buf)) continue;
    RETURN_IF_ERROR(LockAndFlushBuffer(be, buf));
    ++written;
  }
  return written;
}

void DropRelationBuffers(Backend& be, const RelFileNode& rnode, ForkNumber fork,
                         BlockNumber first_block) {
  DropMatching(be, [&](const BufferDesc& buf) {
    return BelongsTo(buf, rnode) && buf.tag.forkNum == fork &&
           buf.tag.blockNum >= first_block;
  });
}

void DropRelationAllBuffers(Backend& be, const RelFileNode& rnode) {
  DropMatching(be,
               [&](const BufferDesc& buf) { return BelongsTo(buf, rnode); });
}

Status FlushRelationBuffers(Backend& be, const RelFileNode& rnode) {
  for (BufferDesc& buf : SharedBuffers(be).buffers) {
    if (!IsDirtyPageOf(buf, rnode)) continue;
    RETURN_IF_ERROR(LockAndFlushBuffer(be, buf));
  }
  return {};
}

}  // namespace engine
