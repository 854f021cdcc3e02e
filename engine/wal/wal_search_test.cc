// Insertion into the log and its flushing under every schedule of a few
// processes.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "engine/common/sites.h"
#include "engine/wal/wal_test_node.h"
#include "engine/wal/xlog.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xloginsert.h"
#include "sim/exhaustive_search.h"

namespace engine {
namespace {

using Clients = std::vector<std::function<void(Backend&)>>;

// A record that belongs to no page; redo is never asked for it.
XLogRecPtr InsertNote(Backend& be, std::string_view note) {
  XLogInsertion record(be);
  record.RegisterData(note.data(), note.size());
  return record.Insert(kToyRmgrId, 0x70);
}

// The file of the log, which has one segment, must have every record that ends
// at or before `upto` as it was inserted. All lie on one page.
std::string MissingUpTo(WalTestNode& node, XLogRecPtr upto) {
  for (const auto& [start, bytes] : node.inserted()) {
    if (start + bytes.size() > upto) continue;
    XLogSegNo segno = start / node.config().wal_segment_size;
    std::string file = node.SegmentBytes(segno);
    size_t at = start % node.config().wal_segment_size;
    if (at / XLOG_BLCKSZ != (at + bytes.size() - 1) / XLOG_BLCKSZ) continue;
    if (file.compare(at, bytes.size(), bytes) != 0) {
      return "a record at " + LsnToString(start) + " is not in the file";
    }
  }
  return "";
}

std::unique_ptr<sim::Disk> FreshDisk() {
  WalTestNode node({});
  return node.TakeDisk();
}

// Two processes insert, and one of them, or both, flush.
sim::ExhaustiveSearch::Result Search(int flushers,
                                     const std::vector<uint8_t>& planted,
                                     sim::ExhaustiveSearch::Options limits) {
  std::unique_ptr<sim::Disk> fresh = FreshDisk();
  sim::ExhaustiveSearch search(limits);
  return search.Run([&](const sim::WorldOptions& world) -> std::string {
    WalTestOptions options;
    options.world = &world;
    options.config.wal_insert_locks = 2;
    options.planted = planted;
    WalTestNode node(options, fresh->Clone());
    std::string wrong;
    Clients clients;
    for (int c = 0; c < 2; ++c) {
      clients.push_back([&, c](Backend& be) {
        XLogRecPtr end = InsertNote(be, c == 0 ? "one" : "other");
        if (c >= flushers) return;
        XLogFlush(be, end);
        std::string missing = MissingUpTo(node, end);
        if (wrong.empty()) wrong = missing;
      });
    }
    sim::World::StopReason reason = node.Run(clients);
    if (!wrong.empty()) return wrong;
    if (!node.panic().empty()) return node.panic();
    return reason == sim::World::StopReason::kIdle
               ? ""
               : std::string(sim::StopReasonName(reason));
  });
}

TEST(WalSearch, WhatIsFlushedIsInTheFileUnderEverySchedule) {
  for (int flushers : {1, 2}) {
    sim::ExhaustiveSearch::Result result = Search(flushers, {}, {});
    EXPECT_TRUE(result.complete);
    EXPECT_EQ(result.findings, 0u) << result.first_finding;
    EXPECT_GT(result.runs, 100u);
  }
}

#ifdef MUSTH_PLANTED
TEST(WalSearch, FindsAFlushThatDoesNotWaitForCopies) {
  sim::ExhaustiveSearch::Options limits;
  limits.stop_at_finding = true;
  sim::ExhaustiveSearch::Result result =
      Search(1, WalTestNode::Plant(SITE_ID(wal_copy_not_awaited)), limits);
  EXPECT_EQ(result.findings, 1u);
  EXPECT_NE(result.first_finding.find("is not in the file"), std::string::npos)
      << result.first_finding;
}
#endif

}  // namespace
}  // namespace engine
