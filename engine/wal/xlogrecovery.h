// Replaying the log after a crash.
//
//   InitWalRecovery     find the checkpoint, decide whether to replay
//   PerformWalRecovery  replay from its redo pointer to the end of valid WAL
//   FinishWalRecovery   where that end is, and its last page
//
// StartupXLOG (checkpoint.h) drives the three and then opens the log for
// insertion.
// Source: src/backend/access/transam/xlogrecovery.c.
#ifndef MUSTH_ENGINE_WAL_XLOGRECOVERY_H_
#define MUSTH_ENGINE_WAL_XLOGRECOVERY_H_

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/wal/xlog_ctl.h"
#include "engine/wal/xlogreader.h"

namespace engine {

// Reads WAL pages from the segment files of pg_wal.
class WalPageSource {
 public:
  explicit WalPageSource(Backend& be) : be_(be) {}
  // A page that does not exist, or only in part, is kNotFound: the log ends. A
  // device that fails is kIo: nobody knows where it ends. Suspends: yes.
  Status Read(XLogRecPtr page, std::span<char, XLOG_BLCKSZ> out);
  // What Read returned of the page, if it was one of the last two pages; else
  // empty.
  std::string_view Kept(XLogRecPtr page) const;

 private:
  struct KeptPage {
    XLogRecPtr page = 0;
    std::string bytes;
  };
  void Keep(XLogRecPtr page, std::span<const char, XLOG_BLCKSZ> bytes);

  Backend& be_;
  std::unique_ptr<env::File> file_;
  XLogSegNo segno_ = 0;
  std::array<KeptPage, 2> kept_;  // the latest first
};

struct WalRecovery {
  explicit WalRecovery(Backend& be);

  WalPageSource source;
  XLogReaderState reader;

  XLogRecPtr checkpoint_lsn = 0;
  CheckPoint checkpoint;
  bool was_shutdown = false;
  bool in_recovery = false;
};

struct EndOfWalRecoveryInfo {
  XLogRecPtr lastRec = 0;   // start of the last valid record
  XLogRecPtr endOfLog = 0;  // where the next one goes
  XLogRecPtr lastPageBeginPtr = 0;
  std::string lastPage;  // up to endOfLog, empty if that is a page's start
  XLogRecPtr abortedRecPtr = 0;
  XLogRecPtr missingContrecPtr = 0;
};

// Reads the checkpoint record that pg_control names. Suspends: yes.
// Errors: "could not locate a valid checkpoint record" and the like.
Status InitWalRecovery(Backend& be, WalRecovery* recovery);

// Replays. Requires: InitWalRecovery. Suspends: yes.
// Errors: a device error while reading the log. PANIC: a redo routine failed,
// or a page that the log refers to never was there.
Status PerformWalRecovery(Backend& be, WalRecovery* recovery);

// Suspends: yes.
Status FinishWalRecovery(WalRecovery* recovery, EndOfWalRecoveryInfo* end);

// PANICs if references to missing pages were never explained by a drop or a
// truncation.
void XLogCheckInvalidPages(Backend& be);

}  // namespace engine

#endif  // MUSTH_ENGINE_WAL_XLOGRECOVERY_H_
