#include "engine/sql/parse.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/common/errcodes.h"

namespace engine {
namespace {

// The statements of text, printed; or the error with its position.
std::string Parsed(const std::string& text) {
  Result<std::vector<Statement>> statements = ParseSql(text);
  if (!statements.ok()) {
    return statements.status().ToString() + " @" +
           std::to_string(statements.status().cursor_position());
  }
  std::string out;
  for (const Statement& s : *statements) {
    if (!out.empty()) out += "; ";
    out += ToSql(s);
  }
  return out;
}

TEST(Parse, StatementsKeepTheirMeaning) {
  EXPECT_EQ(Parsed("select a, t.b as x, * from t where a=1 or not b in (2,3) "
                   "order by 1 desc nulls last limit 5"),
            "SELECT a, t.b AS x, * FROM t WHERE ((a = 1) OR (NOT (b IN (2, "
            "3)))) ORDER BY 1 DESC NULLS LAST LIMIT 5");
  EXPECT_EQ(Parsed("insert into t(a) values (-1), (default), "
                   "(-9223372036854775808)"),
            "INSERT INTO t (a) VALUES ((-1)), (DEFAULT), "
            "((-9223372036854775808))");
  EXPECT_EQ(Parsed("update t x set a = x.a + 1 where b between 1 and 2 "
                   "returning a"),
            "UPDATE t AS x SET a = (x.a + 1) WHERE (b BETWEEN 1 AND 2) "
            "RETURNING a");
  EXPECT_EQ(Parsed("delete from t; commit"), "DELETE FROM t; COMMIT");
  EXPECT_EQ(Parsed("start transaction isolation level repeatable read, "
                   "read only"),
            "START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
  EXPECT_EQ(Parsed("create table t (a int not null, b char(3)) "
                   "with (fillfactor=70)"),
            "CREATE TABLE t (a int4 NOT NULL, b char(3)) WITH (fillfactor = "
            "70)");
  EXPECT_EQ(Parsed("set local x.y to 'a', b"), "SET LOCAL x.y = 'a, b'");
  EXPECT_EQ(Parsed(""), "");
}

// What ToSql prints is the same statement again.
TEST(Parse, PrintedStatementsParseToThemselves) {
  for (const char* text :
       {"select -(-1), - a, 'it''s', null, true, 12345678901234567890, \"A b\"",
        "select count(*), sum(distinct x), coalesce(a, 1), greatest(1, 2), "
        "nullif(a, b), current_timestamp, now() from \"select\"",
        "select case when a then 1 when b then 2 else 3 end, "
        "cast(x as varchar(3)), y::\"char\", z::char(2), $1",
        "select a is null, b is not null, c is distinct from d, "
        "e is not distinct from f, g not between 1 and 2, h not in (1), "
        "i not like 'x%'",
        "select from t group by a, b + 1 order by a nulls first offset 3",
        "insert into t default values",
        "insert into t (a) select g from generate_series(1, 3) as g",
        "begin; rollback; checkpoint; show all; reset x; set x = default",
        "set transaction isolation level serializable, read write",
        "set session characteristics as transaction read only",
        "drop table if exists a, b", "create table if not exists t ()"}) {
    std::string once = Parsed(text);
    EXPECT_EQ(Parsed(once), once) << text;
  }
}

TEST(Parse, SyntaxErrorsAreThoseOfPostgres) {
  EXPECT_EQ(Parsed("selec 1"), "42601: syntax error at or near \"selec\" @1");
  EXPECT_EQ(Parsed("select 'é', from"),
            "42601: syntax error at or near \"from\" @13");
  EXPECT_EQ(Parsed("select 'é' +"), "42601: syntax error at end of input @13");
  EXPECT_EQ(Parsed("select 'x"),
            "42601: unterminated quoted string at or near \"'x\" @8");
  EXPECT_EQ(Parsed("create table t (a int null not null)"),
            "42601: conflicting NULL/NOT NULL declarations for column \"a\" "
            "@17");
}

TEST(Parse, WhatIsMissingIsRefusedByName) {
  const std::pair<const char*, const char*> kRefusals[] = {
      {"select * from a join b on true", "JOIN"},
      {"select * from a, b", "JOIN"},
      {"select (select 1)", "subquery"},
      {"select * from (select 1) x", "subquery in FROM"},
      {"select 1 union select 2", "UNION, INTERSECT or EXCEPT"},
      {"with x as (select 1) select 1", "WITH"},
      {"select distinct 1", "SELECT DISTINCT"},
      {"select 1 having true", "HAVING"},
      {"select 1 for update", "SELECT FOR UPDATE or FOR SHARE"},
      {"select array[1]", "ARRAY"},
      {"select 'a' ilike 'b'", "ILIKE"},
      {"select sum(a) over () from t", "OVER"},
      {"select 'x' collate \"C\"", "COLLATE"},
      {"insert into t values (1) on conflict do nothing", "ON CONFLICT"},
      {"update t set a = 1 from u", "UPDATE FROM"},
      {"delete from t using u", "DELETE USING"},
      {"create table t (a int primary key)", "PRIMARY KEY"},
      {"create table t (a int, unique (a))", "UNIQUE"},
      {"create table t (a int default 1)", "DEFAULT"},
      {"create temp table t (a int)", "TEMPORARY"},
      {"create unlogged table t (a int)", "UNLOGGED"},
      {"create index on t (a)", "CREATE INDEX"},
      {"alter table t add column b int", "ALTER TABLE"},
      {"truncate t", "TRUNCATE TABLE"},
      {"copy t from stdin", "COPY"},
      {"vacuum t", "VACUUM"},
      {"explain select 1", "EXPLAIN"},
      {"savepoint s", "SAVEPOINT"},
      {"prepare transaction 'x'", "PREPARE TRANSACTION"},
      {"lock table t", "LOCK TABLE"},
      {"commit and chain", "AND CHAIN"},
      {"drop view v", "DROP of anything but a table"},
  };
  for (const auto& [text, construct] : kRefusals) {
    Result<std::vector<Statement>> got = ParseSql(text);
    ASSERT_FALSE(got.ok()) << text;
    EXPECT_EQ(got.status().sqlstate(), ERRCODE_FEATURE_NOT_SUPPORTED) << text;
    EXPECT_EQ(got.status().message(),
              std::string(construct) + " is not supported");
  }
}

std::string Times(int n, const std::string& text) {
  std::string out;
  for (int i = 0; i < n; ++i) out += text;
  return out;
}

TEST(Parse, DeepTextIsRefusedBeforeItIsParsed) {
  for (const std::string& text :
       {"select 1" + Times(5000, "+1"), "select " + Times(5000, "(") + "1",
        "select " + Times(5000, "not ") + "true",
        "select 1" + Times(5000, "::int"),
        "select " + Times(500, "(select ") + "1" + Times(500, ")"),
        "select " + Times(500, "case when 1, ") + "1",
        "select a" + Times(5000, " union select a, b"),
        "select 1 from a" + Times(500, " join b on a=b and c=d"),
        "select '" + std::string(kMaxSqlTextBytes, 'x') + "'"}) {
    Result<std::vector<Statement>> got = ParseSql(text);
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.status().sqlstate(), ERRCODE_STATEMENT_TOO_COMPLEX)
        << text.substr(0, 40);
  }
}

TEST(Parse, WideTextIsNotDeep) {
  EXPECT_LE(SqlNesting("insert into t values (1+1, f(2))" +
                       Times(1000, ", (1+1, f(2))")),
            kMaxSqlNesting);
  EXPECT_LE(SqlNesting("select * from t where a = 1" +
                       Times(1000, " or a = 1 and b <> -2")),
            kMaxSqlNesting);
  EXPECT_LE(
      SqlNesting("select '" + Times(1000, "((++not ") + "', \"" +
                 Times(1000, "((") + "\", $$" + Times(1000, "((") + "$$ /* " +
                 Times(1000, "((") + " */ -- " + Times(1000, "((")),
      kMaxSqlNesting);
  EXPECT_LE(SqlNesting(Times(1000, "select 1 + 1;")), kMaxSqlNesting);
}

}  // namespace
}  // namespace engine
