// pg_control and pg_xact: what the engine writes the judges' decoders read, and
// no damaged control file is taken for a whole one.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "engine/heap/test_node.h"
#include "engine/ipc/proc.h"
#include "engine/txn/clog.h"
#include "engine/txn/varsup.h"
#include "engine/wal/control_file.h"
#include "properties/cluster_image.h"
#include "properties/decoders/clog_decoder.h"
#include "properties/decoders/control_file_decoder.h"

namespace properties {
namespace {

constexpr uint32_t kSegmentBytes = 1024 * 1024;
// The struct and its CRC; the rest of the file is padding.
constexpr size_t kControlBytes = 292;

engine::ControlFileData ControlCase() {
  engine::Config config;
  config.wal_segment_size = kSegmentBytes;
  engine::ControlFileData data = engine::NewControlFile(config);
  data.system_identifier = *rc::gen::arbitrary<uint64_t>();
  data.state = *rc::gen::inRange<uint32_t>(0, 7);
  // MAXALIGNed and behind a segment's first page header.
  data.checkPoint = *rc::gen::inRange<uint64_t>(6, 1u << 30) * 8;
  engine::CheckPoint& copy = data.checkPointCopy;
  copy.redo = *rc::gen::inRange<uint64_t>(5, data.checkPoint / 8) * 8;
  copy.nextXid = *rc::gen::inRange<uint64_t>(3, uint64_t{1} << 40);
  copy.nextOid = *rc::gen::inRange<uint32_t>(16384, UINT32_MAX);
  copy.oldestXid = *rc::gen::inRange<uint32_t>(3, UINT32_MAX);
  copy.oldestActiveXid = *rc::gen::arbitrary<uint32_t>();
  copy.fullPageWrites = *rc::gen::arbitrary<bool>();
  data.time = *rc::gen::arbitrary<int64_t>();
  return data;
}

RC_GTEST_PROP(ControlFileProperty, DecoderReadsWhatTheEngineWrites, ()) {
  engine::ControlFileData data = ControlCase();
  std::string file = engine::EncodeControlFile(data);
  RC_ASSERT(file.size() == 8192u);
  env::Result<ControlFile> read = DecodeControlFile(file);
  if (!read.ok()) RC_FAIL(read.status().ToString());
  RC_ASSERT(read->system_identifier == data.system_identifier);
  RC_ASSERT(static_cast<uint32_t>(read->state) == data.state);
  RC_ASSERT(read->checkpoint == data.checkPoint);
  RC_ASSERT(read->wal_segment_bytes == kSegmentBytes);
  RC_ASSERT(read->data_checksum_version == data.data_checksum_version);
  const CheckpointFields& copy = read->checkpoint_copy;
  RC_ASSERT(copy.redo == data.checkPointCopy.redo);
  RC_ASSERT(copy.next_xid == data.checkPointCopy.nextXid);
  RC_ASSERT(copy.next_oid == data.checkPointCopy.nextOid);
  RC_ASSERT(copy.oldest_xid == data.checkPointCopy.oldestXid);
  RC_ASSERT(copy.oldest_active_xid == data.checkPointCopy.oldestActiveXid);
  RC_ASSERT(copy.full_page_writes == data.checkPointCopy.fullPageWrites);
  env::Result<engine::ControlFileData> own =
      engine::DecodeControlFile(file, kSegmentBytes);
  RC_ASSERT(own.ok());
  RC_ASSERT(engine::EncodeControlFile(*own) == file);
}

RC_GTEST_PROP(ControlFileProperty, NeitherSideTakesADamagedFile, ()) {
  std::string file = engine::EncodeControlFile(ControlCase());
  size_t begin = *rc::gen::inRange<size_t>(0, kControlBytes);
  size_t length = *rc::gen::inRange<size_t>(1, 65);
  std::string torn = file;
  for (size_t i = begin; i < std::min(begin + length, kControlBytes); ++i) {
    torn[i] = static_cast<char>(torn[i] ^ *rc::gen::inRange(1, 256));
  }
  RC_ASSERT(!DecodeControlFile(torn).ok());
  RC_ASSERT(!engine::DecodeControlFile(torn, kSegmentBytes).ok());
  size_t kept = *rc::gen::inRange<size_t>(0, kControlBytes);
  RC_ASSERT(!DecodeControlFile(file.substr(0, kept)).ok());
  RC_ASSERT(
      !engine::DecodeControlFile(file.substr(0, kept), kSegmentBytes).ok());
}

using Statuses = std::map<uint32_t, uint8_t>;

constexpr uint32_t kClogPages = 5;
constexpr uint32_t kXactsPerPage = 32768;

// Sets the statuses in the given order with a pool of two pages, so that pages
// are written and read back on the way, then shuts down.
void WriteClog(engine::HeapTestNode& node,
               const std::vector<std::pair<uint32_t, uint8_t>>& order) {
  node.RunToEnd(
      {[&order](engine::Backend& be) {
        {
          engine::LWLockGuard lock(be, engine::Procs(be).xid_gen_lock,
                                   engine::LWLockMode::kExclusive);
          for (uint32_t page = 1; page < kClogPages; ++page) {
            ASSERT_TRUE(engine::ExtendCLOG(be, page * kXactsPerPage).ok());
          }
        }
        for (const auto& [xid, status] : order) {
          ASSERT_TRUE(engine::TransactionIdSetStatus(
                          be, xid, static_cast<engine::XidStatus>(status),
                          engine::kInvalidXLogRecPtr)
                          .ok());
        }
        engine::AdvanceNextTransactionIdPastXid(be,
                                                kClogPages * kXactsPerPage - 1);
      }},
      /*shutdown=*/true);
}

RC_GTEST_PROP(ClogProperty, DecoderReadsWhatTheEngineWrites, ()) {
  // Few distinct neighbourhoods, so that xids share bytes and are set twice.
  auto xids = rc::gen::map(
      rc::gen::tuple(rc::gen::inRange<uint32_t>(0, kClogPages),
                     rc::gen::element<uint32_t>(4, 1020, 16384, 32760),
                     rc::gen::inRange<uint32_t>(0, 8)),
      [](const std::tuple<uint32_t, uint32_t, uint32_t>& t) {
        return std::get<0>(t) * kXactsPerPage + std::get<1>(t) + std::get<2>(t);
      });
  auto order = *rc::gen::container<std::vector<std::pair<uint32_t, uint8_t>>>(
      rc::gen::pair(xids, rc::gen::inRange<uint8_t>(1, 4)));
  engine::HeapTestOptions options;
  options.config.clog_buffers = 2;
  engine::HeapTestNode node(options);
  WriteClog(node, order);
  RC_ASSERT(!::testing::Test::HasFatalFailure());
  if (*rc::gen::arbitrary<bool>()) node.PowerLoss();
  node.disk().Freeze();
  Statuses expected;
  for (const auto& [xid, status] : order) expected[xid] = status;
  DiskView files(node.disk());
  ClogDecoder clog(&files);
  for (uint32_t page = 0; page < kClogPages; ++page) {
    for (uint32_t base : {4u, 1020u, 16384u, 32760u}) {
      for (uint32_t i = 0; i < 8; ++i) {
        uint32_t xid = page * kXactsPerPage + base + i;
        auto planned = expected.find(xid);
        uint8_t want = planned == expected.end() ? 0 : planned->second;
        std::optional<ClogStatus> found = clog.StatusOf(xid);
        RC_ASSERT(found.has_value());
        RC_ASSERT(static_cast<uint8_t>(*found) == want);
      }
    }
  }
}

}  // namespace
}  // namespace properties
