// What psql prints for results and errors, byte for byte: aligned format,
// border 1, default verbosity, UTF-8.
// Source: src/fe_utils/print.c, src/fe_utils/mbprint.c, src/bin/psql/common.c,
// src/interfaces/libpq/fe-protocol3.c reportErrorPosition().
#ifndef MUSTH_REPLAY_PSQL_PRINT_H_
#define MUSTH_REPLAY_PSQL_PRINT_H_

#include <string>
#include <string_view>

#include "engine/sql/result.h"

namespace replay {

// The table of a row set, with its "(N rows)" and the blank line after it.
void PrintTable(const engine::StatementResult& result, std::string* out);

// "LINE 3: ...": the line of query that position (1-based, in characters) is
// in, cut to the screen, and the line with the caret. Nothing if the position
// is outside of the query.
void PrintErrorPosition(std::string_view query, int position, std::string* out);

// "ERROR:  message", position, DETAIL, HINT. prefix: "psql:file:3: ".
void PrintError(std::string_view prefix, const env::Status& status,
                std::string_view query, std::string* out);

// Columns that text takes on a screen.
int DisplayWidth(std::string_view text);

}  // namespace replay

#endif  // MUSTH_REPLAY_PSQL_PRINT_H_
