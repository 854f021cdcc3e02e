#include "replay/mutant_tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "faults/planted_bugs.h"
#include "faults/unplanted_bugs.h"
#include "replay/json_reader.h"

namespace replay {
namespace {

using nlohmann::ordered_json;

// Rates are given for so many seeds.
constexpr double kPerSeeds = 20000;

std::string RateOf(const MutantTally& tally) {
  if (tally.seeds == 0) return "";
  Interval interval = ConfidenceOf(tally.failing, tally.seeds);
  return fmt::format("{:.0f} ({:.0f}–{:.0f})",
                     kPerSeeds * static_cast<double>(tally.failing) /
                         static_cast<double>(tally.seeds),
                     kPerSeeds * interval.low, kPerSeeds * interval.high);
}

// "ack 53, content 11", the most frequent first.
std::string Ranked(const std::map<std::string, uint64_t>& counts) {
  std::vector<std::pair<std::string, uint64_t>> ranked(counts.begin(),
                                                       counts.end());
  std::stable_sort(
      ranked.begin(), ranked.end(),
      [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [name, count] : ranked) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  }
  return text;
}

ordered_json JsonOf(const MutantTally& tally) {
  ordered_json json;
  json["bug"] = tally.bug;
  json["seeds"] = tally.seeds;
  json["failing"] = tally.failing;
  json["harness_failures"] = tally.harness_failures;
  if (tally.first_seed.has_value()) json["first_seed"] = *tally.first_seed;
  json["cpu_s"] = tally.cpu_s;
  json["cpu_to_first_s"] = tally.cpu_to_first_s;
  json["oracles"] = tally.oracles;
  json["promises"] = tally.promises;
  json["finished"] = tally.finished ? 1 : 0;
  return json;
}

MutantTally ReadTally(JsonReader in) {
  MutantTally tally;
  tally.bug = in.Text("bug");
  tally.seeds = in.Count("seeds");
  tally.failing = in.Count("failing");
  tally.harness_failures = in.Count("harness_failures");
  if (tally.failing > 0) tally.first_seed = in.Count("first_seed");
  tally.cpu_s = in.Number("cpu_s");
  tally.cpu_to_first_s = in.Number("cpu_to_first_s");
  tally.oracles = in.Counts("oracles");
  tally.promises = in.Counts("promises");
  tally.finished = in.Count("finished") != 0;
  return tally;
}

}  // namespace

void MutantTally::Add(const env::Result<properties::RunOutcome>& outcome,
                      double run_cpu_s) {
  uint64_t seed = seeds++;
  cpu_s += run_cpu_s;
  if (!outcome.ok() || !outcome->harness_failure.empty()) {
    ++harness_failures;
    return;
  }
  if (outcome->broken.empty()) return;
  ++failing;
  if (!first_seed.has_value()) {
    first_seed = seed;
    cpu_to_first_s = cpu_s;
  }
  std::set<std::string> spoke;
  std::set<std::string> broke;
  for (const properties::Verdict& verdict : outcome->broken) {
    spoke.insert(verdict.oracle);
    broke.insert(verdict.promise);
  }
  for (const std::string& oracle : spoke) ++oracles[oracle];
  for (const std::string& promise : broke) ++promises[promise];
}

Interval ConfidenceOf(uint64_t hits, uint64_t trials) {
  if (trials == 0) return {};
  constexpr double kZ = 1.959963984540054;
  auto n = static_cast<double>(trials);
  double share = static_cast<double>(hits) / n;
  double scale = 1 + kZ * kZ / n;
  double middle = (share + kZ * kZ / (2 * n)) / scale;
  double reach =
      kZ / scale * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  // At the ends the bound is exact; rounding must not move it.
  return {hits == 0 ? 0 : std::max(0.0, middle - reach),
          hits == trials ? 1 : std::min(1.0, middle + reach)};
}

std::string MutantTable::ToJson() const {
  ordered_json json;
  json["build"] = build;
  json["spec"] = spec;
  json["tallies"] = ordered_json::array();
  for (const MutantTally& tally : tallies) {
    json["tallies"].push_back(JsonOf(tally));
  }
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) +
         "\n";
}

env::Result<MutantTable> MutantTable::FromJson(std::string_view text,
                                               std::string_view file) {
  JsonDocument document(text, file, "what mutants --resume wrote");
  JsonReader in = document.root();
  MutantTable table;
  table.build = in.Text("build");
  table.spec = in.Text("spec");
  for (JsonReader each : in.Array("tallies")) {
    table.tallies.push_back(ReadTally(each));
  }
  RETURN_IF_ERROR(document.status());
  return table;
}

std::string MutantTable::ToMarkdown() const {
  uint64_t found = 0;
  for (const MutantTally& tally : tallies) found += tally.failing > 0 ? 1 : 0;
  std::string text = fmt::format(
      "# The tester's power\n\n"
      "Written by `musth mutants`; do not edit. Build: {}.\n{}.\n\n"
      "Failing seeds are given for 20,000 seeds, with the 95 % confidence "
      "interval (Wilson);\noracles and promises with the number of failing "
      "seeds in which they spoke. {} of {}\nbugs were found.\n\n"
      "| bug | family | seeds run | failing per 20,000 | first seed | CPU s to "
      "it | oracles | promises |\n|---|---|---|---|---|---|---|---|\n",
      build, spec, found, tallies.size());
  for (const MutantTally& tally : tallies) {
    const faults::PlantedBug* bug = faults::FindPlantedBug(tally.bug);
    text += fmt::format(
        "| {} | {} | {}{} | {} | {} | {} | {} | {} |\n", tally.bug,
        bug == nullptr ? "" : bug->component, tally.seeds,
        tally.finished ? "" : " so far", RateOf(tally),
        tally.first_seed.has_value() ? fmt::format("{}", *tally.first_seed)
                                     : "-",
        tally.first_seed.has_value()
            ? fmt::format("{:.2f}", tally.cpu_to_first_s)
            : fmt::format("> {:.0f}", tally.cpu_s),
        Ranked(tally.oracles), Ranked(tally.promises));
  }
  for (const MutantTally& tally : tallies) {
    if (tally.harness_failures == 0) continue;
    text += fmt::format("\n{}: {} harness failures.\n", tally.bug,
                        tally.harness_failures);
  }
  text +=
      "\n## Not planted\n\nHistorical bugs that the engine cannot host yet, "
      "and what it lacks for them.\n\n"
      "| bug | family | source | lacks |\n|---|---|---|---|\n";
  for (const faults::UnplantedBug& bug : faults::UnplantedBugs()) {
    text += fmt::format("| {} | {} | {} | {} |\n", bug.name, bug.component,
                        bug.source, bug.lacks);
  }
  return text;
}

}  // namespace replay
