#include "sim/choices.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

namespace sim {
namespace {

constexpr std::array<const char*, static_cast<int>(Stream::kCount)>
    kStreamNames = {"knobs",       "workload",   "schedule", "crash-point",
                    "crash-image", "disk-fault", "network",  "clock"};

uint64_t Address(uint64_t stream_key, uint64_t scope_key, uint64_t site,
                 uint64_t n) {
  return Mix(Mix(stream_key ^ scope_key, site), n + 0x632be59bd9b4e019ULL);
}

// Splits the next blank-separated word off text.
std::string_view NextWord(std::string_view* text) {
  while (!text->empty() && text->front() == ' ') text->remove_prefix(1);
  size_t end = text->find(' ');
  std::string_view word = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end);
  return word;
}

bool ParseNumber(std::string_view word, uint64_t* value) {
  auto [end, error] =
      std::from_chars(word.data(), word.data() + word.size(), *value);
  return error == std::errc() && end == word.data() + word.size() &&
         !word.empty();
}

constexpr char kRawKeyMark = '#';
constexpr size_t kRawKeyDigits = 16;

// Whether the word is what RawKey writes.
bool ParseRawKey(std::string_view word, uint64_t* key) {
  if (word.size() != 1 + kRawKeyDigits || word[0] != kRawKeyMark) return false;
  auto [end, error] =
      std::from_chars(word.data() + 1, word.data() + word.size(), *key, 16);
  return error == std::errc() && end == word.data() + word.size();
}

// A name, or a raw key as it must be.
bool IsNameOrKey(std::string_view word) {
  uint64_t key = 0;
  return word.empty() || word[0] != kRawKeyMark || ParseRawKey(word, &key);
}

}  // namespace

const char* StreamName(Stream stream) {
  return kStreamNames[static_cast<size_t>(stream)];
}

Scope Scope::Child(std::string_view label) const {
  Scope child;
  child.key_ = Mix(key_, env::SiteHash(label));
  child.path_ = path_;
  if (!child.path_.empty()) child.path_ += '/';
  child.path_ += label;
  return child;
}

Scope Scope::Child(std::string_view label, uint64_t index) const {
  return Child(fmt::format("{}{}", label, index));
}

Scope Scope::FromPath(std::string_view path) {
  Scope scope;
  while (!path.empty()) {
    size_t slash = path.find('/');
    scope = scope.Child(path.substr(0, slash));
    path.remove_prefix(slash == std::string_view::npos ? path.size()
                                                       : slash + 1);
  }
  return scope;
}

std::string RawKey(uint64_t key) {
  return fmt::format("{}{:0{}x}", kRawKeyMark, key, kRawKeyDigits);
}

std::string Override::ToString() const {
  return fmt::format("{} {} {} {} = {}", StreamName(stream),
                     scope_path.empty() ? "." : scope_path, site, n, value);
}

env::Result<Override> Override::Parse(std::string_view text) {
  Override o;
  std::string_view rest = text;
  std::string_view stream = NextWord(&rest);
  size_t index = 0;
  while (index < kStreamNames.size() && stream != kStreamNames[index]) ++index;
  if (index == kStreamNames.size()) {
    return env::Status(
        env::Code::kInvalid,
        fmt::format("expected a stream name, found \"{}\"", stream));
  }
  o.stream = static_cast<Stream>(index);
  o.scope_path = NextWord(&rest);
  if (o.scope_path == ".") o.scope_path.clear();
  o.site = NextWord(&rest);
  std::string_view n = NextWord(&rest);
  std::string_view equals = NextWord(&rest);
  std::string_view value = NextWord(&rest);
  if (o.site.empty() || !IsNameOrKey(o.scope_path) || !IsNameOrKey(o.site) ||
      !ParseNumber(n, &o.n) || equals != "=" || !ParseNumber(value, &o.value) ||
      !NextWord(&rest).empty()) {
    return env::Status(
        env::Code::kInvalid,
        fmt::format("expected \"STREAM SCOPE SITE N = VALUE\", found \"{}\"",
                    text));
  }
  return o;
}

Choices::Choices(uint64_t seed, Base base) : seed_(seed), base_(base) {
  for (size_t i = 0; i < kStreamNames.size(); ++i) {
    stream_keys_[i] = Mix(seed, env::SiteHash(kStreamNames[i]));
  }
}

uint64_t Choices::Decide(Stream stream, uint64_t scope_key, uint64_t site,
                         uint64_t n, uint64_t bound) {
  if (source_ != nullptr) {
    return source_->Choose(stream, scope_key, site, n, bound);
  }
  uint64_t word =
      Address(stream_keys_[static_cast<size_t>(stream)], scope_key, site, n);
  if (!overrides_.empty()) {
    const size_t* slot = by_address_.Find(word);
    if (slot != nullptr) {
      overrides_[*slot].matched = true;
      uint64_t value = overrides_[*slot].o.value;
      return bound == 0 ? value : value % bound;
    }
  }
  if (base_ != Base::kSeed &&
      (base_ == Base::kZero || stream != Stream::kSchedule)) {
    return 0;
  }
  if (bound == 0) return Mix(word, seed_);
  // Multiply-shift: bias below 2^-32 for the bounds in use.
  return static_cast<uint64_t>(
      (static_cast<unsigned __int128>(Mix(word, seed_)) * bound) >> 64);
}

bool Choices::Chance(Stream stream, const Scope& scope, uint64_t site,
                     uint64_t n, uint64_t numerator, uint64_t denominator) {
  if (numerator == 0) return false;
  return Draw(stream, scope, site, n, denominator) >= denominator - numerator;
}

void Choices::AddOverride(const Override& o) {
  uint64_t scope = 0;
  uint64_t site = 0;
  if (!ParseRawKey(o.scope_path, &scope)) {
    scope = Scope::FromPath(o.scope_path).key();
  }
  if (!ParseRawKey(o.site, &site)) site = env::SiteHash(o.site);
  uint64_t address =
      Address(stream_keys_[static_cast<size_t>(o.stream)], scope, site, o.n);
  // The same draw said twice is one override: the last word counts.
  if (by_address_.Insert(address, overrides_.size())) {
    overrides_.push_back({o, false});
  } else {
    overrides_[by_address_[address]].o = o;
  }
}

std::vector<Override> Choices::UnmatchedOverrides() const {
  std::vector<Override> out;
  for (const Slot& slot : overrides_) {
    if (!slot.matched) out.push_back(slot.o);
  }
  return out;
}

Drawer::Drawer(Choices* choices, Stream stream, Scope scope)
    : choices_(choices), stream_(stream), scope_(std::move(scope)) {}

uint64_t Drawer::Below(std::string_view site, uint64_t bound) {
  auto it = counters_.find(site);
  if (it == counters_.end()) it = counters_.emplace(site, 0).first;
  return choices_->Draw(stream_, scope_, env::SiteHash(site), it->second++,
                        bound);
}

int64_t Drawer::Between(std::string_view site, int64_t low, int64_t high) {
  SIM_CHECK(low <= high);
  return low + static_cast<int64_t>(
                   Below(site, static_cast<uint64_t>(high - low) + 1));
}

bool Drawer::Chance(std::string_view site, uint64_t numerator,
                    uint64_t denominator) {
  if (numerator == 0) return false;
  return Below(site, denominator) >= denominator - numerator;
}

size_t Drawer::Weighted(std::string_view site,
                        std::span<const uint32_t> weights) {
  uint64_t total = 0;
  for (uint32_t w : weights) total += w;
  uint64_t at = Below(site, total);
  for (size_t i = 0; i < weights.size(); ++i) {
    if (at < weights[i]) return i;
    at -= weights[i];
  }
  SIM_UNREACHABLE();
}

Drawer Drawer::Child(std::string_view label, uint64_t index) const {
  return Drawer(choices_, stream_, scope_.Child(label, index));
}

}  // namespace sim
