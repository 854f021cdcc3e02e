// PosixFiles: env::Files over a real directory.
//
// Paths are resolved below one directory, opened once. Every call maps errno
// to a code of env::Status; a call that a signal interrupts is repeated, so
// that kInterrupted is never seen here.
#ifndef MUSTH_SIM_POSIX_POSIX_FILES_H_
#define MUSTH_SIM_POSIX_POSIX_FILES_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/env/files.h"

namespace sim::posix {

class PosixFiles final : public env::Files {
 public:
  // root must exist. Errors: kNotFound, kIo.
  static env::Result<std::unique_ptr<PosixFiles>> Open(const std::string& root);
  ~PosixFiles() override;
  PosixFiles(const PosixFiles&) = delete;
  PosixFiles& operator=(const PosixFiles&) = delete;

  env::Result<std::unique_ptr<env::File>> Open(std::string_view path,
                                               uint32_t flags) override;
  env::Status Unlink(std::string_view path) override;
  env::Status Rename(std::string_view from, std::string_view to) override;
  env::Status Mkdir(std::string_view path) override;
  env::Status Rmdir(std::string_view path) override;
  env::Status FsyncDir(std::string_view path) override;
  env::Result<std::vector<std::string>> List(std::string_view path) override;
  env::Result<env::FileInfo> Stat(std::string_view path) override;

 private:
  explicit PosixFiles(int root_fd) : root_fd_(root_fd) {}

  int root_fd_;
};

// "could not VERB file "PATH": TEXT", with the code that fits the errno value.
env::Status ErrnoStatus(int error, std::string_view verb,
                        std::string_view path);

}  // namespace sim::posix

#endif  // MUSTH_SIM_POSIX_POSIX_FILES_H_
