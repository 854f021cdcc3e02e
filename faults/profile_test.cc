#include "faults/profile.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace faults {
namespace {

TEST(Profile, DefaultIsTheFirstAndHasNoWeakDirectories) {
  EXPECT_EQ(Profiles()[0].name, "pg-contract");
  EXPECT_FALSE(Profiles()[0].weak_metadata);
  EXPECT_TRUE(Profiles()[0].Has(Family::kPowerLoss));
}

TEST(Profile, UnknownNameIsAnErrorThatListsTheKnownOnes) {
  for (const char* name : {"none", "", "PG-CONTRACT"}) {
    env::Status status = CheckProfileName(name);
    ASSERT_FALSE(status.ok()) << name;
    EXPECT_NE(
        status.message().find("pg-contract, strict, media, beyond or mix"),
        std::string_view::npos)
        << status.ToString();
  }
}

TEST(Profile, MixDrawsEachProfilesShareBySeedAndRepeatably) {
  std::map<std::string, int> drawn;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    sim::Choices choices(seed);
    sim::Choices again(seed);
    const Profile* profile = ResolveProfile("mix", choices).value();
    EXPECT_EQ(profile, ResolveProfile("mix", again).value());
    ++drawn[std::string(profile->name)];
  }
  EXPECT_NEAR(drawn["pg-contract"], 3000 * 60 / 100, 120);
  EXPECT_NEAR(drawn["strict"], 3000 * 15 / 100, 100);
  EXPECT_NEAR(drawn["media"], 3000 * 20 / 100, 100);
  EXPECT_NEAR(drawn["beyond"], 3000 * 5 / 100, 50);
}

TEST(Profile, EveryFamilyHasItsOwnName) {
  std::map<std::string, int> names;
  for (int i = 0; i < kFamilyCount; ++i) {
    ++names[FamilyName(static_cast<Family>(i))];
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kFamilyCount));
}

}  // namespace
}  // namespace faults
