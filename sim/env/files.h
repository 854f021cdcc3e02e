// Files: one host's file system, with POSIX semantics.
//
// Paths are relative to the data directory, '/'-separated, without "." or "..".
// Every call that touches the device is a scheduling point and may suspend.
// Durability is only what Fsync and FsyncDir give; see sim/README.md for what
// a crash may leave behind.
#ifndef MUSTH_SIM_ENV_FILES_H_
#define MUSTH_SIM_ENV_FILES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/env/status.h"

namespace env {

// Flags for Files::Open; combine with |.
enum OpenFlags : uint32_t {
  kOpenRead = 0,
  kOpenWrite = 1,      // read and write
  kOpenCreate = 2,     // create if missing
  kOpenExclusive = 4,  // with kOpenCreate: fail with kExists if present
  kOpenTruncate = 8,   // drop the content
  kOpenDsync = 16,     // every Pwrite is durable at return
};

class File {
 public:
  // Closes the handle. Does no I/O and never suspends.
  virtual ~File() = default;

  // Reads up to out.size() bytes at offset. Returns the number read, which is
  // short at end of file (and, with faults, elsewhere).
  // Suspends: yes. Units: bytes. Errors: kIo, kInterrupted.
  virtual Result<int64_t> Pread(int64_t offset, std::span<char> out) = 0;

  // Writes at offset, extending the file with zeros if it is shorter. Returns
  // the number written, which may be short.
  // Suspends: yes. Units: bytes. Errors: kIo, kNoSpace, kReadOnly,
  // kInterrupted.
  virtual Result<int64_t> Pwrite(int64_t offset,
                                 std::span<const char> data) = 0;

  // Makes all that was written to the inode before the call durable.
  // Suspends: yes. Errors: kIo (reported once per handle), kNoSpace.
  virtual Status Fsync() = 0;

  // As Fsync; the inode's times need not be durable.
  virtual Status Fdatasync() = 0;

  // Hints that the range will be synced soon; promises nothing.
  virtual Status StartWriteback(int64_t offset, int64_t length) = 0;

  // Sets the size; new bytes read as zeros. Suspends: yes.
  // Errors: kIo, kNoSpace, kReadOnly.
  virtual Status Truncate(int64_t size_bytes) = 0;

  // Extends the file to at least offset + length with zeros.
  virtual Status Allocate(int64_t offset, int64_t length) = 0;

  // Suspends: no. Units: bytes.
  virtual Result<int64_t> Size() = 0;
};

struct FileInfo {
  bool is_directory = false;
  int64_t size_bytes = 0;
};

class Files {
 public:
  virtual ~Files() = default;

  // Suspends: yes. Errors: kNotFound, kExists, kIo, kNoSpace, kReadOnly.
  virtual Result<std::unique_ptr<File>> Open(std::string_view path,
                                             uint32_t flags) = 0;
  virtual Status Unlink(std::string_view path) = 0;
  virtual Status Rename(std::string_view from, std::string_view to) = 0;
  virtual Status Mkdir(std::string_view path) = 0;
  virtual Status Rmdir(std::string_view path) = 0;
  // Makes the entries of a directory durable.
  virtual Status FsyncDir(std::string_view path) = 0;
  // Names in the directory, sorted bytewise, without "." and "..".
  virtual Result<std::vector<std::string>> List(std::string_view path) = 0;
  virtual Result<FileInfo> Stat(std::string_view path) = 0;
};

}  // namespace env

#endif  // MUSTH_SIM_ENV_FILES_H_
