#include "engine/wal/xlogtrust.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/common/errcodes.h"
#include "engine/common/file_error.h"
#include "engine/common/file_io.h"
#include "engine/common/sites.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xlogrecovery.h"

namespace engine {
namespace {

void PanicOnFsync(Backend& be, const Status& status, std::string_view path) {
  // A file that is gone by now needs no fsync.
  if (status.ok() || status.code() == env::Code::kNotFound) return;
  Panic(be, fmt::format("could not fsync file \"{}\": {}", path,
                        ErrnoText(status.code())));
}

void SyncTree(Backend& be, const std::string& directory) {
  Result<std::vector<std::string>> names = be.env->files->List(directory);
  if (!names.ok()) {
    PanicOnFsync(be, names.status(), directory);
    return;
  }
  for (const std::string& name : *names) {
    std::string path =
        directory.empty() ? name : fmt::format("{}/{}", directory, name);
    Result<env::FileInfo> info = be.env->files->Stat(path);
    if (!info.ok()) {
      PanicOnFsync(be, info.status(), path);
      continue;
    }
    if (info->is_directory) {
      SyncTree(be, path);
      continue;
    }
    Result<std::unique_ptr<env::File>> file =
        be.env->files->Open(path, env::kOpenWrite);
    PanicOnFsync(be, file.ok() ? (*file)->Fsync() : file.status(), path);
  }
  PanicOnFsync(be, be.env->files->FsyncDir(directory), directory);
}

bool IsLogPage(const char* bytes, XLogRecPtr page) {
  XLogPageHeaderData header;
  std::memcpy(&header, bytes, sizeof(header));
  return header.xlp_magic == XLOG_PAGE_MAGIC && header.xlp_pageaddr == page;
}

// Rewrites the pages of one segment; false if it is not part of the log.
Result<bool> RewriteSegment(Backend& be, WalPageSource* source,
                            XLogSegNo segno) {
  uint32_t segsize = be.config().wal_segment_size;
  std::string path = XLogFilePath(XLogCtl(be).InsertTimeLineID, segno, segsize);
  Result<std::unique_ptr<env::File>> file =
      be.env->files->Open(path, env::kOpenWrite);
  if (file.status().code() == env::Code::kNotFound) return false;
  if (!file.ok()) {
    return FileAccessError(file.status(),
                           fmt::format("could not open file \"{}\"", path));
  }
  std::vector<char> bytes(XLOG_BLCKSZ);
  std::span<char, XLOG_BLCKSZ> page(bytes.data(), XLOG_BLCKSZ);
  for (uint32_t offset = 0; offset < segsize; offset += XLOG_BLCKSZ) {
    XLogRecPtr lsn = XLogSegNoOffsetToRecPtr(segno, offset, segsize);
    Status status = source->Read(lsn, page);
    // Nothing readable here that a recovery could use either.
    if (!status.ok() || !IsLogPage(bytes.data(), lsn)) {
      if (offset == 0) return false;
      continue;
    }
    status = WriteFully(**file, offset, bytes);
    if (!status.ok()) {
      return FileAccessError(
          status, fmt::format("could not write to file \"{}\"", path));
    }
  }
  PanicOnFsync(be, (*file)->Fsync(), path);
  return true;
}

}  // namespace

void SyncDataDirectory(Backend& be) {
  INJECTION_POINT(recovery_before_sync);
  if (PLANTED(recovery_skips_datadir_sync)) return;
  SyncTree(be, "");
}

Status RewriteVisibleWal(Backend& be, XLogRecPtr redo) {
  WalPageSource source(be);
  XLogSegNo segno = XLByteToSeg(redo, be.config().wal_segment_size);
  for (;; ++segno) {
    ASSIGN_OR_RETURN(bool more, RewriteSegment(be, &source, segno));
    if (!more) return {};
  }
}

Status WipeWalTail(Backend& be, XLogRecPtr end) {
  INJECTION_POINT(recovery_before_tail_wipe);
  uint32_t segsize = be.config().wal_segment_size;
  std::string path = XLogFilePath(XLogCtl(be).InsertTimeLineID,
                                  XLByteToSeg(end, segsize), segsize);
  auto failed = [&](const Status& status) {
    return FileAccessError(status,
                           fmt::format("could not write to file \"{}\"", path));
  };
  Result<std::unique_ptr<env::File>> file =
      be.env->files->Open(path, env::kOpenWrite);
  if (file.status().code() == env::Code::kNotFound) return {};
  if (!file.ok()) return failed(file.status());
  // The page of `end` stays whole throughout: a page that is cut short cannot
  // be read, and it holds the last valid records.
  int64_t offset = XLogSegmentOffset(end, segsize);
  int64_t page_end = (offset + XLOG_BLCKSZ - 1) / XLOG_BLCKSZ * XLOG_BLCKSZ;
  if (page_end > offset) {
    std::string zeros(static_cast<size_t>(page_end - offset), '\0');
    Status status = WriteFully(**file, offset, zeros);
    if (!status.ok()) return failed(status);
  }
  if (page_end < segsize) {
    Status status = (*file)->Truncate(page_end);
    if (status.ok()) status = (*file)->Allocate(0, segsize);
    if (!status.ok()) return failed(status);
  }
  PanicOnFsync(be, (*file)->Fsync(), path);
  return {};
}

}  // namespace engine
