// Real historical bugs that no build can switch on yet, because the engine
// lacks what they were in. Whoever adds the feature plants them
// (planted_bugs.h) and takes them off this list.
#ifndef MUSTH_FAULTS_UNPLANTED_BUGS_H_
#define MUSTH_FAULTS_UNPLANTED_BUGS_H_

#include <span>
#include <string_view>

namespace faults {

struct UnplantedBug {
  std::string_view name;
  std::string_view source;     // a commit, a report
  std::string_view component;  // as PlantedBug's
  std::string_view lacks;      // the feature
};

// Sorted by name.
std::span<const UnplantedBug> UnplantedBugs();

}  // namespace faults

#endif  // MUSTH_FAULTS_UNPLANTED_BUGS_H_
