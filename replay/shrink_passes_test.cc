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

// A crash, a fast shutdown, a task-kill and a power loss, in this order.
ShrinkState SeveralRestarts() {
  RunRecord record = Record();
  record.crashes.clear();
  for (const char* kind : {"power-loss", "task-kill", "power-loss"}) {
    RecordedCrash crash;
    crash.kind = kind;
    crash.task = "s1";
    crash.nth_step = 9;
    record.crashes.push_back(crash);
  }
  record.crashes[0].incarnation = 0;
  record.crashes[0].image = 0;
  record.crashes[1].incarnation = record.crashes[2].incarnation = 2;
  record.crashes[1].tasks = {
      "w0/h0/i2/postmaster", "w0/h0/i2/postmaster/inspector",
      "w0/h0/i2/postmaster/inspector.1", "w0/h0/i2/postmaster/s1"};
  record.crashes[2].image = 1;
  record.schedule.clear();
  for (const char* task :
       {"w0/h0/i1/postmaster/s1", "w0/h0/i2/postmaster/inspector.1",
        "w0/h0/i2/postmaster/inspector.2", "w0/h0/i2/postmaster/s1.1",
        "w0/h0/i3/postmaster/s1.1"}) {
    record.schedule.push_back({task, 7, "timer", ""});
  }
  auto image = sim::Stream::kCrashImage;
  constexpr uint64_t kSecond = uint64_t{1} << 48;
  record.draws = {
      {image, "w0/h0/i1", "image-style", 0, 5},
      {image, "w0/h0/i1/base/5/1", "sector", 3, 1},
      {sim::Stream::kDiskFault, "w0/h0/i0", "writeback", 0, 9},
      {sim::Stream::kDiskFault, "w0/h0/i1", "writeback", 0, 4},
      {image, "w0/h0/i3", "image-style", 1, 5},
      {image, "w0/h0/i3/base/5/1", "sector", kSecond | 3, 1},
      {sim::Stream::kDiskFault, "w0/h0/i3", "media.shear", 2, 1},
  };
  return StateOf(Original(), record);
}

std::vector<std::string> TasksIn(const ShrinkState& state) {
  std::vector<std::string> out;
  for (const ShrinkEntry& e : state.schedule) out.push_back(e.entry.task);
  return out;
}

std::vector<std::string> DrawsIn(const ShrinkState& state) {
  std::vector<std::string> out;
  for (const ShrinkDraw& d : state.draws) out.push_back(d.draw.ToString());
  return out;
}

TEST(ShrinkPasses, WithoutACrashWhatComesLaterIsNumberedAnew) {
  ShrinkState state = SeveralRestarts();
  auto without =
      PassNamed("crashes").without(state, {state.directions[0].part});
  ASSERT_EQ(without.size(), 2u);
  EXPECT_EQ(TasksIn(without[0]),
            (std::vector<std::string>{
                "w0/h0/i0/postmaster/s1", "w0/h0/i1/postmaster/inspector.1",
                "w0/h0/i1/postmaster/inspector.2", "w0/h0/i1/postmaster/s1.1",
                "w0/h0/i2/postmaster/s1.1"}));
  // Its own image is gone; of two draws at one place the earlier one stays.
  EXPECT_EQ(
      DrawsIn(without[0]),
      (std::vector<std::string>{"disk-fault w0/h0/i0 writeback 0 = 9",
                                "crash-image w0/h0/i2 image-style 0 = 5",
                                "crash-image w0/h0/i2/base/5/1 sector 3 = 1",
                                "disk-fault w0/h0/i2 media.shear 1 = 1"}));
  EXPECT_EQ(ToSpec(without[0]).directions.size(), 2u);
  EXPECT_EQ(TasksIn(without[1]), TasksIn(state));
  EXPECT_EQ(DrawsIn(without[1]), DrawsIn(state));
}

// The restart that followed the shutdown stays: the second crash of the host
// struck its third incarnation.
TEST(ShrinkPasses, RestartsThatNobodyPlannedKeepTheirNumbers) {
  ShrinkState state = SeveralRestarts();
  state.directions.erase(state.directions.begin() + 1);
  auto without =
      PassNamed("crashes").without(state, {state.directions[1].part});
  ASSERT_EQ(TasksIn(without[0]).size(), 4u);  // the last two are one now
  EXPECT_EQ(TasksIn(without[0])[0], "w0/h0/i1/postmaster/s1");
  EXPECT_EQ(TasksIn(without[0])[1], "w0/h0/i2/postmaster/inspector.1");
  EXPECT_EQ(TasksIn(without[0])[3], "w0/h0/i2/postmaster/s1.1");
}

TEST(ShrinkPasses, WithoutATaskKillLaterTasksAreNotTheSecondOfTheirName) {
  ShrinkState state = SeveralRestarts();
  const auto& pass = PassNamed("crashes");
  ShrinkState first = pass.without(state, {state.directions[1].part})[0];
  EXPECT_EQ(TasksIn(first),
            (std::vector<std::string>{
                "w0/h0/i1/postmaster/s1", "w0/h0/i2/postmaster/inspector.1",
                "w0/h0/i2/postmaster/s1", "w0/h0/i3/postmaster/s1.1"}));
  EXPECT_EQ(DrawsIn(first), DrawsIn(state));
  // One after the other is as good as both.
  ShrinkState both = pass.without(first, {state.directions[0].part})[0];
  ShrinkState at_once = pass.without(
      state, {state.directions[0].part, state.directions[1].part})[0];
  EXPECT_EQ(KeyOf(both), KeyOf(at_once));
}

TEST(ShrinkState, HoldsFollowTheStatementsThatAreNumberedAnew) {
  RunSpec spec = Original();
  spec.directions = {
      "hold before s2.q3 until after s1.q2 or s1 at commit_record_flushed"};
  RunRecord record = Record();
  record.crashes.clear();
  record.draws.clear();
  record.schedule.clear();
  // The plan's edits left out s2.q1 and s1.q1.
  record.statements = {{1, "s1.q2", "COMMIT", 0},
                       {2, "s2.q2", "SELECT 1", 0},
                       {2, "s2.q3", "SELECT 2", 0}};
  ShrinkState state = StateOf(spec, record);
  EXPECT_EQ(ToSpec(state).directions[0],
            "hold before s2.q2 until after s1.q1 or s1 at "
            "commit_record_flushed");
  auto without =
      PassNamed("statements").without(state, {PartOf(state, "s2.q1")});
  EXPECT_EQ(ToSpec(without[0]).directions[0],
            "hold before s2.q1 until after s1.q1 or s1 at "
            "commit_record_flushed");
}

TEST(ShrinkState, OneQueryOfSeveralStatementsStaysOne) {
  RunRecord record = Record();
  record.statements = {{1, "s1.t1.q1", "SELECT ';', \"a;b\"; SELECT 2", 0},
                       {1, "s1.t1.q2", "SELECT 3", 0}};
  record.crashes.clear();
  EXPECT_EQ(ToSpec(StateOf(Original(), record)).sessions[0].text,
            "SELECT ';', \"a;b\"\\; SELECT 2;\nSELECT 3;\n");
}

// ---- Books

TEST(ShrinkPasses, WhereBooksMustBalanceTransactionsGoWhole) {
  RunRecord record = Record();
  record.books = properties::Books::kPairs;
  record.statements = {
      {0, "s0.t1.q1", "INSERT INTO pgbench_tellers VALUES (1, 1), (2, 1)", 0},
      {1, "s1.t1.q5", "BEGIN", 0},
      {2, "s2.t1.q5", "BEGIN", 0},
      {1, "s1.t1.q6", "UPDATE a SET x = 'abc'", 0},
      {2, "s2.t1.q6", "UPDATE a", 0},
      {2, "s2.t1.q7", "END", 0},
      {1, "s1.t1.q7", "END", 0},
      {1, "s1.t2.q2", "SELECT abalance", 0},
  };
  record.crashes.clear();
  ShrinkState state = StateOf(Original(), record);
  const auto& pass = PassNamed("statements");
  std::vector<uint64_t> parts = pass.parts(state);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0], PartOf(state, "s1.q4"));
  ShrinkState less = pass.without(state, {PartOf(state, "s1.q1")})[0];
  EXPECT_EQ(ToSpec(less).sessions[0].text, "SELECT abalance;\n");
  EXPECT_EQ(ToSpec(less).sessions[1].text, "BEGIN;\nUPDATE a;\nEND;\n");
  EXPECT_EQ(ToSpec(less).books, properties::Books::kPairs);
  for (const char* name : {"blocks", "rows", "values", "spelling"}) {
    EXPECT_TRUE(PassNamed(name).parts(state).empty()) << name;
  }
  state.base.books = properties::Books::kNone;
  EXPECT_EQ(pass.parts(state).size(), 8u);
  EXPECT_EQ(PassNamed("rows").parts(state).size(), 2u);
}

// ---- Text

TEST(ShrinkPasses, KeywordsMayBeInAnyCase) {
  RunRecord record = Record();
  record.statements = {
      {0, "s0.t1.q1", "insert into \"values\" Values (1), (2)", 0},
      {1, "s1.q1", "start transaction", 0},
      {1, "s1.q2", "set local x = 1", 0},
      {1, "s1.q3", "rollback to a", 0},
      {1, "s1.q4", "select 1", 0},
      {1, "s1.q5", "end", 0},
  };
  record.crashes.clear();
  ShrinkState state = StateOf(Original(), record);
  EXPECT_EQ(PassNamed("rows").parts(state).size(), 2u);
  const auto& pass = PassNamed("blocks");
  ASSERT_EQ(pass.parts(state).size(), 1u);
  EXPECT_EQ(ToSpec(pass.without(state, pass.parts(state))[0]).sessions[0].text,
            "rollback to a;\nselect 1;\n");
}

TEST(ShrinkPasses, OnlyPlainLiteralsAreMadeShorterAndStayWhole) {
  RunRecord record = Record();
  record.statements = {
      {0, "s0.t1.q1",
       "INSERT INTO \"it's\" VALUES ('\xc3\xa9t\xc3\xa9', '''x', E'a\\'b', "
       "'\xc3\xa9', '''')",
       0}};
  record.crashes.clear();
  ShrinkState state = StateOf(Original(), record);
  const auto& pass = PassNamed("values");
  std::vector<uint64_t> parts = pass.parts(state);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(pass.without(state, parts)[0].statements[0].sql,
            "INSERT INTO \"it's\" VALUES ('\xc3\xa9', '''', E'a\\'b', "
            "'\xc3\xa9', '''')");
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
