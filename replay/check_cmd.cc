#include "replay/check_cmd.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "properties/decoders/wal_decoder.h"
#include "properties/directory_view.h"
#include "properties/structure_check.h"
#include "replay/user_files.h"

namespace replay {
namespace {

ExitCode Unusable(const std::string& directory, const std::string& why) {
  fmt::print(stderr, "musth: \"{}\": {}, expected a data directory\n",
             directory, why);
  return kExitUsage;
}

}  // namespace

ExitCode RunCheck(const std::string& directory, std::FILE* out) {
  std::string path = UserPath(directory);
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    return Unusable(directory, error ? error.message() : "not a directory");
  }
  properties::DirectoryView files(path);
  if (files.Read("global/pg_control") == nullptr) {
    return Unusable(directory, "there is no readable file global/pg_control");
  }
  properties::StructureReport report = properties::CheckCluster(files);
  for (const auto& [file, why] : files.unreadable()) {
    report.problems.Add("REC", file, "could not read file: " + why);
  }
  for (const properties::Problem& problem : report.problems.list()) {
    fmt::print(out, "{}: {}\n", problem.subject, problem.message);
  }
  for (const std::string& orphan : report.orphans) {
    fmt::print(out,
               "note: {}: no pg_class row names this file (a crash before its "
               "transaction ended leaves such files)\n",
               orphan);
  }
  size_t count = report.problems.list().size();
  fmt::print(out,
             "{}: {} problem{}; {} heap pages, {} tuples, {} log records up to "
             "{}\n",
             directory, count, count == 1 ? "" : "s", report.pages,
             report.tuples, report.log.records,
             properties::LsnToText(report.log.end));
  if (report.rest == properties::Rest::kCrashed) {
    fmt::print(out,
               "the cluster was not shut down: the {} pages that recovery "
               "rewrites were left out\n",
               report.log.blocks.size());
  }
  return count == 0 ? kExitKept : kExitBroken;
}

}  // namespace replay
