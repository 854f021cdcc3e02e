#include "replay/spec_flags.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "faults/planted_bugs.h"
#include "faults/profile.h"
#include "faults/swarm.h"
#include "properties/pgbench.h"
#include "replay/user_files.h"

namespace replay {
namespace {

bool ParseUint(std::string_view text, uint64_t* value) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() &&
         !text.empty();
}

env::Status Invalid(std::string message) {
  return env::Status(env::Code::kInvalid, std::move(message));
}

// "--script: t.sql: No such file or directory".
env::Status Of(std::string_view flag, const env::Status& status) {
  return env::Status(status.code(),
                     fmt::format("{}: {}", flag, status.message()));
}

env::Result<properties::ScriptSource> ReadScript(const std::string& flag) {
  properties::ScriptSource script;
  script.name = flag;
  size_t at = flag.rfind('@');
  if (at != std::string::npos) {
    uint64_t weight = 0;
    if (!ParseUint(std::string_view(flag).substr(at + 1), &weight) ||
        weight == 0 || weight > 1000000) {
      return Invalid(fmt::format(
          "--script {}: expected FILE@WEIGHT with a weight of 1..1000000",
          flag));
    }
    script.weight = static_cast<uint32_t>(weight);
    script.name = flag.substr(0, at);
  }
  // A built-in's text stays empty: its numbers belong to the drawn scale.
  if (properties::BuiltinScript(script.name, {}).has_value()) return script;
  env::Result<std::string> text = ReadFile(UserPath(script.name));
  if (!text.ok()) return Of("--script", text.status());
  script.text = std::move(text).value();
  if (script.text.empty()) {
    return Invalid(
        fmt::format("--script: {}:1: expected a statement, found an "
                    "empty file",
                    script.name));
  }
  return script;
}

}  // namespace

env::Result<faults::KnobSettings> ParseKnobFlags(
    std::string_view flag, const std::vector<std::string>& texts) {
  faults::KnobSettings settings;
  for (const std::string& text : texts) {
    size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return Invalid(
          fmt::format("{}: expected NAME=VALUE, found \"{}\"", flag, text));
    }
    std::string name = text.substr(0, equals);
    std::string value = text.substr(equals + 1);
    faults::Knobs scratch;
    env::Status status = faults::SetKnob(&scratch, name, value);
    if (!status.ok()) return Of(std::string(flag), status);
    settings.emplace_back(std::move(name), std::move(value));
  }
  return settings;
}

env::Result<properties::RunSpec> SpecFromFlags(const SpecFlags& flags) {
  properties::RunSpec spec;
  env::Status status = faults::CheckProfileName(flags.profile);
  if (!status.ok()) return Of("--faults", status);
  spec.profile = flags.profile;
  for (const std::string& name : flags.plants) {
    status = faults::CheckPlantedName(name);
    if (!status.ok()) return Of("--plant", status);
    spec.planted.push_back(name);
  }
  ASSIGN_OR_RETURN(spec.knobs, ParseKnobFlags("--knob", flags.knobs));
  if (flags.fan_out_images > 0) {
    spec.fan_out.mode = flags.fan_out_mode == "eager"
                            ? properties::FanOutSpec::Mode::kEager
                            : properties::FanOutSpec::Mode::kLazy;
    spec.fan_out.images = flags.fan_out_images;
    spec.fan_out.instants = flags.fan_out_instants;
    spec.fan_out.at_crashes = flags.fan_out_at_crashes;
  }
  for (const std::string& flag : flags.scripts) {
    ASSIGN_OR_RETURN(properties::ScriptSource script, ReadScript(flag));
    spec.scripts.push_back(std::move(script));
  }
  if (!flags.setup.empty()) {
    if (spec.scripts.empty()) {
      return Invalid("--setup: expected --script beside it");
    }
    env::Result<std::string> text = ReadFile(UserPath(flags.setup));
    if (!text.ok()) return Of("--setup", text.status());
    spec.setup_sql = std::move(text).value();
    spec.setup_name = flags.setup;
  }
  return spec;
}

env::Result<Recipe> RecipeFromTarget(const std::string& seed_or_file,
                                     const SpecFlags& flags) {
  ASSIGN_OR_RETURN(Recipe recipe, LoadRecipe(seed_or_file));
  bool is_seed =
      seed_or_file.find_first_not_of("0123456789") == std::string::npos;
  if (is_seed) {
    uint64_t seed = recipe.spec.seed;
    ASSIGN_OR_RETURN(recipe.spec, SpecFromFlags(flags));
    recipe.spec.seed = seed;
    return recipe;
  }
  if (flags.given()) {
    return Invalid(fmt::format(
        "{}: a recipe takes no --faults, --plant, --script, --setup, --knob or "
        "--fan-out; edit its lines",
        seed_or_file));
  }
  for (const std::string& name : recipe.spec.planted) {
    env::Status status = faults::CheckPlantedName(name);
    if (!status.ok()) return Of(seed_or_file, status);
  }
  return recipe;
}

env::Result<SeedRange> ParseSeeds(std::string_view text) {
  SeedRange range;
  size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    uint64_t count = 0;
    if (ParseUint(text, &count) && count > 0) {
      range.last = count - 1;
      return range;
    }
  } else if (ParseUint(text.substr(0, dots), &range.first) &&
             ParseUint(text.substr(dots + 2), &range.last) &&
             range.first <= range.last &&
             range.last - range.first < uint64_t{1} << 62) {
    return range;
  }
  return Invalid(
      fmt::format("--seeds: expected N (from 1) or A..B, found \"{}\"", text));
}

env::Result<Shard> ParseShard(std::string_view text) {
  Shard shard;
  size_t slash = text.find('/');
  if (slash != std::string_view::npos &&
      ParseUint(text.substr(0, slash), &shard.index) &&
      ParseUint(text.substr(slash + 1), &shard.count) &&
      shard.index < shard.count) {
    return shard;
  }
  return Invalid(fmt::format(
      "--shard: expected I/N with I from 0 and below N, found \"{}\"", text));
}

}  // namespace replay
