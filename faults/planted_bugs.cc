#include "faults/planted_bugs.h"

#include <fmt/format.h>

namespace faults {
namespace {

constexpr std::string_view kRecovery = "wal-recovery-fsync";
constexpr std::string_view kMvcc = "mvcc-hot-vacuum-vm-index";
constexpr std::string_view kExtension = "extension-fsm-truncate";
constexpr std::string_view kLocks = "lockmgr-deadlock";

constexpr PlantedBug kBugs[] = {
    {"abort_redo_as_commit", "a mutant: xact_redo()", kRecovery,
     "Redo of an abort record marks the transaction committed.", "ATOM",
     "abort-redo-as-commit.recipe"},
    {"bgwriter_keeps_sync_requests",
     "PG 4a9c30a8a1 (2012-07-18) Fix management of pendingOpsTable in "
     "auxiliary processes.",
     kRecovery,
     "The background writer keeps its requests to sync what it wrote to "
     "itself; the checkpointer never hears of them.",
     "DUR CKPT", "bgwriter-keeps-sync-requests.recipe"},
    {"checkpoint_before_fsync", "a mutant: CreateCheckPoint()", kRecovery,
     "pg_control names the new checkpoint before the data files are synced.",
     "DUR CKPT", "checkpoint-before-fsync.recipe"},
    {"clog_lost_at_checkpoint", "a mutant: CheckPointCLOG()", kRecovery,
     "A checkpoint takes dirty commit-status pages for written; redo starts "
     "behind the commits they held.",
     "DUR CKPT", "clog-lost-at-checkpoint.recipe"},
    {"clog_not_synced", "a mutant: SlruPhysicalWritePage()", kRecovery,
     "Commit-status pages are written, but the checkpoint does not sync them.",
     "DUR CKPT", "clog-not-synced.recipe"},
    {"commit_acked_before_flush", "a mutant: RecordTransactionCommit()",
     kRecovery,
     "A synchronous commit is acknowledged while its record is still in the "
     "WAL buffers.",
     "DUR", "commit-acked-before-flush.recipe"},
    {"commit_status_asked_first",
     "PG b72e5fa17b (2005-05-07) Adjust time qual checking code so that we "
     "always check TransactionIdIsInProgress before we check commit/abort "
     "status.",
     kMvcc,
     "An update asks the commit log before the array of running transactions: "
     "it changes a version whose writer no snapshot shows yet, and a reader "
     "sees the row twice.",
     "VIS STMT", "commit-status-asked-first.recipe"},
    {"control_file_not_synced", "a mutant: UpdateControlFile()", kRecovery,
     "pg_control is written without fsync; old WAL goes away before the new "
     "checkpoint is durable.",
     "REC CKPT", "control-file-not-synced.recipe"},
    {"deadlock_edge_not_advertised",
     "PG 8d7d2197f3 (2023-12-11) Fix an undetected deadlock due to apply "
     "worker.; PG 8900b5a9d5 (2021-01-06) Detect the deadlocks between "
     "backends and the startup process.",
     kLocks,
     "Who has checked for a deadlock once waits on without saying for whom: "
     "the cycle that closes later is invisible.",
     "LOCKLIVE", "deadlock-edge-not-advertised.recipe"},
    {"delay_chkpt_not_set",
     "PG 3fdf649f4f (2004-08-11) Fix failure to guarantee that a checkpoint "
     "will write out pg_clog updates for transactions that were committed "
     "before it",
     kRecovery,
     "A commit writes its record before the redo pointer and its status after "
     "the checkpoint read it.",
     "DUR CKPT", "checkpoint-misses-inflight-commit.recipe"},
    {"delete_redo_keeps_xmax", "a mutant: heap_xlog_delete()", kRecovery,
     "Redo of a delete leaves the tuple's old xmax in place.", "REDO DUR",
     "delete-redo-keeps-xmax.recipe"},
    {"delta_update_without_image",
     "ArcadeDB github.com/ArcadeData/arcadedb/issues/4926 and #5054", kRecovery,
     "An update that is logged as a delta never gets a page image, and redo "
     "skips it where the LSN is new: a torn page stays torn.",
     "REDO DUR", "delta-update-without-image.recipe"},
    {"dirty_marked_after_logging",
     "PG f74426283d (2007-06-05) Move call of MarkBufferDirty() before "
     "XLogInsert() as required.; PG 730924397c (2013-04-30)",
     kRecovery,
     "A changed page is marked dirty after its record is inserted: a "
     "checkpoint whose redo pointer is behind the record does not write the "
     "page.",
     "DUR CKPT", "dirty-marked-after-logging.recipe"},
    {"drop_ignores_write_in_progress",
     "PG 6b5d8e14b4 (1999-11-22) ReleaseRelationBuffers() failed to check for "
     "I/O in progress on a buffer it wants to release.",
     kExtension,
     "Who drops a relation does not wait for a write of one of its pages; the "
     "page, and the request to sync it, outlive the file.",
     "REC RES", "drop-ignores-write-in-progress.recipe"},
    {"evict_ignores_just_dirtied",
     "PG 9ff69034b2 (1997-01-20) Fixing possible losing data changes: 1. New "
     "flag - BM_JUST_DIRTIED",
     kRecovery,
     "A page is written without its lock, and counts as clean even if it was "
     "changed meanwhile.",
     "DUR CKPT VIS", "evict-ignores-just-dirtied.recipe"},
    {"extension_trusts_valid_buffer",
     "PG 304160c3e2 (2006-01-06) Fix ReadBuffer() to correctly handle the case "
     "where it's trying to extend the relation",
     kExtension,
     "An extension fails and leaves its page in the pool; the next one finds "
     "it "
     "there, takes it for an existing block and does not extend the file.",
     "EXT VIS STMT", "extension-trusts-valid-buffer.recipe"},
    {"flush_one_page_short", "a mutant: XLogFlush()", kRecovery,
     "A flush request is rounded down to a WAL page boundary.", "DUR WAL",
     "flush-one-page-short.recipe"},
    {"fpi_missed_after_redo_moved", "a mutant: XLogInsertRecord()", kRecovery,
     "A record that was assembled before a checkpoint moved the redo pointer "
     "is inserted behind it without its page image; a torn page stays torn.",
     "REDO DUR", "fpi-missed-after-redo-moved.recipe"},
    {"free_space_read_unlocked",
     "PG 27336e4f7a (2001-05-16) Repair race condition introduced into "
     "heap_update() in 7.1",
     kExtension,
     "The free space of a page is read before the page is locked; when it is, "
     "there may be less.",
     "RES EXT", "free-space-read-unlocked.recipe"},
    {"fsync_failure_retried",
     "PG 9ccdd7f66 (2018-11-19) PANIC on fsync() failure.", kRecovery,
     "A failed fsync is tried again; the pages are clean by then, so that it "
     "succeeds and the checkpoint completes without them.",
     "DUR CKPT", "fsync-failure-retried.recipe"},
    {"fsync_skipped_at_checkpoint", "a mutant: ProcessSyncRequests()",
     kRecovery, "A checkpoint drops the pending fsync requests.", "DUR CKPT",
     "fsync-skipped-at-checkpoint.recipe"},
    {"hint_bit_before_flush",
     "PG 67f99d216a (2007-08-14) Fix oversight in async-commit patch",
     kRecovery,
     "The hint bit of an asynchronous commit whose record is not flushed is "
     "set, and reaches disk before the record.",
     "ATOM WAL", "hint-bit-before-flush.recipe"},
    {"hint_image_from_live_page",
     "PG 47c4333189 (2013-04-08) Avoid tricky race condition recording "
     "XLOG_HINT",
     kRecovery,
     "The image that a hint needs is copied from the shared page after the "
     "record's CRC was taken; others set hints meanwhile, and the log ends "
     "there at the next start.",
     "DUR REC", "hint-image-from-live-page.recipe"},
    {"insert_progress_missed",
     "PG 7039760114 (2015-08-02) Fix issues around the \"variable\" support in "
     "the lwlock infrastructure.",
     kRecovery,
     "Who waits for an insertion reads how far it is and then queues: that it "
     "went on in between is missed. With commit_delay he has the write lock, "
     "for which the insertion waits.",
     "LOCKLIVE LIVE", "insert-progress-missed.recipe"},
    {"insert_progress_page_start",
     "PG 358cde320b (2015-08-02) Fix race condition that lead to WALInsertLock "
     "deadlock with commit_delay.",
     kRecovery,
     "An insertion that makes room in the WAL buffers says that it is at the "
     "start of its page, even if it begins in the middle: progress that was "
     "waited for goes backwards, and who waits again has the write lock by "
     "now.",
     "LOCKLIVE LIVE", "insert-progress-page-start.recipe"},
    {"io_error_leaves_clean", "a mutant: AbortBufferIO()", kRecovery,
     "A page whose write failed counts as clean.", "DUR",
     "io-error-leaves-clean.recipe"},
    {"lock_upgrade_unnoticed",
     "PG 1a917ae861 (2014-04-24) Fix race when updating a tuple concurrently "
     "locked by another process",
     kMvcc,
     "A waiter compares xmax alone: the transaction that had locked the tuple "
     "has updated it meanwhile, and the version gets two successors.",
     "VIS STMT", "lock-upgrade-unnoticed.recipe"},
    {"page_initialised_unlocked",
     "PG 130beba36d (2018-07-13) Fix inadequate buffer locking in FSM and VM "
     "page re-initialization; PG 45f658dacb (2026-01-12)",
     kExtension,
     "Whether a page is all zeros is asked under a pin alone: of two processes "
     "that met one, the second initialises it again over the first one's row.",
     "EXT VIS", "page-initialised-unlocked.recipe"},
    {"page_lsn_not_set_in_redo",
     "PG d6a3dbe14f (2022-11-11) Fix theoretical torn page hazard.", kRecovery,
     "Redo leaves the old LSN on a page that it restored from an image.",
     "REDO", "page-lsn-not-set-in-redo.recipe"},
    {"page_written_before_wal", "a mutant: FlushBuffer()", kRecovery,
     "A dirty page is written although the WAL up to its LSN is not flushed.",
     "WAL ATOM", "page-written-before-wal.recipe"},
    {"pin_waiter_flag_set_late",
     "PG 8d85cb889a (2026-06-30) bufmgr: Fix race in LockBufferForCleanup(); "
     "PG bc208a5a2f (2015-02-23)",
     kLocks,
     "The pins of a buffer are counted before the waiter's flag is set; the "
     "last other pin goes in between, and nobody wakes the waiter.",
     "LOCKLIVE LIVE", "pin-waiter-flag-set-late.recipe"},
    {"prev_link_ignored",
     "PG a91fa39028 (2005-05-31) Add test to WAL replay to verify that xl_prev "
     "points back to the previous WAL record",
     kRecovery,
     "The reader accepts a record whose prev-link is wrong: the rest of a "
     "recycled segment becomes history.",
     "REC ATOM", "prev-link-ignored.recipe"},
    {"recheck_skipped_after_wait", "a mutant: heap_update() after a wait",
     kMvcc,
     "An update that waited for another writer overwrites the newest version "
     "without looking at its condition again.",
     "STMT VIS", "recheck-skipped-after-wait.recipe"},
    {"record_crc_ignored", "a mutant: ValidXLogRecord()", kRecovery,
     "The reader accepts a record whose CRC is wrong: a torn tail is replayed.",
     "REC ATOM", "record-crc-ignored.recipe"},
    {"recovery_skips_datadir_sync",
     "PG 2ce439f33 (2015-05-04) Recursively fsync() the data directory after "
     "a crash.",
     kRecovery,
     "Recovery trusts visible bytes of a process crash that were never "
     "synced; power loss then takes them.",
     "DUR CKPT", "recovery-skips-datadir-sync.recipe"},
    {"redo_init_needs_existing_page",
     "PG 288551fc60 (2006-03-28) Repair longstanding error in btree xlog "
     "replay: XLogReadBuffer should be passed extend...",
     kRecovery,
     "Redo of a record that initialises its page insists that the page exists; "
     "the file's growth was lost with the power.",
     "REC", "redo-init-needs-existing-page.recipe"},
    {"redo_pointer_after_buffers", "a mutant: CreateCheckPoint()", kRecovery,
     "The checkpoint writes the buffers before it takes its redo pointer.",
     "DUR CKPT", "redo-pointer-after-buffers.recipe"},
    {"segment_installed_over_another",
     "PG 55b5686511 (2022-04-28) Revert recent changes with "
     "durable_rename_excl(): a rename replaces the file that somebody else has "
     "just installed",
     kRecovery,
     "A checkpoint recycles a segment to a name that a backend, meanwhile, has "
     "created a segment under and writes to.",
     "DUR WAL REC", "segment-installed-over-another.recipe"},
    {"snapshot_xmax_without_lock", "a mutant: GetSnapshotData()", kMvcc,
     "A snapshot reads its xmax before it holds the lock, its running "
     "transactions after.",
     "VIS", "snapshot-xmax-without-lock.recipe"},
    {"sync_revoke_not_seen",
     "PG 6d660587f6 (2007-01-17) Revise bgwriter fsync-request mechanism to "
     "improve robustness when a table is deleted.",
     kRecovery,
     "A request to sync a file is withdrawn while the checkpointer is about to "
     "carry it out; it finds no file and takes the data for lost.",
     "REC", "sync-revoke-not-seen.recipe"},
    {"unpinned_tuple_access",
     "PG 7b7ed046cb (2022-04-13) Prevent access to no-longer-pinned buffer in "
     "heapam_tuple_lock().",
     kMvcc,
     "A walk along an update chain gives up its pin and then reads the header "
     "of the tuple it met: another page may be there.",
     "STMT VIS", "unpinned-tuple-access.recipe"},
    {"update_leaks_pin", "a mutant: heap_update()", kMvcc,
     "An update that puts its new version on another page never unpins that "
     "page.",
     "RES", "update-leaks-pin.recipe"},
    {"update_pages_locked_in_any_order",
     "PG 27336e4f7a (2001-05-16) Also repair potential deadlock introduced by "
     "my recent performance improvement in RelationGetBufferForTuple(); PG "
     "0b8bdb3c3e (2019-02-02)",
     kLocks,
     "An update that has added a page keeps it locked while it locks its old "
     "page; others lock the two in the order of the file.",
     "LOCKLIVE LIVE", "update-pages-locked-in-any-order.recipe"},
    {"update_redo_wrong_suffix", "a mutant: heap_xlog_update()", kRecovery,
     "Redo of an update takes the common suffix at the padded length.",
     "REDO DUR", "update-redo-wrong-suffix.recipe"},
    {"update_unlocked_page_switch",
     "PG 624f155ffa (2011-09-27) heap_update() must recheck tuple after "
     "unlocking and relocking buffer.",
     kMvcc,
     "An update releases the old page in search of room, without having locked "
     "the tuple, and does not look at it again.",
     "VIS STMT", "update-unlocked-page-switch.recipe"},
    {"visible_before_flush", "a mutant: CommitTransaction()", kRecovery,
     "A synchronous commit is visible to others before its record is flushed.",
     "DUR ATOM", "visible-before-flush.recipe"},
    {"wal_copy_not_awaited", "a mutant: WaitXLogInsertionsToFinish()",
     kRecovery,
     "A flush writes WAL pages into which earlier insertions still copy.",
     "DUR WAL", "wal-copy-not-awaited.recipe"},
    {"wal_fsync_failure_ignored", "a mutant: issue_xlog_fsync()", kRecovery,
     "A failed fsync of WAL is taken for success; commits are acknowledged.",
     "DUR", "wal-fsync-failure-ignored.recipe"},
    {"wal_insertion_end_not_told",
     "PG e0d97d77bf (2014-10-14) Fix deadlock with LWLockAcquireWithVar and "
     "LWLockWaitForVar",
     kRecovery,
     "Whoever waits for the end of an insertion is not woken if the insertion "
     "lock is handed straight to the next process, a checkpoint say, which "
     "then waits for the waiter.",
     "LOCKLIVE LIVE", "wal-insertion-end-not-told.recipe"},
    {"wal_page_published_before_init",
     "PG 766571be16 (2023-12-19) Additional write barrier in "
     "AdvanceXLInsertBuffer().",
     kRecovery,
     "A page of the WAL buffers appears valid while its contents are being "
     "initialised: what others copied into it is wiped.",
     "DUR WAL REC", "wal-page-published-before-init.recipe"},
    {"wal_recycled_before_sync",
     "Turso github.com/tursodatabase/turso/issues/4467 and PR #4495", kRecovery,
     "A checkpoint recycles the segments before its redo pointer although the "
     "data files are not synced and pg_control names the previous one.",
     "REC CKPT DUR", "wal-recycled-before-sync.recipe"},
    {"wal_segment_not_synced_at_switch",
     "RocksDB PR github.com/facebook/rocksdb/pull/7701; LevelDB "
     "github.com/google/leveldb/issues/193",
     kRecovery,
     "The log moves on to the next segment without syncing the one before: "
     "commits behind the hole are acknowledged and lost.",
     "DUR WAL REC", "wal-segment-not-synced-at-switch.recipe"},
    {"xid_advertised_late",
     "PG b9f3a929ee (2001-07-12) Must set MyProc->xid before releasing "
     "XidGenLock",
     kMvcc,
     "An xid is advertised after the lock is released under which it was "
     "drawn: a snapshot with a later xmax does not know that it runs.",
     "VIS", "xid-advertised-late.recipe"},
    {"xid_cleared_without_lock",
     "PG 5541abee0d (1999-06-03): UPDATE with xid 0 is blocked by xid 1' "
     "UPDATE, xid 1 is doing commit while xid 2 gets snapshot",
     kMvcc,
     "Transactions leave the array while a snapshot is being taken: it shows "
     "one as running, and another that waited for that one as committed.",
     "VIS", "xid-cleared-without-lock.recipe"},
};

}  // namespace

std::span<const PlantedBug> PlantedBugs() { return kBugs; }

const PlantedBug* FindPlantedBug(std::string_view name) {
  for (const PlantedBug& bug : kBugs) {
    if (bug.name == name) return &bug;
  }
  return nullptr;
}

bool PlantedBuild() {
#ifdef MUSTH_PLANTED
  return true;
#else
  return false;
#endif
}

env::Status CheckPlantedName(std::string_view name) {
  if (!PlantedBuild()) {
    return env::Status(
        env::Code::kInvalid,
        fmt::format("planted bug \"{}\": this build has none; build with "
                    "--config=planted",
                    name));
  }
  if (FindPlantedBug(name) != nullptr) return env::Status();
  std::string known;
  for (const PlantedBug& bug : kBugs) {
    if (!known.empty()) known += ", ";
    known += bug.name;
  }
  return env::Status(
      env::Code::kInvalid,
      fmt::format("unknown planted bug \"{}\", expected one of {}", name,
                  known));
}

}  // namespace faults
