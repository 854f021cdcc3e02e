#include "engine/sql/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/sql/parse.h"
#include "engine/sql/test_node.h"

namespace engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Session, RowWaitedForIsUpdatedInItsNewestVersion) {
  SqlTestNode node;
  node.Sql(
      "CREATE TABLE t (id int, v int); "
      "INSERT INTO t VALUES (1, 10), (2, 20)");
  EXPECT_THAT(
      node.Steps({{1, "BEGIN"},
                  {1, "UPDATE t SET v = v + 1 WHERE id = 1"},
                  {2, "UPDATE t SET v = v * 2 WHERE id = 1"},
                  {1, "COMMIT"},
                  {2, "SELECT v FROM t WHERE id = 1"}}),
      ElementsAre("s1: BEGIN", "s1: UPDATE 1", "s2: waits", "s1: COMMIT",
                  "s2 (waited): UPDATE 1", "s2: 22\nSELECT 1"));
}

TEST(Session, RowThatNoLongerQualifiesIsLeftAlone) {
  SqlTestNode node;
  node.Sql(
      "CREATE TABLE t (id int, v int); "
      "INSERT INTO t VALUES (1, 10), (2, 20)");
  EXPECT_THAT(
      node.Steps({{1, "BEGIN"},
                  {1, "UPDATE t SET v = 99 WHERE id = 1"},
                  {2, "DELETE FROM t WHERE v < 30"},
                  {1, "COMMIT"},
                  {2, "SELECT * FROM t"}}),
      ElementsAre("s1: BEGIN", "s1: UPDATE 1", "s2: waits", "s1: COMMIT",
                  "s2 (waited): DELETE 1", "s2: 1|99\nSELECT 1"));
}

TEST(Session, WriterThatRollsBackLeavesTheOldRow) {
  SqlTestNode node;
  node.Sql("CREATE TABLE t (v int); INSERT INTO t VALUES (1)");
  EXPECT_THAT(node.Steps({{1, "BEGIN"},
                          {1, "DELETE FROM t"},
                          {2, "UPDATE t SET v = v + 1 RETURNING v"},
                          {1, "ROLLBACK"}}),
              ElementsAre("s1: BEGIN", "s1: DELETE 1", "s2: waits",
                          "s1: ROLLBACK", "s2 (waited): 2\nUPDATE 1"));
}

TEST(Session, RowDeletedMeanwhileIsSkipped) {
  SqlTestNode node;
  node.Sql("CREATE TABLE t (v int); INSERT INTO t VALUES (1)");
  EXPECT_THAT(node.Steps({{1, "BEGIN"},
                          {1, "DELETE FROM t"},
                          {2, "UPDATE t SET v = 5"},
                          {1, "COMMIT"}}),
              ElementsAre("s1: BEGIN", "s1: DELETE 1", "s2: waits",
                          "s1: COMMIT", "s2 (waited): UPDATE 0"));
}

TEST(Session, RepeatableReadRefusesRowsChangedMeanwhile) {
  SqlTestNode node;
  node.Sql("CREATE TABLE t (v int); INSERT INTO t VALUES (1)");
  EXPECT_THAT(node.Steps({{2, "BEGIN ISOLATION LEVEL REPEATABLE READ"},
                          {2, "SELECT v FROM t"},
                          {1, "UPDATE t SET v = 2"},
                          {2, "SELECT v FROM t"},
                          {2, "UPDATE t SET v = 3"},
                          {2, "COMMIT"},
                          {2, "BEGIN ISOLATION LEVEL REPEATABLE READ"},
                          {2, "SELECT 1"},
                          {1, "DELETE FROM t"},
                          {2, "DELETE FROM t"}}),
              ElementsAre("s2: BEGIN", "s2: 1\nSELECT 1", "s1: UPDATE 1",
                          "s2: 1\nSELECT 1",
                          "s2: ERROR 40001: could not serialize access due to "
                          "concurrent update",
                          "s2: ROLLBACK", "s2: BEGIN", "s2: 1\nSELECT 1",
                          "s1: DELETE 1",
                          "s2: ERROR 40001: could not serialize access due to "
                          "concurrent delete"));
}

TEST(Session, TwoWritersInACircleEndInADeadlockError) {
  SqlTestNode node;
  node.Sql(
      "CREATE TABLE t (id int, v int); "
      "INSERT INTO t VALUES (1, 0), (2, 0)");
  std::vector<std::string> lines =
      node.Steps({{1, "BEGIN"},
                  {2, "BEGIN"},
                  {1, "UPDATE t SET v = 1 WHERE id = 1"},
                  {2, "UPDATE t SET v = 1 WHERE id = 2"},
                  {1, "UPDATE t SET v = 1 WHERE id = 2"},
                  {2, "UPDATE t SET v = 1 WHERE id = 1"}});
  int deadlocks = 0;
  int updates = 0;
  for (const std::string& line : lines) {
    if (line.find("40P01: deadlock detected") != std::string::npos) {
      ++deadlocks;
    }
    if (line.find("UPDATE 1") != std::string::npos) ++updates;
  }
  EXPECT_EQ(deadlocks, 1) << ::testing::PrintToString(lines);
  EXPECT_EQ(updates, 3) << ::testing::PrintToString(lines);
}

TEST(Session, UpdateDoesNotMeetItsOwnNewVersions) {
  SqlTestNode node;
  node.Sql(
      "CREATE TABLE t (v int); "
      "INSERT INTO t SELECT g FROM generate_series(1, 500) g");
  EXPECT_EQ(node.Sql("UPDATE t SET v = v + 1"), "UPDATE 500");
  EXPECT_EQ(node.Sql("INSERT INTO t SELECT v FROM t"), "INSERT 0 500");
  EXPECT_EQ(node.Sql("SELECT count(*), sum(v) FROM t"),
            "1000|251500\nSELECT 1");
}

TEST(Session, TwoCreatorsOfOneNameMakeOneTable) {
  SqlTestNode node;
  EXPECT_THAT(
      node.Steps({{1, "BEGIN"},
                  {1, "CREATE TABLE t (a int)"},
                  {2, "CREATE TABLE t (b text)"},
                  {1, "COMMIT"},
                  {2, "CREATE TABLE IF NOT EXISTS t (c int)"},
                  {1, "BEGIN"},
                  {1, "CREATE TABLE u (a int)"},
                  {2, "CREATE TABLE u (b text)"},
                  {1, "ROLLBACK"},
                  {1, "SELECT * FROM u"}}),
      ElementsAre("s1: BEGIN", "s1: CREATE TABLE", "s2: waits", "s1: COMMIT",
                  "s2 (waited): ERROR 42P07: relation \"t\" already "
                  "exists",
                  "s2: NOTICE:  relation \"t\" already exists, "
                  "skipping\nCREATE TABLE",
                  "s1: BEGIN", "s1: CREATE TABLE", "s2: waits", "s1: ROLLBACK",
                  "s2 (waited): CREATE TABLE", "s1: SELECT 0"));
  EXPECT_EQ(node.Sql("SELECT relname, count(*) FROM pg_class WHERE oid >= "
                     "16384 GROUP BY relname"),
            "t|1\nu|1\nSELECT 2");
}

TEST(Session, FilesOfAnAbortedCreateGoAway) {
  SqlTestNode node;
  auto file_size = [&](const std::string& path) -> int64_t {
    int64_t size = -1;
    node.Run([&](Session& session) {
      auto info = session.backend().env->files->Stat(path);
      if (info.ok()) size = info->size_bytes;
    });
    return size;
  };
  node.Sql("BEGIN; CREATE TABLE t (a int); INSERT INTO t VALUES (1); COMMIT");
  std::string kept = "base/5/" + node.Sql(
                                         "SELECT oid FROM pg_class WHERE "
                                         "relname = 't'")
                                     .substr(0, 5);
  node.Sql(
      "BEGIN; CREATE TABLE u (a int); INSERT INTO u VALUES (1); "
      "SELECT 1/0");
  node.Sql("CHECKPOINT");
  EXPECT_GT(file_size(kept), 0);
  int next = std::stoi(kept.substr(7)) + 1;
  EXPECT_EQ(file_size("base/5/" + std::to_string(next)), -1);
  EXPECT_THAT(node.Sql("SELECT * FROM u"), HasSubstr("42P01"));
}

TEST(Session, CommittedTablesSurvivePowerLoss) {
  SqlTestNode node;
  node.Sql(
      "CREATE TABLE kept (a int not null, b varchar(5)) "
      "WITH (fillfactor=50)");
  node.Sql("INSERT INTO kept VALUES (1, 'x')");
  node.Run([](Session& session) {
    session.ExecuteText("BEGIN");
    session.ExecuteText("CREATE TABLE lost (a int)");
    session.ExecuteText("INSERT INTO lost VALUES (1)");
  });
  node.PowerLossAndRestart();
  EXPECT_EQ(node.Sql("SELECT * FROM kept"), "1|x\nSELECT 1");
  EXPECT_THAT(node.Sql("INSERT INTO kept VALUES (NULL)"), HasSubstr("23502"));
  EXPECT_THAT(node.Sql("INSERT INTO kept VALUES (1, 'too long')"),
              HasSubstr("22001"));
  EXPECT_EQ(node.Sql("SELECT reloptions FROM pg_class WHERE relname = 'kept'"),
            "{fillfactor=50}\nSELECT 1");
  EXPECT_THAT(node.Sql("SELECT * FROM lost"), HasSubstr("42P01"));
  EXPECT_EQ(node.Sql("CREATE TABLE lost (b text)"), "CREATE TABLE");
  EXPECT_EQ(node.Sql("SELECT * FROM lost"), "SELECT 0");
}

TEST(Session, CommitIsAcknowledgedOnceAndOnlyWithAnXid) {
  SqlTestNode node;
  node.Sql("CREATE TABLE t (a int)");
  TransactionId xid = 0;
  XLogRecPtr lsn = 0;
  size_t first = node.events().size();
  node.Run([&](Session& session) {
    session.ExecuteText("SELECT * FROM t");
    EXPECT_EQ(session.last_commit_xid(), 0U);
    session.ExecuteText("BEGIN; INSERT INTO t VALUES (1)");
    EXPECT_EQ(session.transaction_status(), TransactionStatus::kInBlock);
    session.ExecuteText("COMMIT");
    EXPECT_EQ(session.transaction_status(), TransactionStatus::kIdle);
    xid = session.last_commit_xid();
    lsn = session.last_commit_lsn();
    session.ExecuteText("SELECT * FROM t");
    session.ExecuteText("BEGIN; INSERT INTO t VALUES (2); ROLLBACK");
    EXPECT_EQ(session.last_commit_xid(), xid);
  });
  int acked = 0;
  uint64_t visible_at = 0;
  for (size_t i = first; i < node.events().size(); ++i) {
    const env::Event& event = node.events()[i];
    if (event.kind == env::EventKind::kVisible) visible_at = i;
    if (event.kind != env::EventKind::kAcked) continue;
    ++acked;
    EXPECT_EQ(event.a[0], xid);
    EXPECT_EQ(event.a[1], lsn);
    EXPECT_GT(visible_at, 0U);
  }
  EXPECT_EQ(acked, 1);
  EXPECT_GT(lsn, 0U);
}

TEST(Session, StatementsWithoutTextRunTheSame) {
  SqlTestNode node;
  node.Run([](Session& session) {
    CreateTableStmt create;
    create.table = "t";
    create.columns = {{"a", {"int4", {}, 0}, true},
                      {"b", {"text", {}, 0}, false}};
    EXPECT_EQ(ResultText(session.Execute({create})), "CREATE TABLE");
    InsertStmt insert;
    insert.table = "t";
    insert.rows = {{IntConst(1), StringConst("x")}, {Param(1), Param(2)}};
    std::vector<Expr> params = {IntConst(2), NullConst()};
    EXPECT_EQ(ResultText(session.Execute({insert}, params)), "INSERT 0 2");
    UpdateStmt update;
    update.table = "t";
    update.sets = {{"b", Binary("||", Column("b"), StringConst("y")), 0}};
    update.where = In(Column("a"), {IntConst(1), IntConst(9)});
    EXPECT_EQ(ResultText(session.Execute({update})), "UPDATE 1");
    SelectStmt select;
    select.targets = {{Star(), ""}};
    select.from = FromItem{"t", "", std::nullopt, 0};
    select.order_by = {{Column("a"), true, std::nullopt}};
    EXPECT_EQ(ResultText(session.Execute({select})), "2|NULL\n1|xy\nSELECT 2");
    EXPECT_THAT(ResultText(session.Execute({insert})), HasSubstr("42P02"));
  });
}

std::string Times(int n, const std::string& text) {
  std::string out;
  for (int i = 0; i < n; ++i) out += text;
  return out;
}

TEST(Session, DeepestTextFitsIntoATasksStack) {
  SqlTestNode node;
  std::string sum = "SELECT 1" + Times(kMaxSqlNesting - 4, " + 1");
  EXPECT_LE(SqlNesting(sum), kMaxSqlNesting);
  EXPECT_EQ(node.Sql(sum), std::to_string(kMaxSqlNesting - 3) + "\nSELECT 1");
  std::string calls = "SELECT " + Times(kMaxSqlNesting - 4, "abs(") + "-7" +
                      Times(kMaxSqlNesting - 4, ")");
  EXPECT_EQ(node.Sql(calls), "7\nSELECT 1");
  std::string cases = "SELECT " + Times(kMaxSqlNesting / 3 - 1, "CASE WHEN ") +
                      "true" + Times(kMaxSqlNesting / 3 - 1, " THEN true END");
  EXPECT_LE(SqlNesting(cases), kMaxSqlNesting);
  EXPECT_EQ(node.Sql(cases), "t\nSELECT 1");
  std::string subqueries = "SELECT 1" +
                           Times(kMaxSqlNesting / 6 - 1, " + (SELECT 1") +
                           Times(kMaxSqlNesting / 6 - 1, ")");
  EXPECT_THAT(node.Sql(subqueries), HasSubstr("0A000"));
  std::string betweens = "SELECT " + Times(19, "(") + "true" +
                         Times(19, " BETWEEN false AND true)");
  EXPECT_THAT(node.Sql(betweens), HasSubstr("54001"));
  EXPECT_THAT(node.Sql("SELECT 1" + Times(kMaxSqlNesting, " + 1")),
              HasSubstr("54001"));
}

TEST(Session, LongRunOfStatementsLeavesNothingHeld) {
  // The session itself checks pins and locks after each statement; this makes
  // it fail in many places.
  SqlTestNode node;
  node.Run([](Session& session) {
    session.ExecuteText("CREATE TABLE t (a int not null, b varchar(3))");
    for (const char* sql :
         {"INSERT INTO t VALUES (1, 'a'), (2, 'toolong')",
          "INSERT INTO t SELECT g, 'b' FROM generate_series(1, 300) g",
          "INSERT INTO t SELECT 10 / (g - 5), 'c' FROM generate_series(1, 9) g",
          "SELECT 1 / (a - 150) FROM t", "SELECT a FROM t LIMIT 3",
          "UPDATE t SET b = 'abcd' WHERE a = 200", "SELECT a FROM t OFFSET -1",
          "UPDATE t SET a = NULL WHERE a > 250",
          "UPDATE t SET a = 2147483647 - 250 + a", "DELETE FROM t WHERE a < 10",
          "SELECT sum(a), min(b) FROM t GROUP BY b, a % 7"}) {
      session.ExecuteText(sql);
      EXPECT_EQ(session.transaction_status(), TransactionStatus::kIdle) << sql;
    }
    EXPECT_EQ(ResultText(session.ExecuteText("SELECT count(*) FROM t")[0]),
              "291\nSELECT 1");
  });
}

}  // namespace
}  // namespace engine
