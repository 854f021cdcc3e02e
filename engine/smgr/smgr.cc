#include "engine/smgr/smgr.h"

#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "engine/common/errcodes.h"
#include "engine/common/file_error.h"
#include "engine/common/sites.h"
#include "engine/smgr/heldblocks.h"
#include "engine/smgr/smgr_internals.h"
#include "engine/smgr/sync.h"
#include "sim/env/race.h"

namespace engine {
namespace {

// Handles a backend keeps before it starts anew; far above what tests open and
// far below an operating system's limit.
constexpr size_t kMaxCachedSegments = 400;

constexpr BlockNumber kSegmentBlocks = RELSEG_SIZE;

constexpr ForkNumber kForks[] = {kMainFork, kFsmFork, kVisibilityMapFork,
                                 kInitFork};

int64_t OffsetInSegment(BlockNumber block) {
  return int64_t{block % kSegmentBlocks} * BLCKSZ;
}

std::string ParentDirectory(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// Runs an I/O call until no signal interrupts it.
template <typename Call>
auto RetryInterrupted(Call call) {
  while (true) {
    auto result = call();
    if (result.ok() || result.status().code() != env::Code::kInterrupted) {
      return result;
    }
  }
}

// PostgreSQL broadcasts such changes as invalidation messages.
uint64_t SharedGeneration(Backend& be) {
  SmgrShared& shared = SharedSmgr(be);
  env::AtomicSection sinval_read_lock(&shared.generation);
  return shared.generation;
}

void InvalidateHandles(Backend& be) {
  SmgrShared& shared = SharedSmgr(be);
  env::AtomicSection sinval_write_lock(&shared.generation);
  ++shared.generation;
}

SmgrLocal& FreshCache(Backend& be) {
  SmgrLocal& local = LocalSmgr(be);
  uint64_t generation = SharedGeneration(be);
  if (local.generation != generation ||
      local.segments.size() >= kMaxCachedSegments) {
    local.segments.Clear();
    local.generation = generation;
  }
  return local;
}

// The open segment. Opening may suspend; the pointer is valid until this
// backend's next smgr call. flags are added to kOpenWrite for a file that is
// not open yet. Errors: those of Files::Open, as they are.
Result<OpenSegment*> GetSegment(Backend& be, const SegmentKey& key,
                                uint32_t flags = 0) {
  while (true) {
    SmgrLocal& local = FreshCache(be);
    if (OpenSegment* found = local.segments.Find(key)) return found;
    OpenSegment opened;
    opened.path = RelationPath(key.rnode, key.fork, key.segno);
    ASSIGN_OR_RETURN(opened.file,
                     be.env->files->Open(opened.path, env::kOpenWrite | flags));
    // While it was being opened the file may have been dropped.
    if (local.generation != SharedGeneration(be)) continue;
    local.segments.Insert(key, std::move(opened));
  }
}

Status CouldNotOpen(const Status& cause, const SegmentKey& key) {
  return FileAccessError(
      cause, fmt::format("could not open file \"{}\"",
                         RelationPath(key.rnode, key.fork, key.segno)));
}

Status WithDiskHint(Status status) {
  return std::move(status).WithHint("Check free disk space.");
}

// Whole blocks in the segment.
Result<BlockNumber> SegmentBlocks(const OpenSegment& segment) {
  Result<int64_t> size = segment.file->Size();
  if (!size.ok()) {
    return FileAccessError(
        size.status(),
        fmt::format("could not seek to end of file \"{}\"", segment.path));
  }
  return static_cast<BlockNumber>(*size / BLCKSZ);
}

// Fills a segment's end with zeros, so that the next one may begin.
Status CompleteSegment(Backend& be, OpenSegment& segment) {
  Status status = segment.file->Truncate(int64_t{kSegmentBlocks} * BLCKSZ);
  if (!status.ok()) {
    return WithDiskHint(FileAccessError(
        status, fmt::format("could not extend file \"{}\"", segment.path)));
  }
  RegisterSyncRequest(be, segment.path);
  return {};
}

// Segments that do not exist yet.
enum class Missing : uint8_t { kFail, kCreate };

// The segment that holds block; all before it must be full.
// Suspends: yes. Errors: 58P01 when it is missing, others as Open.
Result<OpenSegment*> SegmentOf(Backend& be, const RelFileNode& rnode,
                               ForkNumber fork, BlockNumber block,
                               Missing missing) {
  SegmentKey key{rnode, fork, block / kSegmentBlocks};
  if (OpenSegment* found = FreshCache(be).segments.Find(key)) return found;
  for (uint32_t before = 0; before < key.segno; ++before) {
    SegmentKey previous{rnode, fork, before};
    uint32_t create =
        missing == Missing::kCreate && before > 0 ? env::kOpenCreate : 0u;
    Result<OpenSegment*> segment = GetSegment(be, previous, create);
    if (!segment.ok()) return CouldNotOpen(segment.status(), previous);
    ASSIGN_OR_RETURN(BlockNumber blocks, SegmentBlocks(**segment));
    if (blocks >= kSegmentBlocks) continue;
    if (missing == Missing::kFail) {
      return SqlError(ERRCODE_UNDEFINED_FILE,
                      "could not open file \"{}\" (target block {}): previous "
                      "segment is only {} blocks",
                      RelationPath(rnode, fork, before + 1), block, blocks);
    }
    RETURN_IF_ERROR(CompleteSegment(be, **segment));
  }
  uint32_t create =
      missing == Missing::kCreate && key.segno > 0 ? env::kOpenCreate : 0u;
  Result<OpenSegment*> segment = GetSegment(be, key, create);
  if (!segment.ok()) return CouldNotOpen(segment.status(), key);
  return *segment;
}

Missing ForAccess(const Backend& be) {
  return be.in_recovery ? Missing::kCreate : Missing::kFail;
}

// Replaces the file's content by nothing, if there is such a file. Handles of
// other backends must not hold on to its space.
Status TruncateToNothing(Backend& be, const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<env::File> file,
                   be.env->files->Open(path, env::kOpenWrite));
  return file->Truncate(0);
}

// Removes a segment at once. Returns false if there was none, or if it stays
// because the file system fails.
bool RemoveSegment(Backend& be, const std::string& path) {
  Status truncated = TruncateToNothing(be, path);
  if (truncated.code() == env::Code::kNotFound) return false;
  ForgetSyncRequest(be, path);
  return be.env->files->Unlink(path).ok();
}

}  // namespace

std::string RelationPath(const RelFileNode& rnode, ForkNumber fork,
                         uint32_t segno) {
  static constexpr std::string_view kSuffix[] = {"", "_fsm", "_vm", "_init"};
  std::string path =
      rnode.spcNode == kGlobalTableSpaceOid
          ? fmt::format("global/{}", rnode.relNode)
          : fmt::format("base/{}/{}", rnode.dbNode, rnode.relNode);
  path += kSuffix[static_cast<size_t>(fork)];
  if (segno > 0) path += fmt::format(".{}", segno);
  return path;
}

void SmgrShmemInit(SharedMemory& shared) {
  shared.slots.Set(Layer::kSmgr, std::make_unique<SmgrShared>());
}

void SmgrInit(Backend& be) {
  be.local.Set(Layer::kSmgr, std::make_unique<SmgrLocal>());
}

Status SmgrCreate(Backend& be, const RelFileNode& rnode, ForkNumber fork,
                  bool is_redo) {
  SegmentKey key{rnode, fork, 0};
  SmgrLocal& local = FreshCache(be);
  if (is_redo && local.segments.Contains(key)) return {};
  local.segments.Erase(key);
  OpenSegment created;
  created.path = RelationPath(rnode, fork);
  uint32_t flags = env::kOpenWrite | env::kOpenCreate |
                   (is_redo ? 0u : uint32_t{env::kOpenExclusive});
  Result<std::unique_ptr<env::File>> file =
      be.env->files->Open(created.path, flags);
  if (!file.ok()) {
    return FileAccessError(
        file.status(),
        fmt::format("could not create file \"{}\"", created.path));
  }
  created.file = std::move(file).value();
  std::string path = created.path;
  RegisterSyncRequest(be, path);
  if (local.generation == SharedGeneration(be)) {
    local.segments.Insert(key, std::move(created));
  }
  if (!be.config().sync_new_file_directory) return {};
  std::string directory = ParentDirectory(path);
  Status synced = be.env->files->FsyncDir(directory);
  if (synced.ok()) return {};
  return FileAccessError(synced,
                         fmt::format("could not fsync file \"{}\"", directory));
}

Result<bool> SmgrExists(Backend& be, const RelFileNode& rnode,
                        ForkNumber fork) {
  std::string path = RelationPath(rnode, fork);
  Result<env::FileInfo> info = be.env->files->Stat(path);
  if (info.ok()) return true;
  if (info.status().code() == env::Code::kNotFound) return false;
  return CouldNotOpen(info.status(), SegmentKey{rnode, fork, 0});
}

Result<BlockNumber> SmgrNblocks(Backend& be, const RelFileNode& rnode,
                                ForkNumber fork) {
  for (uint32_t segno = 0;; ++segno) {
    SegmentKey key{rnode, fork, segno};
    Result<OpenSegment*> segment = GetSegment(be, key);
    if (!segment.ok()) {
      bool past_last = segno > 0;
      if (past_last && segment.status().code() == env::Code::kNotFound) {
        return segno * kSegmentBlocks;
      }
      return CouldNotOpen(segment.status(), key);
    }
    ASSIGN_OR_RETURN(BlockNumber blocks, SegmentBlocks(**segment));
    if (blocks < kSegmentBlocks) return segno * kSegmentBlocks + blocks;
  }
}

Status SmgrRead(Backend& be, const RelFileNode& rnode, ForkNumber fork,
                BlockNumber block, std::span<char, BLCKSZ> page) {
  ASSIGN_OR_RETURN(OpenSegment * segment,
                   SegmentOf(be, rnode, fork, block, ForAccess(be)));
  int64_t offset = OffsetInSegment(block);
  Result<int64_t> got =
      RetryInterrupted([&] { return segment->file->Pread(offset, page); });
  if (!got.ok()) {
    return FileAccessError(got.status(),
                           fmt::format("could not read block {} in file \"{}\"",
                                       block, segment->path));
  }
  if (*got == BLCKSZ) return {};
  if (be.in_recovery) {
    // A block that was truncated away later in the log. A short read of a
    // block that is there is no such case.
    Result<int64_t> size = segment->file->Size();
    if (size.ok() && *size < offset + BLCKSZ) {
      std::memset(page.data(), 0, page.size());
      return {};
    }
  }
  return SqlError(
      ERRCODE_DATA_CORRUPTED,
      "could not read block {} in file \"{}\": read only {} of {} bytes", block,
      segment->path, *got, BLCKSZ);
}

Status SmgrWrite(Backend& be, const RelFileNode& rnode, ForkNumber fork,
                 BlockNumber block, std::span<const char, BLCKSZ> page) {
  ASSIGN_OR_RETURN(OpenSegment * segment,
                   SegmentOf(be, rnode, fork, block, ForAccess(be)));
  int64_t offset = OffsetInSegment(block);
  Result<int64_t> put =
      RetryInterrupted([&] { return segment->file->Pwrite(offset, page); });
  if (!put.ok()) {
    return FileAccessError(
        put.status(), fmt::format("could not write block {} in file \"{}\"",
                                  block, segment->path));
  }
  RegisterSyncRequest(be, segment->path);
  if (*put != BLCKSZ) {
    return WithDiskHint(SqlError(
        ERRCODE_DISK_FULL,
        "could not write block {} in file \"{}\": wrote only {} of {} bytes",
        block, segment->path, *put, BLCKSZ));
  }
  return {};
}

Status SmgrExtend(Backend& be, const RelFileNode& rnode, ForkNumber fork,
                  BlockNumber block, std::span<const char, BLCKSZ> page) {
  if (block == kInvalidBlockNumber) {
    return SqlError(ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                    "cannot extend file \"{}\" beyond {} blocks",
                    RelationPath(rnode, fork), kInvalidBlockNumber);
  }
  ASSIGN_OR_RETURN(OpenSegment * segment,
                   SegmentOf(be, rnode, fork, block, Missing::kCreate));
  int64_t offset = OffsetInSegment(block);
  Result<int64_t> put =
      RetryInterrupted([&] { return segment->file->Pwrite(offset, page); });
  if (!put.ok()) {
    return WithDiskHint(FileAccessError(
        put.status(),
        fmt::format("could not extend file \"{}\"", segment->path)));
  }
  RegisterSyncRequest(be, segment->path);
  if (*put != BLCKSZ) {
    return WithDiskHint(SqlError(
        ERRCODE_DISK_FULL,
        "could not extend file \"{}\": wrote only {} of {} bytes at block {}",
        segment->path, *put, BLCKSZ, block));
  }
  return {};
}

Status SmgrTruncate(Backend& be, const RelFileNode& rnode, ForkNumber fork,
                    BlockNumber nblocks) {
  ASSIGN_OR_RETURN(BlockNumber now, SmgrNblocks(be, rnode, fork));
  // In recovery too if the file has been cut already: what is known of the
  // blocks is from before.
  if (fork == kMainFork) ForgetHeldBlocks(be, rnode, nblocks);
  if (nblocks > now) {
    if (be.in_recovery) return {};  // truncated further by a later record
    return SqlError(ERRCODE_INTERNAL_ERROR,
                    "could not truncate file \"{}\" to {} blocks: it's only {} "
                    "blocks now",
                    RelationPath(rnode, fork), nblocks, now);
  }
  if (nblocks == now) return {};
  InvalidateHandles(be);
  // From the last segment down, so that a crash leaves no gap. Segments that
  // become empty stay as files of size 0.
  for (uint32_t segno = (now - 1) / kSegmentBlocks + 1; segno-- > 0;) {
    BlockNumber first = segno * kSegmentBlocks;
    if (first + kSegmentBlocks <= nblocks) break;
    BlockNumber keep = nblocks > first ? nblocks - first : 0;
    SegmentKey key{rnode, fork, segno};
    Result<OpenSegment*> segment = GetSegment(be, key);
    if (!segment.ok()) return CouldNotOpen(segment.status(), key);
    Status status = (*segment)->file->Truncate(int64_t{keep} * BLCKSZ);
    if (!status.ok()) {
      return FileAccessError(
          status, fmt::format("could not truncate file \"{}\" to {} blocks",
                              (*segment)->path, nblocks));
    }
    RegisterSyncRequest(be, (*segment)->path);
  }
  return {};
}

Status SmgrUnlink(Backend& be, const RelFileNode& rnode, bool is_redo) {
  InvalidateHandles(be);
  ForgetHeldBlocks(be, rnode, 0);
  for (ForkNumber fork : kForks) {
    std::string first = RelationPath(rnode, fork);
    // PostgreSQL before 8.3, where these two are from, unlinked it at once.
    bool at_once = PLANTED(sync_revoke_not_seen) ||
                   PLANTED(drop_ignores_write_in_progress);
    if (is_redo || fork != kMainFork || at_once) {
      if (!RemoveSegment(be, first)) continue;
    } else {
      // The name stays until the next checkpoint, so that no new relation can
      // take it while WAL that redo may start from speaks of the old one.
      Status truncated = TruncateToNothing(be, first);
      if (truncated.code() == env::Code::kNotFound) continue;
      RegisterUnlinkRequest(be, first);
      if (!truncated.ok()) continue;
    }
    for (uint32_t segno = 1;; ++segno) {
      if (!RemoveSegment(be, RelationPath(rnode, fork, segno))) break;
    }
  }
  return {};
}

Status SmgrImmedSync(Backend& be, const RelFileNode& rnode, ForkNumber fork) {
  RETURN_IF_ERROR(SmgrNblocks(be, rnode, fork).status());
  // Every segment file, the empty ones behind the last block too.
  for (uint32_t segno = 0;; ++segno) {
    SegmentKey key{rnode, fork, segno};
    Result<OpenSegment*> segment = GetSegment(be, key);
    if (!segment.ok()) {
      if (segno > 0 && segment.status().code() == env::Code::kNotFound) {
        return {};
      }
      return CouldNotOpen(segment.status(), key);
    }
    Status synced = (*segment)->file->Fsync();
    if (!synced.ok()) {
      Status error = FileAccessError(
          synced, fmt::format("could not fsync file \"{}\"", (*segment)->path));
      Panic(be, std::string(error.message()));
    }
  }
}

}  // namespace engine
