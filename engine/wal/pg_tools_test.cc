// PostgreSQL's own programs read what the log writes.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "engine/wal/control_file.h"
#include "engine/wal/wal_test_node.h"
#include "engine/wal/xlog.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xlog_redo.h"
#include "engine/wal/xloginsert.h"

namespace engine {
namespace {

constexpr char kBin[] = "/usr/lib/postgresql/15/bin/";
constexpr uint32_t kSegment = 1 << 20;

std::string RunCommand(const std::string& command) {
  std::string output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 4096> buffer;
  size_t n;
  while ((n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0) {
    output.append(buffer.data(), n);
  }
  pclose(pipe);
  return output;
}

bool HaveTool(const std::string& name) {
  return access((kBin + name).c_str(), X_OK) == 0;
}

// A directory with the node's pg_wal and pg_control.
class DataDirectory {
 public:
  explicit DataDirectory(WalTestNode& node) {
    path_ = ::testing::TempDir() + "musth_pg_tools_" + std::to_string(getpid());
    node.disk().Freeze();
    for (const char* dir : {"", "/global", "/pg_wal"}) {
      mkdir((path_ + dir).c_str(), 0700);
    }
    Write(node, kControlFilePath);
    for (const std::string& name : node.disk().PeekList(kXLogDir)) {
      Write(node, std::string(kXLogDir) + "/" + name);
    }
  }
  ~DataDirectory() { RunCommand("rm -rf '" + path_ + "'"); }
  const std::string& path() const { return path_; }

 private:
  void Write(WalTestNode& node, const std::string& file) {
    std::string bytes;
    ASSERT_TRUE(node.disk().PeekFile(file, &bytes)) << file;
    std::ofstream(path_ + "/" + file, std::ios::binary) << bytes;
  }
  std::string path_;
};

// Records of every shape: images with and without hole, several blocks of one
// and of two relations, long main data, over pages and segments.
void WriteRecords(Backend& be) {
  ToyExtend(be, 3);
  SetXLogXid(be, 742);
  for (int i = 0; i < 60; ++i) {
    ToySet(be, static_cast<BlockNumber>(i % 3), i, 7, i % 4 == 0 ? 50000 : 9);
  }
  std::string page(BLCKSZ, 'p');
  PageInit(page.data(), 16);
  for (int i = 0; i < 20; ++i) {
    XLogInsertion record(be);
    BufferTag tag{kToyRel, kMainFork, 1};
    record.RegisterBlock(0, tag, page.data(),
                         REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
    tag.blockNum = 2;
    record.RegisterBlock(1, tag, page.data(), REGBUF_FORCE_IMAGE);
    tag.rnode.relNode = 17000;
    tag.forkNum = kVisibilityMapFork;
    record.RegisterBlock(2, tag, page.data(), REGBUF_NO_IMAGE);
    record.RegisterBufData(2, "data", 4);
    record.Insert(RM_XLOG_ID, XLOG_NOOP);
  }
  XLogPutNextOid(be, 24576);
  XLogFlush(be, GetXLogInsertRecPtr(be));
}

// The line that pg_waldump prints for the reader's record, up to its
// description.
std::string ExpectedStart(const XLogReaderState& r) {
  uint32_t images = 0;
  for (int i = 0; i <= r.max_block_id(); ++i) {
    auto id = static_cast<uint8_t>(i);
    if (r.HasBlock(id))
      images += static_cast<uint32_t>(r.block(id).image.size());
  }
  return fmt::format(
      "rmgr: {:<11} len (rec/tot): {:6}/{:6}, tx: {:10}, lsn: {:X}/{:08X}, "
      "prev {:X}/{:08X}, ",
      r.rmid() == RM_XLOG_ID ? "XLOG" : "custom128", r.total_length() - images,
      r.total_length(), r.xid(), r.ReadRecPtr() >> 32,
      r.ReadRecPtr() & 0xFFFFFFFF, r.prev() >> 32, r.prev() & 0xFFFFFFFF);
}

class PgWaldump : public ::testing::TestWithParam<WalCompression> {};

INSTANTIATE_TEST_SUITE_P(WalCompression, PgWaldump,
                         ::testing::Values(WalCompression::kOff,
                                           WalCompression::kPglz,
                                           WalCompression::kLz4));

TEST_P(PgWaldump, ReadsTheSameRecords) {
  ASSERT_TRUE(HaveTool("pg_waldump")) << "postgresql-15 is not installed";
  WalTestOptions options;
  options.config.wal_compression = GetParam();
  options.config.wal_segment_size = kSegment;
  WalTestNode node(options);
  node.RunToEnd({WriteRecords});
  node.ProcessCrash();
  node.RunToEnd({WriteRecords});
  DataDirectory directory(node);

  XLogReaderState reader(
      kSegment, options.config.system_identifier,
      PagesOf([&](XLogSegNo n) { return node.SegmentBytes(n); }, kSegment));
  XLogRecPtr first = kSegment + kSizeOfXLogLongPHD;
  std::string dump =
      RunCommand(fmt::format("{}pg_waldump -p '{}' -s {}", kBin,
                             directory.path() + "/pg_wal", LsnToString(first)));
  std::vector<std::string> lines;
  for (size_t at = 0, nl; (nl = dump.find('\n', at)) != std::string::npos;
       at = nl + 1) {
    lines.push_back(dump.substr(at, nl - at));
  }
  reader.BeginRead(first);
  size_t records = 0;
  while (reader.ReadRecord()) {
    ASSERT_LT(records, lines.size()) << dump;
    EXPECT_EQ(lines[records].rfind(ExpectedStart(reader), 0), 0u)
        << lines[records] << "\n"
        << ExpectedStart(reader);
    ++records;
  }
  EXPECT_GT(records, 100u);
  EXPECT_GT(reader.EndRecPtr(), 2 * kSegment);
  ASSERT_EQ(lines.size(), records + 1) << dump;
  // Both find the same end, for the same reason.
  EXPECT_EQ(
      lines.back(),
      fmt::format("pg_waldump: error: error in WAL record at {}: {}",
                  LsnToString(reader.ReadRecPtr()), reader.error_message()));
  EXPECT_NE(dump.find("CHECKPOINT_SHUTDOWN redo 0/100028; tli 1; prev tli 1; "
                      "fpw true; xid 0:3; oid 16384;"),
            std::string::npos);
  EXPECT_NE(dump.find("blkref #0: rel 1663/5/16384 blk 1 FPW, blkref #1: rel "
                      "1663/5/16384 blk 2 FPW, blkref #2: rel 1663/5/17000 "
                      "fork vm blk 2"),
            std::string::npos);
  EXPECT_NE(dump.find("NEXTOID 24576"), std::string::npos);
  if (GetParam() == WalCompression::kOff) return;
  std::string blocks =
      RunCommand(fmt::format("{}pg_waldump -b -p '{}' -s {}", kBin,
                             directory.path() + "/pg_wal", LsnToString(first)));
  EXPECT_NE(blocks.find(GetParam() == WalCompression::kPglz ? "method: pglz"
                                                            : "method: lz4"),
            std::string::npos)
      << blocks;
}

TEST(PgTools, PgControldataReadsTheControlFile) {
  ASSERT_TRUE(HaveTool("pg_controldata")) << "postgresql-15 is not installed";
  WalTestOptions options;
  options.config.wal_segment_size = kSegment;
  WalTestNode node(options);
  node.RunToEnd({WriteRecords}, /*checkpointer=*/true);
  DataDirectory directory(node);
  std::string text = RunCommand(std::string(kBin) + "pg_controldata -D '" +
                                directory.path() + "'");
  // No complaint about CRC, version or sizes.
  EXPECT_EQ(text.find("WARNING"), std::string::npos) << text;
  for (const char* line : {
           "pg_control version number:            1300\n",
           "Catalog version number:               202209061\n",
           "Database cluster state:               shut down\n",
           "Latest checkpoint's TimeLineID:       1\n",
           "Latest checkpoint's full_page_writes: on\n",
           "Latest checkpoint's NextOID:          16384\n",
           "Database block size:                  8192\n",
           "Bytes per WAL segment:                1048576\n",
           "Maximum size of a TOAST chunk:        1996\n",
           "Float8 argument passing:              by value\n",
           "Data page checksum version:           1\n",
       }) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

}  // namespace
}  // namespace engine
