#include "properties/directory_view.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace properties {

const std::string* DirectoryView::Read(std::string_view path) const {
  auto it = files_.find(path);
  if (it != files_.end()) return it->second.get();
  std::unique_ptr<std::string> content;
  std::filesystem::path full = std::filesystem::path(root_) / path;
  std::error_code error;
  // Anything but a regular file (a pipe, a device) could block or never end.
  if (std::filesystem::is_regular_file(full, error)) {
    errno = 0;
    std::ifstream in(full, std::ios::binary);
    content = std::make_unique<std::string>(std::istreambuf_iterator<char>(in),
                                            std::istreambuf_iterator<char>());
    if (!in.good() && !in.eof()) {
      unreadable_[std::string(path)] =
          errno != 0 ? std::strerror(errno) : "read error";
      content.reset();
    }
  }
  it = files_.emplace(std::string(path), std::move(content)).first;
  return it->second.get();
}

std::vector<std::string> DirectoryView::List(std::string_view dir) const {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator at(std::filesystem::path(root_) / dir,
                                         error);
  while (!error && at != std::filesystem::directory_iterator()) {
    names.push_back(at->path().filename().string());
    at.increment(error);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace properties
