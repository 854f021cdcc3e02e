#include "engine/wal/xlogreserve.h"

#include <algorithm>
#include <cstring>

#include "engine/common/checksum.h"
#include "engine/common/sites.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xloginsert.h"
#include "engine/wal/xlogrecord.h"
#include "engine/wal/xlogwrite.h"

namespace engine {
namespace {

// Bytes from lsn to the end of its page; 0 at a page's start.
uint32_t InsertFreeSpace(XLogRecPtr lsn) {
  uint32_t in_page = static_cast<uint32_t>(lsn % XLOG_BLCKSZ);
  return in_page == 0 ? 0 : XLOG_BLCKSZ - in_page;
}

void ReleaseOne(Backend& be, WALInsertLock& lock) {
  {
    env::AtomicSection waitlist_lock(&lock.insertingAt);
    lock.insertingAt = 0;
    ++lock.releases;
  }
  LWLockRelease(be, lock.lock);
  bool handed_on = lock.lock.held_exclusive();
  if (PLANTED(wal_insertion_end_not_told) && handed_on) return;
  ConditionVariableBroadcast(be, lock.progress);
}

// Tells flushers, also those that wait already, that the insertion under this
// lock has copied everything before lsn.
void UpdateVar(Backend& be, WALInsertLock& lock, XLogRecPtr lsn) {
  {
    env::AtomicSection waitlist_lock(&lock.insertingAt);
    lock.insertingAt = lsn;
  }
  ConditionVariableBroadcast(be, lock.progress);
}

void UpdateInsertingAt(Backend& be, XLogRecPtr lsn) {
  XLogCtlData& ctl = XLogCtl(be);
  XLogLocalData& local = XLogLocal(be);
  size_t no =
      local.holdingAllLocks ? ctl.insert_locks.size() - 1 : local.MyLockNo;
  UpdateVar(be, *ctl.insert_locks[no], lsn);
}

struct Reservation {
  XLogRecPtr start = 0;
  XLogRecPtr end = 0;
  XLogRecPtr prev = 0;
};

// Takes the next bytes of the log. Suspends: no.
Reservation ReserveXLogInsertLocation(Backend& be, size_t size_bytes) {
  XLogCtlData& ctl = XLogCtl(be);
  uint32_t segsize = be.config().wal_segment_size;
  size_t size = MaxAlign(size_bytes);
  SIM_CHECK(size >= kSizeOfXLogRecord);
  env::AtomicSection insertpos_lck(&ctl.CurrBytePos);
  uint64_t start = ctl.CurrBytePos;
  uint64_t end = start + size;
  Reservation r;
  r.start = XLogBytePosToRecPtr(start, segsize);
  r.end = XLogBytePosToEndRecPtr(end, segsize);
  r.prev = XLogBytePosToRecPtr(ctl.PrevBytePos, segsize);
  ctl.CurrBytePos = end;
  ctl.PrevBytePos = start;
  return r;
}

// Steps over the header of a page that continues the record.
char* BeginContinuation(Backend& be, XLogRecPtr* lsn, uint32_t rem_len) {
  char* at = GetXLogBuffer(be, *lsn);
  auto* header = reinterpret_cast<XLogPageHeaderData*>(at);
  header->xlp_rem_len = rem_len;
  header->xlp_info |= XLP_FIRST_IS_CONTRECORD;
  uint32_t size = XLogPageHeaderSizeAt(*lsn, be.config().wal_segment_size);
  *lsn += size;
  return at + size;
}

void CopyXLogRecordToWAL(Backend& be, std::span<const char> record,
                         const Reservation& r) {
  XLogRecPtr at_lsn = r.start;
  char* at = GetXLogBuffer(be, at_lsn);
  const char* from = record.data();
  auto left = static_cast<uint32_t>(record.size());
  // Records are aligned, so the length word never crosses a page.
  SIM_CHECK(InsertFreeSpace(at_lsn) >= sizeof(uint32_t));
  while (left > InsertFreeSpace(at_lsn)) {
    uint32_t here = InsertFreeSpace(at_lsn);
    std::memcpy(at, from, here);
    from += here;
    left -= here;
    at_lsn += here;
    at = BeginContinuation(be, &at_lsn, left);
  }
  std::memcpy(at, from, left);
  // What was reserved is what was written.
  SIM_CHECK(MaxAlign(at_lsn + left) == r.end);
}

// Completes the header with what only the reservation knows.
void FinishHeader(std::span<char> record, XLogRecPtr prev) {
  auto* header = reinterpret_cast<XLogRecord*>(record.data());
  header->xl_prev = prev;
  uint32_t crc =
      Crc32cComp(header->xl_crc, header, offsetof(XLogRecord, xl_crc));
  header->xl_crc = Crc32cFin(crc);
}

void EmitInsert(Backend& be, std::span<const char> record,
                const Reservation& r) {
  const auto* header = reinterpret_cast<const XLogRecord*>(record.data());
  env::Event e;
  e.kind = env::EventKind::kWalInsert;
  e.a[0] = r.start;
  e.a[1] = r.end;
  e.a[2] = static_cast<uint64_t>(header->xl_rmid) << 8 | header->xl_info;
  e.a[3] = header->xl_xid;
  e.a[4] = r.prev;
  e.bytes = {record.data(), record.size()};
  be.env->events->Emit(e);
}

// True if a page that was registered without image needs one by now. Refreshes
// this backend's copies.
bool NeedsReassembly(Backend& be, XLogRecPtr fpw_lsn) {
  const XLogCtlData& ctl = XLogCtl(be);
  XLogLocalData& local = XLogLocal(be);
  bool had_page_writes = local.doPageWrites;
  local.RedoRecPtr = ctl.RedoRecPtr;
  local.doPageWrites = ctl.fullPageWrites;
  if (PLANTED(fpi_missed_after_redo_moved)) return false;
  return local.doPageWrites &&
         (!had_page_writes || (fpw_lsn != 0 && fpw_lsn <= local.RedoRecPtr));
}

// What a lock says about the insertion under it.
struct Insertion {
  bool going_on;
  uint64_t releases;
  XLogRecPtr at;
};
Insertion Look(const WALInsertLock& lock) {
  env::AtomicSection waitlist_lock(&lock.insertingAt);
  return {lock.lock.held_exclusive(), lock.releases, lock.insertingAt};
}

// Waits for the insertion under this lock, if there is one, to be over or to
// have passed upto. Returns how far it is, or 0 if it is over.
XLogRecPtr WaitForInsertion(Backend& be, WALInsertLock& lock, XLogRecPtr upto) {
  Insertion now = Look(lock);
  if (!now.going_on) return 0;
  uint64_t releases = now.releases;
  XLogRecPtr at = 0;
  // Whoever takes the lock next reserves bytes behind upto.
  while (now.going_on && now.releases == releases) {
    if (now.at >= upto) {
      at = now.at;
      break;
    }
    if (PLANTED(insert_progress_missed)) {
      YIELD_POINT(insert_progress_read);
      Insertion after = Look(lock);  // of the lock, not of how far it is
      if (!after.going_on || after.releases != releases) break;
    }
    ConditionVariableSleep(be, lock.progress);
    now = Look(lock);
  }
  ConditionVariableCancelSleep(be, lock.progress);
  return at;
}

void InitPage(Backend& be, int idx, XLogRecPtr begin) {
  XLogCtlData& ctl = XLogCtl(be);
  uint32_t segsize = be.config().wal_segment_size;
  char* page = ctl.page(idx);
  std::memset(page, 0, XLOG_BLCKSZ);
  XLogLongPageHeaderData header;
  header.std.xlp_magic = XLOG_PAGE_MAGIC;
  header.std.xlp_info = XLP_BKP_REMOVABLE;
  header.std.xlp_tli = ctl.InsertTimeLineID;
  header.std.xlp_pageaddr = begin;
  uint32_t size = XLogPageHeaderSizeAt(begin, segsize);
  if (size == kSizeOfXLogLongPHD) {
    header.std.xlp_info |= XLP_LONG_HEADER;
    header.xlp_sysid = ctl.control_file.system_identifier;
    header.xlp_seg_size = segsize;
    header.xlp_xlog_blcksz = XLOG_BLCKSZ;
  }
  std::memcpy(page, &header, size);
}

// Writes out the page that slot idx still holds. Takes and gives back no
// lock of the caller's but WALBufMappingLock, which is free meanwhile.
void EvictOldPage(Backend& be, XLogRecPtr old_end) {
  XLogCtlData& ctl = XLogCtl(be);
  ctl.RaiseWriteRqst(old_end);
  LWLockRelease(be, ctl.WALBufMappingLock);
  WaitXLogInsertionsToFinish(be, old_end);
  {
    WALWriteGuard guard(be);
    if (ctl.LogwrtResult.Write < old_end) {
      XLogWrite(be, XLogwrt{old_end, 0}, false);
    }
  }
  LWLockAcquire(be, ctl.WALBufMappingLock, LWLockMode::kExclusive);
}

}  // namespace

void WALInsertLockAcquire(Backend& be) {
  XLogCtlData& ctl = XLogCtl(be);
  XLogLocalData& local = XLogLocal(be);
  local.MyLockNo = local.lockToTry;
  WALInsertLock& lock = *ctl.insert_locks[local.MyLockNo];
  bool contended = !lock.lock.free();
  LWLockAcquire(be, lock.lock, LWLockMode::kExclusive);
  // Affinity to one lock, until somebody else is met there.
  if (contended) {
    local.lockToTry = (local.lockToTry + 1) % ctl.insert_locks.size();
  }
}

void WALInsertLockAcquireExclusive(Backend& be) {
  XLogCtlData& ctl = XLogCtl(be);
  SIM_CHECK(!XLogLocal(be).holdingAllLocks);
  for (size_t i = 0; i < ctl.insert_locks.size(); ++i) {
    WALInsertLock& lock = *ctl.insert_locks[i];
    LWLockAcquire(be, lock.lock, LWLockMode::kExclusive);
    // Only the last lock says where this process inserts.
    if (i + 1 == ctl.insert_locks.size()) continue;
    if (PLANTED(wal_insertion_end_not_told)) {
      lock.insertingAt = ~XLogRecPtr{0};
    } else {
      UpdateVar(be, lock, ~XLogRecPtr{0});
    }
  }
  XLogLocal(be).holdingAllLocks = true;
}

void WALInsertLockRelease(Backend& be) {
  XLogCtlData& ctl = XLogCtl(be);
  XLogLocalData& local = XLogLocal(be);
  if (!local.holdingAllLocks) {
    ReleaseOne(be, *ctl.insert_locks[local.MyLockNo]);
    return;
  }
  for (auto& lock : ctl.insert_locks) ReleaseOne(be, *lock);
  local.holdingAllLocks = false;
}

XLogRecPtr WaitXLogInsertionsToFinish(Backend& be, XLogRecPtr upto) {
  XLogCtlData& ctl = XLogCtl(be);
  XLogRecPtr finished = XLogBytePosToEndRecPtr(ctl.CurrBytePosNow(),
                                               be.config().wal_segment_size);
  // Nobody can have inserted beyond this; a page with such an LSN is damaged.
  upto = std::min(upto, finished);
  if (PLANTED(wal_copy_not_awaited)) return finished;
  for (auto& lock : ctl.insert_locks) {
    XLogRecPtr at = WaitForInsertion(be, *lock, upto);
    if (at != 0) finished = std::min(finished, at);
  }
  SIM_CHECK(finished >= upto);
  return finished;
}

void AdvanceXLInsertBuffer(Backend& be, XLogRecPtr upto, bool opportunistic) {
  XLogCtlData& ctl = XLogCtl(be);
  LWLockAcquire(be, ctl.WALBufMappingLock, LWLockMode::kExclusive);
  // Somebody else may have done it while this process waited.
  while (upto >= ctl.InitializedUpTo || opportunistic) {
    int idx = ctl.XLogRecPtrToBufIdx(ctl.InitializedUpTo);
    XLogRecPtr old_end = ctl.XlBlock(idx);
    if (ctl.LogwrtResultNow().Write < old_end) {
      if (opportunistic) break;
      EvictOldPage(be, old_end);
      continue;
    }
    XLogRecPtr begin = ctl.InitializedUpTo;
    if (PLANTED(wal_page_published_before_init)) {
      ctl.SetXlBlock(idx, begin + XLOG_BLCKSZ);
      YIELD_POINT(wal_page_not_initialised);
    }
    InitPage(be, idx, begin);
    ctl.InitializedUpTo = begin + XLOG_BLCKSZ;
    ctl.SetXlBlock(idx, ctl.InitializedUpTo);
  }
  LWLockRelease(be, ctl.WALBufMappingLock);
}

char* GetXLogBuffer(Backend& be, XLogRecPtr lsn) {
  XLogCtlData& ctl = XLogCtl(be);
  uint32_t segsize = be.config().wal_segment_size;
  int idx = ctl.XLogRecPtrToBufIdx(lsn);
  XLogRecPtr page_begin = XLogPageStart(lsn);
  XLogRecPtr want = page_begin + XLOG_BLCKSZ;
  if (ctl.XlBlock(idx) != want) {
    // Making room may have to wait for pages before this one to be written,
    // which waits for insertions there: say that this one is not among them.
    // Right behind a header nothing of the page is this record's yet.
    XLogRecPtr reached = lsn;
    if (lsn == page_begin + XLogPageHeaderSizeAt(page_begin, segsize)) {
      reached = page_begin;
    }
    if (PLANTED(insert_progress_page_start)) reached = page_begin;
    UpdateInsertingAt(be, reached);
    YIELD_POINT_BEFORE(wal_buffer_advance, ctl.WALBufMappingLock.NextChanges());
    AdvanceXLInsertBuffer(be, lsn, false);
    SIM_CHECK(ctl.XlBlock(idx) == want);
  }
  return ctl.page(idx) + lsn % XLOG_BLCKSZ;
}

XLogRecPtr GetLastImportantRecPtr(Backend& be) {
  XLogRecPtr last = 0;
  for (auto& lock : XLogCtl(be).insert_locks) {
    last = std::max(last, lock->lastImportantAt);
  }
  return last;
}

XLogRecPtr XLogInsertRecord(Backend& be, std::span<char> record,
                            XLogRecPtr fpw_lsn, uint8_t flags) {
  SIM_CHECK(XLogInsertAllowed(be));
  SIM_CHECK(record.size() >= kSizeOfXLogRecord);
  XLogCtlData& ctl = XLogCtl(be);
  XLogLocalData& local = XLogLocal(be);
  CriticalSection crit(be);
  WALInsertLockAcquire(be);
  if (NeedsReassembly(be, fpw_lsn)) {
    WALInsertLockRelease(be);
    return kInvalidXLogRecPtr;
  }
  Reservation r = ReserveXLogInsertLocation(be, record.size());
  FinishHeader(record, r.prev);
  EmitInsert(be, record, r);
  // Whoever flushes waits for the copy, and then for the lock.
  const WALInsertLock& mine = *ctl.insert_locks[local.MyLockNo];
  INJECTION_POINT_BEFORE(wal_after_reserve, mine.progress.NextChanges());
  CopyXLogRecordToWAL(be, record, r);
  INJECTION_POINT_BEFORE(wal_after_copy, mine.progress.NextChanges());
  if ((flags & XLOG_MARK_UNIMPORTANT) == 0) {
    ctl.insert_locks[local.MyLockNo]->lastImportantAt = r.start;
  }
  WALInsertLockRelease(be);
  // A full page is worth writing even before anybody asks for a flush.
  if (r.start / XLOG_BLCKSZ != r.end / XLOG_BLCKSZ) {
    ctl.RaiseWriteRqst(r.end);
  }
  local.ProcLastRecPtr = r.start;
  return r.end;
}

}  // namespace engine
