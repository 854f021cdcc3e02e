#include "replay/trace_cmd.h"

#include <fmt/format.h>

#include <memory>

#include "replay/user_files.h"
#include "sim/trace.h"

namespace replay {
namespace {

ExitCode Unreadable(const env::Status& status) {
  fmt::print(stderr, "musth: {}\n", status.message());
  return kExitUsage;
}

env::Status PrintEvents(const std::string& path, std::FILE* out) {
  ASSIGN_OR_RETURN(std::unique_ptr<sim::TraceReader> reader,
                   sim::TraceReader::Open(path));
  env::Event event;
  for (;;) {
    ASSIGN_OR_RETURN(bool more, reader->Next(&event));
    if (!more) break;
    fmt::print(out, "{}\n", sim::EventLine(event, reader->names()));
  }
  fmt::print(out, "hash {:016x}\n", reader->hash());
  return env::Status();
}

}  // namespace

ExitCode RunTrace(const Recipe& recipe, const std::string& trace_path,
                  std::FILE* out, const Runner& runner) {
  // An empty file first: makes the directories, and says early if it cannot.
  std::string path = UserPath(trace_path);
  env::Status status = WriteFile(path, "");
  if (!status.ok()) return Unreadable(status);
  properties::RunOptions options;
  options.trace_path = path;
  env::Result<properties::RunOutcome> outcome = runner(recipe.spec, options);
  if (!outcome.ok()) return Unreadable(outcome.status());
  if (out != nullptr) {
    status = PrintEvents(path, out);
    if (!status.ok()) {
      fmt::print(stderr, "musth: {}\n", status.message());
      return kExitHarness;
    }
  }
  fmt::print(stderr, "trace {} with hash {:016x}\n", trace_path, outcome->hash);
  return kExitKept;
}

ExitCode RunTraceDiff(const std::string& left_path,
                      const std::string& right_path, std::FILE* out) {
  env::Result<sim::TraceDiff> diff =
      sim::CompareTraces(UserPath(left_path), UserPath(right_path));
  if (!diff.ok()) return Unreadable(diff.status());
  if (diff->same) {
    fmt::print(out, "equal: {} events\n", diff->index);
    return kExitKept;
  }
  fmt::print(out, "first difference at event {}\n", diff->index);
  for (const std::string& line : diff->before) fmt::print(out, "  {}\n", line);
  fmt::print(out, "< {}\n> {}\n", diff->left, diff->right);
  return kExitHarness;
}

}  // namespace replay
