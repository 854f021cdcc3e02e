// Choices: every decision of a run, as pure functions of a seed.
//
// A draw is PRF(seed, stream, scope, site, n): no generator carries state, so
// removing one statement, fault or file changes no other draw. Scopes are
// paths ("w0/h0/i1/backend3"); a scope's key folds the hashes of its labels,
// so that the printed address of a draw names it without the run that made it.
// Where nobody knows a name, the key itself stands for it: "#0123456789abcdef".
// Value 0 is the simplest choice. Overrides replace single draws by address;
// with base `zero` all other draws are 0.
#ifndef MUSTH_SIM_CHOICES_H_
#define MUSTH_SIM_CHOICES_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/env/lookup_map.h"
#include "sim/env/site.h"
#include "sim/env/status.h"

namespace sim {

enum class Stream : uint8_t {
  kKnobs,
  kWorkload,
  kSchedule,
  kCrashPoint,
  kCrashImage,
  kDiskFault,
  kNetwork,
  kClock,
  kCount,
};
const char* StreamName(Stream stream);

// A place in the tree of draws. Cheap to copy apart from the printable path.
class Scope {
 public:
  Scope() = default;
  // The child scope `label`; labels hold no blanks and no '/'.
  Scope Child(std::string_view label) const;
  Scope Child(std::string_view label, uint64_t index) const;

  uint64_t key() const { return key_; }
  const std::string& path() const { return path_; }
  // The scope that a printed path names.
  static Scope FromPath(std::string_view path);

 private:
  uint64_t key_ = 0x9e3779b97f4a7c15ULL;
  std::string path_;
};

// Mixes two words; the only mixing function draws and hashes use.
inline uint64_t Mix(uint64_t a, uint64_t b) {
  unsigned __int128 p =
      static_cast<unsigned __int128>(a ^ 0xa0761d6478bd642fULL) *
      (b ^ 0xe7037ed1a0b428dbULL);
  return static_cast<uint64_t>(p) ^ static_cast<uint64_t>(p >> 64);
}

// What draws are where nothing is said: drawn from the seed, 0, or drawn by the
// scheduler (Stream::kSchedule) and 0 for everybody else.
enum class Base : uint8_t { kSeed, kZero, kSchedule };

// How a scope or site is written whose name nobody knows.
std::string RawKey(uint64_t key);

// "schedule w0/h0/i0/b3 switch 17 = 2": one draw's address and its value. Scope
// and site are names, or raw keys.
struct Override {
  Stream stream = Stream::kKnobs;
  std::string scope_path;
  std::string site;
  uint64_t n = 0;
  uint64_t value = 0;

  std::string ToString() const;
  // Errors: kInvalid, naming what was expected.
  static env::Result<Override> Parse(std::string_view text);
};

// Decides every draw in place of the seed: exhaustive search.
class ChoiceSource {
 public:
  virtual ~ChoiceSource() = default;
  // A value in [0, bound), or any word when bound is 0. Must be the same for
  // the same address throughout a run.
  virtual uint64_t Choose(Stream stream, uint64_t scope_key, uint64_t site,
                          uint64_t n, uint64_t bound) = 0;
};

// Hears of every draw that is not the simplest one. Changes none.
class DrawLog {
 public:
  virtual ~DrawLog() = default;
  virtual void OnDraw(Stream stream, uint64_t scope_key, uint64_t site,
                      uint64_t n, uint64_t bound, uint64_t value) = 0;
};

class Choices {
 public:
  explicit Choices(uint64_t seed, Base base = Base::kSeed);

  uint64_t seed() const { return seed_; }
  Base base() const { return base_; }

  // A value in [0, bound), or any word when bound is 0. site is
  // env::SiteHash(name of the site). An override's value is reduced to the
  // bound by taking the remainder.
  uint64_t Draw(Stream stream, const Scope& scope, uint64_t site, uint64_t n,
                uint64_t bound) {
    return DrawKey(stream, scope.key(), site, n, bound);
  }
  uint64_t DrawKey(Stream stream, uint64_t scope_key, uint64_t site, uint64_t n,
                   uint64_t bound) {
    uint64_t value = Decide(stream, scope_key, site, n, bound);
    if (log_ != nullptr && value != 0) {
      log_->OnDraw(stream, scope_key, site, n, bound, value);
    }
    return value;
  }

  // True with probability numerator / denominator; false is the simple value.
  // A numerator of 0 draws nothing.
  bool Chance(Stream stream, const Scope& scope, uint64_t site, uint64_t n,
              uint64_t numerator, uint64_t denominator);

  // From now on `source` decides all draws; null gives them back to the seed.
  void SetSource(ChoiceSource* source) { source_ = source; }

  // Null: nobody listens. Outlives the draws.
  void SetLog(DrawLog* log) { log_ = log; }

  void AddOverride(const Override& o);
  // Overrides that no draw has matched so far, in the order they were added.
  std::vector<Override> UnmatchedOverrides() const;

 private:
  uint64_t Decide(Stream stream, uint64_t scope_key, uint64_t site, uint64_t n,
                  uint64_t bound);

  uint64_t seed_;
  Base base_;
  uint64_t stream_keys_[static_cast<int>(Stream::kCount)];
  struct Slot {
    Override o;
    bool matched = false;
  };
  std::vector<Slot> overrides_;
  env::LookupMap<uint64_t, size_t> by_address_;
  ChoiceSource* source_ = nullptr;
  DrawLog* log_ = nullptr;
};

// A drawing position: a scope, its stream and counters per call. For code that
// draws many values in a row at one place (knobs, plans, crash plans).
class Drawer {
 public:
  Drawer(Choices* choices, Stream stream, Scope scope);

  // The next value at `site` (a name) in [0, bound).
  uint64_t Below(std::string_view site, uint64_t bound);
  // The next value at `site` in [low, high]; 0 draws `low`.
  int64_t Between(std::string_view site, int64_t low, int64_t high);
  // True with probability numerator / denominator.
  bool Chance(std::string_view site, uint64_t numerator, uint64_t denominator);
  // An index into weights, with the weights' shares; put the simplest first.
  size_t Weighted(std::string_view site, std::span<const uint32_t> weights);

  const Scope& scope() const { return scope_; }
  Drawer Child(std::string_view label, uint64_t index) const;

 private:
  Choices* choices_;
  Stream stream_;
  Scope scope_;
  std::map<std::string, uint64_t, std::less<>> counters_;
};

}  // namespace sim

#endif  // MUSTH_SIM_CHOICES_H_
