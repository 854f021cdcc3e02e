#include "replay/summary.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/common/sites.h"
#include "faults/atlas.h"
#include "faults/crash_faults.h"

namespace replay {

void Summary::Add(const properties::RunStats& stats) {
  ++seeds;
  virtual_ns += stats.virtual_ns;
  steps += stats.steps;
  crashes += stats.crashes;
  recoveries += stats.recoveries;
  seeds_crashed_in_recovery += stats.crashed_in_recovery ? 1 : 0;
  acked_commits += stats.acked_commits;
  in_doubt += stats.in_doubt;
  statements_predicted += stats.statements_predicted;
  for (const auto& [reason, count] : stats.statements_unpredicted) {
    statements_unpredicted[reason] += count;
  }
  for (const auto& [row, count] : stats.known_gaps) known_gaps[row] += count;
  for (const auto& [what, count] : stats.judged) judged[what] += count;
  for (const auto& [row, count] : stats.outside) outside[row] += count;
  for (const auto& [name, family] : stats.families) {
    properties::RunStats::Family& sum = families[name];
    sum.enabled_runs += family.enabled_runs;
    sum.injected += family.injected;
    sum.masked += family.masked;
    sum.detected += family.detected;
    sum.repaired += family.repaired;
    sum.silent += family.silent;
    sum.gap += family.gap;
  }
  for (const auto& [point, kinds] : stats.crash_points) {
    for (const auto& [kind, hits] : kinds) crash_points[point][kind] += hits;
  }
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

std::string Summary::ToJson() const {
  nlohmann::ordered_json json;
  json["build"] = build;
  json["profile"] = profile;
  json["seeds"] = seeds;
  json["findings"] = findings;
  json["harness_failures"] = harness_failures;
  json["cpu_s"] = cpu_s;
  json["wall_s"] = wall_s;
  json["virtual_s"] = static_cast<double>(virtual_ns) / 1e9;
  json["crashes"] = crashes;
  json["recoveries"] = recoveries;
  json["seeds_crashed_in_recovery"] = seeds_crashed_in_recovery;
  json["acked_commits"] = acked_commits;
  json["in_doubt"] = in_doubt;
  json["statements_predicted"] = statements_predicted;
  json["statements_unpredicted"] = nlohmann::ordered_json::object();
  for (const auto& [reason, count] : statements_unpredicted) {
    json["statements_unpredicted"][reason] = count;
  }
  json["known_gaps"] = nlohmann::ordered_json::object();
  for (const auto& [row, count] : known_gaps) json["known_gaps"][row] = count;
  json["judged"] = nlohmann::ordered_json::object();
  for (const auto& [what, count] : judged) json["judged"][what] = count;
  json["outside"] = nlohmann::ordered_json::object();
  for (const auto& [row, count] : outside) json["outside"][row] = count;
  json["faults"] = nlohmann::ordered_json::object();
  for (const auto& [name, family] : families) {
    json["faults"][name] = {
        {"injected", family.injected}, {"masked", family.masked},
        {"detected", family.detected}, {"repaired", family.repaired},
        {"silent", family.silent},     {"gap", family.gap}};
  }
  json["crash_points"] = nlohmann::ordered_json::object();
  for (const auto& [point, kinds] : crash_points) {
    for (const auto& [kind, hits] : kinds) {
      json["crash_points"][point][kind] = hits;
    }
  }
  // Which pairs cannot or must not happen, and which of the others did not.
  json["illegal_crashes"] = nlohmann::ordered_json::array();
  for (const faults::Exclusion& exclusion : faults::IllegalCrashes()) {
    json["illegal_crashes"].push_back(
        {{"point", std::string(exclusion.point)},
         {"kind", faults::CrashKindName(exclusion.kind)},
         {"reason", std::string(exclusion.reason)}});
  }
  json["rare_crashes"] = nlohmann::ordered_json::array();
  for (const CrashPair& pair : RarelyHit(kEnoughHits)) {
    json["rare_crashes"].push_back(
        {{"point", pair.point}, {"kind", pair.kind}, {"hits", pair.hits}});
  }
  // Names of a user's files may be no UTF-8.
  return json.dump(2, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace);
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

}  // namespace replay
