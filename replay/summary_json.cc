// Summary: as JSON and back.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/common/sites.h"
#include "faults/atlas.h"
#include "faults/crash_faults.h"
#include "replay/json_reader.h"
#include "replay/summary.h"

namespace replay {
namespace {

using nlohmann::ordered_json;

ordered_json JsonOf(const std::map<std::string, uint64_t>& counts) {
  ordered_json json = ordered_json::object();
  for (const auto& [key, count] : counts) json[key] = count;
  return json;
}

void ReadFamilies(JsonReader reader, Summary* summary) {
  for (const std::string& name : reader.Keys()) {
    JsonReader in = reader.Object(name);
    properties::RunStats::Family& family = summary->families[name];
    family.enabled_runs = in.Count("enabled_runs");
    family.injected = in.Count("injected");
    family.masked = in.Count("masked");
    family.detected = in.Count("detected");
    family.repaired = in.Count("repaired");
    family.silent = in.Count("silent");
    family.gap = in.Count("gap");
  }
}

void ReadParts(JsonReader reader, Summary* summary) {
  for (JsonReader in : reader.Array("parts")) {
    SeedPart part;
    part.profile = in.Text("profile");
    part.spec = in.Text("spec");
    part.first_seed = in.Count("first_seed");
    part.last_seed = in.Count("last_seed");
    part.shard_index = in.Count("shard_index");
    part.shard_count = in.Count("shard_count");
    if (part.first_seed > part.last_seed ||
        part.shard_index >= part.shard_count) {
      in.Refuse("seeds and shard of a campaign");
    }
    summary->parts.push_back(std::move(part));
  }
}

}  // namespace

std::string Summary::ToJson() const {
  ordered_json json;
  json["build"] = build;
  json["profile"] = profile;
  json["seeds"] = seeds;
  json["parts"] = ordered_json::array();
  for (const SeedPart& part : parts) {
    json["parts"].push_back({{"profile", part.profile},
                             {"spec", part.spec},
                             {"first_seed", part.first_seed},
                             {"last_seed", part.last_seed},
                             {"shard_index", part.shard_index},
                             {"shard_count", part.shard_count}});
  }
  json["findings"] = findings;
  json["harness_failures"] = harness_failures;
  json["cpu_s"] = cpu_s;
  json["wall_s"] = wall_s;
  json["virtual_s"] = static_cast<double>(virtual_ns) / 1e9;
  json["steps"] = steps;
  json["crashes"] = crashes;
  json["recoveries"] = recoveries;
  json["seeds_crashed_in_recovery"] = seeds_crashed_in_recovery;
  json["acked_commits"] = acked_commits;
  json["in_doubt"] = in_doubt;
  json["statements_predicted"] = statements_predicted;
  json["statements_unpredicted"] = JsonOf(statements_unpredicted);
  json["known_gaps"] = JsonOf(known_gaps);
  json["judged"] = JsonOf(judged);
  json["outside"] = JsonOf(outside);
  json["schedulers"] = JsonOf(schedulers);
  json["faults"] = ordered_json::object();
  for (const auto& [name, family] : families) {
    json["faults"][name] = {{"enabled_runs", family.enabled_runs},
                            {"injected", family.injected},
                            {"masked", family.masked},
                            {"detected", family.detected},
                            {"repaired", family.repaired},
                            {"silent", family.silent},
                            {"gap", family.gap}};
  }
  json["crash_points"] = ordered_json::object();
  for (const auto& [point, kinds] : crash_points) {
    json["crash_points"][point] = JsonOf(kinds);
  }
  // Which pairs cannot or must not happen, and which of the others did not.
  json["illegal_crashes"] = ordered_json::array();
  for (const faults::Exclusion& exclusion : faults::IllegalCrashes()) {
    json["illegal_crashes"].push_back(
        {{"point", std::string(exclusion.point)},
         {"kind", faults::CrashKindName(exclusion.kind)},
         {"reason", std::string(exclusion.reason)}});
  }
  json["rare_crashes"] = ordered_json::array();
  for (const CrashPair& pair : RarelyHit(kEnoughHits)) {
    json["rare_crashes"].push_back(
        {{"point", pair.point}, {"kind", pair.kind}, {"hits", pair.hits}});
  }
  // Names of a user's files may be no UTF-8.
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

Summary Summary::Read(JsonReader in) {
  Summary summary;
  summary.build = in.Text("build");
  summary.profile = in.Text("profile");
  summary.seeds = in.Count("seeds");
  ReadParts(in, &summary);
  summary.findings = in.Count("findings");
  summary.harness_failures = in.Count("harness_failures");
  summary.cpu_s = in.Number("cpu_s");
  summary.wall_s = in.Number("wall_s");
  summary.virtual_ns = std::llround(in.Number("virtual_s") * 1e9);
  summary.steps = in.Count("steps");
  summary.crashes = in.Count("crashes");
  summary.recoveries = in.Count("recoveries");
  summary.seeds_crashed_in_recovery = in.Count("seeds_crashed_in_recovery");
  summary.acked_commits = in.Count("acked_commits");
  summary.in_doubt = in.Count("in_doubt");
  summary.statements_predicted = in.Count("statements_predicted");
  summary.statements_unpredicted = in.Counts("statements_unpredicted");
  summary.known_gaps = in.Counts("known_gaps");
  summary.judged = in.Counts("judged");
  summary.outside = in.Counts("outside");
  summary.schedulers = in.Counts("schedulers");
  ReadFamilies(in.Object("faults"), &summary);
  JsonReader points = in.Object("crash_points");
  for (const std::string& point : points.Keys()) {
    summary.crash_points[point] = points.Counts(point);
  }
  return summary;
}

env::Result<Summary> Summary::FromJson(std::string_view text,
                                       std::string_view file) {
  JsonDocument document(text, file, "a summary that campaign --json wrote");
  Summary summary = Read(document.root());
  RETURN_IF_ERROR(document.status());
  return summary;
}

}  // namespace replay
