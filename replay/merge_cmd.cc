#include "replay/merge_cmd.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "replay/summary.h"
#include "replay/user_files.h"

namespace replay {
namespace {

env::Result<Summary> Merged(const std::vector<std::string>& files) {
  std::optional<Summary> sum;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(std::string text, ReadFile(UserPath(file)));
    ASSIGN_OR_RETURN(Summary summary, Summary::FromJson(text, file));
    if (!sum.has_value()) {
      sum = std::move(summary);
      continue;
    }
    env::Status status = sum->Merge(summary);
    if (!status.ok()) {
      return env::Status(env::Code::kInvalid,
                         fmt::format("{}: {}", file, status.message()));
    }
  }
  return std::move(*sum);
}

}  // namespace

ExitCode RunMerge(const std::vector<std::string>& files,
                  const std::string& json_file, std::FILE* out) {
  env::Result<Summary> sum = Merged(files);
  env::Status status = sum.ok() ? env::Status() : sum.status();
  if (status.ok() && !json_file.empty()) {
    status = WriteFile(UserPath(json_file), sum->ToJson() + "\n");
  }
  if (!status.ok()) {
    fmt::print(stderr, "musth: {}\n", status.message());
    return kExitUsage;
  }
  fmt::print(out, "{}", sum->ToText());
  return ExitCodeOf(*sum);
}

}  // namespace replay
