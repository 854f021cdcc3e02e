// Planted corruptions are reported, and no bytes make the verifiers stumble.
#include "properties/structure_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "properties/decoders/bytes.h"
#include "properties/decoders/checksums.h"
#include "properties/decoders/page_decoder.h"
#include "properties/decoders/test_cluster.h"
#include "properties/directory_view.h"
#include "properties/run.h"
#include "sim/choices.h"

namespace properties {
namespace {

constexpr char kTable[] = "base/5/16384";
constexpr size_t kCheckpointCopy = 40;  // in pg_control

// The directory of a seed, in memory.
MemoryCluster Export(uint64_t seed, bool crashed) {
  std::string directory =
      testing::TempDir() + fmt::format("structure_check_{}", seed);
  std::filesystem::remove_all(directory);
  RunContext context;
  RunSpec spec;
  spec.seed = seed;
  spec.knobs = {
      {"wal_segment_size", "64K"}, {"data_checksums", "on"}, {"fill", "zero"}};
  RunOptions options;
  options.export_dir = directory;
  options.export_crashed = crashed;
  env::Result<RunOutcome> outcome = Run(context, spec, options);
  EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
  MemoryCluster files;
  DirectoryView view(directory);
  for (const char* dir : {"base/5", "global", "pg_wal", "pg_xact"}) {
    for (const std::string& name : view.List(dir)) {
      std::string path = std::string(dir) + "/" + name;
      if (view.Read(path) != nullptr) files.Put(path, *view.Read(path));
    }
  }
  files.Put("PG_VERSION", *view.Read("PG_VERSION"));
  std::filesystem::remove_all(directory);
  return files;
}

std::string TextOf(const StructureReport& report) {
  std::string text;
  for (const Problem& p : report.problems.list()) {
    text += fmt::format("{}: {}\n", p.subject, p.message);
  }
  return text;
}

void FixPage(std::string* file, uint32_t block) {
  std::string_view page =
      std::string_view(*file).substr(block * kPageBytes, kPageBytes);
  uint16_t checksum = ComputePageChecksum(page, block);
  std::memcpy(&(*file)[block * kPageBytes + 8], &checksum, sizeof checksum);
}

void FixControl(std::string* file) {
  uint32_t crc = CrcOf(std::string_view(*file).substr(0, 288));
  std::memcpy(&(*file)[288], &crc, sizeof crc);
}

class StructureCheck : public testing::Test {
 protected:
  // Breaks a copy of a sound directory and expects `said` in what is reported.
  void Plant(const std::string& said,
             const std::function<void(MemoryCluster*)>& corrupt) {
    MemoryCluster files = sound_;
    corrupt(&files);
    std::string text = TextOf(CheckCluster(files));
    EXPECT_NE(text.find(said), std::string::npos)
        << "expected " << said << ", reported:\n"
        << text;
  }
  // The same for the table's first page, whose checksum is made right again.
  void PlantInPage(const std::string& said,
                   const std::function<void(std::string*)>& corrupt) {
    Plant(said, [&](MemoryCluster* files) {
      std::string& file = files->At(kTable);
      corrupt(&file);
      FixPage(&file, 0);
    });
  }
  // Offset in the page of the n-th tuple with these bits in t_infomask2.
  size_t TupleWith(uint16_t bits) const {
    const std::string& file = *sound_.Read(kTable);
    std::string_view page = std::string_view(file).substr(0, kPageBytes);
    env::Result<DecodedPage> decoded = DecodePage(page);
    for (const LinePointer& lp : decoded->items) {
      if (lp.kind != LinePointerKind::kNormal) continue;
      if ((LoadField<uint16_t>(page, lp.offset + 18) & bits) == bits) {
        return lp.offset;
      }
    }
    ADD_FAILURE() << "the page has no such tuple";
    return 100;
  }

  const MemoryCluster sound_ = Export(3, /*crashed=*/false);
};

TEST_F(StructureCheck, SoundDirectoriesAreClean) {
  StructureReport report = CheckCluster(sound_);
  EXPECT_EQ(TextOf(report), "");
  EXPECT_TRUE(report.orphans.empty());
  EXPECT_GT(report.tuples, 30u);
  for (uint64_t seed : {3, 4, 5, 6, 7, 8}) {
    EXPECT_EQ(TextOf(CheckCluster(Export(seed, true))), "") << seed;
  }
}

TEST_F(StructureCheck, ControlFileAndLogMustAgree) {
  Plant("pg_control's CRC",
        [](MemoryCluster* f) { f->At(kControlFilePath)[100] ^= 1; });
  Plant("invalid primary checkpoint record", [](MemoryCluster* f) {
    std::string& file = f->At(kControlFilePath);
    PokeField(&file, 32, LoadField<uint64_t>(file, 32) + 8);
    FixControl(&file);
  });
  Plant("invalid primary checkpoint record", [](MemoryCluster* f) {
    std::string& file = f->At(kControlFilePath);
    PokeField(&file, kCheckpointCopy + 24, uint64_t{4});  // next xid
    FixControl(&file);
  });
  Plant("equals or exceeds next valid transaction ID 4", [](MemoryCluster* f) {
    std::string& file = f->At(kControlFilePath);
    PokeField(&file, kCheckpointCopy + 24, uint64_t{4});
    FixControl(&file);
  });
  Plant("not PostgreSQL version 15",
        [](MemoryCluster* f) { f->At("PG_VERSION") = "14\n"; });
}

TEST_F(StructureCheck, TheLogMustHoldItsCheckpoint) {
  env::Result<ControlFile> control =
      DecodeControlFile(*sound_.Read(kControlFilePath));
  ASSERT_TRUE(control.ok());
  WalLayout layout;
  layout.segment_bytes = control->wal_segment_bytes;
  const uint64_t lsn = control->checkpoint;
  const std::string path = "pg_wal/" + WalSegmentName(layout, lsn);
  const size_t at = lsn % layout.segment_bytes;
  Plant(
      "incorrect resource manager data checksum in record at " + LsnToText(lsn),
      [&](MemoryCluster* f) { f->At(path)[at + 40] ^= 4; });
  Plant("record with incorrect prev-link",
        [&](MemoryCluster* f) { PokeField(&f->At(path), at + 8, lsn + 64); });
  Plant("invalid magic number", [&](MemoryCluster* f) {
    f->At(path)[at / kPageBytes * kPageBytes] ^= 1;
  });
  Plant("unexpected pageaddr", [&](MemoryCluster* f) {
    f->At(path)[at / kPageBytes * kPageBytes + 9] ^= 1;
  });
  Plant("has 60000 bytes, a segment has 65536",
        [&](MemoryCluster* f) { f->At(path).resize(60000); });
  Plant("could not open file \"" + path + "\"",
        [&](MemoryCluster* f) { f->Remove(path); });
}

TEST_F(StructureCheck, PagesAndLinePointers) {
  Plant(
      "page base/5/16384:0: invalid page in block 0 of relation base/5/16384: "
      "page verification failed, calculated checksum ",
      [](MemoryCluster* f) { f->At(kTable)[8000] ^= 1; });
  PlantInPage("out of order",
              [](std::string* page) { PokeField(page, 12, uint16_t{8190}); });
  PlantInPage("page size and version",
              [](std::string* page) { (*page)[18] ^= 1; });
  PlantInPage("line pointer 1 covers", [](std::string* page) {
    PokeField(page, 24, LoadField<uint32_t>(*page, 24) ^ 1);
  });
  Plant("are not a whole number of pages",
        [](MemoryCluster* f) { f->At(kTable) += std::string(100, 'x'); });
}

TEST_F(StructureCheck, TupleHeaders) {
  const size_t tuple = TupleWith(0);
  PlantInPage("t_hoff", [&](std::string* page) { (*page)[tuple + 22] += 8; });
  PlantInPage("columns stored", [&](std::string* page) {
    PokeField(page, tuple + 18, uint16_t{7});
  });
  PlantInPage("both committed and invalid", [&](std::string* page) {
    PokeField(page, tuple + 20,
              static_cast<uint16_t>(LoadField<uint16_t>(*page, tuple + 20) |
                                    kHeapXmaxCommitted | kHeapXmaxInvalid));
  });
  PlantInPage("multixact should not be marked committed",
              [&](std::string* page) {
                PokeField(page, tuple + 20,
                          uint16_t{kHeapXmaxCommitted | kHeapXmaxIsMulti});
              });
  PlantInPage("outside the relation", [&](std::string* page) {
    PokeField(page, tuple + 14, uint16_t{999});
  });
  PlantInPage("xmin 5000 equals or exceeds", [&](std::string* page) {
    PokeField(page, tuple, uint32_t{5000});
  });
  PlantInPage("xmin is not valid",
              [&](std::string* page) { PokeField(page, tuple, uint32_t{0}); });
}

TEST_F(StructureCheck, UpdateChains) {
  const size_t heap_only = TupleWith(0x8000);
  const size_t updated = TupleWith(0x4000);
  PlantInPage("heap-only update produced a non-heap-only tuple",
              [&](std::string* page) { (*page)[heap_only + 19] ^= '\x80'; });
  PlantInPage("non-heap-only update produced a heap-only tuple",
              [&](std::string* page) { (*page)[updated + 19] ^= '\x40'; });
  PlantInPage("is root of chain but is marked as heap-only",
              [&](std::string* page) {
                const size_t root = TupleWith(0);
                (*page)[root + 19] |= '\x80';
              });
}

TEST_F(StructureCheck, CommitLog) {
  Plant("a hint says that xmin", [](MemoryCluster* f) {
    std::string& clog = f->At("pg_xact/0000");
    clog.replace(0, 64, 64, '\0');
  });
  Plant("pg_xact/0000: has no page for transactions 0 to 32767",
        [](MemoryCluster* f) { f->At("pg_xact/0000").clear(); });
  Plant("could not access status of transaction",
        [](MemoryCluster* f) { f->Remove("pg_xact/0000"); });
  Plant("behind the next xid",
        [](MemoryCluster* f) { f->At("pg_xact/0000")[4000] = 1; });
  Plant("are not 1 to 32 whole pages",
        [](MemoryCluster* f) { f->At("pg_xact/0000").resize(9000); });
}

TEST_F(StructureCheck, FilesAndRelations) {
  Plant("could not open file \"base/5/16384\"",
        [](MemoryCluster* f) { f->Remove(kTable); });
  Plant("follows \"base/5/16384\", which is not full",
        [](MemoryCluster* f) { f->Put("base/5/16384.1", ""); });
  MemoryCluster files = sound_;
  files.Put("base/5/99999", std::string(kPageBytes, '\0'));
  files.Put("base/5/99999_vm", "");
  files.Put("base/5/pg_internal.init", "x");
  EXPECT_EQ(CheckCluster(files).orphans,
            (std::vector<std::string>{"base/5/99999", "base/5/99999_vm"}));
}

// Changes one file as a draw says. Returns the path.
std::string Garble(sim::Drawer& draw, MemoryCluster* files,
                   const std::vector<std::string>& paths) {
  const std::string path = paths[draw.Below("file", paths.size())];
  std::string& bytes = files->At(path);
  uint64_t at = draw.Below("at", bytes.size() + 1);
  uint64_t length = draw.Below("length", 64) + 1;
  switch (draw.Below("operation", 6)) {
    case 0:
      bytes.resize(at);
      break;
    case 1:
      bytes.insert(at, length, static_cast<char>(draw.Below("byte", 256)));
      break;
    case 2:
      bytes.append(kPageBytes, static_cast<char>(draw.Below("byte", 256)));
      break;
    case 3:  // another place of the same file
      bytes.replace(
          at, length * 100,
          bytes.substr(draw.Below("from", bytes.size() + 1), length * 100));
      break;
    default:
      for (uint64_t i = at; i < at + length && i < bytes.size(); ++i) {
        bytes[i] = static_cast<char>(draw.Below("byte", 256));
      }
  }
  // Half of the time checksums are right, so that what they guard is reached.
  if (draw.Below("fix", 2) == 0) return path;
  if (path == kControlFilePath && bytes.size() > 292) FixControl(&bytes);
  if (path.rfind("base/5/", 0) == 0) {
    for (uint32_t b = 0; b < bytes.size() / kPageBytes; ++b) FixPage(&bytes, b);
  }
  return path;
}

TEST_F(StructureCheck, NoBytesMakeItStumble) {
  constexpr int kRounds = 4000;
  const MemoryCluster crashed = Export(4, /*crashed=*/true);
  sim::Choices choices(1996);
  int reported = 0;
  for (int round = 0; round < kRounds; ++round) {
    sim::Drawer draw(&choices, sim::Stream::kWorkload,
                     sim::Scope().Child("garble", round));
    MemoryCluster files = round % 2 == 0 ? sound_ : crashed;
    std::vector<std::string> paths;
    for (const char* dir : {"base/5", "global", "pg_wal", "pg_xact"}) {
      for (const std::string& name : files.List(dir)) {
        paths.push_back(std::string(dir) + "/" + name);
      }
    }
    uint64_t changes = draw.Below("changes", 4) + 1;
    for (uint64_t i = 0; i < changes; ++i) Garble(draw, &files, paths);
    StructureReport report = CheckCluster(files);
    if (!report.problems.empty()) ++reported;
  }
  // Much of the log is not looked at: it is behind its end.
  EXPECT_GT(reported, kRounds / 2);
}

}  // namespace
}  // namespace properties
