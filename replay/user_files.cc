#include "replay/user_files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

namespace replay {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FileHandle = std::unique_ptr<std::FILE, CloseFile>;

env::Status SystemError(const std::string& path, int error) {
  return env::Status(
      error == ENOENT ? env::Code::kNotFound : env::Code::kIo,
      fmt::format("{}: {}", path, std::generic_category().message(error)));
}

}  // namespace

std::string UserPath(std::string_view path) {
  const char* start = std::getenv("BUILD_WORKING_DIRECTORY");
  if (start == nullptr || path.substr(0, 1) == "/") return std::string(path);
  return fmt::format("{}/{}", start, path);
}

env::Result<std::string> ReadFile(const std::string& path) {
  FileHandle file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return SystemError(path, errno);
  std::string text;
  char buffer[65536];
  for (;;) {
    size_t n = std::fread(buffer, 1, sizeof(buffer), file.get());
    text.append(buffer, n);
    if (n < sizeof(buffer)) break;
  }
  if (std::ferror(file.get()) != 0) return SystemError(path, errno);
  return text;
}

env::Status WriteFile(const std::string& path, std::string_view text) {
  std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  if (error) return SystemError(parent.string(), error.value());
  FileHandle file(std::fopen(path.c_str(), "wb"));
  if (file == nullptr) return SystemError(path, errno);
  if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fflush(file.get()) != 0) {
    return SystemError(path, errno);
  }
  return env::Status();
}

env::Status ReplaceFile(const std::string& path, std::string_view text) {
  std::string fresh = path + ".new";
  RETURN_IF_ERROR(WriteFile(fresh, text));
  if (std::rename(fresh.c_str(), path.c_str()) != 0) {
    return SystemError(path, errno);
  }
  return env::Status();
}

}  // namespace replay
