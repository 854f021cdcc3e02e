// SQL text to statements, by PostgreSQL's own grammar (libpg_query).
//
//   text -> nesting check -> pg_query_parse_protobuf -> protobuf-c tree
//        -> Statement values (everything copied; the tree is freed)
//
// libpg_query never calls back, so a parse cannot be suspended; but it and the
// decoding of its result need about 2 KB of stack per level of the tree and
// neither notices an overflow. The nesting check bounds that before the parser
// sees the text, so that a parse fits into a fiber's 128 KiB.
#ifndef MUSTH_ENGINE_SQL_PARSE_H_
#define MUSTH_ENGINE_SQL_PARSE_H_

#include <string_view>
#include <vector>

#include "engine/sql/ast.h"

namespace engine {

inline constexpr size_t kMaxSqlTextBytes = 64 * 1024;
// Levels of the parse tree: an operator or parenthesis counts one, CASE two,
// SELECT three. 40 levels are 87 KB of stack.
inline constexpr int kMaxSqlNesting = 40;
// Expressions of one text, and of one statement once BETWEEN, IN and CASE are
// written out.
inline constexpr size_t kMaxExprNodes = 200'000;

// Parses text, which may hold any number of statements.
// Suspends: no.
// Errors: 42601 in PostgreSQL's words, with the cursor position; 0A000 that
// names the first construct that Musth does not have; 54001 when the text is
// too long or too deeply nested.
Result<std::vector<Statement>> ParseSql(std::string_view text);

// An upper bound of the depth of the parse tree of text. Never too small for
// text that the grammar accepts.
int SqlNesting(std::string_view text);

}  // namespace engine

#endif  // MUSTH_ENGINE_SQL_PARSE_H_
