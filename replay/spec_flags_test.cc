#include "replay/spec_flags.h"

#include <gtest/gtest.h>

#include <string>

#include "faults/planted_bugs.h"
#include "replay/user_files.h"

namespace replay {
namespace {

std::string ErrorOf(const SpecFlags& flags) {
  env::Result<properties::RunSpec> spec = SpecFromFlags(flags);
  return spec.ok() ? "" : std::string(spec.status().message());
}

TEST(SpecFlags, ScriptsTakeWeightsBuiltInsAndFiles) {
  std::string file = ::testing::TempDir() + "/own.sql";
  ASSERT_TRUE(WriteFile(file, "SELECT 1;\n").ok());
  SpecFlags flags;
  flags.scripts = {"tpcb-like@3", file, file + "@2"};
  flags.setup = file;
  properties::RunSpec spec = SpecFromFlags(flags).value();
  ASSERT_EQ(spec.scripts.size(), 3u);
  EXPECT_EQ(spec.scripts[0].name, "tpcb-like");
  EXPECT_EQ(spec.scripts[0].weight, 3u);
  EXPECT_EQ(spec.scripts[1].text, "SELECT 1;\n");
  EXPECT_EQ(spec.scripts[1].weight, 1u);
  EXPECT_EQ(spec.scripts[2].name, file);
  EXPECT_EQ(spec.scripts[2].weight, 2u);
  EXPECT_EQ(spec.setup_sql, "SELECT 1;\n");
}

TEST(SpecFlags, BadFlagsAreNamedWithWhatWasExpected) {
  SpecFlags flags;
  flags.scripts = {"tpcb-like@0"};
  EXPECT_EQ(ErrorOf(flags),
            "--script tpcb-like@0: expected FILE@WEIGHT with a weight of "
            "1..1000000");
  flags.scripts = {"no/such.sql"};
  EXPECT_EQ(ErrorOf(flags), "--script: no/such.sql: No such file or directory");
  flags = SpecFlags();
  flags.setup = "x.sql";
  EXPECT_EQ(ErrorOf(flags), "--setup: expected --script beside it");
  flags = SpecFlags();
  flags.knobs = {"sessions"};
  EXPECT_EQ(ErrorOf(flags), "--knob: expected NAME=VALUE, found \"sessions\"");
  flags.knobs = {"sessions=0"};
  EXPECT_EQ(ErrorOf(flags),
            "--knob: knob sessions cannot be \"0\", expected 1..12");
  flags = SpecFlags();
  flags.profile = "rosy";
  EXPECT_EQ(ErrorOf(flags),
            "--faults: unknown fault profile \"rosy\", expected pg-contract, "
            "strict, media, beyond or mix");
}

TEST(SpecFlags, PlantNeedsAPlantedBuild) {
  SpecFlags flags;
  flags.plants = {"page_written_before_wal"};
  EXPECT_EQ(ErrorOf(flags).empty(), faults::PlantedBuild());
  flags.plants = {"no_such_bug"};
  EXPECT_NE(ErrorOf(flags), "");
}

TEST(SpecFlags, SeedsAreACountOrARange) {
  EXPECT_EQ(ParseSeeds("100").value().last, 99u);
  EXPECT_EQ(ParseSeeds("7..7").value().first, 7u);
  EXPECT_EQ(
      ParseSeeds("18446744073709551614..18446744073709551615").value().first,
      18446744073709551614u);
  for (const char* bad : {"", "0", "-1", "5..4", "1..", "..2", "1...3", "x",
                          "0..18446744073709551615", "1..2..3"}) {
    EXPECT_FALSE(ParseSeeds(bad).ok()) << bad;
  }
}

TEST(SpecFlags, ShardsCountFromZero) {
  EXPECT_EQ(ParseShard("0/1").value().count, 1u);
  EXPECT_EQ(ParseShard("2/3").value().index, 2u);
  for (const char* bad : {"", "3/3", "1", "/", "1/", "-1/3", "0/0"}) {
    EXPECT_FALSE(ParseShard(bad).ok()) << bad;
  }
}

TEST(SpecFlags, FlagsGoWithSeedsAndNotWithRecipes) {
  std::string file = ::testing::TempDir() + "/a.recipe";
  ASSERT_TRUE(WriteFile(file, "musth-recipe 1\nseed 5\nprofile strict\n").ok());
  SpecFlags flags;
  EXPECT_EQ(RecipeFromTarget(file, flags).value().spec.profile, "strict");
  flags.profile = "mix";
  EXPECT_EQ(RecipeFromTarget("17", flags).value().spec.profile, "mix");
  EXPECT_EQ(RecipeFromTarget("17", flags).value().spec.seed, 17u);
  EXPECT_FALSE(RecipeFromTarget(file, flags).ok());
}

TEST(SpecFlags, PlantedRecipeIsRefusedWhereNothingIsPlanted) {
  std::string file = ::testing::TempDir() + "/planted.recipe";
  ASSERT_TRUE(WriteFile(file,
                        "musth-recipe 1\nseed 5\nplanted "
                        "page_written_before_wal\n")
                  .ok());
  EXPECT_EQ(RecipeFromTarget(file, SpecFlags()).ok(), faults::PlantedBuild());
}

}  // namespace
}  // namespace replay
