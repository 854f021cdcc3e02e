#include "engine/common/pglz.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "sim/env/check.h"

namespace engine {
namespace {

constexpr size_t kHistorySize = 4096;
constexpr size_t kMaxHistoryLists = 8192;
constexpr uint32_t kMinMatch = 3;
constexpr uint32_t kMaxMatch = 273;
// Lengths from here on need a third byte.
constexpr uint32_t kLongMatch = 18;
constexpr size_t kMaxOffset = 0x0FFF;  // this one is not reached

// A chain's end; entry 0 of the ring is never used.
constexpr uint16_t kNoEntry = 0;

// Hash lists by input size.
uint32_t ListMaskFor(size_t size_bytes) {
  if (size_bytes < 128) return 511;
  if (size_bytes < 256) return 1023;
  if (size_bytes < 512) return 2047;
  if (size_bytes < 1024) return 4095;
  return kMaxHistoryLists - 1;
}

// The last kHistorySize positions of the input, in lists by hash value, newest
// first.
class History {
 public:
  explicit History(std::span<const char> source)
      : source_(source), mask_(ListMaskFor(source.size())) {
    std::fill_n(heads_.begin(), mask_ + 1, kNoEntry);
  }

  // Remembers a position; positions come in order.
  void Add(size_t pos) {
    uint32_t list = ListOf(pos);
    Entry& entry = entries_[next_];
    if (full_) Unlink(entry);
    uint16_t head = heads_[list];
    entry.next = head;
    entry.prev = kNoEntry;
    entry.list = static_cast<uint16_t>(list);
    entry.pos = static_cast<uint32_t>(pos);
    entries_[head].prev = next_;  // entry 0 takes this without harm
    heads_[list] = next_;
    if (++next_ > kHistorySize) {
      next_ = 1;
      full_ = true;
    }
  }

  struct Match {
    uint32_t length = 0;
    uint32_t offset = 0;
  };
  // The best match for what follows pos, found within the strategy's patience.
  Match Find(size_t pos, uint32_t good_match, uint32_t good_drop) const {
    Match best;
    for (uint16_t at = heads_[ListOf(pos)]; at != kNoEntry;) {
      size_t offset = pos - entries_[at].pos;
      if (offset >= kMaxOffset) break;
      uint32_t length = MatchLength(pos, entries_[at].pos);
      if (length > best.length) {
        best = {length, static_cast<uint32_t>(offset)};
      }
      at = entries_[at].next;
      if (at == kNoEntry || best.length >= good_match) break;
      good_match -= good_match * good_drop / 100;
    }
    return best;
  }

 private:
  struct Entry {
    uint32_t pos;
    uint16_t next;
    uint16_t prev;
    uint16_t list;
  };

  // Signed bytes and wrapping arithmetic, as on the machines that wrote most
  // of what is stored.
  uint32_t ListOf(size_t pos) const {
    auto byte = [&](size_t i) {
      return static_cast<uint32_t>(
          static_cast<int32_t>(static_cast<int8_t>(source_[pos + i])));
    };
    if (source_.size() - pos < 4) return byte(0) & mask_;
    return ((byte(0) << 6) ^ (byte(1) << 4) ^ (byte(2) << 2) ^ byte(3)) & mask_;
  }

  uint32_t MatchLength(size_t pos, size_t earlier) const {
    size_t most = std::min<size_t>(source_.size() - pos, kMaxMatch);
    const char* a = source_.data() + pos;
    const char* b = source_.data() + earlier;
    size_t length = 0;
    while (length < most && a[length] == b[length]) ++length;
    return static_cast<uint32_t>(length);
  }

  // Takes the oldest entry, which is the last of its list, out of it.
  void Unlink(const Entry& entry) {
    if (entry.prev == kNoEntry) {
      heads_[entry.list] = entry.next;
    } else {
      entries_[entry.prev].next = entry.next;
    }
    entries_[entry.next].prev = entry.prev;
  }

  const std::span<const char> source_;
  const uint32_t mask_;
  uint16_t next_ = 1;
  bool full_ = false;
  std::array<uint16_t, kMaxHistoryLists> heads_;
  std::array<Entry, kHistorySize + 1> entries_;
};

// Puts items out, eight to a control byte.
class ItemWriter {
 public:
  explicit ItemWriter(std::span<char> dest) : dest_(dest) {}

  void Literal(char byte) {
    BeginItem();
    Put(static_cast<uint8_t>(byte));
  }

  void Reference(uint32_t length, uint32_t offset) {
    BeginItem();
    control_ |= static_cast<uint8_t>(bit_ >> 1);
    uint32_t code = std::min(length, kLongMatch) - kMinMatch;
    Put(static_cast<uint8_t>((offset & 0xF00) >> 4 | code));
    Put(static_cast<uint8_t>(offset & 0xFF));
    if (length >= kLongMatch) Put(static_cast<uint8_t>(length - kLongMatch));
  }

  size_t Finish() {
    StoreControl();
    return size_;
  }
  size_t size_bytes() const { return size_; }

 private:
  void BeginItem() {
    if (bit_ == 0x100) {
      StoreControl();
      control_at_ = size_;
      Put(0);
      control_ = 0;
      bit_ = 1;
    }
    bit_ <<= 1;
  }
  void StoreControl() {
    if (size_ > 0) dest_[control_at_] = static_cast<char>(control_);
  }
  void Put(uint8_t byte) {
    SIM_CHECK(size_ < dest_.size());
    dest_[size_++] = static_cast<char>(byte);
  }

  const std::span<char> dest_;
  size_t size_ = 0;
  size_t control_at_ = 0;
  uint8_t control_ = 0;
  uint32_t bit_ = 0x100;  // of the next item; 0x100: the byte is used up
};

size_t MaxResultSize(size_t size_bytes, uint32_t need_rate) {
  if (size_bytes > INT32_MAX / 100) return size_bytes / 100 * (100 - need_rate);
  return size_bytes * (100 - need_rate) / 100;
}

// One run of decompression.
class Decompressor {
 public:
  Decompressor(std::span<const char> source, std::span<char> dest)
      : source_(source), dest_(dest) {}

  // False if the source is corrupt.
  bool Run() {
    while (in_ < source_.size() && out_ < dest_.size()) {
      auto control = static_cast<uint8_t>(source_[in_++]);
      for (int item = 0; item < 8; ++item, control >>= 1) {
        if (in_ >= source_.size() || out_ >= dest_.size()) break;
        if ((control & 1) == 0) {
          dest_[out_++] = source_[in_++];
        } else if (!Reference()) {
          return false;
        }
      }
    }
    return true;
  }
  size_t out() const { return out_; }
  bool complete() const {
    return in_ == source_.size() && out_ == dest_.size();
  }

 private:
  bool NextByte(uint32_t* byte) {
    if (in_ >= source_.size()) return false;
    *byte = static_cast<uint8_t>(source_[in_++]);
    return true;
  }

  bool Reference() {
    uint32_t first = 0;
    uint32_t second = 0;
    uint32_t more = 0;
    if (!NextByte(&first) || !NextByte(&second)) return false;
    size_t length = (first & 0x0F) + kMinMatch;
    size_t offset = (first & 0xF0) << 4 | second;
    if (length == kLongMatch) {
      if (!NextByte(&more)) return false;
      length += more;
    }
    if (offset == 0 || offset > out_) return false;
    length = std::min(length, dest_.size() - out_);
    // Source and destination may overlap: byte by byte, or in stretches that
    // double, which is the same.
    while (offset < length) {
      std::memcpy(&dest_[out_], &dest_[out_ - offset], offset);
      length -= offset;
      out_ += offset;
      offset += offset;
    }
    if (length > 0) std::memcpy(&dest_[out_], &dest_[out_ - offset], length);
    out_ += length;
    return true;
  }

  const std::span<const char> source_;
  const std::span<char> dest_;
  size_t in_ = 0;
  size_t out_ = 0;
};

}  // namespace

size_t PglzMaximumCompressedSize(size_t rawsize, size_t total_compressed_size) {
  // Literals only: nine bits a byte. The last item may be a reference, of
  // which two bytes lie behind its control bit and its first byte.
  size_t most = (rawsize * 9 + 7) / 8 + 2;
  return std::min(most, total_compressed_size);
}

std::optional<size_t> PglzCompress(std::span<const char> source,
                                   std::span<char> dest,
                                   const PGLZ_Strategy& strategy) {
  SIM_CHECK(dest.size() >= PGLZ_MAX_OUTPUT(source.size()));
  if (strategy.match_size_good == 0 ||
      source.size() < strategy.min_input_size ||
      source.size() > strategy.max_input_size) {
    return std::nullopt;
  }
  uint32_t good_match =
      std::clamp<uint32_t>(strategy.match_size_good, 17, kMaxMatch);
  uint32_t good_drop = std::min<uint32_t>(strategy.match_size_drop, 100);
  size_t result_max = MaxResultSize(
      source.size(), std::min<uint32_t>(strategy.min_comp_rate, 99));

  // Too large for a fiber's stack.
  auto history = std::make_unique<History>(source);
  ItemWriter out(dest);
  bool found_match = false;
  for (size_t pos = 0; pos < source.size();) {
    if (out.size_bytes() >= result_max) return std::nullopt;
    if (!found_match && out.size_bytes() >= strategy.first_success_by) {
      return std::nullopt;
    }
    History::Match match = history->Find(pos, good_match, good_drop);
    if (match.length >= kMinMatch) {
      out.Reference(match.length, match.offset);
      found_match = true;
    } else {
      match.length = 1;
      out.Literal(source[pos]);
    }
    for (uint32_t i = 0; i < match.length; ++i) history->Add(pos++);
  }
  size_t size = out.Finish();
  if (size >= result_max) return std::nullopt;
  return size;
}

std::optional<size_t> PglzDecompress(std::span<const char> source,
                                     std::span<char> dest,
                                     bool check_complete) {
  Decompressor run(source, dest);
  if (!run.Run()) return std::nullopt;
  if (check_complete && !run.complete()) return std::nullopt;
  return run.out();
}

}  // namespace engine
