#include "replay/knob_diff.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "properties/run.h"
#include "replay/user_files.h"

namespace replay {
namespace {

class KnobDiffTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = ::testing::TempDir() + "/knob_diff_" +
           ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(dir_);
    options_.out_dir = dir_;
  }

  ExitCode Against(std::string name, std::string value) {
    options_.against = {{std::move(name), std::move(value)}};
    std::string path = dir_ + ".out";
    options_.out = std::fopen(path.c_str(), "w");
    ExitCode code = RunKnobDiff(
        options_, [this](const properties::RunSpec& spec,
                         const properties::RunOptions& run_options) {
          return properties::Run(context_, spec, run_options);
        });
    std::fclose(options_.out);
    text_ = ReadFile(path).value();
    return code;
  }
  // "a     b": words with any blanks between them.
  bool Says(const std::string& what) const {
    std::string squeezed;
    for (char c : text_) {
      if (c == ' ' && !squeezed.empty() && squeezed.back() == ' ') continue;
      squeezed += c;
    }
    return squeezed.find(what) != std::string::npos;
  }

  properties::RunContext context_;
  std::string dir_;
  KnobDiffOptions options_;
  std::string text_;
};

TEST_F(KnobDiffTest, TheSettingThatTheRunHasAnywayChangesNothing) {
  options_.recipe.spec.seed = 7;
  options_.recipe.spec.knobs = {{"rows", "5"}};
  EXPECT_EQ(Against("rows", "5"), kExitKept) << text_;
  EXPECT_TRUE(Says("the setting changes no event")) << text_;
  EXPECT_TRUE(Says("0 of ")) << text_;
}

TEST_F(KnobDiffTest, WhatASettingChangesIsShownSideBySide) {
  options_.recipe.spec.seed = 7;
  options_.recipe.spec.base = sim::Base::kZero;
  options_.recipe.spec.profile = "strict";
  options_.recipe.spec.knobs = {{"sessions", "2"}, {"atomic8k", "on"}};
  EXPECT_EQ(Against("full_page_writes", "off"), kExitKept) << text_;
  EXPECT_TRUE(Says("\npromises kept kept\n")) << text_;
  EXPECT_TRUE(Says("\nWAL bytes ")) << text_;
  EXPECT_FALSE(Says("\nWAL records ")) << text_;
  EXPECT_TRUE(Says("\n0 of ")) << text_;
  EXPECT_TRUE(Says("the runs part at event")) << text_;
}

TEST_F(KnobDiffTest, KnobsThatContradictEachOtherAreBadUsage) {
  options_.recipe.spec.base = sim::Base::kZero;
  EXPECT_EQ(Against("full_page_writes", "off"), kExitUsage);
}

TEST(WorkTally, CountsWalBytesAndFinishedFsyncsOnly) {
  WorkTally tally;
  env::Event event;
  event.kind = env::EventKind::kWalInsert;
  event.a[0] = 100;
  event.a[1] = 164;
  tally.OnEvent(event);
  event.kind = env::EventKind::kFileSync;
  for (uint64_t phase : {0, 1, 2}) {
    event.a[1] = phase;
    tally.OnEvent(event);
  }
  std::map<std::string, uint64_t> seen;
  for (const auto& [name, count] : tally.Rows()) {
    if (count != 0) seen[name] = count;
  }
  std::map<std::string, uint64_t> expected = {
      {"WAL records", 1}, {"WAL bytes", 64}, {"fsyncs", 1}};
  EXPECT_EQ(seen, expected);
}

}  // namespace
}  // namespace replay
