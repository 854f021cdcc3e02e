#include "engine/smgr/sync.h"

#include <fmt/format.h>

#include "engine/common/file_error.h"
#include "engine/common/sites.h"
#include "engine/smgr/smgr_internals.h"
#include "sim/env/race.h"

namespace engine {
namespace {

Status SyncFile(Backend& be, const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<env::File> file,
                   be.env->files->Open(path, env::kOpenWrite));
  return file->Fsync();
}

uint64_t BeginSyncCycle(SmgrShared& shared) {
  env::AtomicSection checkpointer_comm_lock(&shared);
  return ++shared.sync_cycle;
}

bool SyncForgotten(const SmgrShared& shared) {
  env::AtomicSection checkpointer_comm_lock(&shared);
  return shared.syncing_forgotten;
}

// The first file after `path` whose request is older than cycle, which becomes
// the one that is being synced; empty: there is none.
std::string NextToSync(SmgrShared& shared, const std::string& path,
                       uint64_t cycle) {
  env::AtomicSection checkpointer_comm_lock(&shared);
  shared.syncing.clear();
  auto it = shared.pending_syncs.upper_bound(path);
  while (it != shared.pending_syncs.end() && it->second == cycle) ++it;
  if (it == shared.pending_syncs.end()) return {};
  shared.syncing = it->first;
  shared.syncing_forgotten = false;
  shared.pending_syncs.erase(it);
  return shared.syncing;
}

// The next file whose unlink an earlier checkpoint cycle registered, or empty.
std::string NextToUnlink(SmgrShared& shared) {
  env::AtomicSection checkpointer_comm_lock(&shared);
  if (shared.pending_unlinks.empty()) return {};
  PendingUnlink& front = shared.pending_unlinks.front();
  if (front.checkpoint_cycle == shared.checkpoint_cycle) return {};
  std::string path = std::move(front.path);
  shared.pending_unlinks.pop_front();
  return path;
}

// Makes shared.syncing durable, or PANICs: after a failed fsync the kernel may
// have dropped the dirty data, and a second call would succeed for nothing.
void SyncOrPanic(Backend& be, SmgrShared& shared, const std::string& path) {
  YIELD_POINT(sync_request_taken);
  for (int failures = 0; !SyncForgotten(shared); ++failures) {
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
  // It stays in a table that only this process sees.
  if (PLANTED(bgwriter_keeps_sync_requests) &&
      be.type == BackendType::kBgWriter) {
    return;
  }
  SmgrShared& shared = SharedSmgr(be);
  env::AtomicSection checkpointer_comm_lock(&shared);
  // An existing entry keeps its older cycle: it is due sooner.
  if (shared.pending_syncs.find(path) != shared.pending_syncs.end()) return;
  shared.pending_syncs.emplace(std::string(path), shared.sync_cycle);
}

void ForgetSyncRequest(Backend& be, std::string_view path) {
  SmgrShared& shared = SharedSmgr(be);
  env::AtomicSection checkpointer_comm_lock(&shared);
  auto it = shared.pending_syncs.find(path);
  if (it != shared.pending_syncs.end()) shared.pending_syncs.erase(it);
  if (shared.syncing == path && !PLANTED(sync_revoke_not_seen)) {
    shared.syncing_forgotten = true;
  }
}

void RegisterUnlinkRequest(Backend& be, std::string_view path) {
  SmgrShared& shared = SharedSmgr(be);
  env::AtomicSection checkpointer_comm_lock(&shared);
  shared.pending_unlinks.push_back(
      {std::string(path), shared.checkpoint_cycle});
}

void SyncPreCheckpoint(Backend& be) {
  SmgrShared& shared = SharedSmgr(be);
  env::AtomicSection checkpointer_comm_lock(&shared);
  ++shared.checkpoint_cycle;
}

void ProcessSyncRequests(Backend& be) {
  SmgrShared& shared = SharedSmgr(be);
  // From here on new requests carry the new cycle and are left alone.
  uint64_t cycle = BeginSyncCycle(shared);
  std::string path = NextToSync(shared, "", cycle);
  while (!path.empty()) {
    if (!PLANTED(fsync_skipped_at_checkpoint)) SyncOrPanic(be, shared, path);
    path = NextToSync(shared, path, cycle);
  }
}

void SyncPostCheckpoint(Backend& be) {
  SmgrShared& shared = SharedSmgr(be);
  for (std::string path = NextToUnlink(shared); !path.empty();
       path = NextToUnlink(shared)) {
    // One that cannot be removed is left behind; nothing refers to it.
    Status ignored = be.env->files->Unlink(path);
    static_cast<void>(ignored);
  }
}

size_t PendingSyncRequests(Backend& be) {
  SmgrShared& shared = SharedSmgr(be);
  env::AtomicSection checkpointer_comm_lock(&shared);
  return shared.pending_syncs.size();
}

}  // namespace engine
