#include "replay/progress.h"

#include <fmt/format.h>

#include <chrono>
#include <string>

namespace replay {
namespace {

constexpr int64_t kTerminalPeriodMs = 200;
constexpr int64_t kPlainPeriodMs = 5000;

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Progress::Progress(std::FILE* out, bool tty, uint64_t total_seeds)
    : out_(out),
      tty_(tty),
      total_(total_seeds),
      start_ms_(NowMs()),
      shown_ms_(start_ms_) {}

double Progress::elapsed_s() const {
  return static_cast<double>(NowMs() - start_ms_) / 1000;
}

void Progress::Update(const Summary& summary) {
  int64_t now_ms = NowMs();
  if (now_ms - shown_ms_ < (tty_ ? kTerminalPeriodMs : kPlainPeriodMs)) return;
  shown_ms_ = now_ms;
  double seconds = elapsed_s();
  std::string line = fmt::format(
      "{}/{} seeds, {:.0f}/s, {} crashes, {} recoveries, {} findings",
      summary.seeds, total_,
      seconds > 0 ? static_cast<double>(summary.seeds - before_) / seconds : 0,
      summary.crashes, summary.recoveries, summary.findings);
  if (summary.harness_failures > 0) {
    line += fmt::format(", {} harness failures", summary.harness_failures);
  }
  // Carriage return, then "erase to the end of the line".
  fmt::print(out_, "{}{}", tty_ ? "\r\033[K" : "", line);
  if (!tty_) fmt::print(out_, "\n");
  visible_ = tty_;
  std::fflush(out_);
}

void Progress::Print(std::string_view text) {
  Clear();
  fmt::print(out_, "{}", text);
  std::fflush(out_);
}

void Progress::Clear() {
  if (visible_) fmt::print(out_, "\r\033[K");
  visible_ = false;
  std::fflush(out_);
}

}  // namespace replay
