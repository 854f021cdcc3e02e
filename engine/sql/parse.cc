#include "engine/sql/parse.h"

#include <pg_query.h>

#include <memory>
#include <utility>

#include "engine/common/errcodes.h"
#include "engine/sql/parse_tree.h"

namespace engine {
namespace {

struct ParseResultDeleter {
  void operator()(PgQuery__ParseResult* p) const {
    pg_query__parse_result__free_unpacked(p, nullptr);
  }
};
using ParseResultPtr =
    std::unique_ptr<PgQuery__ParseResult, ParseResultDeleter>;

// Parses and decodes; frees what libpg_query allocated.
Result<ParseResultPtr> ParseToTree(const std::string& text) {
  PgQueryProtobufParseResult raw = pg_query_parse_protobuf(text.c_str());
  if (raw.error != nullptr) {
    Status error = SqlError(ERRCODE_SYNTAX_ERROR, "{}", raw.error->message)
                       .WithCursor(raw.error->cursorpos);
    pg_query_free_protobuf_parse_result(raw);
    return error;
  }
  ParseResultPtr tree(pg_query__parse_result__unpack(
      nullptr, raw.parse_tree.len,
      reinterpret_cast<const uint8_t*>(raw.parse_tree.data)));
  pg_query_free_protobuf_parse_result(raw);
  SIM_CHECK(tree != nullptr);
  return tree;
}

}  // namespace

Result<std::vector<Statement>> ParseSql(std::string_view text) {
  if (text.size() > kMaxSqlTextBytes || SqlNesting(text) > kMaxSqlNesting) {
    return SqlError(ERRCODE_STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
        .WithDetail(fmt::format(
            "Statements may have {} bytes and {} levels of nesting.",
            kMaxSqlTextBytes, kMaxSqlNesting));
  }
  if (text.find('\0') != std::string_view::npos) {
    return SqlError(ERRCODE_CHARACTER_NOT_IN_REPERTOIRE,
                    "invalid byte sequence for encoding \"UTF8\": 0x00");
  }
  ASSIGN_OR_RETURN(ParseResultPtr tree, ParseToTree(std::string(text)));
  std::vector<Statement> out;
  TreeConverter converter(text);
  for (size_t i = 0; i < tree->n_stmts; ++i) {
    const PgQuery__RawStmt& raw = *tree->stmts[i];
    if (raw.stmt == nullptr) continue;
    ASSIGN_OR_RETURN(Statement statement,
                     converter.ConvertStatement(*raw.stmt));
    out.push_back(std::move(statement));
  }
  return out;
}

}  // namespace engine
