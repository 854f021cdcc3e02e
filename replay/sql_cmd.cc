#include "replay/sql_cmd.h"

#include <fmt/format.h>

#include "engine/common/config.h"
#include "engine/sql/session.h"
#include "replay/local_node.h"
#include "replay/sql_script.h"
#include "replay/user_files.h"

namespace replay {

ExitCode RunSql(const std::string& file, const std::string& directory,
                std::FILE* out) {
  env::Result<std::string> text = ReadFile(UserPath(file));
  if (!text.ok()) {
    fmt::print(stderr, "musth: {}\n", text.status().message());
    return kExitUsage;
  }
  int code = 0;
  std::string printed;
  auto body = [&](engine::Session& session) {
    code = RunSqlScript(
        file, *text,
        [&](std::string_view query) { return session.ExecuteText(query); },
        &printed);
  };
  env::Status status =
      directory.empty()
          ? RunSimulated(engine::Config(), body)
          : RunOnDirectory(UserPath(directory), engine::Config(), body);
  fmt::print(out, "{}", printed);
  if (!status.ok()) {
    fmt::print(stderr, "musth: {}\n", status.message());
    return kExitHarness;
  }
  return code == 0 ? kExitKept : kExitUsage;
}

}  // namespace replay
