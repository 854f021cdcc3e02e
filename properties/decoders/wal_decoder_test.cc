#include "properties/decoders/wal_decoder.h"

#include <gtest/gtest.h>

#include <sstream>

#include "properties/decoders/bytes.h"
#include "properties/decoders/checksums.h"
#include "properties/decoders/control_file_decoder.h"
#include "properties/decoders/test_cluster.h"
#include "properties/decoders/testdata.h"

namespace properties {
namespace {

constexpr uint64_t kFirstPage = 0x876000;
constexpr uint64_t kRedo = 0x877F80;
constexpr uint64_t kEnd = 0x884500;  // behind the shutdown checkpoint

struct Golden {
  MemoryCluster files;
  WalLayout layout;
  std::string path;
  std::string& segment() { return files.At(path); }
};

Golden LoadGolden() {
  Golden g;
  env::Result<ControlFile> control =
      DecodeControlFile(ReadTestdata("pg15_control.bin"));
  SIM_CHECK(control.ok());
  g.layout.segment_bytes = control->wal_segment_bytes;
  g.layout.system_identifier = control->system_identifier;
  g.path = "pg_wal/" + WalSegmentName(g.layout, kFirstPage);
  std::string segment(g.layout.segment_bytes, '\0');
  std::string pages = ReadTestdata("pg15_wal_pages.bin");
  segment.replace(kFirstPage % g.layout.segment_bytes, pages.size(), pages);
  g.files.Put(g.path, segment);
  return g;
}

uint64_t WalkToEnd(const Golden& g, uint64_t from, int* count = nullptr) {
  WalDecoder wal(&g.files, g.layout);
  wal.BeginRead(from);
  int n = 0;
  while (wal.Next()) ++n;
  if (count != nullptr) *count = n;
  return wal.end();
}

TEST(WalDecoder, AgreesWithPgWaldumpRecordByRecord) {
  Golden g = LoadGolden();
  EXPECT_EQ(g.path, "pg_wal/000000010000000000000008");
  WalDecoder wal(&g.files, g.layout);
  wal.BeginRead(kRedo);
  std::istringstream lines(ReadTestdata("pg15_wal_records.txt"));
  uint64_t start;
  uint64_t prev;
  uint32_t total;
  int rmid;
  uint32_t xid;
  std::string operation;
  int commits = 0;
  int aborts = 0;
  while (lines >> start >> prev >> total >> rmid >> xid >> operation) {
    ASSERT_TRUE(wal.Next()) << operation << ": " << wal.reason();
    const WalRecord& r = wal.record();
    EXPECT_EQ(r.start, start);
    EXPECT_EQ(r.prev, prev);
    EXPECT_EQ(r.total_length, total);
    EXPECT_EQ(r.rmid, rmid);
    EXPECT_EQ(r.xid, xid);
    std::optional<WalXactEnd> xact = DecodeXactEnd(r);
    EXPECT_EQ(xact.has_value(), rmid == kRmXact) << operation;
    if (xact.has_value()) {
      EXPECT_EQ(xact->commit, operation == "COMMIT");
      ++(xact->commit ? commits : aborts);
    }
    if (operation == "FPI_FOR_HINT") {
      ASSERT_EQ(r.blocks.size(), 1u);
      EXPECT_EQ(r.blocks[0].image.size() + r.blocks[0].hole_length, kPageBytes);
    }
  }
  EXPECT_EQ(commits, 2);
  EXPECT_EQ(aborts, 1);
  EXPECT_FALSE(wal.Next());
  EXPECT_EQ(wal.end(), kEnd);
  EXPECT_EQ(wal.missing_continuation(), 0u);
}

TEST(WalDecoder, EveryByteOfTheLastRecordsGuardsTheEnd) {
  Golden g = LoadGolden();
  int all = 0;
  ASSERT_EQ(WalkToEnd(g, kRedo, &all), kEnd);
  // A record that spans pages: whatever byte of it changes, the log ends in
  // front of it; page headers are part of the way.
  WalDecoder wal(&g.files, g.layout);
  wal.BeginRead(kRedo);
  uint64_t start = 0;
  uint64_t end = 0;
  while (wal.Next()) {
    if (wal.record().start / kPageBytes != wal.record().end / kPageBytes) {
      start = wal.record().start;
      end = wal.record().start + 24;
      break;
    }
  }
  ASSERT_NE(start, 0u);
  size_t base = g.layout.segment_bytes;
  for (uint64_t at = start; at < end; ++at) {
    char saved = g.segment()[at % base];
    g.segment()[at % base] = static_cast<char>(saved ^ 0x40);
    EXPECT_EQ(WalkToEnd(g, kRedo), start) << at - start;
    g.segment()[at % base] = saved;
  }
  uint64_t next_page = (start / kPageBytes + 1) * kPageBytes;
  for (uint64_t at : {next_page, next_page + 2, next_page + 4, next_page + 8,
                      next_page + 16, next_page + 24}) {
    char saved = g.segment()[at % base];
    g.segment()[at % base] = static_cast<char>(saved ^ 1);
    EXPECT_EQ(WalkToEnd(g, kRedo), start) << at - next_page;
    g.segment()[at % base] = saved;
  }
}

TEST(WalDecoder, MissingContinuationIsReportedAndSkippedOnceOverwritten) {
  Golden g = LoadGolden();
  WalDecoder wal(&g.files, g.layout);
  wal.BeginRead(kRedo);
  uint64_t start = 0;
  uint64_t before = kRedo;
  while (wal.Next()) {
    if (wal.record().start / kPageBytes != wal.record().end / kPageBytes) {
      start = wal.record().start;
      before = wal.record().prev;
      break;
    }
  }
  uint64_t page = (start / kPageBytes + 1) * kPageBytes;
  std::string& segment = g.segment();
  size_t at = page % g.layout.segment_bytes;
  segment.replace(at, segment.size() - at, segment.size() - at, '\0');
  wal.BeginRead(kRedo);
  while (wal.Next()) {
  }
  EXPECT_EQ(wal.end(), start);
  EXPECT_EQ(wal.missing_continuation(), page);

  // A later start: the page says that it overwrites, a record follows whose
  // xl_prev is the last complete record.
  std::string header(24, '\0');
  header[0] = 0x10;
  header[1] = static_cast<char>(0xD1);
  header[2] = 8;
  header[4] = 1;
  std::memcpy(header.data() + 8, &page, 8);
  std::string record(26 + 16, '\0');
  record[0] = 42;
  std::memcpy(record.data() + 8, &before, 8);
  record[16] = static_cast<char>(0xD0);
  record[24] = static_cast<char>(255);
  record[25] = 16;
  uint32_t crc = CrcAppend(kCrcStart, std::string_view(record).substr(24));
  crc = ~CrcAppend(crc, std::string_view(record).substr(0, 20));
  std::memcpy(record.data() + 20, &crc, 4);
  g.segment().replace(at, 24, header);
  g.segment().replace(at + 24, record.size(), record);
  WalDecoder again(&g.files, g.layout);
  again.BeginRead(kRedo);
  uint64_t last = 0;
  while (again.Next()) last = again.record().start;
  EXPECT_EQ(last, page + 24);
  EXPECT_EQ(again.end(), page + 24 + 48);
}

TEST(WalDecoder, FindsTheFirstRecordOfASegment) {
  MemoryCluster files;
  WalLayout layout;
  layout.segment_bytes = 2 * kPageBytes;
  layout.system_identifier = 7;
  TestWal log(&files, layout, 4 * layout.segment_bytes);
  // The first record reaches over all of the next segment into a third.
  log.Append(kRmHeap, 0, 5, std::string(5 * kPageBytes, 'x'));
  uint64_t second = log.AppendXactEnd(5, true);
  WalDecoder wal(&files, layout);
  for (uint64_t segment : {5, 6}) {
    ASSERT_TRUE(wal.BeginAtSegment(segment * layout.segment_bytes));
    ASSERT_TRUE(wal.Next()) << wal.reason();
    EXPECT_EQ(wal.record().start, second);
  }
  ASSERT_TRUE(wal.BeginAtSegment(4 * layout.segment_bytes));
  ASSERT_TRUE(wal.Next()) << wal.reason();
  EXPECT_EQ(wal.record().main_data.size(), 5 * kPageBytes);
  files.Remove("pg_wal/" + WalSegmentName(layout, 6 * layout.segment_bytes));
  EXPECT_FALSE(wal.BeginAtSegment(6 * layout.segment_bytes));
}

TEST(ControlFileDecoder, ReadsARealServersFile) {
  std::string file = ReadTestdata("pg15_control.bin");
  env::Result<ControlFile> control = DecodeControlFile(file);
  ASSERT_TRUE(control.ok()) << control.status().ToString();
  EXPECT_EQ(control->state, ClusterState::kShutDown);
  EXPECT_EQ(control->checkpoint, 0x884488u);
  EXPECT_EQ(control->checkpoint_copy.redo, 0x884488u);
  EXPECT_EQ(control->checkpoint_copy.next_xid, 733u);
  EXPECT_EQ(control->checkpoint_copy.next_oid, 16389u);
  EXPECT_EQ(control->wal_segment_bytes, 1u << 20);
  EXPECT_EQ(control->data_checksum_version, 1u);
  for (size_t at = 0; at < 8192; at += at < 300 ? 1 : 97) {
    std::string flipped = file;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    EXPECT_FALSE(DecodeControlFile(flipped).ok()) << at;
  }
}

}  // namespace
}  // namespace properties
