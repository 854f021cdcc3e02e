// SqlScript: runs a psql script and prints what `psql -a -X -f FILE` prints.
//
// Lines are echoed as they are read, statements are sent as they end, and an
// ERROR does not stop the script. Of the backslash commands \echo, \q and \set
// are there; others are refused by name. Standard output and standard error
// are one text, in order.
// Source: src/bin/psql/mainloop.c, command.c, common.c.
#ifndef MUSTH_REPLAY_SQL_SCRIPT_H_
#define MUSTH_REPLAY_SQL_SCRIPT_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sql/result.h"

namespace replay {

// Sends one query string to the server; a result per statement in it.
using ExecuteQuery =
    std::function<std::vector<engine::StatementResult>(std::string_view query)>;

// Runs the script, appending to *out. file_name is as in messages.
// Returns 2 if a statement did not parse (42601), is not supported (0A000) or
// was too complex (54001), or a backslash command was refused; else 0.
int RunSqlScript(std::string_view file_name, std::string_view text,
                 const ExecuteQuery& execute, std::string* out);

}  // namespace replay

#endif  // MUSTH_REPLAY_SQL_SCRIPT_H_
