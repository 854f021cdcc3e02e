#include "sim/env/check.h"

#include <cstdio>
#include <cstdlib>

#include "sim/env/current.h"

namespace env {

CurrentContext& Current() {
  static thread_local CurrentContext current;
  return current;
}

void CheckFailed(const char* condition, const char* file, int line) {
  CheckHandler* handler = Current().check_handler;
  if (handler != nullptr) handler->OnCheckFailed(condition, file, line);
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace env
