// A campaign as a JUnit report, which continuous integration shows.
#ifndef MUSTH_REPLAY_JUNIT_H_
#define MUSTH_REPLAY_JUNIT_H_

#include <string>
#include <vector>

#include "replay/incident.h"
#include "replay/summary.h"

namespace replay {

// One suite, named after the profile, with a case for each incident (a failure
// for a broken promise, an error for a harness failure) and one for all seeds
// that kept every promise. Bytes that XML cannot hold become question marks.
std::string FormatJunit(const Summary& summary,
                        const std::vector<Incident>& incidents);

}  // namespace replay

#endif  // MUSTH_REPLAY_JUNIT_H_
