#include "properties/export.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>

namespace properties {
namespace {

env::Status Copy(const sim::Disk& disk, const std::string& from,
                 const std::filesystem::path& to) {
  std::error_code error;
  std::filesystem::create_directories(to, error);
  if (error) {
    return env::Status(env::Code::kIo,
                       fmt::format("could not create directory \"{}\": {}",
                                   to.string(), error.message()));
  }
  for (const std::string& name : disk.PeekList(from)) {
    std::string path = from.empty() ? name : from + "/" + name;
    std::string content;
    if (!disk.PeekFile(path, &content)) {
      RETURN_IF_ERROR(Copy(disk, path, to / name));
      continue;
    }
    std::ofstream out(to / name, std::ios::binary);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    if (!out) {
      return env::Status(
          env::Code::kIo,
          fmt::format("could not write file \"{}\"", (to / name).string()));
    }
  }
  return env::Status();
}

}  // namespace

env::Status ExportDisk(const sim::Disk& disk, const std::string& directory) {
  std::error_code error;
  if (std::filesystem::exists(directory, error) &&
      !std::filesystem::is_empty(directory, error)) {
    return env::Status(env::Code::kExists,
                       fmt::format("directory \"{}\" is not empty", directory));
  }
  std::unique_ptr<sim::Disk> frozen = disk.Clone();
  frozen->Freeze();
  return Copy(*frozen, "", directory);
}

}  // namespace properties
