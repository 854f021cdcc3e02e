// SIM_CHECK: an invariant of Musth's own code, always compiled in.
//
// A broken check fails the run, never the process: the world parks the failing
// fiber for good and reports the condition. Bytes that come from a disk or a
// network are input, not invariants; never check them this way.
#ifndef MUSTH_SIM_ENV_CHECK_H_
#define MUSTH_SIM_ENV_CHECK_H_

namespace env {

// Reports the broken condition to the current environment and does not return.
// Without one (unit tests, tools) it prints the condition and aborts.
[[noreturn]] void CheckFailed(const char* condition, const char* file,
                              int line);

}  // namespace env

#define SIM_CHECK(condition)    \
  (static_cast<bool>(condition) \
       ? static_cast<void>(0)   \
       : ::env::CheckFailed(#condition, __FILE__, __LINE__))

#define SIM_UNREACHABLE() ::env::CheckFailed("unreachable", __FILE__, __LINE__)

#endif  // MUSTH_SIM_ENV_CHECK_H_
