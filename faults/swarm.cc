#include "faults/swarm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace faults {
namespace {

enum class Unit : uint8_t { kNumber, kBytes, kTime, kSwitch, kName };

// A value that may be drawn and its share; a share of 0 is never drawn. Values
// of odd file systems come last, where the profile has them.
struct Choice {
  int64_t value;
  uint32_t share;
  bool odd_file_system = false;
};

struct KnobInfo {
  std::string_view name;
  int64_t Knobs::*field;
  Unit unit;
  // What SetKnob takes.
  int64_t low;
  int64_t high;
  // What is drawn, simplest first; empty: the initial value.
  std::vector<Choice> choices;
  // kName: the names of the values low, low + 1, ...
  std::vector<std::string_view> names;
};

constexpr int64_t kKilo = 1024;
constexpr int64_t kMega = 1024 * kKilo;
constexpr int64_t kMs = env::kMillisecond;

using Field = int64_t Knobs::*;
using Choices = std::vector<Choice>;

KnobInfo Number(std::string_view name, Field field, int64_t low, int64_t high,
                Choices choices) {
  return {name, field, Unit::kNumber, low, high, std::move(choices), {}};
}
KnobInfo Bytes(std::string_view name, Field field, int64_t low, int64_t high,
               Choices choices) {
  return {name, field, Unit::kBytes, low, high, std::move(choices), {}};
}
KnobInfo Time(std::string_view name, Field field, int64_t high,
              Choices choices) {
  return {name, field, Unit::kTime, kMs, high, std::move(choices), {}};
}
// A time that may be none at all.
KnobInfo Delay(std::string_view name, Field field, int64_t high,
               Choices choices) {
  return {name, field, Unit::kTime, 0, high, std::move(choices), {}};
}
KnobInfo Switch(std::string_view name, Field field, Choices choices) {
  return {name, field, Unit::kSwitch, 0, 1, std::move(choices), {}};
}
KnobInfo Named(std::string_view name, Field field, int64_t low,
               std::vector<std::string_view> names, Choices choices) {
  int64_t high = low + static_cast<int64_t>(names.size()) - 1;
  return {name,
          field,
          Unit::kName,
          low,
          high,
          std::move(choices),
          std::move(names)};
}

std::vector<KnobInfo> NodeKnobs() {
  constexpr int64_t kDay = 86400 * env::kSecond;
  return {
      Number("shared_buffers", &Knobs::shared_buffers, 8, 65536,
             {{128, 2}, {8, 6}, {12, 3}, {16, 3}, {32, 2}}),
      Number("wal_buffers", &Knobs::wal_buffers, 4, 4096,
             {{16, 2}, {4, 4}, {8, 2}}),
      Number("wal_insert_locks", &Knobs::wal_insert_locks, 1, 8,
             {{8, 2}, {2, 3}, {1, 1}, {4, 2}}),
      Delay("commit_delay", &Knobs::commit_delay_ns, 100 * kMs,
            {{0, 2}, {kMs, 1}}),
      Number("commit_siblings", &Knobs::commit_siblings, 0, 1000,
             {{5, 1}, {1, 1}, {0, 3}}),
      Number("clog_buffers", &Knobs::clog_buffers, 2, 128, {{4, 1}, {2, 1}}),
      Bytes("wal_segment_size", &Knobs::wal_segment_size_bytes, 64 * kKilo,
            16 * kMega, {{kMega, 1}, {256 * kKilo, 2}, {64 * kKilo, 3}}),
      Bytes("wal_room", &Knobs::wal_room_bytes, 0, 24 * kKilo,
            {{0, 2}, {12 * kKilo, 1}, {20 * kKilo, 1}}),
      Number("xid_room", &Knobs::xid_room, 0, 16000,
             {{0, 5}, {16, 1}, {40, 1}}),
      Bytes("max_wal_size", &Knobs::max_wal_size_bytes, 128 * kKilo,
            1024 * 1024 * kMega,
            {{1024 * kMega, 2},
             {2 * kMega, 1},
             {512 * kKilo, 2},
             {128 * kKilo, 2}}),
      Time("checkpoint_timeout", &Knobs::checkpoint_timeout_ns, kDay,
           {{300000 * kMs, 2}, {1000 * kMs, 2}, {100 * kMs, 3}, {10 * kMs, 2}}),
      Time("bgwriter_delay", &Knobs::bgwriter_delay_ns, kDay,
           {{200 * kMs, 2}, {10 * kMs, 2}, {1000 * kMs, 1}}),
      Time("wal_writer_delay", &Knobs::wal_writer_delay_ns, kDay,
           {{200 * kMs, 2}, {10 * kMs, 2}, {1000 * kMs, 1}}),
      Switch("data_checksums", &Knobs::data_checksums, {{1, 3}, {0, 1}}),
      Switch("full_page_writes", &Knobs::full_page_writes, {{1, 1}, {0, 1}}),
      Named("wal_compression", &Knobs::wal_compression, 0,
            {"off", "pglz", "lz4"}, {{0, 2}, {1, 1}, {2, 1}}),
      Switch("wal_log_hints", &Knobs::wal_log_hints, {{0, 2}, {1, 1}}),
      Switch("sync_new_file_directory", &Knobs::sync_new_file_directory, {}),
      Switch("rewrite_wal_before_trust", &Knobs::rewrite_wal_before_trust, {}),
      Switch("detect_zeroed_pages", &Knobs::detect_zeroed_pages, {}),
      Switch("checksum_relation", &Knobs::checksum_relation, {}),
      Switch("prompt_sync_errors", &Knobs::prompt_sync_errors, {}),
      Switch("wal_flush_watermark", &Knobs::wal_flush_watermark, {}),
      Switch("clog_checksums", &Knobs::clog_checksums, {}),
  };
}

std::vector<KnobInfo> WorldKnobs() {
  return {
      Number("sessions", &Knobs::sessions, 1, 12,
             {{1, 1}, {2, 4}, {3, 3}, {4, 2}}),
      Number("rows", &Knobs::rows, 1, 100000,
             {{3, 3}, {5, 2}, {8, 2}, {12, 2}, {35, 1}, {60, 1}}),
      Number("txns", &Knobs::txns, 1, 100000,
             {{2, 2}, {4, 4}, {6, 3}, {10, 2}, {16, 1}}),
      Number("synchronous_commit_percent", &Knobs::synchronous_commit_percent,
             0, 100, {{100, 4}, {70, 3}, {30, 1}, {0, 1}}),
      Named("bulk_load", &Knobs::bulk_load, 0,
            {"off", "long-rows", "short-rows"}, {{0, 9}, {1, 2}, {2, 1}}),
      Switch("quiet_tail", &Knobs::quiet_tail, {{0, 3}, {1, 1}}),
      Named("shutdown", &Knobs::shutdown, 0, {"smart", "fast", "immediate"},
            {{0, 4}, {1, 1}, {2, 1}}),
      Number("shutdown_after", &Knobs::shutdown_after, 1, 1000000,
             {{1, 1}, {4, 2}, {9, 2}, {17, 2}, {33, 1}, {70, 1}}),
      Named("strategy", &Knobs::strategy, 0,
            {"random-walk", "round-robin", "pos", "pct", "surw", "delay",
             "starve", "stall"},
            {{0, 15}, {2, 20}, {3, 15}, {4, 25}, {5, 5}, {7, 20}}),
      Number("strategy_depth", &Knobs::strategy_depth, 1, 1000,
             {{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}}),
      Named("strategy_set", &Knobs::strategy_set, 0,
            {"all", "wal", "pages", "procarray", "locks"},
            {{0, 2}, {1, 1}, {2, 1}, {3, 1}, {4, 1}}),
      Number("switch_denominator", &Knobs::switch_denominator, 1, 1000000,
             {{32, 2}, {16, 2}, {8, 3}, {4, 3}, {2, 2}, {1, 1}}),
      Number("timer_denominator", &Knobs::timer_denominator, 1, 1000000,
             {{128, 3}, {512, 2}, {32, 2}, {8, 1}}),
  };
}

std::vector<KnobInfo> DiskKnobs() {
  return {
      Bytes("sector_size", &Knobs::sector_size_bytes, 512, 4096,
            {{512, 1}, {4096, 1}}),
      Switch("atomic8k", &Knobs::atomic8k, {{0, 7}, {1, 1}}),
      Named("meta", &Knobs::meta, 0, {"ordered", "weak"}, {{0, 1}, {1, 1}}),
      Named("fill", &Knobs::fill, 0, {"zero", "garbage", "stale"},
            {{0, 2}, {1, 1}, {2, 1}}),
      Named("image_mix", &Knobs::image_mix, 0,
            {"independent", "page-snapshot", "prefix"},
            {{0, 8}, {1, 1}, {2, 1}}),
      Named("sync_failure", &Knobs::sync_failure, 1,
            {"ext4-ordered", "xfs", "ext4-data", "btrfs"},
            {{1, 1}, {2, 1}, {3, 1, true}, {4, 1, true}}),
      Switch("delayed_allocation", &Knobs::delayed_allocation,
             {{0, 1}, {1, 1}}),
  };
}

std::vector<KnobInfo> BuildKnobs() {
  std::vector<KnobInfo> all = NodeKnobs();
  for (std::vector<KnobInfo> more : {WorldKnobs(), DiskKnobs()}) {
    for (KnobInfo& info : more) all.push_back(std::move(info));
  }
  std::sort(all.begin(), all.end(), [](const KnobInfo& a, const KnobInfo& b) {
    return a.name < b.name;
  });
  return all;
}

// Sorted by name; so atomic8k is drawn before full_page_writes, which needs it,
// and bulk_load before the knobs that it moves.
const std::vector<KnobInfo>& AllKnobs() {
  static const std::vector<KnobInfo> kAll = BuildKnobs();
  return kAll;
}

struct Suffix {
  std::string_view text;
  int64_t factor;
};
// Largest first, so that the shortest exact text is the first that divides.
constexpr Suffix kByteSuffixes[] = {
    {"G", 1024 * kMega}, {"M", kMega}, {"K", kKilo}, {"", 1}};
constexpr Suffix kTimeSuffixes[] = {{"s", env::kSecond},
                                    {"ms", env::kMillisecond},
                                    {"us", env::kMicrosecond},
                                    {"ns", 1}};

std::span<const Suffix> SuffixesOf(Unit unit) {
  static constexpr Suffix kPlain[] = {{"", 1}};
  if (unit == Unit::kBytes) return kByteSuffixes;
  if (unit == Unit::kTime) return kTimeSuffixes;
  return kPlain;
}

std::string Format(const KnobInfo& info, int64_t value) {
  if (info.unit == Unit::kSwitch) return value != 0 ? "on" : "off";
  if (info.unit == Unit::kName) {
    return std::string(info.names[static_cast<size_t>(value - info.low)]);
  }
  for (const Suffix& suffix : SuffixesOf(info.unit)) {
    if (value % suffix.factor == 0) {
      return fmt::format("{}{}", value / suffix.factor, suffix.text);
    }
  }
  SIM_UNREACHABLE();
}

// False if the text is no value of the knob.
bool Parse(const KnobInfo& info, std::string_view text, int64_t* value) {
  if (info.unit == Unit::kSwitch || info.unit == Unit::kName) {
    for (int64_t v = info.low; v <= info.high; ++v) {
      if (Format(info, v) == text) {
        *value = v;
        return true;
      }
    }
    return false;
  }
  int64_t number = 0;
  const char* text_end = text.data() + text.size();
  auto [end, error] = std::from_chars(text.data(), text_end, number);
  if (error != std::errc() || number < 0) return false;
  std::string_view rest(end, static_cast<size_t>(text_end - end));
  for (const Suffix& suffix : SuffixesOf(info.unit)) {
    if (rest != suffix.text) continue;
    if (__builtin_mul_overflow(number, suffix.factor, &number)) return false;
    *value = number;
    return number >= info.low && number <= info.high;
  }
  return false;
}

std::string Expected(const KnobInfo& info) {
  if (info.unit == Unit::kSwitch) return "on or off";
  if (info.unit == Unit::kName) {
    std::string text;
    for (std::string_view name : info.names) {
      if (!text.empty()) text += ", ";
      text += name;
    }
    return text;
  }
  return fmt::format("{}..{}", Format(info, info.low), Format(info, info.high));
}

env::Status Unknown(std::string_view name) {
  std::string known;
  for (const std::string& knob : KnobNames()) {
    if (!known.empty()) known += ", ";
    known += knob;
  }
  return env::Status(
      env::Code::kInvalid,
      fmt::format("unknown knob \"{}\", expected one of {}", name, known));
}

const KnobInfo* Find(std::string_view name) {
  for (const KnobInfo& info : AllKnobs()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

bool MayDraw(const KnobInfo& info, const Profile& profile,
             const Knobs& so_far) {
  if (info.choices.empty()) return false;
  if (info.name == "meta") return profile.weak_metadata;
  if (info.name == "fill") return profile.Has(Family::kFill);
  if (info.name == "sector_size") return profile.large_sectors;
  if (info.name == "delayed_allocation") return profile.odd_file_systems;
  if (info.name == "data_checksums") return !profile.checksums;
  if (info.name == "full_page_writes") return so_far.atomic8k != 0;
  return true;
}

// Shares of knobs under a bulk load: the buffers of the log are few and the
// segments small, and others insert while a commit's flush waits for company.
struct LoadShares {
  std::string_view knob;
  std::array<uint32_t, 4> shares;  // 0 behind the knob's last choice
};
constexpr LoadShares kSharesUnderLoad[] = {
    {"commit_delay", {1, 3}},           {"commit_siblings", {0, 0, 1}},
    {"max_wal_size", {1, 1, 2, 4}},     {"wal_buffers", {1, 6, 1}},
    {"wal_insert_locks", {2, 3, 0, 2}}, {"wal_segment_size", {0, 1, 4}},
};

std::vector<uint32_t> SharesOf(const KnobInfo& info, const Profile& profile,
                               const Knobs& so_far) {
  for (const LoadShares& load : kSharesUnderLoad) {
    if (so_far.bulk_load == 0 || load.knob != info.name) continue;
    return {load.shares.begin(),
            load.shares.begin() + static_cast<ptrdiff_t>(info.choices.size())};
  }
  std::vector<uint32_t> shares;
  for (const Choice& choice : info.choices) {
    if (choice.odd_file_system && !profile.odd_file_systems) continue;
    shares.push_back(choice.share);
  }
  return shares;
}

uint32_t GroupsOf(StrategySet set) {
  using env::AccessGroup;
  switch (set) {
    case StrategySet::kAll:
      break;
    case StrategySet::kLog:
      return sim::GroupBit(AccessGroup::kLog);
    case StrategySet::kPages:
      return sim::GroupBit(AccessGroup::kPage);
    case StrategySet::kSessions:
      return sim::GroupBit(AccessGroup::kSessions);
    case StrategySet::kLocks:
      return sim::GroupBit(AccessGroup::kLocks) |
             sim::GroupBit(AccessGroup::kSessions);
  }
  return sim::GroupBit(AccessGroup::kLog) | sim::GroupBit(AccessGroup::kPage) |
         sim::GroupBit(AccessGroup::kSessions) |
         sim::GroupBit(AccessGroup::kLocks);
}

bool Overridden(const KnobSettings& overrides, std::string_view name) {
  for (const auto& [knob, value] : overrides) {
    if (knob == name) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> KnobNames() {
  std::vector<std::string> names;
  for (const KnobInfo& info : AllKnobs()) names.emplace_back(info.name);
  return names;
}

std::vector<std::string> DrawnKnobValues(std::string_view name) {
  std::vector<std::string> values;
  const KnobInfo* info = Find(name);
  if (info == nullptr) return values;
  for (const Choice& choice : info->choices) {
    if (choice.share > 0) values.push_back(Format(*info, choice.value));
  }
  return values;
}

env::Result<std::string> GetKnob(const Knobs& knobs, std::string_view name) {
  const KnobInfo* info = Find(name);
  if (info == nullptr) return Unknown(name);
  return Format(*info, knobs.*info->field);
}

env::Status SetKnob(Knobs* knobs, std::string_view name,
                    std::string_view value) {
  const KnobInfo* info = Find(name);
  if (info == nullptr) return Unknown(name);
  int64_t parsed = 0;
  if (!Parse(*info, value, &parsed)) {
    return env::Status(env::Code::kInvalid,
                       fmt::format("knob {} cannot be \"{}\", expected {}",
                                   name, value, Expected(*info)));
  }
  knobs->*info->field = parsed;
  return env::Status();
}

env::Status CheckKnobs(const Knobs& knobs) {
  auto is_power_of_two = [](int64_t v) { return v > 0 && (v & (v - 1)) == 0; };
  if (!is_power_of_two(knobs.wal_segment_size_bytes) ||
      !is_power_of_two(knobs.sector_size_bytes)) {
    return env::Status(
        env::Code::kInvalid,
        "knobs wal_segment_size and sector_size must be powers of two");
  }
  if (knobs.full_page_writes == 0 && knobs.atomic8k == 0) {
    return env::Status(env::Code::kInvalid,
                       "knob full_page_writes may be off only with atomic8k "
                       "on: other disks tear pages");
  }
  if (knobs.max_wal_size_bytes < 2 * knobs.wal_segment_size_bytes) {
    return env::Status(
        env::Code::kInvalid,
        "knob max_wal_size must be at least twice wal_segment_size");
  }
  return env::Status();
}

env::Result<Knobs> DrawKnobs(sim::Choices& choices, const Profile& profile,
                             const KnobSettings& overrides) {
  Knobs knobs;
  sim::Drawer drawer(&choices, sim::Stream::kKnobs, sim::Scope::FromPath("w0"));
  for (const KnobInfo& info : AllKnobs()) {
    if (!MayDraw(info, profile, knobs)) continue;
    std::vector<uint32_t> shares = SharesOf(info, profile, knobs);
    knobs.*info.field = info.choices[drawer.Weighted(info.name, shares)].value;
  }
  // Draws stay apart from each other, so they may disagree.
  knobs.max_wal_size_bytes =
      std::max(knobs.max_wal_size_bytes, 2 * knobs.wal_segment_size_bytes);
  for (const auto& [name, value] : overrides) {
    RETURN_IF_ERROR(SetKnob(&knobs, name, value));
  }
  // Garbage must be detected (contract row C15), which takes checksums.
  if (!Overridden(overrides, "data_checksums") && knobs.fill != 0) {
    knobs.data_checksums = 1;
  }
  if (!Overridden(overrides, "max_wal_size")) {
    knobs.max_wal_size_bytes =
        std::max(knobs.max_wal_size_bytes, 2 * knobs.wal_segment_size_bytes);
  }
  if (!Overridden(overrides, "full_page_writes") && knobs.atomic8k == 0) {
    knobs.full_page_writes = 1;
  }
  RETURN_IF_ERROR(CheckKnobs(knobs));
  return knobs;
}

sim::DiskOptions DiskOptionsOf(const Knobs& knobs) {
  sim::DiskOptions options;
  options.sector_bytes = static_cast<int>(knobs.sector_size_bytes);
  options.meta = static_cast<sim::MetaMode>(knobs.meta);
  options.fill = static_cast<sim::Fill>(knobs.fill);
  options.mix = static_cast<sim::ImageMix>(knobs.image_mix);
  options.atomic8k = knobs.atomic8k != 0;
  options.delayed_allocation = knobs.delayed_allocation != 0;
  return options;
}

sim::StrategyOptions StrategyOptionsOf(const Knobs& knobs) {
  sim::StrategyOptions options;
  options.kind = static_cast<sim::StrategyKind>(knobs.strategy);
  options.switch_denominator = static_cast<uint32_t>(knobs.switch_denominator);
  options.timer_denominator = static_cast<uint32_t>(knobs.timer_denominator);
  options.quantum = options.switch_denominator;
  options.depth = static_cast<uint32_t>(knobs.strategy_depth);
  options.groups = GroupsOf(static_cast<StrategySet>(knobs.strategy_set));
  return options;
}

bool WantsPilot(const Knobs& knobs) {
  switch (static_cast<sim::StrategyKind>(knobs.strategy)) {
    case sim::StrategyKind::kPct:
      return knobs.strategy_depth > 1;
    case sim::StrategyKind::kSurw:
    case sim::StrategyKind::kDelay:
      return true;
    default:
      return false;
  }
}

std::string ToString(const Knobs& knobs) {
  std::string text;
  for (const KnobInfo& info : AllKnobs()) {
    if (!text.empty()) text += ' ';
    text += fmt::format("{}={}", info.name, Format(info, knobs.*info.field));
  }
  return text;
}

}  // namespace faults
