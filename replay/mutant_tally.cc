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

double Share(const MutantTally& tally) {
  return static_cast<double>(tally.failing) / static_cast<double>(tally.seeds);
}

Interval IntervalOf(const MutantTally& tally) {
  return ConfidenceOf(tally.failing, tally.seeds);
}

// The tallies of single schedulers that have run at all, as a table; names in
// the order of their first tally. The tallies outlive it.
struct Cells {
  explicit Cells(const std::vector<MutantTally>& tallies) {
    auto note = [](std::vector<std::string>* names, const std::string& name) {
      if (std::find(names->begin(), names->end(), name) == names->end()) {
        names->push_back(name);
      }
    };
    for (const MutantTally& tally : tallies) {
      if (tally.scheduler.empty() || tally.seeds == 0) continue;
      note(&schedulers, tally.scheduler);
      note(&bugs, tally.bug);
      by_name[{tally.bug, tally.scheduler}] = &tally;
    }
  }
  // Null: not measured.
  const MutantTally* At(const std::string& bug,
                        std::string_view scheduler) const {
    auto cell = by_name.find({bug, std::string(scheduler)});
    return cell == by_name.end() ? nullptr : cell->second;
  }
  std::vector<const MutantTally*> Row(const std::string& bug) const {
    std::vector<const MutantTally*> row;
    for (const std::string& scheduler : schedulers) {
      const MutantTally* cell = At(bug, scheduler);
      if (cell != nullptr) row.push_back(cell);
    }
    return row;
  }

  std::vector<std::string> schedulers;
  std::vector<std::string> bugs;
  std::map<std::pair<std::string, std::string>, const MutantTally*> by_name;
};

// "4 statements, 0 preemptions, 1 fault in 0.4 s".
std::string SizeOf(const MutantTally& tally) {
  if (!tally.shrunk.has_value()) return "";
  const ShrunkFinding& shrunk = *tally.shrunk;
  return fmt::format("{} statements, {} preemptions, {} faults in {:.1f} s{}",
                     shrunk.statements, shrunk.preemptions, shrunk.faults,
                     shrunk.cpu_s, shrunk.one_minimal ? "" : ", not minimal");
}

// The upper one of two in the middle.
template <typename T>
T Median(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string Medians(const std::vector<MutantTally>& tallies) {
  std::vector<uint64_t> statements;
  std::vector<uint64_t> preemptions;
  std::vector<uint64_t> faults;
  std::vector<double> cpu_s;
  uint64_t minimal = 0;
  for (const MutantTally& tally : tallies) {
    if (!tally.shrunk.has_value()) continue;
    statements.push_back(tally.shrunk->statements);
    preemptions.push_back(tally.shrunk->preemptions);
    faults.push_back(tally.shrunk->faults);
    cpu_s.push_back(tally.shrunk->cpu_s);
    minimal += tally.shrunk->one_minimal ? 1 : 0;
  }
  if (statements.empty()) return "";
  return fmt::format(
      "\n{} findings were shrunk, {} of them until no single part can be left "
      "out. At the\nmedian {} statements, {} preemptions and {} faults are "
      "left after {:.1f} s of CPU time.\n",
      statements.size(), minimal, Median(statements), Median(preemptions),
      Median(faults), Median(cpu_s));
}

// "3 (a, b, c)".
std::string Listed(const std::vector<std::string>& names) {
  if (names.empty()) return "none";
  std::string text = fmt::format("{} (", names.size());
  for (const std::string& name : names) {
    text += (&name == names.data() ? "" : ", ") + name;
  }
  return text + ")";
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
  json["scheduler"] = tally.scheduler;
  json["seeds"] = tally.seeds;
  json["failing"] = tally.failing;
  json["harness_failures"] = tally.harness_failures;
  if (tally.first_seed.has_value()) json["first_seed"] = *tally.first_seed;
  json["cpu_s"] = tally.cpu_s;
  json["cpu_to_first_s"] = tally.cpu_to_first_s;
  json["oracles"] = tally.oracles;
  json["promises"] = tally.promises;
  if (tally.shrunk.has_value()) {
    json["shrunk"]["statements"] = tally.shrunk->statements;
    json["shrunk"]["preemptions"] = tally.shrunk->preemptions;
    json["shrunk"]["faults"] = tally.shrunk->faults;
    json["shrunk"]["cpu_s"] = tally.shrunk->cpu_s;
    json["shrunk"]["one_minimal"] = tally.shrunk->one_minimal ? 1 : 0;
  }
  json["finished"] = tally.finished ? 1 : 0;
  return json;
}

MutantTally ReadTally(JsonReader in) {
  MutantTally tally;
  tally.bug = in.Text("bug");
  tally.scheduler = in.Text("scheduler");
  tally.seeds = in.Count("seeds");
  tally.failing = in.Count("failing");
  tally.harness_failures = in.Count("harness_failures");
  if (tally.failing > 0) tally.first_seed = in.Count("first_seed");
  tally.cpu_s = in.Number("cpu_s");
  tally.cpu_to_first_s = in.Number("cpu_to_first_s");
  tally.oracles = in.Counts("oracles");
  tally.promises = in.Counts("promises");
  std::vector<std::string> keys = in.Keys();
  if (std::find(keys.begin(), keys.end(), "shrunk") != keys.end()) {
    JsonReader shrunk = in.Object("shrunk");
    tally.shrunk = {shrunk.Count("statements"), shrunk.Count("preemptions"),
                    shrunk.Count("faults"), shrunk.Number("cpu_s"),
                    shrunk.Count("one_minimal") != 0};
  }
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

Ablation Compare(const std::vector<MutantTally>& tallies) {
  Ablation result;
  Cells cells(tallies);
  result.schedulers = cells.schedulers;
  for (const std::string& bug : cells.bugs) {
    std::vector<const MutantTally*> row = cells.Row(bug);
    const MutantTally* best = row.front();
    for (const MutantTally* cell : row) {
      if (Share(*cell) > Share(*best)) best = cell;
    }
    if (best->failing == 0) continue;
    double low = IntervalOf(*best).low;
    bool alone = row.size() > 1;
    for (const MutantTally* cell : row) {
      alone &= cell == best || IntervalOf(*cell).high < low;
    }
    if (alone) result.best_for[best->scheduler].push_back(bug);
    const MutantTally* baseline = cells.At(bug, kBaselineScheduler);
    // One failing seed beside none says nothing.
    if (baseline != nullptr && 10 * Share(*baseline) <= Share(*best) &&
        IntervalOf(*baseline).high < low) {
      result.hard_for_baseline.push_back(bug);
    }
  }
  return result;
}

std::string MutantTable::MainTable() const {
  std::string text =
      "| bug | family | seeds run | failing per 20,000 | first seed | CPU s to "
      "it | shrunk to | oracles | promises |\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  for (const MutantTally& tally : tallies) {
    if (!tally.scheduler.empty()) continue;
    const faults::PlantedBug* bug = faults::FindPlantedBug(tally.bug);
    text += fmt::format(
        "| {} | {} | {}{} | {} | {} | {} | {} | {} | {} |\n", tally.bug,
        bug == nullptr ? "" : bug->component, tally.seeds,
        tally.finished ? "" : " so far", RateOf(tally),
        tally.first_seed.has_value() ? fmt::format("{}", *tally.first_seed)
                                     : "-",
        tally.first_seed.has_value()
            ? fmt::format("{:.2f}", tally.cpu_to_first_s)
            : fmt::format("> {:.0f}", tally.cpu_s),
        SizeOf(tally), Ranked(tally.oracles), Ranked(tally.promises));
  }
  for (const MutantTally& tally : tallies) {
    if (tally.harness_failures == 0) continue;
    text += fmt::format("\n{}{}{}: {} harness failures.\n", tally.bug,
                        tally.scheduler.empty() ? "" : " with ",
                        tally.scheduler, tally.harness_failures);
  }
  return text + Medians(tallies);
}

std::string MutantTable::SchedulerTable() const {
  Ablation ablation = Compare(tallies);
  if (ablation.schedulers.empty()) return "";
  std::string text =
      "\n## One scheduler alone\n\nFailing per 20,000 seeds when every seed "
      "is scheduled in the same way, in campaigns\nor in scenes: what a bug's "
      "witness recipe stages, without who waits for whom. In bold\nthe best "
      "one of a bug whose interval is above all others'.\n\n| bug |";
  std::string rule = "\n|---|";
  for (const std::string& scheduler : ablation.schedulers) {
    text += fmt::format(" {} |", scheduler);
    rule += "---|";
  }
  text += rule;
  Cells cells(tallies);
  for (const std::string& bug : cells.bugs) {
    text += fmt::format("\n| {} |", bug);
    for (const std::string& scheduler : ablation.schedulers) {
      const std::vector<std::string>& leads = ablation.best_for[scheduler];
      bool best = std::find(leads.begin(), leads.end(), bug) != leads.end();
      const MutantTally* cell = cells.At(bug, scheduler);
      text += fmt::format(" {0}{1}{0} |", best ? "**" : "",
                          cell == nullptr ? "" : RateOf(*cell));
    }
  }
  text += "\n\n";
  for (const std::string& scheduler : ablation.schedulers) {
    text += fmt::format("- {}: best for {}.\n", scheduler,
                        Listed(ablation.best_for[scheduler]));
  }
  text += fmt::format(
      "\nFound by {} at a tenth of the best scheduler's rate or less: {}.\n",
      kBaselineScheduler, Listed(ablation.hard_for_baseline));
  return text;
}

std::string MutantTable::ToMarkdown() const {
  uint64_t found = 0;
  uint64_t bugs = 0;
  for (const MutantTally& tally : tallies) {
    if (!tally.scheduler.empty()) continue;
    ++bugs;
    found += tally.failing > 0 ? 1 : 0;
  }
  std::string text = fmt::format(
      "# The tester's power\n\n"
      "Written by `musth mutants`; do not edit. Build: {}.\n{}.\n\n"
      "Failing seeds are given for 20,000 seeds, with the 95 % confidence "
      "interval (Wilson);\noracles and promises with the number of failing "
      "seeds in which they spoke. {} of {}\nbugs were found.\n\n",
      build, spec, found, bugs);
  text += MainTable() + SchedulerTable();
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
