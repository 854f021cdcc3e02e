#include "replay/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/common/sites.h"
#include "faults/atlas.h"
#include "faults/crash_faults.h"

namespace replay {
namespace {

using Counts = std::map<std::string, uint64_t>;
using Families = std::map<std::string, properties::RunStats::Family>;

void AddCounts(const Counts& from, Counts* to) {
  for (const auto& [key, count] : from) (*to)[key] += count;
}

void AddFamilies(const Families& from, Families* to) {
  for (const auto& [name, family] : from) {
    properties::RunStats::Family& sum = (*to)[name];
    sum.enabled_runs += family.enabled_runs;
    sum.injected += family.injected;
    sum.masked += family.masked;
    sum.detected += family.detected;
    sum.repaired += family.repaired;
    sum.silent += family.silent;
    sum.gap += family.gap;
  }
}

}  // namespace

// Of a run or of a campaign: both use the same names.
template <typename Stats>
void Summary::AddCounters(const Stats& stats) {
  virtual_ns += stats.virtual_ns;
  steps += stats.steps;
  crashes += stats.crashes;
  recoveries += stats.recoveries;
  acked_commits += stats.acked_commits;
  in_doubt += stats.in_doubt;
  statements_predicted += stats.statements_predicted;
  AddCounts(stats.statements_unpredicted, &statements_unpredicted);
  AddCounts(stats.known_gaps, &known_gaps);
  AddCounts(stats.judged, &judged);
  AddCounts(stats.outside, &outside);
  AddCounts(stats.schedulers, &schedulers);
  AddFamilies(stats.families, &families);
  for (const auto& [point, kinds] : stats.crash_points) {
    AddCounts(kinds, &crash_points[point]);
  }
}

void Summary::Add(const properties::RunStats& stats) {
  ++seeds;
  seeds_crashed_in_recovery += stats.crashed_in_recovery ? 1 : 0;
  AddCounters(stats);
}

bool SeedPart::Overlaps(const SeedPart& other) const {
  if (profile != other.profile || spec != other.spec) return false;
  uint64_t from = std::max(first_seed, other.first_seed);
  uint64_t to = std::min(last_seed, other.last_seed);
  // Seeds of both shards repeat after as many steps of one as the other has
  // shards.
  uint64_t step = shard_count;
  uint64_t behind = (from - first_seed) % step;
  uint64_t seed = from + (shard_index + step - behind) % step;
  for (uint64_t n = 0; n < other.shard_count && seed <= to; ++n, seed += step) {
    if ((seed - other.first_seed) % other.shard_count == other.shard_index) {
      return true;
    }
  }
  return false;
}

std::string SeedPart::ToString() const {
  std::string text = fmt::format("{} {}..{}", profile, first_seed, last_seed);
  if (shard_count > 1) {
    text += fmt::format(" shard {}/{}", shard_index, shard_count);
  }
  return text;
}

env::Status Summary::Merge(const Summary& other) {
  if (build != other.build) {
    return {env::Code::kInvalid,
            fmt::format("build \"{}\", expected \"{}\"", other.build, build)};
  }
  for (const SeedPart& theirs : other.parts) {
    for (const SeedPart& ours : parts) {
      if (!ours.Overlaps(theirs)) continue;
      return {env::Code::kInvalid,
              fmt::format("seeds of {} are counted already, with those of {}",
                          theirs.ToString(), ours.ToString())};
    }
  }
  parts.insert(parts.end(), other.parts.begin(), other.parts.end());
  std::set<std::string> profiles;
  for (const SeedPart& part : parts) profiles.insert(part.profile);
  profile = fmt::format("{}", fmt::join(profiles, "+"));
  seeds += other.seeds;
  findings += other.findings;
  harness_failures += other.harness_failures;
  cpu_s += other.cpu_s;
  wall_s += other.wall_s;
  seeds_crashed_in_recovery += other.seeds_crashed_in_recovery;
  AddCounters(other);
  return {};
}

uint64_t Summary::Unpredicted() const {
  uint64_t sum = 0;
  for (const auto& [reason, count] : statements_unpredicted) sum += count;
  return sum;
}

std::vector<std::string> Summary::NeverInjected() const {
  std::vector<std::string> names;
  for (const auto& [name, family] : families) {
    if (family.enabled_runs > 0 && family.injected == 0) names.push_back(name);
  }
  return names;
}

std::vector<Summary::CrashPair> Summary::RarelyHit(uint64_t least) const {
  std::vector<CrashPair> pairs;
  for (const std::string& point :
       faults::CrashPointNames(engine::EngineSites())) {
    for (sim::CrashKind kind : faults::kCrashKinds) {
      if (faults::FindExclusion(point, kind) != nullptr) continue;
      std::string name = faults::CrashKindName(kind);
      uint64_t hits = 0;
      auto kinds = crash_points.find(point);
      if (kinds != crash_points.end()) {
        auto found = kinds->second.find(name);
        if (found != kinds->second.end()) hits = found->second;
      }
      if (hits < least) pairs.push_back({point, name, hits});
    }
  }
  return pairs;
}

std::string Summary::ToText() const {
  auto per_seed = [this](uint64_t n) {
    return seeds == 0 ? 0.0
                      : static_cast<double>(n) / static_cast<double>(seeds);
  };
  std::string text = fmt::format(
      "{} seeds of {} in {:.1f} s ({:.1f} s CPU, {:.1f} s virtual)\n"
      "  {} crashes ({:.2f} per seed), {} recoveries, {} seeds crashed in "
      "recovery ({:.1f} %)\n"
      "  {} commits acknowledged, {} in doubt\n"
      "  {} statements predicted, {} not\n",
      seeds, profile, wall_s, cpu_s, static_cast<double>(virtual_ns) / 1e9,
      crashes, per_seed(crashes), recoveries, seeds_crashed_in_recovery,
      100 * per_seed(seeds_crashed_in_recovery), acked_commits, in_doubt,
      statements_predicted, Unpredicted());
  if (!schedulers.empty()) {
    text += "  schedulers:";
    for (const auto& [name, runs] : schedulers) {
      text += fmt::format(" {} {}", name, runs);
    }
    text += '\n';
  }
  if (!families.empty()) {
    text += fmt::format("  {:<16}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n",
                        "fault", "injected", "masked", "detected", "repaired",
                        "silent", "gap");
  }
  for (const auto& [name, family] : families) {
    text += fmt::format("  {:<16}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n", name,
                        family.injected, family.masked, family.detected,
                        family.repaired, family.silent, family.gap);
  }
  for (const auto& [row, count] : known_gaps) {
    text += fmt::format("  known PostgreSQL gap {}: {}\n", row, count);
  }
  for (const auto& [row, count] : outside) {
    text += fmt::format("  outside the contract {}: {}\n", row, count);
  }
  for (const std::string& name : NeverInjected()) {
    text += fmt::format("  warning: {} was enabled and never struck\n", name);
  }
  text += fmt::format("{} findings, {} harness failures\n", findings,
                      harness_failures);
  return text;
}

ExitCode ExitCodeOf(const Summary& summary) {
  if (summary.findings > 0) return kExitBroken;
  return summary.harness_failures > 0 ? kExitHarness : kExitKept;
}

}  // namespace replay
