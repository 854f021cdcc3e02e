// The loop of the interop tests.
#ifndef MUSTH_REPLAY_INTEROP_FOR_EACH_EXPORT_H_
#define MUSTH_REPLAY_INTEROP_FOR_EACH_EXPORT_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

#include "replay/interop/exported_seeds.h"

namespace replay {

// How many seeds a test looks at: INTEROP_SEEDS, or 50.
inline uint64_t SeedCount() {
  const char* text = std::getenv("INTEROP_SEEDS");
  return text == nullptr ? 50 : std::strtoull(text, nullptr, 10);
}

// Calls judge(seed) for `count` exports; stops at the first seed that fails.
template <typename Judge>
void ForEachExport(ExportMoment moment, uint64_t count, Judge judge) {
  ASSERT_GT(count, 0u);
  env::Status status = ExportSeeds(moment, count, [&](const ExportedSeed& s) {
    SCOPED_TRACE(s.Name());
    judge(s);
    return !testing::Test::HasFailure();
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace replay

#endif  // MUSTH_REPLAY_INTEROP_FOR_EACH_EXPORT_H_
