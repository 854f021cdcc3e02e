#include "engine/txn/clog.h"

#include <cstring>

#include "engine/common/errcodes.h"
#include "engine/common/sites.h"
#include "engine/txn/txn_shared.h"
#include "engine/wal/rmgr.h"
#include "engine/wal/xloginsert.h"
#include "sim/env/race.h"

namespace engine {
namespace {

int64_t XidToPage(TransactionId xid) { return xid / CLOG_XACTS_PER_PAGE; }
size_t XidToByte(TransactionId xid) { return xid % CLOG_XACTS_PER_PAGE / 4; }
unsigned XidToShift(TransactionId xid) { return xid % 4 * 2; }
int XidToGroup(TransactionId xid) {
  return static_cast<int>(xid % CLOG_XACTS_PER_PAGE) / CLOG_XACTS_PER_LSN_GROUP;
}

Result<int> ReadXidPage(Backend& be, TransactionId xid) {
  Result<int> slot =
      SharedTxn(be).clog.ReadPage(be, XidToPage(xid), be.in_recovery);
  if (slot.ok()) return slot;
  return SlruReportIOError(slot.status(), xid);
}

// Makes a page of zeros and logs that.
Status ZeroCLOGPage(Backend& be, int64_t pageno) {
  Result<int> slot = SharedTxn(be).clog.ZeroPage(be, pageno);
  if (!slot.ok()) return slot.status();
  auto body = static_cast<int32_t>(pageno);
  CriticalSection crit(be);
  XLogInsertion record(be);
  record.RegisterData(&body, sizeof(body));
  record.Insert(RM_CLOG_ID, CLOG_ZEROPAGE);
  return {};
}

// Zeroes a page and writes it at once.
Status ZeroAndWritePage(Backend& be, int64_t pageno) {
  Slru& clog = SharedTxn(be).clog;
  ASSIGN_OR_RETURN(int slot, clog.ZeroPage(be, pageno));
  return clog.WritePage(be, slot);
}

}  // namespace

Status TransactionIdSetStatus(Backend& be, TransactionId xid, XidStatus status,
                              XLogRecPtr lsn) {
  SIM_CHECK(TransactionIdIsNormal(xid));
  SIM_CHECK(status != XidStatus::kInProgress);
  Slru& clog = SharedTxn(be).clog;
  ASSIGN_OR_RETURN(int slot, ReadXidPage(be, xid));
  env::AtomicSection xact_slru_lock(&clog);
  char& byte = clog.page(slot)[XidToByte(xid)];
  unsigned shift = XidToShift(xid);
  unsigned cleared = static_cast<unsigned char>(byte) & ~(3u << shift);
  byte = static_cast<char>(cleared | (static_cast<unsigned>(status) << shift));
  clog.MarkDirty(slot);
  if (lsn != kInvalidXLogRecPtr) {
    clog.RaiseGroupLsn(slot, XidToGroup(xid), lsn);
  }
  be.env->events->Emit(env::EventKind::kClogSet, xid,
                       static_cast<uint64_t>(status));
  return {};
}

Result<XidStatus> TransactionIdGetStatus(Backend& be, TransactionId xid,
                                         XLogRecPtr* lsn) {
  if (lsn != nullptr) *lsn = kInvalidXLogRecPtr;
  if (!TransactionIdIsNormal(xid)) {
    return TransactionIdIsValid(xid) ? XidStatus::kCommitted
                                     : XidStatus::kAborted;
  }
  Slru& clog = SharedTxn(be).clog;
  ASSIGN_OR_RETURN(int slot, ReadXidPage(be, xid));
  env::AtomicSection xact_slru_lock(&clog);
  auto byte = static_cast<unsigned char>(clog.page(slot)[XidToByte(xid)]);
  if (lsn != nullptr) *lsn = clog.group_lsn(slot, XidToGroup(xid));
  return static_cast<XidStatus>((byte >> XidToShift(xid)) & 3);
}

Result<bool> TransactionIdDidCommit(Backend& be, TransactionId xid) {
  ASSIGN_OR_RETURN(XidStatus status, TransactionIdGetStatus(be, xid, nullptr));
  return status == XidStatus::kCommitted;
}

Result<bool> TransactionIdDidAbort(Backend& be, TransactionId xid) {
  ASSIGN_OR_RETURN(XidStatus status, TransactionIdGetStatus(be, xid, nullptr));
  return status == XidStatus::kAborted;
}

Status BootStrapCLOG(Backend& be) {
  Status made = be.env->files->Mkdir("pg_xact");
  if (!made.ok() && made.code() != env::Code::kExists) return made;
  return ZeroAndWritePage(be, 0);
}

Status ExtendCLOG(Backend& be, TransactionId xid) {
  // The first normal xid stands for its page after a wraparound, too.
  if (xid % CLOG_XACTS_PER_PAGE != 0 && xid != kFirstNormalTransactionId) {
    return {};
  }
  return ZeroCLOGPage(be, XidToPage(xid));
}

Status TrimCLOG(Backend& be) {
  auto xid = static_cast<TransactionId>(SharedTxn(be).next_full_xid);
  if (xid % CLOG_XACTS_PER_PAGE == 0) return {};  // ExtendCLOG will zero it
  Slru& clog = SharedTxn(be).clog;
  ASSIGN_OR_RETURN(int slot, ReadXidPage(be, xid));
  env::AtomicSection xact_slru_lock(&clog);
  size_t byte = XidToByte(xid);
  char* page = clog.page(slot);
  page[byte] = static_cast<char>(static_cast<unsigned char>(page[byte]) &
                                 ((1u << XidToShift(xid)) - 1));
  std::memset(page + byte + 1, 0, size_t{BLCKSZ} - byte - 1);
  clog.MarkDirty(slot);
  return {};
}

Status CheckPointCLOG(Backend& be) {
  Slru& clog = SharedTxn(be).clog;
  if (PLANTED(clog_lost_at_checkpoint)) clog.MarkAllClean();
  return clog.WriteAll(be);
}

Status ClogRedo(Backend& be, XLogReaderState& record) {
  uint8_t op = record.info() & 0xF0;
  if (op != CLOG_ZEROPAGE) {
    return Status(env::Code::kCorrupted,
                  fmt::format("clog_redo: unknown op code {}", op));
  }
  int32_t pageno = 0;
  std::string_view body = record.main_data();
  if (body.size() != sizeof(pageno)) {
    return Status(env::Code::kCorrupted, "clog_redo: bad record length");
  }
  std::memcpy(&pageno, body.data(), sizeof(pageno));
  if (pageno < 0 || pageno > XidToPage(0xFFFFFFFF)) {
    return Status(env::Code::kCorrupted,
                  fmt::format("clog_redo: bad page number {}", pageno));
  }
  return ZeroAndWritePage(be, pageno);
}

}  // namespace engine
