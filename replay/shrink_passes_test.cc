#include "replay/shrink_passes.h"

#include <gtest/gtest.h>

#include "replay/recipe.h"
#include "replay/shrink_text.h"

namespace replay {
namespace {

using properties::RecordedCrash;
using properties::RunRecord;
using properties::RunSpec;

RunRecord Record() {
  RunRecord record;
  record.profile = "strict";
  record.statements = {
      {0, "s0.t1.q1", "CREATE TABLE t (id int4, v int4)", 0},
      {0, "s0.t1.q2", "INSERT INTO t VALUES (1, 0), (2, 0)", 0},
      {1, "s1.t1.begin", "BEGIN", 0},
      {1, "s1.t1.q1", "UPDATE t SET v = 1", 0},
      {1, "s1.t1.end", "COMMIT", 0},
      {2, "s2.t1.q1", "SELECT v FROM t", 0},
      {2, "s2.t1.q2", "", 5'000'000},
      {2, "s2.t2.q1", "CHECKPOINT", 0},
  };
  record.knobs = {{"rows", "5"}, {"shared_buffers", "8"}};
  record.schedule = {{"w0/h0/i0/s1", 7, "w0/h0/i0/s2", "s1.t1.q1"},
                     {"w0/h0/i0/s2", 3, "timer", "s2.t2.q1"},
                     {"w0/h0/i1/startup", 9, "timer", ""}};
  RecordedCrash first;
  first.kind = "task-kill";
  first.task = "s2";
  first.place = "write";
  first.during = "s2.t2.q1";
  first.nth = 4;
  first.nth_step = 20;
  RecordedCrash second;
  second.kind = "power-loss";
  second.in_recovery = true;
  second.task = "startup";
  second.nth_step = 12;
  record.crashes = {first, second};
  record.draws = {
      {sim::Stream::kDiskFault, "w0/h0/i1/base/5/1", "sync_failure", 2, 31}};
  return record;
}

RunSpec Original() {
  RunSpec spec;
  spec.seed = 4711;
  spec.planted = {"visible_before_flush"};
  return spec;
}

const MinimizePass<ShrinkState>& PassNamed(std::string_view name) {
  static const std::vector<ShrinkPass> kPasses = ShrinkPasses();
  for (const ShrinkPass& pass : kPasses) {
    if (pass.name == name) return pass;
  }
  return kPasses.front();
}

uint64_t PartOf(const ShrinkState& state, const std::string& label) {
  for (const ShrinkStatement& s : state.statements) {
    if (s.label == label) return s.part;
  }
  return 0;
}

TEST(ShrinkState, SaysTheRecordInARecipesWords) {
  RunSpec spec = ToSpec(StateOf(Original(), Record()));
  EXPECT_EQ(spec.base, sim::Base::kZero);
  EXPECT_EQ(spec.seed, 4711u);
  EXPECT_EQ(spec.profile, "strict");
  EXPECT_EQ(spec.planted, Original().planted);
  ASSERT_EQ(spec.knobs.size(), 1u);  // rows are written out
  EXPECT_EQ(spec.knobs[0].first, "shared_buffers");
  EXPECT_EQ(spec.setup_sql,
            "CREATE TABLE t (id int4, v int4);\n"
            "INSERT INTO t VALUES (1, 0), (2, 0);\n");
  ASSERT_EQ(spec.sessions.size(), 2u);
  EXPECT_EQ(spec.sessions[0].text, "BEGIN;\nUPDATE t SET v = 1;\nCOMMIT;\n");
  EXPECT_EQ(spec.sessions[1].text,
            "SELECT v FROM t;\n\\sleep 5000 us\nCHECKPOINT;\n");
  ASSERT_EQ(spec.schedule.size(), 3u);
  EXPECT_EQ(spec.schedule[0].ToString(), "w0/h0/i0/s1@s1.q2 7 -> w0/h0/i0/s2");
  EXPECT_EQ(spec.schedule[1].mark, "s2.q3");
  EXPECT_EQ(spec.directions,
            (std::vector<std::string>{
                "crash task-kill s2 at write 4 during s2.q3",
                "crash power-loss in recovery startup at step 12"}));
}

TEST(ShrinkState, IsARecipeThatReadsBackAsItself) {
  Recipe recipe;
  recipe.spec = ToSpec(StateOf(Original(), Record()));
  std::string text = FormatRecipe(recipe);
  auto again = ParseRecipe(text, "r");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(FormatRecipe(*again), text);
  EXPECT_EQ(again->spec.schedule, recipe.spec.schedule);
}

TEST(ShrinkState, StatementsThatStayAreNumberedAnewEverywhere) {
  ShrinkState state = StateOf(Original(), Record());
  const auto& pass = PassNamed("statements");
  auto without = pass.without(state, {PartOf(state, "s2.q1")});
  ASSERT_EQ(without.size(), 1u);  // no crash is counted from it
  RunSpec spec = ToSpec(without[0]);
  EXPECT_EQ(spec.sessions[1].text, "\\sleep 5000 us\nCHECKPOINT;\n");
  EXPECT_EQ(spec.schedule[1].mark, "s2.q2");
  EXPECT_EQ(spec.directions[0], "crash task-kill s2 at write 4 during s2.q2");
}

TEST(ShrinkState, ACrashOutlivesTheStatementThatItIsCountedFrom) {
  ShrinkState state = StateOf(Original(), Record());
  auto without =
      PassNamed("statements").without(state, {PartOf(state, "s2.q3")});
  std::vector<std::string> lines;
  for (const ShrinkState& s : without) {
    RunSpec spec = ToSpec(s);
    EXPECT_EQ(spec.schedule.size(), 2u);  // its own line is gone
    lines.push_back(spec.directions[0]);
  }
  EXPECT_EQ(lines,
            (std::vector<std::string>{
                "crash process-crash at end", "crash task-kill after s2.q2",
                "crash task-kill s2 at write 4 during s2.q2",
                "crash task-kill s2 at write 4"}));
}

TEST(ShrinkState, WhatPlayedNoRoleIsPruned) {
  ShrinkState state = StateOf(Original(), Record());
  properties::RunOutcome outcome;
  outcome.unused_schedule = {0, 2};
  outcome.unmatched_overrides = {state.draws[0].draw};
  ShrinkState pruned = Pruned(state, outcome);
  ASSERT_EQ(pruned.schedule.size(), 1u);
  EXPECT_EQ(pruned.schedule[0].entry.mark, "s2.q3");
  EXPECT_TRUE(pruned.draws.empty());
  EXPECT_NE(KeyOf(pruned), KeyOf(state));
}

TEST(ShrinkPasses, WithoutACrashLaterIncarnationsMoveUp) {
  ShrinkState state = StateOf(Original(), Record());
  auto without =
      PassNamed("crashes").without(state, {state.directions[0].part});
  ASSERT_EQ(without.size(), 2u);
  EXPECT_EQ(without[0].schedule[2].entry.task, "w0/h0/i0/startup");
  EXPECT_EQ(without[0].draws[0].draw.scope_path, "w0/h0/i0/base/5/1");
  EXPECT_EQ(without[1].schedule[2].entry.task, "w0/h0/i1/startup");
  EXPECT_EQ(ToSpec(without[0]).directions.size(), 1u);
}

TEST(ShrinkPasses, MomentsBecomeSimplerOnly) {
  ShrinkState state = StateOf(Original(), Record());
  const auto& pass = PassNamed("moments");
  ASSERT_EQ(pass.parts(state).size(), 2u);
  auto simpler = pass.without(state, {state.directions[0].part});
  ASSERT_FALSE(simpler.empty());
  EXPECT_EQ(simpler[0].directions[0].line, "crash process-crash at end");
  EXPECT_EQ(simpler[1].directions[0].line, "crash task-kill after s2.q3");
  EXPECT_EQ(simpler.back().directions[0].line,
            "crash task-kill s2 at write 3 during s2.q3");
  EXPECT_EQ(pass.parts(simpler[0]).size(), 1u);
  auto from_after = pass.without(simpler[1], {state.directions[0].part});
  ASSERT_EQ(from_after.size(), 1u);
}

TEST(ShrinkPasses, RowsGoOneByOneAndOneStays) {
  ShrinkState state = StateOf(Original(), Record());
  const auto& pass = PassNamed("rows");
  std::vector<uint64_t> parts = pass.parts(state);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(pass.without(state, {parts[0]})[0].statements[1].sql,
            "INSERT INTO t VALUES (2, 0)");
  EXPECT_EQ(pass.without(state, parts)[0].statements[1].sql,
            "INSERT INTO t VALUES (2, 0)");
}

TEST(ShrinkPasses, LongRunsOfOneLetterAreSaidInShort) {
  ShrinkState state = StateOf(Original(), Record());
  std::string run(30, 'k');
  state.statements[1].sql =
      "INSERT INTO t VALUES (1, '" + run + "'), (2, '" + run + "x'), (3, 'kk')";
  const auto& pass = PassNamed("spelling");
  std::vector<uint64_t> parts = pass.parts(state);
  ASSERT_EQ(parts.size(), 1u);
  ShrinkState shorter = pass.without(state, parts)[0];
  EXPECT_EQ(shorter.statements[1].sql,
            "INSERT INTO t VALUES (1, repeat('k', 30)), (2, '" + run +
                "x'), (3, 'kk')");
  EXPECT_TRUE(pass.parts(shorter).empty());
}

TEST(ShrinkPasses, InsertsAreSplitOutsideOfQuotes) {
  InsertText insert = SplitInsert(
      "INSERT INTO t VALUES (1, 'a), (b'), (f(2), NULL) RETURNING id");
  ASSERT_EQ(insert.rows.size(), 2u);
  EXPECT_EQ(insert.rows[0], "(1, 'a), (b')");
  EXPECT_EQ(insert.rows[1], "(f(2), NULL)");
  EXPECT_EQ(insert.tail, " RETURNING id");
  EXPECT_TRUE(SplitInsert("SELECT ' VALUES (1)'").rows.empty());
}

}  // namespace
}  // namespace replay
