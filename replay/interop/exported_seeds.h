// Data directories of seeds, for outside programs.
//
// The seeds of pg-contract and strict in turn, with what outside programs ask
// for: segments of 1 MiB, the least that PostgreSQL knows, and no page whose
// never written sectors hold garbage, of which they would rightly complain.
#ifndef MUSTH_REPLAY_INTEROP_EXPORTED_SEEDS_H_
#define MUSTH_REPLAY_INTEROP_EXPORTED_SEEDS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "sim/env/status.h"

namespace replay {

struct ExportedSeed {
  uint64_t seed = 0;
  std::string profile;
  std::string directory;
  std::string Name() const;  // how to make it again
};

enum class ExportMoment {
  kCrashed,   // as the last crash left it
  kShutDown,  // after the run's clean shutdown
};

// Calls judge for `count` seeds' directories, each of which exists during the
// call only, until it returns false. Seeds without a crash are passed over for
// kCrashed. Errors: programs are missing, a run is not fit to be exported, too
// few seeds crash.
env::Status ExportSeeds(ExportMoment moment, uint64_t count,
                        const std::function<bool(const ExportedSeed&)>& judge);

}  // namespace replay

#endif  // MUSTH_REPLAY_INTEROP_EXPORTED_SEEDS_H_
