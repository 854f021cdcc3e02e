#include "engine/common/file_io.h"

#include <utility>

namespace engine {

Result<size_t> ReadFully(env::File& file, int64_t offset, std::span<char> out) {
  size_t have = 0;
  while (have < out.size()) {
    Result<int64_t> n =
        file.Pread(offset + static_cast<int64_t>(have), out.subspan(have));
    if (!n.ok() && n.status().code() == env::Code::kInterrupted) continue;
    if (!n.ok()) return std::move(n).status();
    if (*n == 0) break;
    have += static_cast<size_t>(*n);
  }
  return have;
}

Status WriteFully(env::File& file, int64_t offset,
                  std::span<const char> bytes) {
  while (!bytes.empty()) {
    Result<int64_t> n = file.Pwrite(offset, bytes);
    if (!n.ok() && n.status().code() == env::Code::kInterrupted) continue;
    if (!n.ok()) return std::move(n).status();
    offset += *n;
    bytes = bytes.subspan(static_cast<size_t>(*n));
  }
  return {};
}

}  // namespace engine
