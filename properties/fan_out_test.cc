#include "properties/fan_out.h"

#include <gtest/gtest.h>

#include <string>

#include "properties/run.h"

namespace properties {
namespace {

RunOutcome RunWith(RunContext& context, const RunSpec& spec) {
  env::Result<RunOutcome> outcome = Run(context, spec, RunOptions());
  EXPECT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_EQ(outcome->harness_failure, "");
  return *outcome;
}

TEST(FanOut, TheRunItselfKnowsNothingOfIt) {
  RunContext context;
  uint64_t distinct = 0;
  uint64_t known = 0;
  for (uint64_t seed = 0; seed < 24; ++seed) {
    RunSpec spec;
    spec.seed = seed;
    spec.profile = seed % 2 == 0 ? "pg-contract" : "strict";
    RunOutcome plain = RunWith(context, spec);
    spec.fan_out.mode =
        seed % 3 == 0 ? FanOutSpec::Mode::kEager : FanOutSpec::Mode::kLazy;
    spec.fan_out.images = 6;
    spec.fan_out.at_crashes = seed % 4 == 1;
    RunOutcome fanned = RunWith(context, spec);
    EXPECT_EQ(fanned.hash, plain.hash) << "seed " << seed;
    EXPECT_EQ(fanned.broken.size(), plain.broken.size()) << "seed " << seed;
    distinct += fanned.stats.judged["fan-out: distinct states"];
    known += fanned.stats.judged["fan-out: memo hits"];
    EXPECT_EQ(fanned.stats.judged["fan-out: images tried"],
              fanned.stats.judged["fan-out: distinct states"] +
                  fanned.stats.judged["fan-out: memo hits"])
        << "seed " << seed;
    EXPECT_EQ(plain.stats.judged.count("fan-out: images tried"), 0u);
  }
  EXPECT_GT(distinct, 100u);
  EXPECT_GT(known, 100u);
}

TEST(FanOut, ExhaustiveSearchCrashesRecoveriesToo) {
  RunContext context;
  RunSpec spec;
  spec.base = sim::Base::kZero;
  spec.setup_sql = "CREATE TABLE t (id int4);\nINSERT INTO t VALUES (0);\n";
  spec.sessions = {{1, "INSERT INTO t VALUES (1);\n"}};
  spec.fan_out.mode = FanOutSpec::Mode::kExhaustive;
  RunOutcome outcome = RunWith(context, spec);
  EXPECT_TRUE(outcome.broken.empty());
  auto& judged = outcome.stats.judged;
  EXPECT_GT(judged["fan-out: instants"], 2u);
  EXPECT_GT(judged["fan-out: second crashes"], 100u);
  EXPECT_LT(judged["fan-out: second crashes"], judged["fan-out: images tried"]);
  EXPECT_EQ(judged["fan-out: distinct states"],
            judged["fan-out: images tried"]);
  EXPECT_EQ(judged["fan-out: instants cut short"], 0u);
}

TEST(FanOut, AStateThatNeverComesAboutIsToldOf) {
  RunContext context;
  RunSpec spec;
  spec.base = sim::Base::kZero;
  spec.fan_out =
      FanOutSpec::Parse("at 999999999 fork 1 power-loss newest").value();
  RunOutcome outcome = RunWith(context, spec);
  ASSERT_EQ(outcome.unmet_directions.size(), 1u);
  EXPECT_EQ(outcome.unmet_directions[0],
            "fan-out at 999999999 fork 1 power-loss newest");
}

TEST(FanOutSpec, SurvivesItsText) {
  for (const char* text : {"exhaustive", "lazy images 8 instants 4",
                           "eager images 1 instants 0 at-crashes",
                           "at 1234 fork 5 power-loss 3*0,1 then 77 fork 1 "
                           "process-crash newest"}) {
    env::Result<FanOutSpec> spec = FanOutSpec::Parse(text);
    ASSERT_TRUE(spec.ok()) << spec.status().message();
    EXPECT_EQ(spec->ToString(), text);
    EXPECT_EQ(FanOutSpec::Parse(spec->ToString()).value(), *spec);
  }
  for (const char* bad :
       {"", "some", "lazy images", "lazy images x", "exhaustive now", "at",
        "at 1 fork 1 task-kill newest", "at 1 fork 1 power-loss 1,",
        "at 1 fork 1 power-loss newest at 2 fork 1 power-loss newest"}) {
    EXPECT_FALSE(FanOutSpec::Parse(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace properties
