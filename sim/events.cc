#include "sim/events.h"

#include <cstring>

#include "sim/choices.h"
#include "sim/env/check.h"

namespace sim {
namespace {

// Distinct odd constants keep equal words in different places apart.
constexpr uint64_t kLane1 = 0x8ebc6af09c88c6e3ULL;
constexpr uint64_t kLane2 = 0x589965cc75374cc3ULL;
constexpr uint64_t kLane3 = 0x1d8e4e27c47d124fULL;

uint64_t Rotate(uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }

// Little-endian, as every machine Musth runs on is.
uint64_t Load(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

}  // namespace

uint64_t HashBytes(std::string_view bytes, uint64_t seed) {
  const char* p = bytes.data();
  size_t left = bytes.size();
  uint64_t h = Mix(seed, left);
  while (left >= 16) {
    h = Mix(Load(p) ^ h, Load(p + 8));
    p += 16;
    left -= 16;
  }
  char tail[16] = {};
  if (left != 0) std::memcpy(tail, p, left);
  return Mix(Load(tail) ^ h, Load(tail + 8) ^ kLane1);
}

void RollingHash::Add(const env::Event& e) {
  uint64_t head = static_cast<uint64_t>(e.kind) << 48 |
                  static_cast<uint64_t>(e.host) << 32 | e.task;
  uint64_t lane0 = Mix(head, static_cast<uint64_t>(e.time_ns));
  uint64_t lane1 = Mix(e.a[0] ^ kLane1, e.a[1]);
  uint64_t lane2 = Mix(e.a[2] ^ kLane2, e.a[3]);
  uint64_t lane3 = Mix(e.a[4] ^ kLane3, e.a[5]);
  uint64_t h =
      Mix(value_ ^ lane0 ^ Rotate(lane1, 21), lane2 ^ Rotate(lane3, 43));
  if (!e.bytes.empty()) h = Mix(h, HashBytes(e.bytes));
  value_ = h;
}

void EventHub::Emit(env::HostId host, env::TaskId task, env::Event* event) {
  event->host = host;
  event->task = task;
  event->time_ns = clock_->now_ns();
  event->seq = count_++;
  hash_.Add(*event);
  for (EventSubscriber* subscriber : subscribers_) subscriber->OnEvent(*event);
}

void EventHub::Unsubscribe(EventSubscriber* subscriber) {
  for (size_t i = 0; i < subscribers_.size(); ++i) {
    if (subscribers_[i] == subscriber) {
      subscribers_.erase(subscribers_.begin() + static_cast<ptrdiff_t>(i));
      return;
    }
  }
  SIM_UNREACHABLE();
}

}  // namespace sim
