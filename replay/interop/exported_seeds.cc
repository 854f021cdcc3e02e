#include "replay/interop/exported_seeds.h"

#include <fmt/format.h>

#include "properties/run.h"
#include "replay/interop/outside_program.h"

namespace replay {

std::string ExportedSeed::Name() const {
  return fmt::format(
      "musth export {} DIR --faults {} --knob "
      "wal_segment_size=1M --knob fill=zero --knob sync_new_file_directory=on "
      "--knob prompt_sync_errors=on --knob rewrite_wal_before_trust=on",
      seed, profile);
}

namespace {

env::Status Unfit(const ExportedSeed& exported, const std::string& why) {
  return env::Status(env::Code::kInvalid, exported.Name() + ": " + why);
}

// False: this run has no such moment.
env::Result<bool> Export(properties::RunContext& context, ExportMoment moment,
                         const ExportedSeed& exported) {
  properties::RunSpec spec;
  spec.seed = exported.seed;
  spec.profile = exported.profile;
  spec.knobs = {{"wal_segment_size", "1M"},
                {"fill", "zero"},
                {"sync_new_file_directory", "on"},
                {"prompt_sync_errors", "on"},
                {"rewrite_wal_before_trust", "on"}};
  properties::RunOptions options;
  options.export_dir = exported.directory;
  options.export_crashed = moment == ExportMoment::kCrashed;
  env::Result<properties::RunOutcome> outcome =
      properties::Run(context, spec, options);
  if (!outcome.ok() && options.export_crashed &&
      outcome.status().code() == env::Code::kNotFound) {
    return false;
  }
  if (!outcome.ok()) return Unfit(exported, outcome.status().ToString());
  if (!outcome->harness_failure.empty()) {
    return Unfit(exported, outcome->harness_failure);
  }
  if (!outcome->broken.empty()) return Unfit(exported, "breaks a promise");
  return true;
}

}  // namespace

env::Status ExportSeeds(ExportMoment moment, uint64_t count,
                        const std::function<bool(const ExportedSeed&)>& judge) {
  std::string missing = MissingPrograms();
  if (!missing.empty()) return env::Status(env::Code::kNotFound, missing);
  ScratchDir scratch;
  properties::RunContext context;
  uint64_t judged = 0;
  for (uint64_t seed = 1; judged < count; ++seed) {
    if (seed > 3 * count) {
      return env::Status(env::Code::kInvalid, "too few seeds crash");
    }
    ExportedSeed exported;
    exported.seed = seed;
    exported.profile = seed % 2 == 0 ? "strict" : "pg-contract";
    exported.directory = scratch.Path("data");
    scratch.Remove("data");
    ASSIGN_OR_RETURN(bool fit, Export(context, moment, exported));
    if (!fit) continue;
    GiveAway(exported.directory);
    if (!judge(exported)) break;
    ++judged;
  }
  return env::Status();
}

}  // namespace replay
