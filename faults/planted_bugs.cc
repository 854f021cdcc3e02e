#include "faults/planted_bugs.h"

#include <fmt/format.h>

namespace faults {
namespace {

constexpr std::string_view kRecovery = "wal-recovery-fsync";
constexpr std::string_view kMvcc = "mvcc-hot-vacuum-vm-index";

constexpr PlantedBug kBugs[] = {
    {"abort_redo_as_commit", "a mutant: xact_redo()", kRecovery,
     "Redo of an abort record marks the transaction committed.", "ATOM", ""},
    {"checkpoint_before_fsync", "a mutant: CreateCheckPoint()", kRecovery,
     "pg_control names the new checkpoint before the data files are synced.",
     "DUR CKPT", ""},
    {"clog_lost_at_checkpoint", "a mutant: CheckPointCLOG()", kRecovery,
     "A checkpoint takes dirty commit-status pages for written; redo starts "
     "behind the commits they held.",
     "DUR CKPT", "clog-lost-at-checkpoint.recipe"},
    {"clog_not_synced", "a mutant: SlruPhysicalWritePage()", kRecovery,
     "Commit-status pages are written, but the checkpoint does not sync them.",
     "DUR CKPT", ""},
    {"commit_acked_before_flush", "a mutant: RecordTransactionCommit()",
     kRecovery,
     "A synchronous commit is acknowledged while its record is still in the "
     "WAL buffers.",
     "DUR", "commit-acked-before-flush.recipe"},
    {"control_file_not_synced", "a mutant: UpdateControlFile()", kRecovery,
     "pg_control is written without fsync; old WAL goes away before the new "
     "checkpoint is durable.",
     "REC CKPT", ""},
    {"delay_chkpt_not_set",
     "PostgreSQL 7.4.4 release notes (2004-08-16): commits before a checkpoint "
     "lost",
     kRecovery,
     "A commit writes its record before the redo pointer and its status after "
     "the checkpoint read it.",
     "DUR CKPT", ""},
    {"delete_redo_keeps_xmax", "a mutant: heap_xlog_delete()", kRecovery,
     "Redo of a delete leaves the tuple's old xmax in place.", "REDO DUR", ""},
    {"evict_ignores_just_dirtied", "a mutant: TerminateBufferIO()", kRecovery,
     "A page that was changed while it was being written counts as clean.",
     "DUR CKPT", ""},
    {"flush_one_page_short", "a mutant: XLogFlush()", kRecovery,
     "A flush request is rounded down to a WAL page boundary.", "DUR WAL", ""},
    {"fpi_missed_after_redo_moved", "a mutant: XLogInsertRecord()", kRecovery,
     "A record that was assembled before a checkpoint moved the redo pointer "
     "is inserted behind it without its page image; a torn page stays torn.",
     "REDO DUR", "fpi-missed-after-redo-moved.recipe"},
    {"fsync_failure_retried",
     "PG 9ccdd7f66 (2018-11-19) PANIC on fsync() failure.", kRecovery,
     "A failed fsync is tried again; the pages are clean by then, so that it "
     "succeeds and the checkpoint completes without them.",
     "DUR CKPT", "fsync-failure-retried.recipe"},
    {"fsync_skipped_at_checkpoint", "a mutant: ProcessSyncRequests()",
     kRecovery, "A checkpoint drops the pending fsync requests.", "DUR CKPT",
     "fsync-skipped-at-checkpoint.recipe"},
    {"hint_bit_before_flush", "a mutant: SetHintBits()", kRecovery,
     "The hint bit of an asynchronous commit whose record is not flushed is "
     "set, and reaches disk before the record.",
     "ATOM WAL", ""},
    {"hint_image_from_live_page",
     "PG 47c4333189 (2013-04-08) Avoid tricky race condition recording "
     "XLOG_HINT",
     kRecovery,
     "The image that a hint needs is copied from the shared page after the "
     "record's CRC was taken; others set hints meanwhile, and the log ends "
     "there at the next start.",
     "DUR REC", ""},
    {"io_error_leaves_clean", "a mutant: AbortBufferIO()", kRecovery,
     "A page whose write failed counts as clean.", "DUR", ""},
    {"page_lsn_not_set_in_redo",
     "PG d6a3dbe1 (2022): page LSN not set during redo", kRecovery,
     "Redo leaves the old LSN on a page that it restored from an image.",
     "REDO", ""},
    {"page_written_before_wal", "a mutant: FlushBuffer()", kRecovery,
     "A dirty page is written although the WAL up to its LSN is not flushed.",
     "WAL ATOM", "page-written-before-wal.recipe"},
    {"prev_link_ignored", "a mutant: ValidXLogRecordHeader()", kRecovery,
     "The reader accepts a record whose prev-link is wrong: the rest of a "
     "recycled segment becomes history.",
     "REC ATOM", ""},
    {"recheck_skipped_after_wait", "a mutant: heap_update() after a wait",
     kMvcc,
     "An update that waited for another writer overwrites the newest version "
     "without looking at its condition again.",
     "STMT VIS", ""},
    {"record_crc_ignored", "a mutant: ValidXLogRecord()", kRecovery,
     "The reader accepts a record whose CRC is wrong: a torn tail is replayed.",
     "REC ATOM", ""},
    {"recovery_skips_datadir_sync",
     "PG 2ce439f33 (2015-05-04) Recursively fsync() the data directory after "
     "a crash.",
     kRecovery,
     "Recovery trusts visible bytes of a process crash that were never "
     "synced; power loss then takes them.",
     "DUR CKPT", ""},
    {"redo_pointer_after_buffers", "a mutant: CreateCheckPoint()", kRecovery,
     "The checkpoint writes the buffers before it takes its redo pointer.",
     "DUR CKPT", ""},
    {"snapshot_xmax_without_lock", "a mutant: GetSnapshotData()", kMvcc,
     "A snapshot reads its xmax before it holds the lock, its running "
     "transactions after.",
     "VIS", ""},
    {"update_leaks_pin", "a mutant: heap_update()", kMvcc,
     "An update that puts its new version on another page never unpins that "
     "page.",
     "RES", ""},
    {"update_redo_wrong_suffix", "a mutant: heap_xlog_update()", kRecovery,
     "Redo of an update takes the common suffix at the padded length.",
     "REDO DUR", ""},
    {"visible_before_flush", "a mutant: CommitTransaction()", kRecovery,
     "A synchronous commit is visible to others before its record is flushed.",
     "DUR ATOM", ""},
    {"wal_copy_not_awaited", "a mutant: WaitXLogInsertionsToFinish()",
     kRecovery,
     "A flush writes WAL pages into which earlier insertions still copy.",
     "DUR WAL", ""},
    {"wal_fsync_failure_ignored", "a mutant: issue_xlog_fsync()", kRecovery,
     "A failed fsync of WAL is taken for success; commits are acknowledged.",
     "DUR", ""},
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
