#include "properties/verdict.h"

#include <fmt/format.h>

namespace properties {

std::string Verdict::ToString() const {
  return fmt::format("{} broken ({} oracle, after event {}): {}: {}", promise,
                     oracle, event_seq, subject, message);
}

}  // namespace properties
