// Current(): the context of the running fiber, through which the site macros
// and SIM_CHECK reach the world where no Env is at hand.
#ifndef MUSTH_SIM_ENV_CURRENT_H_
#define MUSTH_SIM_ENV_CURRENT_H_

#include "sim/env/ids.h"

namespace env {

struct Env;
class AccessLog;

// Where a broken SIM_CHECK goes; set by the world beside the Env.
class CheckHandler {
 public:
  virtual ~CheckHandler() = default;
  [[noreturn]] virtual void OnCheckFailed(const char* condition,
                                          const char* file, int line) = 0;
};

struct CurrentContext {
  Env* env = nullptr;
  CheckHandler* check_handler = nullptr;
  TaskId task = kNoTask;
  // Null unless somebody wants to know what tasks touch (access.h).
  AccessLog* access_log = nullptr;
  // How many AtomicSections (race.h) the fiber is in; counted where race checks
  // are compiled in. 0 at every suspension.
  int atomic_sections = 0;
};

// The context of the running fiber; set at each fiber switch. The one exempt
// thread-local of the project.
CurrentContext& Current();

}  // namespace env

#endif  // MUSTH_SIM_ENV_CURRENT_H_
