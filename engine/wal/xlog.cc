#include "engine/wal/xlog.h"

#include <cstring>

#include "engine/common/sites.h"
#include "engine/wal/xlog_ctl.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xloginsert.h"
#include "engine/wal/xlogreserve.h"

namespace engine {
namespace {

constexpr uint64_t kUsableBytesInPage = XLOG_BLCKSZ - kSizeOfXLogShortPHD;
constexpr uint64_t kFirstPageBytes = XLOG_BLCKSZ - kSizeOfXLogLongPHD;

uint64_t UsableBytesInSegment(uint32_t segsize) {
  return segsize / XLOG_BLCKSZ * kUsableBytesInPage -
         (kSizeOfXLogLongPHD - kSizeOfXLogShortPHD);
}

// Offset in the segment of the byteslft-th usable byte. at_end: as the end of
// a record, which does not step over a header that follows.
uint64_t SegmentOffsetOf(uint64_t byteslft, bool at_end) {
  if (at_end && byteslft == 0) return 0;
  if (byteslft < kFirstPageBytes + (at_end ? 1 : 0)) {
    return byteslft + kSizeOfXLogLongPHD;
  }
  byteslft -= kFirstPageBytes;
  uint64_t fullpages = byteslft / kUsableBytesInPage;
  uint64_t rest = byteslft % kUsableBytesInPage;
  uint64_t offset = (fullpages + 1) * XLOG_BLCKSZ + rest;
  if (!at_end || rest > 0) offset += kSizeOfXLogShortPHD;
  return offset;
}

class XLogBufferHooks final : public BufferWalHooks {
 public:
  void FlushWal(Backend& be, XLogRecPtr lsn) override { XLogFlush(be, lsn); }

  // The page may change its hint bits while others hold the share lock; the
  // record takes its own copy of the page in one step (XLogInsertion).
  XLogRecPtr SaveBufferForHint(Backend& be, Buffer buffer) override {
    if (!XLogInsertAllowed(be)) return kInvalidXLogRecPtr;
    XLogRecPtr redo = GetRedoRecPtr(be);
    if (BufferGetLSNAtomic(be, buffer) > redo) return kInvalidXLogRecPtr;
    // Maps of free space and visibility keep their content where a standard
    // page has its hole.
    bool standard = BufferGetTag(be, buffer).forkNum == kMainFork;
    return LogHintImage(be, buffer, standard);
  }

  XLogRecPtr FlushedUpTo(Backend& be) override { return GetFlushRecPtr(be); }
};

}  // namespace

XLogRecPtr XLogBytePosToRecPtr(uint64_t bytepos, uint32_t segsize) {
  uint64_t per_segment = UsableBytesInSegment(segsize);
  return bytepos / per_segment * segsize +
         SegmentOffsetOf(bytepos % per_segment, false);
}

XLogRecPtr XLogBytePosToEndRecPtr(uint64_t bytepos, uint32_t segsize) {
  uint64_t per_segment = UsableBytesInSegment(segsize);
  return bytepos / per_segment * segsize +
         SegmentOffsetOf(bytepos % per_segment, true);
}

uint64_t XLogRecPtrToBytePos(XLogRecPtr lsn, uint32_t segsize) {
  uint64_t bytes = lsn / segsize * UsableBytesInSegment(segsize);
  uint64_t offset = lsn % segsize;
  uint64_t page = offset / XLOG_BLCKSZ;
  uint64_t in_page = offset % XLOG_BLCKSZ;
  uint64_t header = page == 0 ? kSizeOfXLogLongPHD : kSizeOfXLogShortPHD;
  if (page > 0) bytes += kFirstPageBytes + (page - 1) * kUsableBytesInPage;
  if (in_page > 0) {
    SIM_CHECK(in_page >= header);
    bytes += in_page - header;
  }
  return bytes;
}

XLogCtlData::XLogCtlData(const Config& config)
    : pages(new char[static_cast<size_t>(config.wal_buffers) * XLOG_BLCKSZ]),
      xlblocks(static_cast<size_t>(config.wal_buffers), 0) {
  for (int i = 0; i < config.wal_insert_locks; ++i) {
    insert_locks.push_back(std::make_unique<WALInsertLock>());
  }
}

void XLogShmemInit(SharedMemory& shared) {
  SIM_CHECK(IsValidWalSegSize(shared.config.wal_segment_size));
  SIM_CHECK(shared.config.wal_buffers >= 4);
  SIM_CHECK(shared.config.wal_insert_locks >= 1);
  shared.slots.Set(Layer::kWal, std::make_unique<XLogCtlData>(shared.config));
}

void XLogInit(Backend& be) {
  auto local = std::make_unique<XLogLocalData>();
  const XLogCtlData& ctl = XLogCtl(be);
  local->RedoRecPtr = ctl.RedoRecPtrNow();
  local->doPageWrites = ctl.fullPageWrites;
  if (be.proc_number >= 0) {
    local->lockToTry =
        static_cast<size_t>(be.proc_number) % ctl.insert_locks.size();
  }
  be.local.Set(Layer::kWal, std::move(local));
}

bool RecoveryInProgress(Backend& be) {
  return XLogCtl(be).recovery_in_progress;
}

bool XLogInsertAllowed(Backend& be) {
  int forced = XLogLocal(be).LocalXLogInsertAllowed;
  if (forced >= 0) return forced != 0;
  return !RecoveryInProgress(be);
}

XLogRecPtr GetXLogInsertRecPtr(Backend& be) {
  return XLogBytePosToEndRecPtr(XLogCtl(be).CurrBytePosNow(),
                                be.config().wal_segment_size);
}

XLogRecPtr GetFlushRecPtr(Backend& be) {
  const XLogCtlData& ctl = XLogCtl(be);
  // What is replayed was read from files that were synced before.
  if (RecoveryInProgress(be) && !XLogInsertAllowed(be)) {
    return ctl.lastReplayedEndRecPtr;
  }
  return ctl.LogwrtResultNow().Flush;
}

XLogRecPtr GetRedoRecPtr(Backend& be) {
  XLogLocalData& local = XLogLocal(be);
  local.RedoRecPtr = XLogCtl(be).RedoRecPtrNow();
  return local.RedoRecPtr;
}

void SetRmgrTable(SharedMemory& shared, const RmgrTable* table) {
  shared.slots.Get<XLogCtlData>(Layer::kWal).rmgr_table = table;
}

void SetCheckpointClient(SharedMemory& shared, CheckpointClient* client) {
  shared.slots.Get<XLogCtlData>(Layer::kWal).checkpoint_client = client;
}

void SetXLogXid(Backend& be, TransactionId xid) { XLogLocal(be).xid = xid; }
TransactionId GetXLogXid(Backend& be) { return XLogLocal(be).xid; }

std::unique_ptr<BufferWalHooks> MakeBufferWalHooks() {
  return std::make_unique<XLogBufferHooks>();
}

}  // namespace engine
