// pg_waldump and pg_controldata read crashed data directories.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "properties/cluster_image.h"
#include "properties/directory_view.h"
#include "replay/interop/for_each_export.h"
#include "replay/interop/outside_program.h"

namespace replay {
namespace {

using properties::ClusterImage;
using properties::ControlFile;
using properties::DirectoryView;
using properties::WalBlockRef;
using properties::WalDecoder;
using properties::WalRecord;

std::string ResourceManager(uint8_t id) {
  constexpr std::array<const char*, 22> kNames = {
      "XLOG",       "Transaction",   "Storage", "CLOG",     "Database",
      "Tablespace", "MultiXact",     "RelMap",  "Standby",  "Heap2",
      "Heap",       "Btree",         "Hash",    "Gin",      "Gist",
      "Sequence",   "SPGist",        "BRIN",    "CommitTs", "ReplicationOrigin",
      "Generic",    "LogicalMessage"};
  return id < kNames.size() ? kNames[id] : fmt::format("custom{:03}", id);
}

std::string WideLsn(uint64_t lsn) {
  return fmt::format("{:X}/{:08X}", lsn >> 32, lsn & 0xFFFFFFFF);
}

// What pg_waldump prints for a record, left and right of its description.
std::string ExpectedHead(const WalRecord& r) {
  size_t images = 0;
  for (const WalBlockRef& block : r.blocks) images += block.image.size();
  return fmt::format(
      "rmgr: {:<11} len (rec/tot): {:6}/{:6}, tx: {:10}, lsn: {}, prev {}, "
      "desc: ",
      ResourceManager(r.rmid), r.total_length - images, r.total_length, r.xid,
      WideLsn(r.start), WideLsn(r.prev));
}

std::string ExpectedTail(const WalRecord& r) {
  constexpr std::array<const char*, 4> kForks = {"", " fork fsm", " fork vm",
                                                 " fork init"};
  std::string tail;
  for (const WalBlockRef& b : r.blocks) {
    tail += fmt::format(", blkref #{}: rel {}/{}/{}{} blk {}", b.id, b.spc_node,
                        b.db_node, b.rel_node, kForks[b.fork & 3], b.block);
    if (b.has_image)
      tail += b.apply_image ? " FPW" : " FPW for WAL verification";
  }
  return tail;
}

void CompareLine(const std::string& line, const WalRecord& record) {
  EXPECT_EQ(line.rfind(ExpectedHead(record), 0), 0u) << line << "\n"
                                                     << ExpectedHead(record);
  size_t at = line.find(", blkref #");
  EXPECT_EQ(at == std::string::npos ? "" : line.substr(at),
            ExpectedTail(record));
}

// Every record from the start of the redo pointer's segment to the end of the
// log, and that end.
uint64_t CompareLog(const ExportedSeed& seed) {
  DirectoryView files(seed.directory);
  ClusterImage image(&files, /*checksums=*/false);
  EXPECT_TRUE(image.control().ok());
  if (!image.control().ok()) return 0;
  WalDecoder wal(&files, image.wal_layout());
  EXPECT_TRUE(wal.BeginAtSegment(image.control()->checkpoint_copy.redo));
  if (!wal.Next()) {
    ADD_FAILURE() << "no record: " << wal.reason();
    return 0;
  }
  ProgramResult dump = RunProgram({PostgresProgram("pg_waldump"), "-p",
                                   seed.directory + "/pg_wal", "-s",
                                   properties::LsnToText(wal.record().start)});
  std::vector<std::string> lines = Lines(dump.output);
  size_t records = 0;
  bool redo_seen = false;
  do {
    if (records >= lines.size()) break;
    CompareLine(lines[records], wal.record());
    redo_seen |= wal.record().start == image.control()->checkpoint;
    ++records;
  } while (!testing::Test::HasFailure() && wal.Next());
  EXPECT_TRUE(redo_seen) << "the log does not hold its checkpoint";
  EXPECT_EQ(lines.size(), records + 1) << "beyond " << wal.reason() << "\n"
                                       << (lines.empty() ? "" : lines.back());
  EXPECT_EQ(dump.exit_code, 1);
  if (lines.empty()) return records;
  // Both stop behind the same record for the same reason; a missing file has a
  // message of pg_waldump's own.
  std::string stop =
      fmt::format("pg_waldump: error: error in WAL record at {}: {}",
                  properties::LsnToText(wal.record().start), wal.reason());
  std::string no_file = "pg_waldump: error: could not find file \"" +
                        WalSegmentName(image.wal_layout(), wal.end());
  EXPECT_TRUE(lines.back() == stop || lines.back().rfind(no_file, 0) == 0)
      << lines.back() << "\n"
      << stop;
  return records;
}

TEST(PgWaldump, DecodesEveryCrashedLogToTheEndThatMusthFinds) {
  uint64_t records = 0;
  uint64_t count = SeedCount();
  ForEachExport(ExportMoment::kCrashed, count,
                [&](const ExportedSeed& seed) { records += CompareLog(seed); });
  EXPECT_GT(records, 20 * count);
}

void ExpectLine(const std::string& text, const char* label,
                const std::string& value) {
  std::string line = fmt::format("{:<38}{}\n", label, value);
  EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

void CompareControl(const ExportedSeed& seed, bool shut_down) {
  DirectoryView files(seed.directory);
  ClusterImage image(&files, /*checksums=*/false);
  ASSERT_TRUE(image.control().ok()) << image.control().status().message();
  const ControlFile& control = *image.control();
  const properties::CheckpointFields& checkpoint = control.checkpoint_copy;
  ProgramResult printed =
      RunProgram({PostgresProgram("pg_controldata"), "-D", seed.directory});
  const std::string& text = printed.output;
  EXPECT_EQ(printed.exit_code, 0);
  EXPECT_EQ(text.find("WARNING"), std::string::npos) << text;
  auto lsn = [](uint64_t at) { return properties::LsnToText(at); };
  auto number = [](uint64_t n) { return fmt::format("{}", n); };
  ExpectLine(text, "pg_control version number:", "1300");
  ExpectLine(text,
             "Database system identifier:", number(control.system_identifier));
  ExpectLine(text, "Database cluster state:",
             properties::ClusterStateName(control.state));
  ExpectLine(text, "Latest checkpoint location:", lsn(control.checkpoint));
  ExpectLine(text, "Latest checkpoint's REDO location:", lsn(checkpoint.redo));
  ExpectLine(text, "Latest checkpoint's REDO WAL file:",
             WalSegmentName(image.wal_layout(), checkpoint.redo));
  ExpectLine(text,
             "Latest checkpoint's TimeLineID:", number(checkpoint.timeline));
  ExpectLine(text, "Latest checkpoint's full_page_writes:",
             checkpoint.full_page_writes ? "on" : "off");
  ExpectLine(text, "Latest checkpoint's NextXID:",
             fmt::format("{}:{}", checkpoint.next_xid >> 32,
                         checkpoint.next_xid & 0xFFFFFFFF));
  ExpectLine(text, "Latest checkpoint's NextOID:", number(checkpoint.next_oid));
  ExpectLine(text,
             "Latest checkpoint's oldestXID:", number(checkpoint.oldest_xid));
  ExpectLine(text, "Latest checkpoint's oldestActiveXID:",
             number(checkpoint.oldest_active_xid));
  ExpectLine(text, "Bytes per WAL segment:", number(control.wal_segment_bytes));
  ExpectLine(text, "Data page checksum version:",
             number(control.data_checksum_version));
  if (shut_down) {
    EXPECT_EQ(control.state, properties::ClusterState::kShutDown);
    // What PostgreSQL writes into shutdown checkpoints.
    EXPECT_EQ(checkpoint.oldest_active_xid, 0u);
    EXPECT_EQ(checkpoint.redo, control.checkpoint);
  }
}

TEST(PgControldata, PrintsTheCheckpointOfACrashedCluster) {
  ForEachExport(ExportMoment::kCrashed, SeedCount(),
                [](const ExportedSeed& seed) { CompareControl(seed, false); });
}

TEST(PgControldata, PrintsTheCheckpointOfACleanShutdown) {
  ForEachExport(ExportMoment::kShutDown, SeedCount(),
                [](const ExportedSeed& seed) { CompareControl(seed, true); });
}

}  // namespace
}  // namespace replay
