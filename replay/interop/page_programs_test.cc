// pg_filedump and pg_checksums read data directories after a clean shutdown.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "properties/cluster_image.h"
#include "properties/decoders/page_decoder.h"
#include "properties/directory_view.h"
#include "replay/interop/for_each_export.h"
#include "replay/interop/outside_program.h"

namespace replay {
namespace {

using properties::DecodedPage;
using properties::DirectoryView;
using properties::kPageBytes;

// Relation files (any fork) below base/5, by name.
std::vector<std::string> RelationFiles(const DirectoryView& files) {
  std::vector<std::string> names;
  for (const std::string& name : files.List("base/5")) {
    if (name.find_first_not_of("0123456789") == std::string::npos) {
      names.push_back(name);
    }
  }
  return names;
}

size_t CountOf(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) {
    ++count;
  }
  return count;
}

struct Totals {
  uint64_t pages = 0;
  uint64_t items = 0;
};

// One page as pg_filedump shows it: no error, and the line pointers and the
// space that Musth's own decoder sees.
void CompareBlock(const std::string& path, std::string_view page,
                  uint32_t block, bool checksums, Totals* totals) {
  env::Result<DecodedPage> decoded = properties::DecodePage(page);
  ASSERT_TRUE(decoded.ok()) << path << ": " << decoded.status().message();
  if (decoded->is_new) return;  // pg_filedump takes zeros for damage
  std::string number = fmt::format("{}", block);
  std::vector<std::string> argv = {kPgFiledump, "-i", "-R", number, number};
  if (checksums) argv.insert(argv.begin() + 1, "-k");
  argv.push_back(path);
  std::string text = RunProgram(argv).output;
  ASSERT_EQ(text.find("Error:"), std::string::npos) << path << "\n" << text;
  EXPECT_NE(text.find(fmt::format("Lower {:7} (0x{:04x})", decoded->lower,
                                  decoded->lower)),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(fmt::format(" Items: {:4} ", decoded->items.size())),
            std::string::npos)
      << text;
  EXPECT_EQ(CountOf(text, "\n Item "), decoded->items.size()) << text;
  ++totals->pages;
  totals->items += decoded->items.size();
}

TEST(PgFiledump, DecodesEveryHeapPageWithoutError) {
  Totals totals;
  uint64_t count = SeedCount();
  ForEachExport(ExportMoment::kShutDown, count, [&](const ExportedSeed& seed) {
    DirectoryView files(seed.directory);
    properties::ClusterImage image(&files, false);
    ASSERT_TRUE(image.control().ok());
    bool checksums = image.control()->data_checksum_version != 0;
    for (const std::string& name : RelationFiles(files)) {
      std::string path = "base/5/" + name;
      std::string_view bytes = *files.Read(path);
      for (uint32_t block = 0; block < bytes.size() / kPageBytes; ++block) {
        CompareBlock(seed.directory + "/" + path,
                     bytes.substr(block * kPageBytes, kPageBytes), block,
                     checksums, &totals);
      }
    }
  });
  EXPECT_GE(totals.pages, 4 * count);
  EXPECT_GE(totals.items, 100 * count);
}

// A file that ends within a page: the disk was full when it was extended, and
// PostgreSQL leaves the piece where it is for the next extension. Empty: none.
std::string FileWithAPiece(const DirectoryView& files) {
  for (const std::string& name : RelationFiles(files)) {
    if (files.Read("base/5/" + name)->size() % kPageBytes != 0) return name;
  }
  return "";
}

TEST(PgChecksums, PassesAfterEveryCleanShutdown) {
  uint64_t with_checksums = 0;
  uint64_t with_pieces = 0;
  uint64_t count = SeedCount();
  ForEachExport(ExportMoment::kShutDown, count, [&](const ExportedSeed& seed) {
    DirectoryView files(seed.directory);
    properties::ClusterImage image(&files, false);
    ASSERT_TRUE(image.control().ok());
    ProgramResult result = RunProgram(
        {PostgresProgram("pg_checksums"), "-c", "-D", seed.directory});
    if (image.control()->data_checksum_version == 0) {
      EXPECT_NE(result.output.find("checksums are not enabled"),
                std::string::npos)
          << result.output;
      return;
    }
    ++with_checksums;
    if (std::string name = FileWithAPiece(files); !name.empty()) {
      // The program ends at the first one.
      ++with_pieces;
      EXPECT_EQ(result.exit_code, 1) << result.output;
      EXPECT_NE(result.output.find(" of 8192"), std::string::npos)
          << name << "\n"
          << result.output;
      return;
    }
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_NE(result.output.find("Bad checksums:  0\n"), std::string::npos)
        << result.output;
    uint64_t blocks = 0;
    for (const std::string& name : RelationFiles(files)) {
      blocks += files.Read("base/5/" + name)->size() / kPageBytes;
    }
    EXPECT_NE(result.output.find(fmt::format("Blocks scanned:  {}\n", blocks)),
              std::string::npos)
        << blocks << "\n"
        << result.output;
  });
  EXPECT_GT(with_checksums, count / 2);
  EXPECT_LT(with_pieces, with_checksums / 4);
}

// The programs see what is wrong, so that their silence means something.
TEST(PgChecksums, OneFlippedBitIsReported) {
  ForEachExport(ExportMoment::kShutDown, 1, [&](const ExportedSeed& seed) {
    DirectoryView files(seed.directory);
    std::string path = seed.directory + "/base/5/1259";
    std::string bytes = *files.Read("base/5/1259");
    bytes[8000] = static_cast<char>(bytes[8000] ^ 1);
    std::FILE* file = std::fopen(path.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fclose(file);
    ProgramResult sums = RunProgram(
        {PostgresProgram("pg_checksums"), "-c", "-D", seed.directory});
    EXPECT_EQ(sums.exit_code, 1);
    EXPECT_NE(sums.output.find("Bad checksums:  1\n"), std::string::npos)
        << sums.output;
    std::string dump = RunProgram({kPgFiledump, "-i", "-k", path}).output;
    EXPECT_NE(dump.find("Error: checksum failure"), std::string::npos) << dump;
  });
}

}  // namespace
}  // namespace replay
