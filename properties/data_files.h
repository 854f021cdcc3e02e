// DataFiles: what file an inode is, learned from kFileOpen events.
#ifndef MUSTH_PROPERTIES_DATA_FILES_H_
#define MUSTH_PROPERTIES_DATA_FILES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sim/env/event_sink.h"

namespace properties {

inline constexpr uint64_t kBlocksPerSegment = 131072;

// relation << 32 | block of a byte in a main fork of database 5; nothing for
// other files. Segments are told apart: "base/5/16384.1".
std::optional<uint64_t> PageAtPath(std::string_view path, uint64_t offset);

class DataFiles {
 public:
  void OnOpen(const env::Event& event) {
    paths_[event.a[0]] = std::string(event.bytes);
  }
  // "inode 17" if it was never opened.
  std::string PathOf(uint64_t inode) const;
  std::optional<uint64_t> PageAt(uint64_t inode, uint64_t offset) const;

 private:
  std::map<uint64_t, std::string> paths_;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_DATA_FILES_H_
