#include "replay/recipe.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "replay/user_files.h"

namespace replay {
namespace {

// Texts with everything that could confuse a line format.
rc::Gen<std::string> GenText() {
  return rc::gen::map(
      rc::gen::container<std::vector<std::string>>(
          rc::gen::element<std::string>(
              "END", "END1", "\n", "\n", "#", "seed 5", " ", "<<END", "'", "\r",
              "\xc3\xa9", std::string(1, '\0'), "SELECT 1;")),
      [](const std::vector<std::string>& parts) {
        std::string text;
        for (const std::string& part : parts) text += part;
        return text;
      });
}

rc::Gen<std::string> GenLine() {
  return rc::gen::map(GenText(), [](std::string text) {
    for (char& c : text) c = c == '\n' ? '_' : c;
    return text;
  });
}

rc::Gen<sim::Override> GenOverride() {
  return rc::gen::apply(
      [](int stream, uint64_t n, uint64_t value, std::string path) {
        sim::Override o;
        o.stream = static_cast<sim::Stream>(stream);
        o.scope_path = std::move(path);
        o.site = "switch";
        o.n = n;
        o.value = value;
        return o;
      },
      rc::gen::inRange(0, static_cast<int>(sim::Stream::kCount)),
      rc::gen::arbitrary<uint64_t>(), rc::gen::arbitrary<uint64_t>(),
      rc::gen::element<std::string>("", "w0", "w0/h0/i2/backend3"));
}

Recipe GenRecipe() {
  Recipe recipe;
  recipe.comments = *rc::gen::container<std::vector<std::string>>(GenLine());
  recipe.build = *rc::gen::element<std::string>("", BuildId(), "musth-9 x");
  properties::RunSpec& spec = recipe.spec;
  spec.seed = *rc::gen::arbitrary<uint64_t>();
  spec.base = *rc::gen::element(sim::Base::kSeed, sim::Base::kZero);
  spec.profile = *rc::gen::element<std::string>("pg-contract", "strict", "mix");
  spec.knobs =
      *rc::gen::container<std::vector<std::pair<std::string, std::string>>>(
          rc::gen::element<std::pair<std::string, std::string>>(
              std::pair{"shared_buffers", "8"}, std::pair{"meta", "weak"},
              std::pair{"checkpoint_timeout", "10ms"}));
  spec.planted = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("page_written_before_wal",
                                    "commit_acked_before_flush"));
  spec.plan_edits = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("drop s1.t3", "drop s1.t3.q2"));
  spec.overrides =
      *rc::gen::container<std::vector<sim::Override>>(GenOverride());
  spec.schedule = *rc::gen::container<std::vector<sim::ScheduleEntry>>(
      rc::gen::element<sim::ScheduleEntry>(
          sim::ScheduleEntry{"w0/h0/i0/postmaster/s1", 17, "timer", "s1.q2"},
          sim::ScheduleEntry{"w0", 1, "w0/h0/i0/postmaster", ""}));
  spec.setup_sql = *GenText();
  for (uint32_t n = *rc::gen::inRange<uint32_t>(0, 3); n > 0; --n) {
    spec.sessions.push_back({n, *GenText()});
  }
  spec.books =
      *rc::gen::element(properties::Books::kNone, properties::Books::kPairs,
                        properties::Books::kAll);
  spec.directions = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>(
          "crash power-loss s1 at commit_record_flushed 2",
          "hold before s1.q1 until checkpointer at fsync-start or after s2.q9",
          "fail fsync base/5/16384"));
  if (!spec.setup_sql.empty()) spec.setup_name = "n" + *GenLine();
  spec.scripts =
      *rc::gen::container<std::vector<properties::ScriptSource>>(rc::gen::apply(
          [](std::string name, std::string text, uint32_t weight) {
            return properties::ScriptSource{std::move(name), std::move(text),
                                            weight};
          },
          GenLine(), GenText(), rc::gen::inRange<uint32_t>(1, 1000001)));
  if (*rc::gen::arbitrary<bool>()) {
    recipe.expect_hash = *rc::gen::arbitrary<uint64_t>();
    recipe.expect_promise = "DUR";
    recipe.expect_gaps = {"C5", "C12"};
  }
  return recipe;
}

RC_GTEST_PROP(RecipeProperty, TextRoundTrips, ()) {
  Recipe recipe = GenRecipe();
  std::string text = FormatRecipe(recipe);
  env::Result<Recipe> parsed = ParseRecipe(text, "r");
  if (!parsed.ok()) RC_FAIL(parsed.status().ToString());
  const Recipe& back = parsed.value();
  RC_ASSERT(FormatRecipe(back) == text);
  RC_ASSERT(back.comments == recipe.comments);
  RC_ASSERT(back.spec.seed == recipe.spec.seed);
  RC_ASSERT(back.spec.base == recipe.spec.base);
  RC_ASSERT(back.spec.knobs == recipe.spec.knobs);
  RC_ASSERT(back.spec.setup_sql == recipe.spec.setup_sql);
  RC_ASSERT(back.spec.setup_name == recipe.spec.setup_name);
  RC_ASSERT(back.spec.scripts.size() == recipe.spec.scripts.size());
  for (size_t i = 0; i < back.spec.scripts.size(); ++i) {
    RC_ASSERT(back.spec.scripts[i].text == recipe.spec.scripts[i].text);
    RC_ASSERT(back.spec.scripts[i].name == recipe.spec.scripts[i].name);
    RC_ASSERT(back.spec.scripts[i].weight == recipe.spec.scripts[i].weight);
  }
  RC_ASSERT(back.spec.directions == recipe.spec.directions);
  RC_ASSERT(back.spec.books == recipe.spec.books);
  RC_ASSERT(back.spec.sessions.size() == recipe.spec.sessions.size());
  for (size_t i = 0; i < back.spec.sessions.size(); ++i) {
    RC_ASSERT(back.spec.sessions[i].number == recipe.spec.sessions[i].number);
    RC_ASSERT(back.spec.sessions[i].text == recipe.spec.sessions[i].text);
  }
  RC_ASSERT(back.expect_hash == recipe.expect_hash);
  RC_ASSERT(back.expect_promise == recipe.expect_promise);
  RC_ASSERT(back.expect_gaps == recipe.expect_gaps);
}

// No cut of a valid file, and no byte flipped in it, does worse than an error.
RC_GTEST_PROP(RecipeProperty, DamagedTextIsReadOrRefused, ()) {
  std::string text = FormatRecipe(GenRecipe());
  text.resize(*rc::gen::inRange<size_t>(0, text.size() + 1));
  if (!text.empty()) {
    text[*rc::gen::inRange<size_t>(0, text.size())] =
        *rc::gen::arbitrary<char>();
  }
  env::Result<Recipe> parsed = ParseRecipe(text, "r");
  RC_ASSERT(parsed.ok() || parsed.status().message().substr(0, 2) == "r:");
}

TEST(Recipe, ErrorsNameFileLineAndWhatWasExpected) {
  struct Case {
    const char* text;
    const char* message;
  };
  for (const Case& c :
       {Case{"", "f:1: expected \"musth-recipe 1\""},
        Case{"#!/bin/sh\n", "f:1: expected \"musth-recipe 1\""},
        Case{"musth-recipe 2\n", "f:1: recipe of format 2, expected format 1"},
        Case{"musth-recipe\n", "f:1: recipe of format , expected format 1"},
        Case{"musth-recipe 1\n\nsead 4\n", "f:3: unknown word \"sead\""},
        Case{"musth-recipe 1\nseed x\n", "f:2: expected a seed"},
        Case{"musth-recipe 1\nseed 1\nseed 1\n", "f:3: expected one \"seed\""},
        Case{"musth-recipe 1\nbase one\n", "f:2: expected base seed, zero or"},
        Case{"musth-recipe 1\nmode price\n", "f:2: expected mode explore"},
        Case{"musth-recipe 1\nprofile rosy\n", "f:2: unknown fault profile"},
        Case{"musth-recipe 1\nknob foo 3\n", "f:2: unknown knob \"foo\""},
        Case{"musth-recipe 1\nknob rows x\n", "f:2: knob rows cannot be"},
        Case{"musth-recipe 1\nplanted foo\n", "f:2: expected a planted bug"},
        Case{"musth-recipe 1\noverride knobs w0 rows 0\n",
             "f:2: expected \"STREAM SCOPE SITE N = VALUE\""},
        Case{"musth-recipe 1\nexpect-hash 12\n", "f:2: expected 16 hex"},
        Case{"musth-recipe 1\nexpect-gap C1\n", "f:2: expected a contract row"},
        Case{"musth-recipe 1\nsetup END\n", "f:2: expected \"<<END\""},
        Case{"musth-recipe 1\nscript 0 a <<E\nE\n", "f:2: expected \"script"},
        Case{"musth-recipe 1\nsession <<E\nE\n", "f:2: expected \"session"},
        Case{"musth-recipe 1\nsession 1 a <<E\nE\n", "f:2: expected \"<<END\""},
        Case{"musth-recipe 1\nsession 1 <<E\nE\nsession 1 <<E\nE\n",
             "f:4: expected one session 1, found a second"},
        Case{"musth-recipe 1\ncrash power-loss at nowhere\n",
             "f:2: expected a place"},
        Case{"musth-recipe 1\nimage lose all\n", "f:2: expected an image"},
        Case{"musth-recipe 1\nhold s1 at xact_wait\n",
             "f:2: expected \"until\""},
        Case{"musth-recipe 1\n\nsetup <<E\na\n",
             "f:3: expected a line \"E\""}}) {
    env::Result<Recipe> parsed = ParseRecipe(c.text, "f");
    ASSERT_FALSE(parsed.ok()) << c.text;
    EXPECT_EQ(parsed.status().message().substr(0, strlen(c.message)),
              c.message);
  }
}

TEST(Recipe, SeedAloneIsARecipe) {
  EXPECT_EQ(LoadRecipe("4711").value().spec.seed, 4711u);
  EXPECT_FALSE(LoadRecipe("99999999999999999999").ok());
}

TEST(Recipe, MissingFileIsNamed) {
  env::Result<Recipe> recipe = LoadRecipe("no/such.recipe");
  ASSERT_FALSE(recipe.ok());
  EXPECT_EQ(recipe.status().code(), env::Code::kNotFound);
  EXPECT_NE(recipe.status().message().find("no/such.recipe: No such file"),
            std::string_view::npos);
}

TEST(UserFiles, WriteMakesDirectoriesAndRelativePathsStartAtTheCaller) {
  std::string dir = ::testing::TempDir() + "/user_files_test";
  setenv("BUILD_WORKING_DIRECTORY", dir.c_str(), 1);
  std::string path = UserPath("a/b/c.recipe");
  EXPECT_EQ(path, dir + "/a/b/c.recipe");
  EXPECT_EQ(UserPath("/x"), "/x");
  ASSERT_TRUE(WriteFile(path, "musth-recipe 1\nseed 9\n").ok());
  EXPECT_EQ(LoadRecipe("a/b/c.recipe").value().spec.seed, 9u);
  unsetenv("BUILD_WORKING_DIRECTORY");
  EXPECT_FALSE(WriteFile("/proc/no/such", "").ok());
  EXPECT_FALSE(ReadFile(dir).ok());
}

}  // namespace
}  // namespace replay
