#include "engine/wal/flushmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "engine/common/checksum.h"
#include "engine/common/errcodes.h"
#include "engine/common/file_error.h"
#include "engine/common/file_io.h"
#include "engine/wal/xlog_ctl.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xlogwrite.h"

namespace engine {
namespace {

struct FlushMarkData {
  uint64_t magic = 0x4b52414d48534c46;  // "FLSHMARK"
  uint64_t lsn = 0;
  uint32_t crc = 0;  // CRC-32C of all before it
  uint32_t pad = 0;
};
static_assert(sizeof(FlushMarkData) == 24);
static_assert(std::has_unique_object_representations_v<FlushMarkData>);

constexpr size_t kSectorBytes = 512;
constexpr size_t kSectors = 2;
using MarkFile = std::array<char, kSectors * kSectorBytes>;

uint32_t CrcOf(const FlushMarkData& data) {
  return Crc32c(
      {reinterpret_cast<const char*>(&data), offsetof(FlushMarkData, crc)});
}

std::array<char, kSectorBytes> Encode(XLogRecPtr lsn) {
  FlushMarkData data;
  data.lsn = lsn;
  data.crc = CrcOf(data);
  std::array<char, kSectorBytes> sector = {};
  std::memcpy(sector.data(), &data, sizeof(data));
  return sector;
}

// The LSN in a sector; 0 if it is not valid.
XLogRecPtr Decode(const char* sector) {
  FlushMarkData data;
  std::memcpy(&data, sector, sizeof(data));
  bool valid = data.magic == FlushMarkData().magic && data.crc == CrcOf(data);
  return valid ? data.lsn : 0;
}

// Writes through to the device.
Status WriteThrough(Backend& be, std::string_view path, uint32_t flags,
                    int64_t offset, std::span<const char> bytes) {
  ASSIGN_OR_RETURN(
      std::unique_ptr<env::File> file,
      be.env->files->Open(path, env::kOpenWrite | env::kOpenDsync | flags));
  return WriteFully(*file, offset, bytes);
}

// Changed under WALWriteLock as well.
XLogRecPtr FlushMarkOf(const XLogCtlData& ctl) {
  env::AtomicSection flush_mark(&ctl.flushMark);
  return ctl.flushMark;
}

// The file appears whole or not at all.
Status CreateMarkFile(Backend& be, XLogRecPtr lsn) {
  std::string path = fmt::format("{}.tmp", kFlushMarkPath);
  MarkFile bytes = {};
  std::array<char, kSectorBytes> sector = Encode(lsn);
  std::memcpy(bytes.data(), sector.data(), sector.size());
  RETURN_IF_ERROR(
      WriteThrough(be, path, env::kOpenCreate | env::kOpenTruncate, 0, bytes));
  RETURN_IF_ERROR(be.env->files->Rename(path, kFlushMarkPath));
  return be.env->files->FsyncDir("global");
}

Status WriteMark(Backend& be, XLogRecPtr lsn) {
  XLogCtlData& ctl = XLogCtl(be);
  if (ctl.flushMark == 0) return CreateMarkFile(be, lsn);
  size_t sector = 1 - ctl.flushMarkSector;
  RETURN_IF_ERROR(WriteThrough(be, kFlushMarkPath, 0,
                               static_cast<int64_t>(sector * kSectorBytes),
                               Encode(lsn)));
  ctl.flushMarkSector = sector;
  return {};
}

// Reads as much as is there; the rest stays zero. Errors: the device's.
Status ReadMarkFile(Backend& be, MarkFile* bytes) {
  ASSIGN_OR_RETURN(std::unique_ptr<env::File> file,
                   be.env->files->Open(kFlushMarkPath, env::kOpenRead));
  return ReadFully(*file, 0, *bytes).status();
}

}  // namespace

void RaiseFlushMark(Backend& be, XLogRecPtr lsn) {
  XLogCtlData& ctl = XLogCtl(be);
  if (FlushMarkOf(ctl) >= lsn) return;
  CriticalSection crit(be);
  WALWriteGuard guard(be);
  if (ctl.flushMark >= lsn) return;
  Status status = WriteMark(be, lsn);
  if (!status.ok()) {
    Panic(be, fmt::format("could not write file \"{}\": {}", kFlushMarkPath,
                          status.message()));
  }
  env::AtomicSection flush_mark(&ctl.flushMark);
  ctl.flushMark = lsn;
}

Status CheckFlushMark(Backend& be, XLogRecPtr end_of_log) {
  MarkFile bytes = {};
  Status read = ReadMarkFile(be, &bytes);
  // A cluster that never flushed with the option on has none.
  if (read.code() == env::Code::kNotFound) return {};
  if (!read.ok()) {
    return FileAccessError(
        read, fmt::format("could not read file \"{}\"", kFlushMarkPath));
  }
  XLogRecPtr first = Decode(bytes.data());
  XLogRecPtr second = Decode(bytes.data() + kSectorBytes);
  XLogRecPtr mark = std::max(first, second);
  if (mark == 0) {
    return SqlError(ERRCODE_DATA_CORRUPTED, "incorrect checksum in file \"{}\"",
                    kFlushMarkPath);
  }
  if (end_of_log < mark) {
    return SqlError(ERRCODE_DATA_CORRUPTED,
                    "write-ahead log ends before it should")
        .WithDetail(fmt::format(
            "Valid records end at {}, the log was flushed up to {}.",
            LsnToString(end_of_log), LsnToString(mark)));
  }
  XLogCtlData& ctl = XLogCtl(be);
  ctl.flushMark = mark;
  ctl.flushMarkSector = second > first ? 1 : 0;
  return {};
}

}  // namespace engine
