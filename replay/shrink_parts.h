// What the passes of the shrinker share.
#ifndef MUSTH_REPLAY_SHRINK_PARTS_H_
#define MUSTH_REPLAY_SHRINK_PARTS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "replay/shrink_state.h"

namespace replay {

using Parts = std::vector<uint64_t>;
using States = std::vector<ShrinkState>;

class PartSet {
 public:
  explicit PartSet(const Parts& parts) : parts_(parts) {
    std::sort(parts_.begin(), parts_.end());
  }
  bool Has(uint64_t part) const {
    return std::binary_search(parts_.begin(), parts_.end(), part);
  }

 private:
  Parts parts_;
};

template <typename T>
Parts PartsOf(const std::vector<T>& list) {
  Parts parts;
  for (const T& item : list) parts.push_back(item.part);
  return parts;
}

}  // namespace replay

#endif  // MUSTH_REPLAY_SHRINK_PARTS_H_
