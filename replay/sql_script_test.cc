#include "replay/sql_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "engine/common/errcodes.h"
#include "engine/sql/test_node.h"
#include "replay/psql_print.h"
#include "replay/psql_scan.h"

namespace replay {
namespace {

using ::testing::ElementsAre;

std::string ReadTestData(const std::string& name) {
  std::ifstream file("replay/testdata/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

// Runs the script on a fresh node and compares with what psql printed when
// PostgreSQL 15 ran it.
void ExpectGolden(const std::string& name, int exit_code) {
  engine::SqlTestNode node;
  std::string out;
  node.Run([&](engine::Session& session) {
    ExecuteQuery execute = [&session](std::string_view query) {
      return session.ExecuteText(query);
    };
    EXPECT_EQ(
        RunSqlScript(name + ".sql", ReadTestData(name + ".sql"), execute, &out),
        exit_code);
  });
  std::istringstream got(out);
  std::istringstream want(ReadTestData(name + ".out"));
  std::string got_line;
  std::string want_line;
  int number = 0;
  while (std::getline(want, want_line)) {
    ++number;
    ASSERT_TRUE(std::getline(got, got_line)) << "ends before line " << number;
    ASSERT_EQ(got_line, want_line) << name << ".out line " << number;
  }
  EXPECT_FALSE(std::getline(got, got_line)) << "goes on with " << got_line;
}

// Exit code 2: all of these contain syntax errors on purpose.
TEST(SqlScript, ExpressionsPrintWhatPsqlPrints) {
  ExpectGolden("expressions", 2);
}
TEST(SqlScript, TablesPrintWhatPsqlPrints) { ExpectGolden("tables", 2); }
TEST(SqlScript, TransactionsPrintWhatPsqlPrints) {
  ExpectGolden("transactions", 2);
}
TEST(SqlScript, CatalogsPrintWhatPsqlPrints) { ExpectGolden("catalogs", 0); }
TEST(SqlScript, LayoutIsPsqls) { ExpectGolden("psql", 2); }

// Answers "fail CODE" with an error and everything else with its own text.
std::vector<engine::StatementResult> Echo(std::string_view query) {
  engine::StatementResult result;
  result.command_tag = "<" + std::string(query) + ">";
  if (query.starts_with("fail 42601")) {
    result.status = env::Status::Sql(engine::ERRCODE_SYNTAX_ERROR, "bad");
  } else if (query.starts_with("fail 0A000")) {
    result.status =
        env::Status::Sql(engine::ERRCODE_FEATURE_NOT_SUPPORTED, "no");
  } else if (query.starts_with("fail 22012")) {
    result.status = env::Status::Sql(engine::ERRCODE_DIVISION_BY_ZERO, "zero");
  }
  std::vector<engine::StatementResult> out;
  out.push_back(std::move(result));
  return out;
}

std::string RunText(std::string_view text, int* exit_code) {
  std::string out;
  *exit_code = RunSqlScript("f.sql", text, Echo, &out);
  return out;
}

TEST(SqlScript, ExitCodeTellsUnreadableStatementsFromFailedOnes) {
  int code = -1;
  EXPECT_EQ(RunText("a;\nfail 22012;\nb;\n", &code),
            "a;\n<a;>\nfail 22012;\npsql:f.sql:2: ERROR:  zero\nb;\n<b;>\n");
  EXPECT_EQ(code, 0);
  RunText("fail 42601;\na;", &code);
  EXPECT_EQ(code, 2);
  RunText("fail 0A000;\na;", &code);
  EXPECT_EQ(code, 2);
}

TEST(SqlScript, UnknownBackslashCommandsAreRefusedByName) {
  int code = -1;
  EXPECT_EQ(RunText("\\gset x\na;\n", &code),
            "\\gset x\npsql:f.sql:1: error: \\gset is not supported\n"
            "a;\n<a;>\n");
  EXPECT_EQ(code, 2);
  EXPECT_EQ(RunText("\\set ON_ERROR_STOP on\n", &code),
            "\\set ON_ERROR_STOP on\n"
            "psql:f.sql:1: error: \\set ON_ERROR_STOP is not supported\n");
  EXPECT_EQ(code, 2);
}

TEST(SqlScript, QuitStopsTheScript) {
  int code = -1;
  EXPECT_EQ(RunText("a;\n\\q\nb;\n", &code), "a;\n<a;>\n\\q\n");
  EXPECT_EQ(code, 0);
}

std::vector<std::string> Split(std::string_view line) {
  PsqlScanner::Variables variables = {{"n", "5"}, {"s", "it's"}};
  PsqlScanner scanner(&variables);
  scanner.StartLine(line);
  std::vector<std::string> out;
  while (scanner.Scan() == PsqlScanner::Outcome::kStatement) {
    out.push_back(scanner.TakeQuery());
  }
  if (scanner.HasQuery()) out.push_back(scanner.TakeQuery());
  return out;
}

TEST(PsqlScanner, SemicolonsEndStatementsOnlyWhereTheyCount) {
  EXPECT_THAT(Split("a;b ; c"), ElementsAre("a;", "b ;", "c"));
  EXPECT_THAT(Split("';' \";\" $$;$$ $x$;$$;$x$ (;) /*;/*;*/;*/ E'\\';'; b"),
              ElementsAre("';' \";\" $$;$$ $x$;$$;$x$ (;) /*;/*;*/;*/ "
                          "E'\\';';",
                          "b"));
  EXPECT_THAT(Split("a -- b; c"), ElementsAre("a -- b; c"));
  EXPECT_THAT(Split("a \\; b; c"), ElementsAre("a ; b;", "c"));
}

TEST(PsqlScanner, VariablesGoInOutsideOfQuotesOnly) {
  EXPECT_THAT(Split(":n + :nope + a::n + ':n' + :'s' + :\"s\" + x[1:n]"),
              ElementsAre("5 + :nope + a::n + ':n' + 'it''s' + \"it's\" + "
                          "x[15]"));
}

TEST(PsqlPrint, PositionOutsideOfTheQueryPrintsNothing) {
  std::string out;
  PrintErrorPosition("select", 99, &out);
  PrintErrorPosition("select", 0, &out);
  PrintErrorPosition("", 3, &out);
  EXPECT_EQ(out, "");
  PrintErrorPosition("ab\ncd", 4, &out);
  EXPECT_EQ(out, "LINE 2: cd\n        ^\n");
}

}  // namespace
}  // namespace replay
