// Pending fsync requests: files written since the last checkpoint.
//
// A write registers its file before the buffer counts as clean; the
// checkpointer fsyncs every file registered before its checkpoint began. A
// failed fsync is a PANIC: the kernel may have dropped the dirty pages.
// Source: src/backend/storage/sync/sync.c.
#ifndef MUSTH_ENGINE_SMGR_SYNC_H_
#define MUSTH_ENGINE_SMGR_SYNC_H_

#include <string>
#include <string_view>

#include "engine/common/backend.h"

namespace engine {

// Registers `path` (relative to the data directory) for fsync at the next
// checkpoint. The queue is shared memory; suspends: no.
void RegisterSyncRequest(Backend& be, std::string_view path);
// Forgets requests for a path that is about to be unlinked.
void ForgetSyncRequest(Backend& be, std::string_view path);
// Registers `path` for unlinking after the next checkpoint.
void RegisterUnlinkRequest(Backend& be, std::string_view path);

// Start of a checkpoint, before its redo point: later unlink requests belong
// to the next one. Suspends: no.
void SyncPreCheckpoint(Backend& be);
// fsyncs every file registered before the call. PANICs when one fails.
// Suspends: yes.
void ProcessSyncRequests(Backend& be);
// Unlinks what was registered before SyncPreCheckpoint. Suspends: yes.
void SyncPostCheckpoint(Backend& be);

// Files waiting for fsync now.
size_t PendingSyncRequests(Backend& be);

}  // namespace engine

#endif  // MUSTH_ENGINE_SMGR_SYNC_H_
