// Planted bugs: real historical mistakes that a build can switch on, so that
// the tester's power is measured and not assumed.
//
// A planted bug is a site of kind Planted in engine/sites.def and a row here,
// under the same name; a test fails on a name that only one side knows.
#ifndef MUSTH_FAULTS_PLANTED_BUGS_H_
#define MUSTH_FAULTS_PLANTED_BUGS_H_

#include <span>
#include <string>
#include <string_view>

#include "sim/env/status.h"

namespace faults {

struct PlantedBug {
  std::string_view name;       // the site's name
  std::string_view source;     // where it comes from: a commit, a report
  std::string_view component;  // "wal-recovery-fsync", "buffer", ...
  std::string_view mechanism;  // what goes wrong, in a sentence
  std::string_view promise;    // tags that it breaks: "DUR", "WAL DUR"
  std::string_view witness;    // its recipe under replay/corpus/; empty: none
};

// Sorted by name.
std::span<const PlantedBug> PlantedBugs();
// Null if there is none of that name.
const PlantedBug* FindPlantedBug(std::string_view name);
// True in builds whose engine can switch planted bugs on.
bool PlantedBuild();
// Errors: kInvalid, naming the known ones, or saying that this build has none.
env::Status CheckPlantedName(std::string_view name);

}  // namespace faults

#endif  // MUSTH_FAULTS_PLANTED_BUGS_H_
