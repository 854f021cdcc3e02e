#include "properties/pgbench.h"

#include <gtest/gtest.h>

#include "properties/pgbench_lexer.h"

namespace properties {
namespace {

std::vector<std::string> Sql(std::string_view text) {
  env::Result<PgbenchScript> script = ParsePgbenchScript("f", text);
  std::vector<std::string> out;
  if (!script.ok()) return {std::string(script.status().message())};
  for (const PgbenchCommand& c : script->commands) {
    out.push_back(c.kind == PgbenchCommandKind::kSql ? c.text : "\\");
  }
  return out;
}

using Strings = std::vector<std::string>;

TEST(PgbenchLexer, OnlyAPlainSemicolonEndsAStatement) {
  EXPECT_EQ(Sql("SELECT 1; SELECT\n 2;"), (Strings{"SELECT 1", "SELECT\n 2"}));
  EXPECT_EQ(Sql("SELECT ';', \";\", (1;2);"),
            (Strings{"SELECT ';', \";\", (1;2)"}));
  EXPECT_EQ(Sql("SELECT 'it''s;' ; x;"), (Strings{"SELECT 'it''s;'", "x"}));
  EXPECT_EQ(Sql("SELECT E'a\\';b', 'c\\'; x;"),
            (Strings{"SELECT E'a\\';b', 'c\\'", "x"}));
  EXPECT_EQ(Sql("SELECT $q$a;b$$c$q$, $1;"),
            (Strings{"SELECT $q$a;b$$c$q$, $1"}));
  EXPECT_EQ(Sql("-- a; b\nSELECT /* ; /* ; */ */ 1 -- x;\n;"),
            (Strings{"SELECT   1"}));
  EXPECT_EQ(Sql("BEGIN \\; SELECT 1 \\; COMMIT;"),
            (Strings{"BEGIN ; SELECT 1 ; COMMIT"}));
  EXPECT_EQ(Sql(" ;; \n"), Strings{});
}

TEST(PgbenchLexer, WhatHasNoSemicolonEndsAtACommandOrTheEnd) {
  EXPECT_EQ(Sql("SELECT 1\n\\set x 5\nSELECT 2"),
            (Strings{"SELECT 1", "\\", "SELECT 2"}));
}

TEST(Pgbench, ErrorsNameFileLineAndWhatWasExpected) {
  struct Case {
    const char* text;
    const char* message;
  };
  for (const Case& c : {
           Case{"SELECT 1;\n\\gset\n",
                "f:2: \\gset is not supported, expected \\set or \\sleep"},
           Case{"\\foo 1",
                "f:1: invalid command \"\\foo\", expected \\set or \\sleep"},
           Case{"\n\n\\set x 1 +",
                "f:3: \\set x: found the end of the line, expected a number, a "
                ":variable, a function or \"(\""},
           Case{"\\set x 1.5",
                "f:1: \\set x: found \"1.5\", expected an integer (double "
                "constants are not supported)"},
           Case{"\\set x random_gaussian(1,2,3)",
                "f:1: \\set x: \"random_gaussian\" is not supported in \\set"},
           Case{"\\set x random(1)",
                "f:1: \\set x: unexpected number of arguments (1) for function "
                "\"random\", expected 2"},
           Case{"\\set x (1 + 2",
                "f:1: \\set x: found the end of the line, expected \")\""},
           Case{"\\set x 99999999999999999999",
                "f:1: \\set x: \"99999999999999999999\" is out of range for "
                "type bigint"},
           Case{"\\set 1+ 2",
                "f:1: \\set: found \"1+\", expected a variable's name"},
           Case{"\\sleep 5 years",
                "f:1: \\sleep: found \"years\", expected us, ms or s"},
           Case{"x;\nSELECT 'abc", "f:2: unterminated quoted string"},
           Case{"/* abc", "f:1: unterminated /* comment"},
       }) {
    env::Result<PgbenchScript> script = ParsePgbenchScript("f", c.text);
    ASSERT_FALSE(script.ok()) << c.text;
    EXPECT_EQ(script.status().message(), c.message);
  }
}

class Fixed : public PgbenchRandom {
 public:
  explicit Fixed(uint64_t value) : value_(value) {}
  uint64_t Below(uint64_t bound) override {
    return bound == 0 ? value_ : value_ % bound;
  }

 private:
  uint64_t value_;
};

std::string Eval(std::string_view text, uint64_t random = 0) {
  env::Result<PgbenchExpr> e = ParsePgbenchExpr(text);
  if (!e.ok()) return std::string(e.status().message());
  Fixed r(random);
  std::map<std::string, int64_t> variables = {{"a", 7}, {"scale", 2}};
  env::Result<int64_t> v = Evaluate(*e, variables, &r);
  return v.ok() ? std::to_string(*v) : std::string(v.status().message());
}

TEST(PgbenchExpr, ComputesAsPgbenchDoes) {
  EXPECT_EQ(Eval("1 + 2 * 3 - 4"), "3");
  EXPECT_EQ(Eval("(1 + 2) * -3"), "-9");
  EXPECT_EQ(Eval("10 - 4 - 3"), "3");
  EXPECT_EQ(Eval("-7 / 2"), "-3");
  EXPECT_EQ(Eval("-7 % 2"), "-1");
  EXPECT_EQ(Eval("mod(:a, 4) + abs(-3)"), "6");
  EXPECT_EQ(Eval("least(3, :a, -1) + greatest(1, 2) + max(5, 6)"), "7");
  EXPECT_EQ(Eval("random(1, 100000 * :scale)", 41), "42");
  EXPECT_EQ(Eval("random(-5, 5)", 10), "5");
  EXPECT_EQ(Eval("random(3, 2)"), "empty range given to random");
  EXPECT_EQ(Eval("1 / 0"), "division by zero");
  EXPECT_EQ(Eval(":nope"), "undefined variable \"nope\"");
  EXPECT_EQ(Eval("9223372036854775807 + 1"), "bigint add out of range");
  EXPECT_EQ(Eval("(-9223372036854775807 - 1) / -1"), "bigint div out of range");
  EXPECT_EQ(Eval("(-9223372036854775807 - 1) % -1"), "0");
  EXPECT_EQ(Eval("random(-9223372036854775807, 9223372036854775807)"),
            "random range is too large");
}

TEST(PgbenchExpr, DeepNestingIsRefused) {
  EXPECT_EQ(Eval(std::string(100000, '(')), "expression nested too deeply");
  EXPECT_EQ(Eval(std::string(100000, '-') + "1"),
            "expression nested too deeply");
}

TEST(Pgbench, OnlyKnownVariablesAreReplaced) {
  std::map<std::string, int64_t> v = {{"aid", 5}, {"x", -1}};
  EXPECT_EQ(SubstituteVariables(":aid::int, '12:30', :nope, a:x:y :", v),
            "5::int, '12:30', :nope, a-1:y :");
}

TEST(Pgbench, TpcbPlanIsFixedBySeedSessionAndTransaction) {
  sim::Choices choices(5);
  PgbenchKnobs knobs;
  knobs.sessions = 2;
  knobs.transactions = 3;
  auto plan_of = [&](const std::vector<ScriptSource>& scripts) {
    return GeneratePgbenchPlan(choices, sim::Scope().Child("w0"), knobs,
                               scripts, "setup", "");
  };
  env::Result<Plan> plan = plan_of({{"tpcb-like", "", 1}});
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  ASSERT_EQ(plan->sessions.size(), 2u);
  const PlanTransaction& t = plan->sessions[1].transactions[2];
  ASSERT_EQ(t.statements.size(), 7u);
  EXPECT_EQ(t.statements[0].ToString(), "s2.t3.q5 BEGIN");
  EXPECT_EQ(t.statements[0].source, "tpcb-like:5");
  EXPECT_EQ(t.statements[1].sql.find(':'), std::string::npos);
  EXPECT_EQ(t.statements[6].sql, "END");
  knobs.transactions = 5;  // more transactions change no earlier one
  env::Result<Plan> longer = plan_of({{"tpcb-like", "", 1}});
  EXPECT_EQ(longer->sessions[1].transactions[2].statements[1].sql,
            t.statements[1].sql);
  // 4 tables, 1 branch, 10 tellers, 100 accounts in 2 statements.
  EXPECT_EQ(plan->setup.size(), 4u + 1 + 1 + 2);
}

TEST(Pgbench, RunTimeErrorsOfASetNameTheLine) {
  sim::Choices choices(5);
  env::Result<Plan> plan = GeneratePgbenchPlan(
      choices, sim::Scope(), PgbenchKnobs(),
      {{"my.sql", "\\set x 0\n\\set y 5 / :x\n", 1}}, "setup", "");
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().message(), "my.sql:2: division by zero");
  plan = GeneratePgbenchPlan(choices, sim::Scope(), PgbenchKnobs(),
                             {{"nosuch", "", 1}}, "setup", "");
  EXPECT_EQ(plan.status().message(), "nosuch:1: the script is empty");
}

TEST(Pgbench, SleepIsAPauseInThePlan) {
  sim::Choices choices(5);
  PgbenchKnobs knobs;
  knobs.sessions = 1;
  knobs.transactions = 1;
  env::Result<Plan> plan = GeneratePgbenchPlan(
      choices, sim::Scope(), knobs,
      {{"s", "\\set n 3\n\\sleep :n ms\nSELECT 1;\\sleep 7us\n\\sleep 2", 1}},
      "my.sql", "CREATE TABLE a(b int);");
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  const auto& steps = plan->sessions[0].transactions[0].statements;
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[0].sleep_ns, 3'000'000);
  EXPECT_EQ(steps[1].sql, "SELECT 1");
  EXPECT_EQ(steps[2].sleep_ns, 7'000);
  EXPECT_EQ(steps[3].sleep_ns, 2'000'000'000);
  ASSERT_EQ(plan->setup.size(), 1u);
}

}  // namespace
}  // namespace properties
