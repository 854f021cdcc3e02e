#include "replay/scenes.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace replay {
namespace {

properties::RunSpec Witness() {
  properties::RunSpec spec;
  spec.base = sim::Base::kZero;
  spec.directions = {"hold before s2.q1 until after s1.q1",
                     "hold before s3.q1 until s1 at xact_wait or after s1.q2",
                     "hold s1 at xact_wait until after s2.q1",
                     "crash power-loss after s2.q1"};
  return spec;
}

TEST(Scenes, KeepTheOrderOfStatementsAndTheCrash) {
  std::optional<properties::RunSpec> scene = SceneOf(Witness());
  ASSERT_TRUE(scene.has_value());
  EXPECT_EQ(scene->base, sim::Base::kSchedule);
  std::vector<std::string> left = {"hold before s2.q1 until after s1.q1",
                                   "crash power-loss after s2.q1"};
  EXPECT_EQ(scene->directions, left);
}

TEST(Scenes, AWitnessWhoseScheduleDoesNotMatterIsNone) {
  properties::RunSpec spec = Witness();
  spec.directions = {"hold before s2.q1 until after s1.q1"};
  EXPECT_FALSE(SceneOf(spec).has_value());
}

TEST(Scenes, SeedsDrawTheScheduler) {
  std::set<std::string> strategies;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    properties::RunSpec scene = *SceneOf(Witness());
    SetSceneSeed(seed, &scene);
    EXPECT_EQ(scene.seed, seed);
    ASSERT_EQ(scene.knobs.size(), 5u);
    EXPECT_EQ(scene.knobs[0].first, "strategy");
    strategies.insert(scene.knobs[0].second);
  }
  EXPECT_GT(strategies.size(), 4u);
}

}  // namespace
}  // namespace replay
