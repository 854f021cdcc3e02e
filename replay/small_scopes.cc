#include "replay/small_scopes.h"

#include <cstdint>
#include <string>

namespace replay {
namespace {

constexpr std::string_view kTwoRows =
    "CREATE TABLE t (id int4, v int4, note text);\n"
    "INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b');\n";
// Almost a page.
constexpr std::string_view kFullPage =
    "CREATE TABLE t (id int4, v int4, note text);\n"
    "INSERT INTO t VALUES (1, 10, repeat('a', 1900)), "
    "(2, 20, repeat('b', 1900)), (3, 30, repeat('c', 1900)), "
    "(4, 40, repeat('d', 1900));\n";

}  // namespace

std::span<const SmallScope> SmallScopes() {
  static const std::vector<SmallScope> kScopes = {
      {"insert",
       "one transaction",
       kTwoRows,
       {"INSERT INTO t VALUES (3, 30, 'c');\n"},
       {}},
      {"update-twice",
       "two sessions change one row",
       kTwoRows,
       {"UPDATE t SET v = v + 1 WHERE id = 1;\n",
        "UPDATE t SET v = v + 1 WHERE id = 1;\n"},
       {}},
      {"checkpoint",
       "a checkpoint between two transactions",
       kTwoRows,
       {"UPDATE t SET v = 11 WHERE id = 1;\n",
        "CHECKPOINT;\nINSERT INTO t VALUES (3, 30, 'c');\n"},
       {}},
      {"rollback",
       "one transaction commits, one does not",
       kTwoRows,
       {"BEGIN;\nUPDATE t SET v = 11 WHERE id = 1;\nROLLBACK;\n",
        "DELETE FROM t WHERE id = 2;\n"},
       {}},
      {"async",
       "a commit that waits for nothing, then one that does",
       kTwoRows,
       {"SET synchronous_commit = 'off';\nUPDATE t SET v = 11 WHERE id = 1;\n",
        "UPDATE t SET v = 21 WHERE id = 2;\n"},
       {}},
      {"extend",
       "rows that need a second page",
       kFullPage,
       {"INSERT INTO t VALUES (5, 50, repeat('e', 1900));\n",
        "UPDATE t SET v = 11 WHERE id = 1;\n"},
       {}},
      {"segment-switch",
       "the log goes on in the next segment",
       kTwoRows,
       {"UPDATE t SET note = repeat('x', 900) WHERE id = 1;\n",
        "UPDATE t SET note = repeat('y', 900) WHERE id = 2;\n"},
       {"wal_room=2K"}},
      {"create-drop",
       "files come and go",
       kTwoRows,
       {"CREATE TABLE u (id int4);\nINSERT INTO u VALUES (1);\n",
        "DROP TABLE t;\n"},
       {}},
  };
  return kScopes;
}

const SmallScope* FindSmallScope(std::string_view name) {
  for (const SmallScope& scope : SmallScopes()) {
    if (scope.name == name) return &scope;
  }
  return nullptr;
}

std::string KnownSmallScopes() {
  std::string known;
  for (const SmallScope& scope : SmallScopes()) {
    if (!known.empty()) known += ", ";
    known += scope.name;
  }
  return known;
}

properties::RunSpec SpecOf(const SmallScope& scope) {
  properties::RunSpec spec;
  spec.base = sim::Base::kZero;
  spec.setup_sql = scope.setup;
  for (std::string_view text : scope.sessions) {
    auto number = static_cast<uint32_t>(spec.sessions.size() + 1);
    spec.sessions.push_back({number, std::string(text)});
  }
  for (std::string_view knob : scope.knobs) {
    size_t equals = knob.find('=');
    spec.knobs.emplace_back(knob.substr(0, equals), knob.substr(equals + 1));
  }
  spec.fan_out.mode = properties::FanOutSpec::Mode::kExhaustive;
  return spec;
}

}  // namespace replay
