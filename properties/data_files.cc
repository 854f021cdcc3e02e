#include "properties/data_files.h"

#include <fmt/format.h>

#include "properties/decoders/bytes.h"

namespace properties {

std::optional<uint64_t> PageAtPath(std::string_view path, uint64_t offset) {
  constexpr std::string_view kDataDir = "base/5/";
  if (path.substr(0, kDataDir.size()) != kDataDir) return std::nullopt;
  path.remove_prefix(kDataDir.size());
  uint64_t numbers[2] = {0, 0};  // relation, segment
  size_t n = 0;
  for (char c : path) {
    if (c == '.' && n == 0) {
      n = 1;
    } else if (c >= '0' && c <= '9') {
      numbers[n] = numbers[n] * 10 + static_cast<uint64_t>(c - '0');
    } else {
      return std::nullopt;
    }
  }
  uint64_t block = numbers[1] * kBlocksPerSegment + offset / kPageBytes;
  return numbers[0] << 32 | block;
}

std::string DataFiles::PathOf(uint64_t inode) const {
  auto it = paths_.find(inode);
  return it == paths_.end() ? fmt::format("inode {}", inode) : it->second;
}

std::optional<uint64_t> DataFiles::PageAt(uint64_t inode,
                                          uint64_t offset) const {
  auto it = paths_.find(inode);
  if (it == paths_.end()) return std::nullopt;
  return PageAtPath(it->second, offset);
}

}  // namespace properties
