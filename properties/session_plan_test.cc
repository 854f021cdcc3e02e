#include "properties/session_plan.h"

#include <gtest/gtest.h>

#include <string>

namespace properties {
namespace {

std::string Refusal(const std::string& text) {
  env::Result<Plan> plan = SessionPlan({{2, text}}, "setup", "");
  return plan.ok() ? "" : std::string(plan.status().message());
}

TEST(SessionPlan, StatementsAreCountedThroughTheTextAndBlocksKeptWhole) {
  env::Result<Plan> plan = SessionPlan(
      {{2,
        "SELECT 1;\nBEGIN;\nUPDATE t SET v = 1;\nCOMMIT; \\sleep 5 ms\n"
        "START TRANSACTION; ROLLBACK; -- over\nSELECT 2;"}},
      "setup", "CREATE TABLE t (v int4);");
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  // The judges predict what they can read.
  const PlanStatement& first = plan->sessions[0].transactions[0].statements[0];
  ASSERT_NE(first.parsed, nullptr);
  EXPECT_EQ(first.parsed->size(), 1u);
  EXPECT_NE(plan->setup[0].parsed, nullptr);
  EXPECT_EQ(plan->ToString(),
            "s0.t1.q1 CREATE TABLE t (v int4)\n"
            "session 2\n"
            "  s2.t1\n"
            "    s2.t1.q1 SELECT 1\n"
            "  s2.t2\n"
            "    s2.t2.q2 BEGIN\n"
            "    s2.t2.q3 UPDATE t SET v = 1\n"
            "    s2.t2.q4 COMMIT\n"
            "  s2.t3\n"
            "    s2.t3.q5 sleep 5000 us\n"
            "  s2.t4\n"
            "    s2.t4.q6 START TRANSACTION\n"
            "    s2.t4.q7 ROLLBACK\n"
            "  s2.t5\n"
            "    s2.t5.q8 SELECT 2\n");
}

TEST(SessionPlan, RefusalsNameSessionAndLine) {
  EXPECT_EQ(Refusal("SELECT 1;\nSELEC 2;").substr(0, 12), "session 2:2:");
  EXPECT_EQ(Refusal("\\set x 1\n"),
            "session 2:1: found \\set, expected SQL or \\sleep");
  env::Result<Plan> plan = SessionPlan({}, "f.sql", "SELECT 1;\nOOPS;");
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().message().substr(0, 8), "f.sql:2:");
}

}  // namespace
}  // namespace properties
