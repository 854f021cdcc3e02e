#include "engine/wal/xlogfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/common/file_error.h"
#include "engine/common/sites.h"
#include "engine/wal/xlog_internal.h"

namespace engine {
namespace {

constexpr char kTempPrefix[] = "xlogtemp.";

// What a kWalSegment event says happened.
enum SegmentEvent : uint64_t { kCreated = 0, kRecycled = 1, kRemoved = 2 };

Status FileError(const Status& status, std::string_view verb,
                 std::string_view path) {
  return FileAccessError(status,
                         fmt::format("could not {} file \"{}\"", verb, path));
}

Status FsyncPath(Backend& be, const std::string& path) {
  Result<std::unique_ptr<env::File>> file =
      be.env->files->Open(path, env::kOpenWrite);
  if (!file.ok()) return FileError(file.status(), "open", path);
  Status status = (*file)->Fsync();
  if (!status.ok()) return FileError(status, "fsync", path);
  return {};
}

std::string DirectoryOf(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

// Fills a new file with zeros and makes them durable.
Status ZeroFill(Backend& be, const std::string& path) {
  Result<std::unique_ptr<env::File>> file = be.env->files->Open(
      path, env::kOpenWrite | env::kOpenCreate | env::kOpenExclusive);
  if (!file.ok()) return FileError(file.status(), "create", path);
  Status status = (*file)->Allocate(0, be.config().wal_segment_size);
  if (!status.ok()) return FileError(status, "write to", path);
  status = (*file)->Fsync();
  if (!status.ok()) return FileError(status, "fsync", path);
  return {};
}

// Gives a ready file the name of the first segment from *segno on that does
// not exist, at most max_segno. Returns false if there is none.
Result<bool> InstallXLogFileSegment(Backend& be, XLogSegNo* segno,
                                    const std::string& from,
                                    XLogSegNo max_segno) {
  XLogCtlData& ctl = XLogCtl(be);
  uint32_t segsize = be.config().wal_segment_size;
  std::optional<LWLockGuard> guard;
  if (!PLANTED(segment_installed_over_another)) {
    guard.emplace(be, ctl.ControlFileLock, LWLockMode::kExclusive);
  }
  for (; *segno <= max_segno; ++*segno) {
    std::string to = XLogFilePath(ctl.InsertTimeLineID, *segno, segsize);
    Result<env::FileInfo> info = be.env->files->Stat(to);
    if (info.ok()) continue;
    if (info.status().code() != env::Code::kNotFound) {
      return FileError(info.status(), "stat", to);
    }
    RETURN_IF_ERROR(DurableRename(be, from, to));
    return true;
  }
  return false;
}

env::Access NextChangeOfLogDirectory() {
  return env::Access::Numbered(env::SiteHash(kXLogDir), true,
                               env::AccessGroup::kFile);
}

Status CreateSegment(Backend& be, XLogSegNo segno) {
  std::string temp = fmt::format("{}/{}{}", kXLogDir, kTempPrefix, be.pid);
  Status status = be.env->files->Unlink(temp);
  if (!status.ok() && status.code() != env::Code::kNotFound) {
    return FileError(status, "remove", temp);
  }
  status = ZeroFill(be, temp);
  Result<bool> installed = false;
  if (status.ok()) {
    INJECTION_POINT_BEFORE(wal_segment_install, NextChangeOfLogDirectory());
    XLogSegNo installed_segno = segno;
    installed = InstallXLogFileSegment(be, &installed_segno, temp, segno);
    status = installed.status();
  }
  if (!status.ok() || !*installed) {
    // Best effort: start-up removes what is left.
    static_cast<void>(be.env->files->Unlink(temp));
    return status;
  }
  be.env->events->Emit(env::EventKind::kWalSegment, segno, kCreated);
  return {};
}

uint64_t SegmentsOf(int64_t bytes, uint32_t segsize) {
  return static_cast<uint64_t>(std::max<int64_t>(bytes, 0)) / segsize;
}

// The last segment worth keeping as a spare: where the log will be a little
// after the next checkpoint, within min_wal_size and max_wal_size.
XLogSegNo XLOGfileslop(Backend& be, XLogRecPtr last_redo) {
  uint32_t segsize = be.config().wal_segment_size;
  XLogSegNo redo_segno = last_redo / segsize;
  XLogSegNo min_segno =
      redo_segno + SegmentsOf(be.config().min_wal_size_bytes, segsize);
  XLogSegNo max_segno =
      redo_segno + SegmentsOf(be.config().max_wal_size_bytes, segsize);
  min_segno = std::max(min_segno, redo_segno + 1) - 1;
  max_segno = std::max(max_segno, redo_segno + 1) - 1;
  // (1 + checkpoint_completion_target 0.9) * 1.1, rounded up.
  uint64_t distance = XLogCtl(be).CheckPointDistanceEstimate * 209 / 100;
  XLogSegNo recycle = (last_redo + distance + segsize - 1) / segsize;
  return std::min(std::max(recycle, min_segno), max_segno);
}

// Recycles or removes one segment; *end_segno is where to look for a free
// name.
Status RemoveXlogFile(Backend& be, const std::string& name, XLogSegNo segno,
                      XLogSegNo recycle_segno, XLogSegNo* end_segno) {
  std::string path = fmt::format("{}/{}", kXLogDir, name);
  if (*end_segno <= recycle_segno) {
    INJECTION_POINT_BEFORE(wal_segment_recycle, NextChangeOfLogDirectory());
    ASSIGN_OR_RETURN(bool recycled, InstallXLogFileSegment(be, end_segno, path,
                                                           recycle_segno));
    if (recycled) {
      be.env->events->Emit(env::EventKind::kWalSegment, *end_segno, kRecycled,
                           segno);
      ++*end_segno;
      return {};
    }
  }
  INJECTION_POINT_BEFORE(wal_segment_remove, NextChangeOfLogDirectory());
  Status status = be.env->files->Unlink(path);
  if (!status.ok()) return FileError(status, "remove", path);
  status = be.env->files->FsyncDir(kXLogDir);
  if (!status.ok()) return FileError(status, "fsync", kXLogDir);
  be.env->events->Emit(env::EventKind::kWalSegment, segno, kRemoved);
  return {};
}

// The segment that an IsXLogFileName() name stands for.
XLogSegNo SegNoOfName(std::string_view name, uint32_t segsize) {
  auto hex = [&](size_t from) {
    uint64_t v = 0;
    for (char c : name.substr(from, 8)) {
      v = v * 16 + static_cast<uint64_t>(c <= '9' ? c - '0' : c - 'A' + 10);
    }
    return v;
  };
  return hex(8) * XLogSegmentsPerXLogId(segsize) + hex(16);
}

}  // namespace

Status DurableRename(Backend& be, const std::string& from,
                     const std::string& to) {
  RETURN_IF_ERROR(FsyncPath(be, from));
  Status status = be.env->files->Rename(from, to);
  if (!status.ok()) {
    return FileAccessError(
        status,
        fmt::format("could not rename file \"{}\" to \"{}\"", from, to));
  }
  RETURN_IF_ERROR(FsyncPath(be, to));
  std::string directory = DirectoryOf(to);
  status = be.env->files->FsyncDir(directory);
  if (!status.ok()) return FileError(status, "fsync", directory);
  return {};
}

Result<std::unique_ptr<env::File>> XLogFileInit(Backend& be, XLogSegNo segno) {
  std::string path = XLogFilePath(XLogCtl(be).InsertTimeLineID, segno,
                                  be.config().wal_segment_size);
  Result<std::unique_ptr<env::File>> file =
      be.env->files->Open(path, env::kOpenWrite);
  if (file.ok()) return file;
  if (file.status().code() != env::Code::kNotFound) {
    return FileError(file.status(), "open", path);
  }
  RETURN_IF_ERROR(CreateSegment(be, segno));
  file = be.env->files->Open(path, env::kOpenWrite);
  if (!file.ok()) return FileError(file.status(), "open", path);
  return file;
}

Status PreallocXlogFiles(Backend& be, XLogRecPtr endptr) {
  uint32_t segsize = be.config().wal_segment_size;
  XLogSegNo segno = XLByteToPrevSeg(endptr, segsize);
  uint64_t offset = XLogSegmentOffset(endptr - 1, segsize);
  if (offset < uint64_t{segsize} * 3 / 4) return {};
  return XLogFileInit(be, segno + 1).status();
}

Status RemoveOldXlogFiles(Backend& be, XLogRecPtr last_redo,
                          XLogRecPtr endptr) {
  XLogCtlData& ctl = XLogCtl(be);
  uint32_t segsize = be.config().wal_segment_size;
  XLogSegNo redo_segno = XLByteToSeg(last_redo, segsize);
  XLogSegNo end_segno = XLByteToPrevSeg(endptr, segsize);
  XLogSegNo recycle_segno = XLOGfileslop(be, last_redo);
  Result<std::vector<std::string>> names = be.env->files->List(kXLogDir);
  if (!names.ok()) return FileError(names.status(), "read directory", kXLogDir);
  for (const std::string& name : *names) {
    if (!IsXLogFileName(name)) continue;
    XLogSegNo segno = SegNoOfName(name, segsize);
    if (segno + 1 >= redo_segno) continue;
    ctl.lastRemovedSegNo = std::max(ctl.lastRemovedSegNo, segno);
    RETURN_IF_ERROR(RemoveXlogFile(be, name, segno, recycle_segno, &end_segno));
  }
  return {};
}

Status RemoveTempXlogFiles(Backend& be) {
  Result<std::vector<std::string>> names = be.env->files->List(kXLogDir);
  if (!names.ok()) return FileError(names.status(), "read directory", kXLogDir);
  for (const std::string& name : *names) {
    if (!name.starts_with(kTempPrefix)) continue;
    std::string path = fmt::format("{}/{}", kXLogDir, name);
    Status status = be.env->files->Unlink(path);
    if (!status.ok()) return FileError(status, "remove", path);
  }
  return {};
}

bool XLogCheckpointNeeded(Backend& be, XLogSegNo segno) {
  uint32_t segsize = be.config().wal_segment_size;
  // max_wal_size / (1 + checkpoint_completion_target 0.9), at least one.
  uint64_t segments =
      SegmentsOf(be.config().max_wal_size_bytes, segsize) * 10 / 19;
  segments = std::max<uint64_t>(segments, 1);
  return segno >=
         XLByteToSeg(XLogCtl(be).RedoRecPtrNow(), segsize) + segments - 1;
}

void UpdateCheckPointDistanceEstimate(XLogCtlData& ctl, uint64_t nbytes) {
  uint64_t& estimate = ctl.CheckPointDistanceEstimate;
  estimate = estimate < nbytes ? nbytes : estimate * 9 / 10 + nbytes / 10;
}

}  // namespace engine
