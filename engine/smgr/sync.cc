#include "engine/smgr/sync.h"

#include <fmt/format.h>

#include "engine/common/file_error.h"
#include "engine/common/sites.h"
#include "engine/smgr/smgr_internals.h"

namespace engine {
namespace {

Status SyncFile(Backend& be, const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<env::File> file,
                   be.env->files->Open(path, env::kOpenWrite));
  return file->Fsync();
}

// Makes shared.syncing durable, or PANICs: after a failed fsync the kernel may
// have dropped the dirty data, and a second call would succeed for nothing.
void SyncOrPanic(Backend& be, SmgrShared& shared) {
  std::string path = shared.syncing;
  for (int failures = 0; !shared.syncing_forgotten; ++failures) {
    Status status = SyncFile(be, path);
    if (status.ok()) return;
    if (PLANTED(fsync_failure_retried)) {
      if (failures > 0) return;
      continue;
    }
    // A file may be missing because its relation was dropped. The request was
    // withdrawn before the unlink, so the loop ends now or the file is lost.
    if (status.code() == env::Code::kNotFound && failures == 0) continue;
    Status error = FileAccessError(
        status, fmt::format("could not fsync file \"{}\"", path));
    Panic(be, std::string(error.message()));
  }
}

}  // namespace

void RegisterSyncRequest(Backend& be, std::string_view path) {
  SmgrShared& shared = SharedSmgr(be);
  // An existing entry keeps its older cycle: it is due sooner.
  if (shared.pending_syncs.find(path) != shared.pending_syncs.end()) return;
  shared.pending_syncs.emplace(std::string(path), shared.sync_cycle);
}

void ForgetSyncRequest(Backend& be, std::string_view path) {
  SmgrShared& shared = SharedSmgr(be);
  auto it = shared.pending_syncs.find(path);
  if (it != shared.pending_syncs.end()) shared.pending_syncs.erase(it);
  if (shared.syncing == path) shared.syncing_forgotten = true;
}

void RegisterUnlinkRequest(Backend& be, std::string_view path) {
  SmgrShared& shared = SharedSmgr(be);
  shared.pending_unlinks.push_back(
      {std::string(path), shared.checkpoint_cycle});
}

void SyncPreCheckpoint(Backend& be) { ++SharedSmgr(be).checkpoint_cycle; }

void ProcessSyncRequests(Backend& be) {
  SmgrShared& shared = SharedSmgr(be);
  // From here on new requests carry the new cycle and are left alone.
  uint64_t cycle = ++shared.sync_cycle;
  auto it = shared.pending_syncs.begin();
  while (it != shared.pending_syncs.end()) {
    if (it->second == cycle) {
      ++it;
      continue;
    }
    shared.syncing = it->first;
    shared.syncing_forgotten = false;
    shared.pending_syncs.erase(it);
    if (!PLANTED(fsync_skipped_at_checkpoint)) SyncOrPanic(be, shared);
    it = shared.pending_syncs.upper_bound(shared.syncing);
    shared.syncing.clear();
  }
}

void SyncPostCheckpoint(Backend& be) {
  SmgrShared& shared = SharedSmgr(be);
  while (!shared.pending_unlinks.empty()) {
    const PendingUnlink& front = shared.pending_unlinks.front();
    if (front.checkpoint_cycle == shared.checkpoint_cycle) break;
    std::string path = front.path;
    shared.pending_unlinks.pop_front();
    // One that cannot be removed is left behind; nothing refers to it.
    Status ignored = be.env->files->Unlink(path);
    static_cast<void>(ignored);
  }
}

size_t PendingSyncRequests(Backend& be) {
  return SharedSmgr(be).pending_syncs.size();
}

}  // namespace engine
