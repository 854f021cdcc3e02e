// pgbench's built-in scripts and tables.
#include <fmt/format.h>

#include <algorithm>

#include "properties/pgbench.h"

namespace properties {
namespace {

constexpr int64_t kRowsPerInsert = 50;

constexpr char kAccountUpdate[] =
    "UPDATE pgbench_accounts SET abalance = abalance + :delta "
    "WHERE aid = :aid;\n"
    "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n";
constexpr char kHistoryInsert[] =
    "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) "
    "VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n";

std::string SetVariables(const PgbenchScale& scale) {
  return fmt::format(
      "\\set aid random(1, {} * :scale)\n"
      "\\set bid random(1, 1 * :scale)\n"
      "\\set tid random(1, {} * :scale)\n"
      "\\set delta random(-5000, 5000)\n",
      scale.accounts_per_branch, scale.tellers_per_branch);
}

// INSERT statements of rows 1..count; each row is format(i, branch of i, 0).
void AppendRows(const char* table, const char* columns, int64_t count,
                int64_t per_branch, bool with_branch, std::string* sql) {
  for (int64_t first = 1; first <= count; first += kRowsPerInsert) {
    *sql += fmt::format("INSERT INTO {} ({}) VALUES\n  ", table, columns);
    int64_t last = std::min(count, first + kRowsPerInsert - 1);
    for (int64_t i = first; i <= last; ++i) {
      if (i > first) *sql += ", ";
      if (with_branch) {
        *sql += fmt::format("({}, {}, 0)", i, (i - 1) / per_branch + 1);
      } else {
        *sql += fmt::format("({}, 0)", i);
      }
    }
    *sql += ";\n";
  }
}

}  // namespace

std::optional<std::string> BuiltinScript(std::string_view name,
                                         const PgbenchScale& scale) {
  if (name == "tpcb-like") {
    return SetVariables(scale) + "BEGIN;\n" + kAccountUpdate +
           "UPDATE pgbench_tellers SET tbalance = tbalance + :delta "
           "WHERE tid = :tid;\n"
           "UPDATE pgbench_branches SET bbalance = bbalance + :delta "
           "WHERE bid = :bid;\n" +
           kHistoryInsert + "END;\n";
  }
  if (name == "simple-update") {
    return SetVariables(scale) + "BEGIN;\n" + kAccountUpdate + kHistoryInsert +
           "END;\n";
  }
  if (name == "select-only") {
    return fmt::format("\\set aid random(1, {} * :scale)\n",
                       scale.accounts_per_branch) +
           "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n";
  }
  return std::nullopt;
}

std::string PgbenchSetupSql(const PgbenchScale& scale) {
  std::string sql =
      "CREATE TABLE pgbench_history(tid int, bid int, aid int, delta int, "
      "mtime timestamp, filler char(22));\n"
      "CREATE TABLE pgbench_tellers(tid int not null, bid int, tbalance int, "
      "filler char(84));\n"
      "CREATE TABLE pgbench_accounts(aid int not null, bid int, abalance int, "
      "filler char(84));\n"
      "CREATE TABLE pgbench_branches(bid int not null, bbalance int, "
      "filler char(88));\n";
  AppendRows("pgbench_branches", "bid, bbalance", scale.scale, 1, false, &sql);
  AppendRows("pgbench_tellers", "tid, bid, tbalance",
             scale.scale * scale.tellers_per_branch, scale.tellers_per_branch,
             true, &sql);
  AppendRows("pgbench_accounts", "aid, bid, abalance",
             scale.scale * scale.accounts_per_branch, scale.accounts_per_branch,
             true, &sql);
  return sql;
}

}  // namespace properties
