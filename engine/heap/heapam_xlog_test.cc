#include "engine/heap/heapam_xlog.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/common/sites.h"
#include "engine/heap/test_node.h"
#include "engine/smgr/smgr.h"
#include "engine/wal/xlog.h"

namespace engine {
namespace {

RC_GTEST_PROP(CommonEnds, RebuildTheNewDataAndNeverOverlap, ()) {
  // Few letters, so that ends often match; pieces of the old in the new.
  auto letters = rc::gen::container<std::string>(rc::gen::element('a', 'b'));
  std::string old_data = *letters;
  std::string new_data = *letters;
  if (*rc::gen::arbitrary<bool>()) {
    size_t cut = *rc::gen::inRange<size_t>(0, old_data.size() + 1);
    new_data = old_data.substr(0, cut) + new_data + old_data.substr(cut);
  }
  CommonEnds ends = FindCommonEnds(old_data, new_data);
  RC_ASSERT(ends.prefix == 0 || ends.prefix >= 3);
  RC_ASSERT(ends.suffix == 0 || ends.suffix >= 3);
  size_t both = size_t{ends.prefix} + ends.suffix;
  RC_ASSERT(both <= std::min(old_data.size(), new_data.size()));
  std::string rebuilt = old_data.substr(0, ends.prefix) +
                        new_data.substr(ends.prefix, new_data.size() - both) +
                        old_data.substr(old_data.size() - ends.suffix);
  RC_ASSERT(rebuilt == new_data);
  // Longest possible: the next byte differs, or there is none.
  size_t shorter = std::min(old_data.size(), new_data.size());
  if (ends.prefix >= 3 && ends.prefix < shorter) {
    RC_ASSERT(old_data[ends.prefix] != new_data[ends.prefix]);
  }
}

RC_GTEST_PROP(Infobits, RoundTripThroughARecord, (uint16_t mask)) {
  HeapTupleHeaderData tuple = {};
  tuple.t_infomask =
      mask & (HEAP_XMAX_IS_MULTI | HEAP_XMAX_LOCK_ONLY | HEAP_LOCK_MASK);
  tuple.t_infomask2 = mask & HEAP_KEYS_UPDATED;
  HeapTupleHeaderData redone = {};
  redone.t_infomask = HEAP_XMAX_INVALID | HEAP_XMAX_COMMITTED | HEAP_HASNULL;
  redone.t_infomask2 = HEAP_KEYS_UPDATED | 7;
  FixInfomaskFromInfobits(ComputeInfobits(tuple), &redone);
  RC_ASSERT(redone.t_infomask == (tuple.t_infomask | HEAP_HASNULL));
  RC_ASSERT(redone.t_infomask2 == (tuple.t_infomask2 | 7));
}

// (first int4, middle text, last int4)
RelationData WideRelation() {
  RelationData rel = HeapTestNode::MakeRelation();
  Attribute number = rel.rd_att[0];
  Attribute text = rel.rd_att[2];
  rel.rd_att = {number, text, number};
  return rel;
}

HeapTuple WideRow(const RelationData& rel, int first, std::string_view middle) {
  Datum values[] = {Datum::Int(first), Datum::Bytes(middle), Datum::Int(9)};
  auto tuple = HeapFormTuple(rel.rd_att, values);
  EXPECT_TRUE(tuple.ok());
  return std::move(tuple).value();
}

// Header, block header and short main header of a one-block record.
constexpr size_t kFixed = 24 + 20 + 2;

class RecordSizes {
 public:
  // Inserts `before`, then replaces it by `after` on its page; returns the
  // update's record.
  static std::string OfUpdate(RelationData rel, HeapTuple before,
                              HeapTuple after) {
    HeapTestNode node{HeapTestOptions()};
    node.RunToEnd({[&](Backend& be) {
      StartTransaction(be, IsolationLevel::kReadCommitted);
      CommandId cid = GetCurrentCommandId(be, true);
      ASSERT_TRUE(HeapInsert(be, rel, &before, cid).ok());
      CommandCounterIncrement(be);
      TmFailure failure;
      auto result = HeapUpdate(be, rel, before.t_self, &after,
                               GetCurrentCommandId(be, true), true, &failure);
      ASSERT_TRUE(result.ok());
      ASSERT_EQ(*result, TmResult::kOk);
      ASSERT_EQ(after.t_self, ItemPointerData(0, 2));
      ASSERT_TRUE(CommitTransaction(be).ok());
    }});
    for (const std::string& record : node.records()) {
      bool heap = record[17] == 10;
      if (heap && (record[16] & 0x70) == XLOG_HEAP_HOT_UPDATE) return record;
    }
    return "";
  }
};

TEST(HeapUpdateRecord, HasPostgresqlsLengths) {
  RelationData rel = WideRelation();
  // One byte in the middle: prefix and suffix.
  std::string one = RecordSizes::OfUpdate(rel, WideRow(rel, 1, "aaaaXaaaa"),
                                          WideRow(rel, 1, "aaaaYaaaa"));
  EXPECT_EQ(one.size(), 71u);
  EXPECT_EQ(one[one.size() - SizeOfHeapUpdate + 7],
            XLH_UPDATE_PREFIX_FROM_OLD | XLH_UPDATE_SUFFIX_FROM_OLD);
  // The first column: suffix only.
  std::string first = RecordSizes::OfUpdate(rel, WideRow(rel, 1, "aaaa"),
                                            WideRow(rel, 2, "aaaa"));
  EXPECT_EQ(first.size(), 69u);
  EXPECT_EQ(first[first.size() - SizeOfHeapUpdate + 7],
            XLH_UPDATE_SUFFIX_FROM_OLD);
  // A middle column of 1500 bytes.
  std::string middle =
      RecordSizes::OfUpdate(rel, WideRow(rel, 1, std::string(1500, 'a')),
                            WideRow(rel, 1, std::string(1500, 'b')));
  EXPECT_EQ(middle.size(), 1570u);
}

TEST(HeapRecords, InsertAndDeleteHavePostgresqlsLengths) {
  RelationData rel = WideRelation();
  HeapTestNode node{HeapTestOptions()};
  HeapTuple row = WideRow(rel, 1, "abc");
  size_t body = row.data.size() - kSizeofHeapTupleHeader;
  node.RunToEnd({[&](Backend& be) {
    StartTransaction(be, IsolationLevel::kReadCommitted);
    CommandId cid = GetCurrentCommandId(be, true);
    ASSERT_TRUE(HeapInsert(be, rel, &row, cid).ok());
    HeapTuple second = WideRow(rel, 1, "abc");
    ASSERT_TRUE(HeapInsert(be, rel, &second, cid).ok());
    CommandCounterIncrement(be);
    TmFailure failure;
    ASSERT_TRUE(HeapDelete(be, rel, row.t_self, 1, true, &failure).ok());
    ASSERT_TRUE(CommitTransaction(be).ok());
  }});
  std::vector<std::pair<int, size_t>> heap;
  for (const std::string& record : node.records()) {
    if (record[17] == 10) {
      heap.emplace_back(static_cast<unsigned char>(record[16]), record.size());
    }
  }
  ASSERT_EQ(heap.size(), 3u);
  size_t insert = kFixed + SizeOfHeapInsert + SizeOfHeapHeader + body;
  EXPECT_EQ(heap[0], std::make_pair(0x80, insert));
  EXPECT_EQ(heap[1], std::make_pair(0x00, insert));
  EXPECT_EQ(heap[2], std::make_pair(0x10, kFixed + SizeOfHeapDelete));
}

// --- Redo ---

// One client's part of a random history: inserts, updates of any size and
// deletes of whatever rows it sees, some of it rolled back.
void RandomHistory(Backend& be, const RelationData& rel, uint64_t seed,
                   int client) {
  sim::Choices choices(seed);
  sim::Drawer draw(&choices, sim::Stream::kWorkload,
                   sim::Scope().Child("client", static_cast<uint64_t>(client)));
  for (int i = 0; i < 12; ++i) {
    StartTransaction(be, IsolationLevel::kReadCommitted);
    SetSynchronousCommit(be, draw.Chance("sync", 1, 2));
    bool failed = false;
    for (uint64_t op = draw.Below("ops", 4); op-- > 0 && !failed;) {
      CommandCounterIncrement(be);
      CommandId cid = GetCurrentCommandId(be, true);
      std::string note(draw.Below("size", 4) * draw.Below("step", 600), 'n');
      HeapTuple row = HeapTestNode::MakeRow(client, i, note);
      auto rows = HeapTestNode::Select(be, rel);
      uint64_t kind = rows.empty() ? 0 : draw.Below("kind", 4);
      TmFailure failure;
      if (kind == 0) {
        failed = !HeapInsert(be, rel, &row, cid).ok();
        continue;
      }
      ItemPointerData tid = rows[draw.Below("row", rows.size())].tid;
      auto result = kind == 1
                        ? HeapDelete(be, rel, tid, cid, true, &failure)
                        : HeapUpdate(be, rel, tid, &row, cid, true, &failure);
      failed = !result.ok();  // a deadlock
    }
    if (failed || draw.Chance("abort", 1, 4)) {
      AbortTransaction(be);
    } else {
      ASSERT_TRUE(CommitTransaction(be).ok());
    }
  }
}

void CheckRedo(uint64_t seed, bool full_page_writes) {
  RelationData rel = HeapTestNode::MakeRelation();
  HeapTestOptions options;
  options.seed = seed;
  options.strategy = RestlessStrategy();
  options.config.full_page_writes = full_page_writes;
  // A hint's image sets the page's LSN, and without images redo cannot.
  options.config.data_checksums = full_page_writes;
  options.disk.atomic8k = !full_page_writes;
  options.config.shared_buffers = 64;
  HeapTestNode node(options);
  std::vector<std::string> before;
  int running = 3;
  auto client = [&](int i) {
    return [&, i](Backend& be) {
      RelationData mine = rel;
      RandomHistory(be, mine, seed, i);
      if (--running > 0) return;
      before = HeapTestNode::ReadPages(be, rel);
      XLogFlush(be, GetXLogInsertRecPtr(be));
    };
  };
  node.RunToEnd({client(0), client(1), client(2)});
  node.PowerLoss();
  node.RunToEnd({[&](Backend& be) {
    std::vector<std::string> after = HeapTestNode::ReadPages(be, rel);
    ASSERT_EQ(before.size(), after.size());
    for (size_t block = 0; block < before.size(); ++block) {
      ASSERT_TRUE(HeapTestNode::MaskPage(before[block]) ==
                  HeapTestNode::MaskPage(after[block]))
          << "seed " << seed << " block " << block;
    }
  }});
}

TEST(HeapRedo, ReproducesThePagesOfARandomHistoryFromImages) {
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    CheckRedo(seed, true);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(HeapRedo, ReproducesThePagesOfARandomHistoryWithoutImages) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    CheckRedo(seed, false);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace engine
