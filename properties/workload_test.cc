#include "properties/workload.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/sql/parse.h"

namespace properties {
namespace {

Plan PlanOf(uint64_t seed) {
  sim::Choices choices(seed);
  sim::Scope scope = sim::Scope().Child("w0");
  return GeneratePlan(choices, scope, DrawPlanKnobs(choices, scope));
}

TEST(Workload, SameSeedGivesTheSamePlanAndAnotherSeedAnother) {
  EXPECT_EQ(PlanOf(7).ToString(), PlanOf(7).ToString());
  EXPECT_NE(PlanOf(7).ToString(), PlanOf(8).ToString());
}

TEST(Workload, EveryStatementHasItsOwnIdAndEveryRowItsOwnStamp) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Plan plan = PlanOf(seed);
    std::set<StatementId> ids;
    std::set<int64_t> stamps;
    auto look = [&](const PlanStatement& s) {
      EXPECT_TRUE(ids.insert(s.id).second) << s.id.ToString();
      ASSERT_TRUE(s.statement.has_value());
      const auto* insert = std::get_if<engine::InsertStmt>(&s.statement->body);
      if (insert == nullptr) return;
      for (const auto& row : insert->rows) {
        EXPECT_TRUE(stamps.insert(row[1].num).second) << s.ToString();
        EXPECT_EQ(StampOwner(row[1].num), s.id);
      }
    };
    for (const PlanStatement& s : plan.setup) look(s);
    for (const PlanSession& session : plan.sessions) {
      for (const PlanTransaction& t : session.transactions) {
        for (const PlanStatement& s : t.statements) look(s);
      }
    }
    EXPECT_EQ(ids.size(), plan.StatementCount());
  }
}

TEST(Workload, SwarmReachesEveryFeature) {
  std::set<size_t> kinds;
  int async = 0;
  int rollback = 0;
  int repeatable = 0;
  int single = 0;
  int big = 0;
  int returning = 0;
  int groups = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Plan plan = PlanOf(seed);
    if (plan.setup.size() > 6) ++big;
    for (const PlanSession& session : plan.sessions) {
      for (const PlanTransaction& t : session.transactions) {
        async += t.synchronous_commit ? 0 : 1;
        rollback += t.rollback ? 1 : 0;
        repeatable +=
            t.isolation == engine::IsolationName::kRepeatableRead ? 1 : 0;
        single += t.block ? 0 : 1;
        for (const PlanStatement& s : t.statements) {
          const engine::StatementBody& body = s.statement->body;
          kinds.insert(body.index());
          const auto* update = std::get_if<engine::UpdateStmt>(&body);
          const auto* select = std::get_if<engine::SelectStmt>(&body);
          if (update != nullptr && !update->returning.empty()) ++returning;
          if (select != nullptr && !select->group_by.empty()) ++groups;
        }
      }
    }
  }
  EXPECT_EQ(kinds.size(), 6u);  // select insert update delete create checkpoint
  for (int count : {async, rollback, repeatable, single}) EXPECT_GT(count, 50);
  EXPECT_GT(big, 5);
  EXPECT_GT(returning, 50);
  EXPECT_GT(groups, 20);
}

// The only table that is read alone gives its rows to copies with ids and
// stamps of their own.
TEST(Workload, BulkLoadsCopyRowsUnderIdsOfTheirOwn) {
  for (bool long_rows : {true, false}) {
    sim::Choices choices(11);
    PlanKnobs knobs = DrawPlanKnobs(choices, sim::Scope());
    knobs.transactions = 20;
    LoadInBulk(long_rows, &knobs);
    Plan plan = GeneratePlan(choices, sim::Scope(), knobs);
    std::set<int64_t> first_ids;
    for (const PlanSession& session : plan.sessions) {
      for (const PlanTransaction& t : session.transactions) {
        for (const PlanStatement& s : t.statements) {
          const auto* insert =
              std::get_if<engine::InsertStmt>(&s.statement->body);
          if (insert == nullptr || !insert->select.has_value()) continue;
          const auto& targets = insert->select->targets;
          first_ids.insert(targets[0].expr.args[1].num);
          EXPECT_EQ(StampOwner(targets[1].expr.args[1].num), s.id);
        }
      }
    }
    EXPECT_GT(first_ids.size(), 5u);
    int64_t before = 0;
    for (int64_t id : first_ids) {
      EXPECT_GT(id - before, static_cast<int64_t>(knobs.scanned_rows));
      before = id;
    }
  }
}

// The shrinker writes them so.
TEST(Workload, EveryStatementCanBeWrittenAsText) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    sim::Choices choices(seed);
    PlanKnobs knobs = DrawPlanKnobs(choices, sim::Scope());
    if (seed % 3 != 0) LoadInBulk(seed % 3 == 1, &knobs);
    Plan plan = GeneratePlan(choices, sim::Scope(), knobs);
    auto look = [](const PlanStatement& s) {
      auto parsed = engine::ParseSql(engine::ToSql(*s.statement));
      EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    };
    for (const PlanStatement& s : plan.setup) look(s);
    for (const PlanSession& session : plan.sessions) {
      for (const PlanTransaction& t : session.transactions) {
        for (const PlanStatement& s : t.statements) look(s);
      }
    }
  }
}

TEST(Workload, BaseZeroIsTheSimplestPlan) {
  sim::Choices choices(1, sim::Base::kZero);
  PlanKnobs knobs = DrawPlanKnobs(choices, sim::Scope());
  EXPECT_EQ(knobs.sessions, 2u);
  EXPECT_EQ(knobs.rows, 3u);
  Plan plan = GeneratePlan(choices, sim::Scope(), knobs);
  for (const PlanSession& session : plan.sessions) {
    for (const PlanTransaction& t : session.transactions) {
      EXPECT_EQ(t.statements.size(), 1u);
      EXPECT_FALSE(t.rollback);
    }
  }
}

TEST(Plan, DroppingOneStatementLeavesTheOthersAsTheyWere) {
  Plan plan = PlanOf(11);
  Plan edited = plan;
  const PlanTransaction& t = plan.sessions[0].transactions[0];
  std::string victim = t.statements[0].id.ToString();
  env::Result<std::vector<std::string>> unmatched =
      ApplyEdits({"drop " + victim, "drop s9", "drop s1.t1.q99"}, &edited);
  ASSERT_TRUE(unmatched.ok());
  EXPECT_EQ(*unmatched,
            (std::vector<std::string>{"drop s9", "drop s1.t1.q99"}));
  EXPECT_EQ(edited.StatementCount() + 1, plan.StatementCount());
  std::string text = plan.ToString();
  size_t at = text.find("    " + victim + " ");
  ASSERT_NE(at, std::string::npos);
  text.erase(at, text.find('\n', at) + 1 - at);
  EXPECT_EQ(edited.ToString(), text);
}

TEST(Plan, EditsOfEachLevelAndNoOthers) {
  Plan plan = PlanOf(3);
  ASSERT_TRUE(ApplyEdits({"drop s2", "drop s1.t2", "drop s0.t1.q1"}, &plan)
                  .value()
                  .empty());
  EXPECT_EQ(plan.sessions.front().number, 1u);
  EXPECT_EQ(plan.sessions.front().transactions[0].number, 1u);
  for (const char* bad : {"drop", "drop x1", "drop s1.q1", "drop s1.t1.q1.r1",
                          "keep s1", "drop s1.t", "drop s99999999999"}) {
    env::Result<std::vector<std::string>> r = ApplyEdits({bad}, &plan);
    ASSERT_FALSE(r.ok()) << bad;
    EXPECT_NE(r.status().message().find("expected \"drop sN\""),
              std::string_view::npos);
  }
}

TEST(Plan, ABlockIsSurroundedAndAScriptIsNot) {
  PlanTransaction t;
  t.number = 4;
  t.isolation = engine::IsolationName::kRepeatableRead;
  t.synchronous_commit = false;
  t.rollback = true;
  t.statements.resize(1);
  t.statements[0].id = {2, 4, 1};
  t.statements[0].sql = "SELECT 1";
  std::vector<PlanStatement> steps = ExpandTransaction(2, t);
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[0].ToString(),
            "s2.t4.begin BEGIN ISOLATION LEVEL REPEATABLE READ");
  EXPECT_EQ(steps[1].id.ToString(), "s2.t4.set");
  EXPECT_EQ(steps[2].ToString(), "s2.t4.q1 SELECT 1");
  EXPECT_EQ(steps[3].ToString(), "s2.t4.end ROLLBACK");
  EXPECT_EQ(StatementId::FromPacked(steps[3].id.Packed()), steps[3].id);
  t.block = false;
  EXPECT_EQ(ExpandTransaction(2, t).size(), 1u);
}

}  // namespace
}  // namespace properties
