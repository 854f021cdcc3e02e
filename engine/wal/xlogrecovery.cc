#include "engine/wal/xlogrecovery.h"

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "engine/common/errcodes.h"
#include "engine/common/file_error.h"
#include "engine/common/file_io.h"
#include "engine/common/sites.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xlog_redo.h"
#include "engine/wal/xlogrecord.h"

namespace engine {
namespace {

Status DeviceError(const WalRecovery& recovery) {
  return SqlError(ERRCODE_IO_ERROR, "could not read the write-ahead log: {}",
                  recovery.reader.error_message());
}

// Reads the record at lsn, which must be a checkpoint record.
Result<CheckPoint> ReadCheckpointRecord(WalRecovery* recovery, XLogRecPtr lsn) {
  XLogReaderState& reader = recovery->reader;
  auto invalid = [&](std::string_view why) {
    return SqlError(ERRCODE_DATA_CORRUPTED,
                    "could not locate a valid checkpoint record")
        .WithDetail(fmt::format("{} at {}", why, LsnToString(lsn)));
  };
  if (!XRecOffIsValid(lsn)) return invalid("invalid checkpoint link");
  reader.BeginRead(lsn);
  if (!reader.ReadRecord()) {
    if (reader.page_status().code() == env::Code::kIo) {
      return DeviceError(*recovery);
    }
    return invalid("invalid checkpoint record: " + reader.error_message());
  }
  if (reader.rmid() != RM_XLOG_ID) {
    return invalid("invalid resource manager ID in checkpoint record");
  }
  uint8_t info = reader.info() & XLR_RMGR_INFO_MASK;
  if (info != XLOG_CHECKPOINT_SHUTDOWN && info != XLOG_CHECKPOINT_ONLINE) {
    return invalid("invalid xl_info in checkpoint record");
  }
  recovery->was_shutdown = info == XLOG_CHECKPOINT_SHUTDOWN;
  return DecodeCheckPoint(reader.main_data());
}

Status ApplyRecord(Backend& be, WalRecovery* recovery) {
  XLogCtlData& ctl = XLogCtl(be);
  XLogReaderState& record = recovery->reader;
  be.env->events->Emit(
      env::EventKind::kRedo, record.ReadRecPtr(), record.EndRecPtr(),
      static_cast<uint64_t>(record.rmid()) << 8 | record.info());
  if (TransactionIdIsValid(record.xid())) {
    ctl.checkpoint_client->AdvanceNextXid(be, record.xid());
  }
  auto redo = (*ctl.rmgr_table)[record.rmid()].rm_redo;
  if (redo == nullptr && record.rmid() == RM_XLOG_ID) redo = XlogRedo;
  if (redo == nullptr) {
    return SqlError(ERRCODE_DATA_CORRUPTED,
                    "resource manager with ID {} not registered",
                    record.rmid());
  }
  return redo(be, record);
}

// Replays from the record that the reader holds to the last valid one.
void ReplayAll(Backend& be, WalRecovery* recovery) {
  XLogReaderState& reader = recovery->reader;
  do {
    Status status = ApplyRecord(be, recovery);
    if (!status.ok()) {
      Panic(be, fmt::format("WAL redo at {} for rmgr {} info {:02X}: {}",
                            LsnToString(reader.ReadRecPtr()), reader.rmid(),
                            reader.info(), status.ToString()));
    }
    XLogCtl(be).lastReplayedEndRecPtr = reader.EndRecPtr();
    INJECTION_POINT(recovery_after_record);
  } while (reader.ReadRecord());
}

// Whether the bytes are that page of the log, and not what a device returned in
// its place.
Status CheckPageAddress(std::string_view page, XLogRecPtr lsn) {
  XLogPageHeaderData header;
  std::memcpy(&header, page.data(), sizeof(header));
  if (header.xlp_magic == XLOG_PAGE_MAGIC && header.xlp_pageaddr == lsn) {
    return {};
  }
  return SqlError(ERRCODE_DATA_CORRUPTED,
                  "could not read the last page of the write-ahead log")
      .WithDetail(fmt::format("Unexpected pageaddr {} instead of {}.",
                              LsnToString(header.xlp_pageaddr),
                              LsnToString(lsn)));
}

}  // namespace

WalRecovery::WalRecovery(Backend& be)
    : source(be),
      reader(be.config().wal_segment_size,
             XLogCtl(be).control_file.system_identifier,
             [this](XLogRecPtr page, std::span<char, XLOG_BLCKSZ> out) {
               return source.Read(page, out);
             }) {}

Status WalPageSource::Read(XLogRecPtr page, std::span<char, XLOG_BLCKSZ> out) {
  uint32_t segsize = be_.config().wal_segment_size;
  XLogSegNo segno = XLByteToSeg(page, segsize);
  std::string name =
      XLogFileName(XLogCtl(be_).InsertTimeLineID, segno, segsize);
  if (file_ == nullptr || segno_ != segno) {
    file_.reset();
    Result<std::unique_ptr<env::File>> file = be_.env->files->Open(
        fmt::format("{}/{}", kXLogDir, name), env::kOpenRead);
    if (!file.ok()) {
      return Status(file.status().code(),
                    fmt::format("could not open file \"{}\": {}", name,
                                ErrnoText(file.status().code())));
    }
    file_ = std::move(file).value();
    segno_ = segno;
  }
  int64_t offset = XLogSegmentOffset(page, segsize);
  Result<size_t> have = ReadFully(*file_, offset, out);
  if (!have.ok()) {
    return Status(have.status().code(),
                  fmt::format("could not read from log segment {}, offset "
                              "{}: {}",
                              name, offset, ErrnoText(have.status().code())));
  }
  if (*have < out.size()) {
    return Status(env::Code::kNotFound,
                  fmt::format("could not read from log segment {}, offset "
                              "{}: read {} of {}",
                              name, offset, *have, out.size()));
  }
  Keep(page, out);
  return {};
}

void WalPageSource::Keep(XLogRecPtr page,
                         std::span<const char, XLOG_BLCKSZ> bytes) {
  if (kept_[0].page != page) std::swap(kept_[0], kept_[1]);
  kept_[0].page = page;
  kept_[0].bytes.assign(bytes.data(), bytes.size());
}

std::string_view WalPageSource::Kept(XLogRecPtr page) const {
  for (const KeptPage& kept : kept_) {
    if (kept.page == page) return kept.bytes;
  }
  return {};
}

Status InitWalRecovery(Backend& be, WalRecovery* recovery) {
  const ControlFileData& control = XLogCtl(be).control_file;
  recovery->checkpoint_lsn = control.checkPoint;
  ASSIGN_OR_RETURN(recovery->checkpoint,
                   ReadCheckpointRecord(recovery, control.checkPoint));
  XLogRecPtr redo = recovery->checkpoint.redo;
  if (redo > recovery->checkpoint_lsn) {
    return SqlError(ERRCODE_DATA_CORRUPTED,
                    "invalid redo in checkpoint record");
  }
  if (redo < recovery->checkpoint_lsn) {
    if (recovery->was_shutdown) {
      return SqlError(ERRCODE_DATA_CORRUPTED,
                      "invalid redo record in shutdown checkpoint");
    }
    recovery->in_recovery = true;
  } else if (control.state != DB_SHUTDOWNED) {
    recovery->in_recovery = true;
  }
  return {};
}

Status PerformWalRecovery(Backend& be, WalRecovery* recovery) {
  XLogReaderState& reader = recovery->reader;
  XLogRecPtr redo = recovery->checkpoint.redo;
  XLogCtl(be).lastReplayedEndRecPtr = redo;
  bool have_record;
  if (redo < recovery->checkpoint_lsn) {
    reader.BeginRead(redo);
    have_record = reader.ReadRecord();
    if (!have_record && reader.page_status().code() != env::Code::kIo) {
      return SqlError(ERRCODE_DATA_CORRUPTED,
                      "could not find redo location referenced by checkpoint "
                      "record")
          .WithDetail(reader.error_message());
    }
  } else {
    // The checkpoint record itself has nothing to replay.
    XLogCtl(be).lastReplayedEndRecPtr = reader.EndRecPtr();
    have_record = reader.ReadRecord();
  }
  INJECTION_POINT(recovery_before_redo);
  if (have_record) ReplayAll(be, recovery);
  // A log that cannot be read has no end that one could trust.
  if (reader.page_status().code() == env::Code::kIo) {
    return DeviceError(*recovery);
  }
  XLogCheckInvalidPages(be);
  return {};
}

Status FinishWalRecovery(WalRecovery* recovery, EndOfWalRecoveryInfo* end) {
  // Without redo the reader stands at the shutdown checkpoint, the last
  // record of all.
  XLogReaderState& reader = recovery->reader;
  end->lastRec = reader.ReadRecPtr();
  end->endOfLog = reader.EndRecPtr();
  if (recovery->in_recovery && reader.missingContrecPtr() != 0) {
    end->abortedRecPtr = reader.abortedRecPtr();
    end->missingContrecPtr = reader.missingContrecPtr();
    end->endOfLog = reader.missingContrecPtr();
  }
  end->lastPageBeginPtr = XLogPageStart(end->endOfLog);
  if (end->endOfLog == end->lastPageBeginPtr) return {};
  // What was replayed counts: the page is written back with the next records,
  // and a device may return something else by now.
  std::string page(recovery->source.Kept(end->lastPageBeginPtr));
  if (page.empty()) {
    // The search for the end went on over more pages than are kept.
    page.resize(XLOG_BLCKSZ);
    RETURN_IF_ERROR(recovery->source.Read(
        end->lastPageBeginPtr,
        std::span<char, XLOG_BLCKSZ>(page.data(), XLOG_BLCKSZ)));
    RETURN_IF_ERROR(CheckPageAddress(page, end->lastPageBeginPtr));
  }
  page.resize(end->endOfLog - end->lastPageBeginPtr);
  end->lastPage = std::move(page);
  return {};
}

}  // namespace engine
