// Progress: says how a campaign goes. On a terminal one line that is redrawn,
// elsewhere a plain line every few seconds.
#ifndef MUSTH_REPLAY_PROGRESS_H_
#define MUSTH_REPLAY_PROGRESS_H_

#include <cstdint>
#include <cstdio>
#include <string_view>

#include "replay/summary.h"

namespace replay {

class Progress {
 public:
  // Writes to out, as a terminal if tty.
  Progress(std::FILE* out, bool tty, uint64_t total_seeds);

  // So many seeds were done before: they do not count in the rate.
  void GoOn(uint64_t seeds) { before_ = seeds; }
  // Shows it, unless it was shown a moment ago.
  void Update(const Summary& summary);
  // Prints text above the progress line.
  void Print(std::string_view text);
  // Removes the progress line.
  void Clear();

  double elapsed_s() const;

 private:
  std::FILE* out_;
  bool tty_;
  uint64_t total_;
  uint64_t before_ = 0;
  int64_t start_ms_;
  int64_t shown_ms_;
  bool visible_ = false;
};

}  // namespace replay

#endif  // MUSTH_REPLAY_PROGRESS_H_
