#include "sim/posix/posix_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sim/env/check.h"

namespace sim::posix {
namespace {

// Repeats call() while a signal interrupts it.
template <typename Call>
auto Retry(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

env::Code CodeOf(int error) {
  switch (error) {
    case ENOENT:
      return env::Code::kNotFound;
    case EEXIST:
    case ENOTEMPTY:
      return env::Code::kExists;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return env::Code::kNoSpace;
    case EROFS:
    case EACCES:
    case EPERM:
      return env::Code::kReadOnly;
    case EINTR:
      return env::Code::kInterrupted;
    case EINVAL:
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
      return env::Code::kInvalid;
    default:
      return env::Code::kIo;
  }
}

// Names the data directory itself by ".".
std::string Relative(std::string_view path) {
  return path.empty() ? std::string(".") : std::string(path);
}

bool StaysBelowRoot(std::string_view path) {
  if (!path.empty() && path.front() == '/') return false;
  while (!path.empty()) {
    std::string_view part = path.substr(0, path.find('/'));
    if (part == "..") return false;
    path.remove_prefix(std::min(path.size(), part.size() + 1));
  }
  return true;
}

env::Status CheckPath(std::string_view path) {
  if (StaysBelowRoot(path)) return env::Status();
  return env::Status(
      env::Code::kInvalid,
      fmt::format("path \"{}\" leaves the data directory", path));
}

class PosixFile final : public env::File {
 public:
  PosixFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~PosixFile() override { close(fd_); }
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  env::Result<int64_t> Pread(int64_t offset, std::span<char> out) override {
    ssize_t n =
        Retry([&] { return pread(fd_, out.data(), out.size(), offset); });
    if (n < 0) return ErrnoStatus(errno, "read", path_);
    return int64_t{n};
  }

  env::Result<int64_t> Pwrite(int64_t offset,
                              std::span<const char> data) override {
    ssize_t n =
        Retry([&] { return pwrite(fd_, data.data(), data.size(), offset); });
    if (n < 0) return ErrnoStatus(errno, "write", path_);
    return int64_t{n};
  }

  // A failed fsync is not repeated: what it left behind is unknown.
  env::Status Fsync() override {
    if (fsync(fd_) != 0) return ErrnoStatus(errno, "fsync", path_);
    return env::Status();
  }

  env::Status Fdatasync() override {
    if (fdatasync(fd_) != 0) return ErrnoStatus(errno, "fsync", path_);
    return env::Status();
  }

  env::Status StartWriteback(int64_t offset, int64_t length) override {
    if (sync_file_range(fd_, offset, length, SYNC_FILE_RANGE_WRITE) == 0) {
      return env::Status();
    }
    // A hint: file systems without it promise nothing less.
    if (errno == ENOSYS || errno == EINVAL || errno == ESPIPE) {
      return env::Status();
    }
    return ErrnoStatus(errno, "flush dirty data of", path_);
  }

  env::Status Truncate(int64_t size_bytes) override {
    if (Retry([&] { return ftruncate(fd_, size_bytes); }) != 0) {
      return ErrnoStatus(errno, "truncate", path_);
    }
    return env::Status();
  }

  env::Status Allocate(int64_t offset, int64_t length) override {
    // Returns the error instead of setting errno.
    int error = posix_fallocate(fd_, offset, length);
    while (error == EINTR) error = posix_fallocate(fd_, offset, length);
    if (error != 0) return ErrnoStatus(error, "extend", path_);
    return env::Status();
  }

  env::Result<int64_t> Size() override {
    struct stat st;
    if (fstat(fd_, &st) != 0) return ErrnoStatus(errno, "stat", path_);
    return int64_t{st.st_size};
  }

 private:
  int fd_;
  std::string path_;
};

int OsFlags(uint32_t flags) {
  int os = O_CLOEXEC;
  os |= (flags & env::kOpenWrite) != 0 ? O_RDWR : O_RDONLY;
  if ((flags & env::kOpenCreate) != 0) os |= O_CREAT;
  if ((flags & env::kOpenExclusive) != 0) os |= O_EXCL;
  if ((flags & env::kOpenTruncate) != 0) os |= O_TRUNC;
  if ((flags & env::kOpenDsync) != 0) os |= O_DSYNC;
  return os;
}

}  // namespace

env::Status ErrnoStatus(int error, std::string_view verb,
                        std::string_view path) {
  return env::Status(CodeOf(error), fmt::format("could not {} file \"{}\": {}",
                                                verb, path, strerror(error)));
}

env::Result<std::unique_ptr<PosixFiles>> PosixFiles::Open(
    const std::string& root) {
  int fd = Retry(
      [&] { return open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (fd < 0) return ErrnoStatus(errno, "open", root);
  return std::unique_ptr<PosixFiles>(new PosixFiles(fd));
}

PosixFiles::~PosixFiles() { close(root_fd_); }

env::Result<std::unique_ptr<env::File>> PosixFiles::Open(std::string_view path,
                                                         uint32_t flags) {
  RETURN_IF_ERROR(CheckPath(path));
  std::string name = Relative(path);
  int fd = Retry(
      [&] { return openat(root_fd_, name.c_str(), OsFlags(flags), 0600); });
  if (fd < 0) return ErrnoStatus(errno, "open", path);
  return std::unique_ptr<env::File>(std::make_unique<PosixFile>(fd, name));
}

env::Status PosixFiles::Unlink(std::string_view path) {
  RETURN_IF_ERROR(CheckPath(path));
  if (unlinkat(root_fd_, Relative(path).c_str(), 0) != 0) {
    return ErrnoStatus(errno, "remove", path);
  }
  return env::Status();
}

env::Status PosixFiles::Rename(std::string_view from, std::string_view to) {
  RETURN_IF_ERROR(CheckPath(from));
  RETURN_IF_ERROR(CheckPath(to));
  if (renameat(root_fd_, Relative(from).c_str(), root_fd_,
               Relative(to).c_str()) != 0) {
    return ErrnoStatus(errno, "rename", from);
  }
  return env::Status();
}

env::Status PosixFiles::Mkdir(std::string_view path) {
  RETURN_IF_ERROR(CheckPath(path));
  if (mkdirat(root_fd_, Relative(path).c_str(), 0700) != 0) {
    return ErrnoStatus(errno, "create", path);
  }
  return env::Status();
}

env::Status PosixFiles::Rmdir(std::string_view path) {
  RETURN_IF_ERROR(CheckPath(path));
  if (unlinkat(root_fd_, Relative(path).c_str(), AT_REMOVEDIR) != 0) {
    return ErrnoStatus(errno, "remove", path);
  }
  return env::Status();
}

env::Status PosixFiles::FsyncDir(std::string_view path) {
  RETURN_IF_ERROR(CheckPath(path));
  std::string name = Relative(path);
  int fd = Retry([&] {
    return openat(root_fd_, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  });
  if (fd < 0) return ErrnoStatus(errno, "open", path);
  env::Status status;
  if (fsync(fd) != 0) status = ErrnoStatus(errno, "fsync", path);
  close(fd);
  return status;
}

env::Result<std::vector<std::string>> PosixFiles::List(std::string_view path) {
  RETURN_IF_ERROR(CheckPath(path));
  std::string dir_name = Relative(path);
  int fd = Retry([&] {
    return openat(root_fd_, dir_name.c_str(),
                  O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  });
  if (fd < 0) return ErrnoStatus(errno, "open", path);
  DIR* dir = fdopendir(fd);
  if (dir == nullptr) {
    env::Status status = ErrnoStatus(errno, "open", path);
    close(fd);
    return status;
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = readdir(dir)) {
    std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  int error = errno;
  closedir(dir);
  if (error != 0) return ErrnoStatus(error, "read", path);
  std::sort(names.begin(), names.end());
  return names;
}

env::Result<env::FileInfo> PosixFiles::Stat(std::string_view path) {
  RETURN_IF_ERROR(CheckPath(path));
  struct stat st;
  if (fstatat(root_fd_, Relative(path).c_str(), &st, 0) != 0) {
    return ErrnoStatus(errno, "stat", path);
  }
  env::FileInfo info;
  info.is_directory = S_ISDIR(st.st_mode);
  info.size_bytes = info.is_directory ? 0 : st.st_size;
  return info;
}

}  // namespace sim::posix
