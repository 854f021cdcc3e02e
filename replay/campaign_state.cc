#include "replay/campaign_state.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "replay/json_reader.h"

namespace replay {
namespace {

constexpr uint64_t kStateFormat = 2;

using nlohmann::ordered_json;

}  // namespace

NumberSet::NumberSet(uint64_t below, std::set<uint64_t> others)
    : below_(below), others_(std::move(others)) {
  Settle();
}

void NumberSet::Add(uint64_t number) {
  if (Has(number)) return;
  others_.insert(number);
  Settle();
}

void NumberSet::Settle() {
  while (!others_.empty() && *others_.begin() <= below_) {
    if (*others_.begin() == below_) ++below_;
    others_.erase(others_.begin());
  }
}

std::string FormatState(const CampaignState& state) {
  ordered_json json;
  json["campaign_state"] = kStateFormat;
  json["done_below"] = state.done.below();
  json["done"] = state.done.others();
  json["incidents"] = ordered_json::array();
  for (const Incident& incident : state.incidents) {
    json["incidents"].push_back({{"seed", incident.seed},
                                 {"promise", incident.promise},
                                 {"oracle", incident.oracle},
                                 {"subject", incident.subject},
                                 {"message", incident.message},
                                 {"recipe", incident.recipe},
                                 {"shrunk", incident.shrunk ? 1 : 0}});
  }
  json["summary"] = ordered_json::parse(state.summary.ToJson());
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) +
         "\n";
}

env::Result<CampaignState> ParseState(std::string_view text,
                                      std::string_view file) {
  JsonDocument document(text, file, "a campaign's state");
  JsonReader in = document.root();
  CampaignState state;
  if (in.Count("campaign_state") != kStateFormat) {
    in.Refuse(fmt::format("format {}", kStateFormat));
  }
  std::set<uint64_t> done;
  for (uint64_t index : in.CountArray("done")) done.insert(index);
  state.done = NumberSet(in.Count("done_below"), std::move(done));
  for (JsonReader each : in.Array("incidents")) {
    state.incidents.push_back({each.Count("seed"), each.Text("promise"),
                               each.Text("oracle"), each.Text("subject"),
                               each.Text("message"), each.Text("recipe"),
                               each.Count("shrunk") != 0});
  }
  JsonReader summary = in.Object("summary");
  state.summary = Summary::Read(summary);
  if (state.summary.parts.size() != 1) summary.Refuse("one part");
  RETURN_IF_ERROR(document.status());
  return state;
}

env::Status CheckSameCampaign(const CampaignState& state,
                              const std::string& build, const SeedPart& part) {
  const SeedPart& before = state.summary.parts.front();
  std::string differs;
  if (state.summary.build != build) {
    differs = fmt::format("build \"{}\"", state.summary.build);
  } else if (before.ToString() != part.ToString()) {
    differs = before.ToString();
  } else if (before.spec != part.spec) {
    differs = "other knobs, scripts or planted bugs";
  } else {
    return {};
  }
  return {env::Code::kInvalid,
          fmt::format("the state of a campaign of {}, expected that of {} by "
                      "build \"{}\"",
                      differs, part.ToString(), build)};
}

}  // namespace replay
