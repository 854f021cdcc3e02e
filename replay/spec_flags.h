// SpecFlags: what the command line says about the runs of a seed.
#ifndef MUSTH_REPLAY_SPEC_FLAGS_H_
#define MUSTH_REPLAY_SPEC_FLAGS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "faults/swarm.h"
#include "properties/run.h"
#include "replay/recipe.h"
#include "sim/env/status.h"

namespace replay {

// Knobs and values of "NAME=VALUE" texts, which `flag` was given.
// Errors: kInvalid, beginning with the flag.
env::Result<faults::KnobSettings> ParseKnobFlags(
    std::string_view flag, const std::vector<std::string>& texts);

struct SpecFlags {
  std::string profile = "pg-contract";
  std::vector<std::string> plants;   // names
  std::vector<std::string> scripts;  // FILE[@WEIGHT] or BUILTIN[@WEIGHT]
  std::string setup;                 // a file; empty: none
  std::vector<std::string> knobs;    // NAME=VALUE
  uint32_t fan_out_images = 0;       // per instant; 0: no fan-out
  uint32_t fan_out_instants = 4;
  std::string fan_out_mode = "lazy";  // or eager
  bool fan_out_at_crashes = false;

  bool given() const {
    return profile != "pg-contract" || !plants.empty() || !scripts.empty() ||
           !setup.empty() || !knobs.empty() || fan_out_images != 0;
  }
};

// The spec that the flags describe, with seed 0; reads the files.
// Errors: kInvalid, kNotFound, kIo: what was found and what was expected.
env::Result<properties::RunSpec> SpecFromFlags(const SpecFlags& flags);

// The recipe of "SEED|RECIPE". The flags go with seeds only: a recipe says all
// about its run. Errors: as LoadRecipe and SpecFromFlags.
env::Result<Recipe> RecipeFromTarget(const std::string& seed_or_file,
                                     const SpecFlags& flags);

struct SeedRange {
  uint64_t first = 0;
  uint64_t last = 0;  // included
};
// "N" (the first N seeds) or "A..B" (both included). Errors: kInvalid.
env::Result<SeedRange> ParseSeeds(std::string_view text);

struct Shard {
  uint64_t index = 0;
  uint64_t count = 1;
};
// "I/N", I from 0. Errors: kInvalid.
env::Result<Shard> ParseShard(std::string_view text);

}  // namespace replay

#endif  // MUSTH_REPLAY_SPEC_FLAGS_H_
