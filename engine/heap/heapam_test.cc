#include "engine/heap/heapam.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/common/errcodes.h"
#include "engine/common/sites.h"
#include "engine/heap/heapam_xlog.h"
#include "engine/heap/test_node.h"
#include "engine/txn/xact.h"
#include "engine/wal/xlog.h"

namespace engine {
namespace {

using RowValues = HeapTestNode::RowValues;
using FoundRow = HeapTestNode::FoundRow;

void Insert(Backend& be, const RelationData& rel, int32_t id, int64_t value,
            std::string_view note) {
  HeapTuple tuple = HeapTestNode::MakeRow(id, value, note);
  Status status = HeapInsert(be, rel, &tuple, GetCurrentCommandId(be, true));
  ASSERT_TRUE(status.ok()) << status.ToString();
}

void InsertCommitted(Backend& be, const RelationData& rel, int32_t id,
                     int64_t value, std::string_view note = "") {
  StartTransaction(be, IsolationLevel::kReadCommitted);
  Insert(be, rel, id, value, note);
  ASSERT_TRUE(CommitTransaction(be).ok());
}

std::vector<RowValues> SelectAll(Backend& be, const RelationData& rel) {
  StartTransaction(be, IsolationLevel::kReadCommitted);
  std::vector<RowValues> rows;
  for (const FoundRow& found : HeapTestNode::Select(be, rel)) {
    rows.push_back(found.row);
  }
  EXPECT_TRUE(CommitTransaction(be).ok());
  return rows;
}

// What a statement UPDATE t SET value = value + delta WHERE id = id does under
// read committed: find the row in the statement's snapshot, update it, and
// whenever somebody was faster, do it again on the newest version.
Status AddToRow(Backend& be, const RelationData& rel, int32_t id,
                int64_t delta) {
  CommandCounterIncrement(be);
  CommandId cid = GetCurrentCommandId(be, true);
  std::vector<FoundRow> rows = HeapTestNode::Select(be, rel);
  for (FoundRow& found : rows) {
    if (found.row.id != id) continue;
    ItemPointerData tid = found.tid;
    RowValues row = found.row;
    for (;;) {
      HeapTuple next =
          HeapTestNode::MakeRow(row.id, row.value + delta, row.note);
      TmFailure failure;
      ASSIGN_OR_RETURN(TmResult result,
                       HeapUpdate(be, rel, tid, &next, cid, true, &failure));
      if (result == TmResult::kOk) break;
      if (result != TmResult::kUpdated) break;
      ASSIGN_OR_RETURN(HeapTuple latest, HeapFetchLatest(be, rel, failure.ctid,
                                                         failure.xmax, cid));
      if (latest.data.empty()) break;
      tid = latest.t_self;
      row = HeapTestNode::ReadRow(latest.data);
    }
  }
  CommandCounterIncrement(be);
  return {};
}

TEST(Heap, CommittedRowsSurviveARestartAndAbortedOnesDoNot) {
  RelationData rel = HeapTestNode::MakeRelation();
  HeapTestNode node{HeapTestOptions()};
  node.RunToEnd({[&](Backend& be) {
    InsertCommitted(be, rel, 1, 10, "one");
    StartTransaction(be, IsolationLevel::kReadCommitted);
    Insert(be, rel, 2, 20, "two");
    AbortTransaction(be);
    InsertCommitted(be, rel, 3, 30, "three");
    EXPECT_EQ(SelectAll(be, rel),
              (std::vector<RowValues>{{1, 10, "one"}, {3, 30, "three"}}));
  }});
  node.PowerLoss();
  node.RunToEnd({[&](Backend& be) {
    EXPECT_EQ(SelectAll(be, rel),
              (std::vector<RowValues>{{1, 10, "one"}, {3, 30, "three"}}));
  }});
}

TEST(Heap, OwnChangesShowFromTheNextCommandOn) {
  RelationData rel = HeapTestNode::MakeRelation();
  HeapTestNode node{HeapTestOptions()};
  node.RunToEnd({[&](Backend& be) {
    auto select = [&] {
      std::vector<int64_t> values;
      for (const FoundRow& found : HeapTestNode::Select(be, rel)) {
        values.push_back(found.row.value);
      }
      return values;
    };
    using Values = std::vector<int64_t>;
    StartTransaction(be, IsolationLevel::kReadCommitted);
    Insert(be, rel, 1, 10, "");
    EXPECT_EQ(select(), Values{});
    CommandCounterIncrement(be);
    EXPECT_EQ(select(), Values{10});
    // The same command may not change a row twice; a later one may.
    ItemPointerData tid = HeapTestNode::Select(be, rel)[0].tid;
    CommandId cid = GetCurrentCommandId(be, true);
    HeapTuple next = HeapTestNode::MakeRow(1, 20, "");
    TmFailure failure;
    EXPECT_EQ(*HeapUpdate(be, rel, tid, &next, cid, true, &failure),
              TmResult::kOk);
    EXPECT_EQ(select(), Values{10});
    EXPECT_EQ(*HeapDelete(be, rel, tid, cid, true, &failure),
              TmResult::kSelfModified);
    EXPECT_EQ(failure.ctid, next.t_self);
    EXPECT_EQ(failure.cmax, cid);
    CommandCounterIncrement(be);
    EXPECT_EQ(select(), Values{20});
    cid = GetCurrentCommandId(be, true);
    EXPECT_EQ(*HeapDelete(be, rel, next.t_self, cid, true, &failure),
              TmResult::kOk);
    EXPECT_EQ(select(), Values{20});
    CommandCounterIncrement(be);
    EXPECT_EQ(select(), Values{});
    AbortTransaction(be);
    EXPECT_TRUE(SelectAll(be, rel).empty());
  }});
}

TEST(Heap, UpdateOnItsPageIsHeapOnlyAndElsewhereIsNot) {
  RelationData rel = HeapTestNode::MakeRelation();
  std::vector<uint8_t> infos;
  HeapTestOptions options;
  options.on_event = [&](const env::Event& e) {
    if (e.kind == env::EventKind::kWalInsert && e.bytes[17] == 10) {
      infos.push_back(static_cast<uint8_t>(e.bytes[16]));
    }
  };
  HeapTestNode node(options);
  node.RunToEnd({[&](Backend& be) {
    InsertCommitted(be, rel, 1, 1, std::string(3000, 'a'));
    InsertCommitted(be, rel, 2, 1, std::string(1000, 'b'));
    for (int i = 0; i < 2; ++i) {
      StartTransaction(be, IsolationLevel::kReadCommitted);
      ASSERT_TRUE(AddToRow(be, rel, 1, 1).ok());
      ASSERT_TRUE(CommitTransaction(be).ok());
    }
    BufferGuard page0(be, *ReadBuffer(be, rel.rd_node, 0));
    BufferGuard page1(be, *ReadBuffer(be, rel.rd_node, 1));
    auto header = [](const BufferGuard& b, OffsetNumber offset) {
      return *reinterpret_cast<HeapTupleHeaderData*>(
          PageGetItem(b.page(), PageGetItemId(b.page(), offset)));
    };
    // 1 -> 3 on the page, 3 -> (1,1) elsewhere.
    EXPECT_EQ(header(page0, 1).t_ctid, ItemPointerData(0, 3));
    EXPECT_EQ(header(page0, 1).t_infomask2 & 0xE000, HEAP_HOT_UPDATED);
    EXPECT_EQ(header(page0, 3).t_ctid, ItemPointerData(1, 1));
    EXPECT_EQ(header(page0, 3).t_infomask2 & 0xE000, HEAP_ONLY_TUPLE);
    EXPECT_EQ(header(page1, 1).t_ctid, ItemPointerData(1, 1));
    EXPECT_EQ(header(page1, 1).t_infomask2 & 0xE000, 0);
    EXPECT_NE(header(page1, 1).t_infomask & HEAP_UPDATED, 0);
    EXPECT_TRUE(PageIsFull(page0.page()));
    EXPECT_TRUE(TransactionIdIsNormal(PageGetPruneXid(page0.page())));
  }});
  EXPECT_EQ(infos, (std::vector<uint8_t>{
                       XLOG_HEAP_INSERT | XLOG_HEAP_INIT_PAGE, XLOG_HEAP_INSERT,
                       XLOG_HEAP_HOT_UPDATE, XLOG_HEAP_LOCK,
                       XLOG_HEAP_UPDATE | XLOG_HEAP_INIT_PAGE}));
}

TEST(Heap, PagesFillAsInPostgresql) {
  struct Case {
    size_t tuple_size;
    int fillfactor;
    size_t rows_per_page;
    int lower, upper;
  };
  for (const Case& c : {Case{1028, 100, 7, 52, 968}, Case{121, 100, 61, 0, 0},
                        Case{121, 80, 49, 0, 0}}) {
    RelationData rel = HeapTestNode::MakeRelation();
    rel.fillfactor = c.fillfactor;
    HeapTestNode node{HeapTestOptions()};
    node.RunToEnd({[&](Backend& be) {
      StartTransaction(be, IsolationLevel::kReadCommitted);
      HeapTuple row = HeapTestNode::MakeRow(1, 1, std::string(2000, 'x'));
      row.data.resize(c.tuple_size);
      for (size_t i = 0; i < 10 * c.rows_per_page; ++i) {
        HeapTuple copy = row;
        ASSERT_TRUE(HeapInsert(be, rel, &copy, 0).ok());
        ASSERT_EQ(copy.t_self,
                  ItemPointerData(
                      static_cast<BlockNumber>(i / c.rows_per_page),
                      static_cast<OffsetNumber>(i % c.rows_per_page + 1)));
      }
      std::vector<std::string> pages = HeapTestNode::ReadPages(be, rel);
      ASSERT_EQ(pages.size(), 10u);
      if (c.lower > 0) {
        EXPECT_EQ(PageHeader(pages[0].data())->pd_lower, c.lower);
        EXPECT_EQ(PageHeader(pages[0].data())->pd_upper, c.upper);
      }
      AbortTransaction(be);
    }});
  }
}

TEST(Heap, ConcurrentInsertersLoseNothingAndShareNewPages) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    RelationData rel = HeapTestNode::MakeRelation();
    HeapTestOptions options;
    options.seed = seed;
    options.strategy = RestlessStrategy();
    HeapTestNode node(options);
    std::vector<HeapTestNode::Body> clients;
    for (int c = 0; c < 5; ++c) {
      clients.push_back([&, c](Backend& be) {
        RelationData mine = rel;
        StartTransaction(be, IsolationLevel::kReadCommitted);
        for (int i = 0; i < 20; ++i) {
          Insert(be, mine, c * 100 + i, i, std::string(1000, 'x'));
        }
        ASSERT_TRUE(CommitTransaction(be).ok());
      });
    }
    node.RunToEnd(clients);
    node.PowerLoss();
    node.RunToEnd({[&](Backend& be) {
      std::set<int32_t> ids;
      for (const RowValues& row : SelectAll(be, rel)) {
        EXPECT_TRUE(ids.insert(row.id).second);
      }
      EXPECT_EQ(ids.size(), 100u) << "seed " << seed;
      // 100 rows, 7 to a page.
      EXPECT_LE(HeapTestNode::ReadPages(be, rel).size(), 15u + 2u)
          << "seed " << seed;
    }});
  }
}

TEST(Heap, ConcurrentCountersLoseNoIncrement) {
  constexpr int kClients = 4;
  constexpr int kRounds = 5;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    RelationData rel = HeapTestNode::MakeRelation();
    HeapTestOptions options;
    options.seed = seed;
    options.strategy = RestlessStrategy();
    HeapTestNode node(options);
    // Long rows, so that many updates leave their page.
    node.RunToEnd({[&](Backend& be) {
      InsertCommitted(be, rel, 1, 0, std::string(1500, 'x'));
    }});
    int64_t aborted = 0;
    HeapTestNode::Body client = [&](Backend& be) {
      RelationData mine = rel;
      for (int i = 0; i < kRounds; ++i) {
        StartTransaction(be, IsolationLevel::kReadCommitted);
        Status status = AddToRow(be, mine, 1, 1);
        ASSERT_TRUE(status.ok()) << status.ToString();
        if (i == 2 && be.proc_number % 2 == 0) {
          AbortTransaction(be);
          ++aborted;
        } else {
          ASSERT_TRUE(CommitTransaction(be).ok());
        }
      }
    };
    node.RunToEnd(std::vector<HeapTestNode::Body>(kClients, client));
    node.RunToEnd({[&](Backend& be) {
      std::vector<RowValues> rows = SelectAll(be, rel);
      ASSERT_EQ(rows.size(), 1u) << "seed " << seed;
      EXPECT_EQ(rows[0].value, kClients * kRounds - aborted) << "seed " << seed;
      EXPECT_EQ(rows[0].note.size(), 1500u);
    }});
    if (testing::Test::HasFatalFailure()) return;
  }
}

// Transfers between rows in random order: deadlocks happen, the sum stays.
TEST(Heap, TransfersThatDeadlockKeepTheSum) {
  constexpr int kRows = 3;
  int deadlocks = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    RelationData rel = HeapTestNode::MakeRelation();
    HeapTestOptions options;
    options.seed = seed;
    options.strategy = RestlessStrategy();
    HeapTestNode node(options);
    node.RunToEnd({[&](Backend& be) {
      for (int id = 0; id < kRows; ++id) InsertCommitted(be, rel, id, 100);
    }});
    std::vector<HeapTestNode::Body> clients;
    for (int c = 0; c < 3; ++c) {
      clients.push_back([&, c](Backend& be) {
        RelationData mine = rel;
        for (int i = 0; i < 4; ++i) {
          StartTransaction(be, IsolationLevel::kReadCommitted);
          Status status = AddToRow(be, mine, (c + i) % kRows, -7);
          if (status.ok()) {
            status = AddToRow(be, mine, (c + i + 1 + c % 2) % kRows, 7);
          }
          if (status.ok()) {
            ASSERT_TRUE(CommitTransaction(be).ok());
            continue;
          }
          ASSERT_EQ(status.sqlstate(), ERRCODE_T_R_DEADLOCK_DETECTED)
              << status.ToString();
          ++deadlocks;
          AbortTransaction(be);
        }
      });
    }
    node.RunToEnd(clients);
    node.RunToEnd({[&](Backend& be) {
      int64_t sum = 0;
      std::vector<RowValues> rows = SelectAll(be, rel);
      for (const RowValues& row : rows) sum += row.value;
      EXPECT_EQ(rows.size(), static_cast<size_t>(kRows)) << "seed " << seed;
      EXPECT_EQ(sum, kRows * 100) << "seed " << seed;
    }});
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(deadlocks, 0);
}

TEST(Heap, FetchSeesWhatItsSnapshotSeesAndLatestFollowsTheChain) {
  RelationData rel = HeapTestNode::MakeRelation();
  HeapTestNode node{HeapTestOptions()};
  bool snapshot_taken = false;
  bool updated = false;
  ItemPointerData tid(0, 1);
  node.RunToEnd(
      {[&](Backend& be) {
         InsertCommitted(be, rel, 1, 1, std::string(3000, 'x'));
         StartTransaction(be, IsolationLevel::kRepeatableRead);
         SnapshotData old = GetTransactionSnapshot(be);
         snapshot_taken = true;
         while (!updated) be.env->tasks->Yield(SITE_ID(latch_wait));
         auto fetched = HeapFetch(be, rel, tid, old);
         ASSERT_TRUE(fetched.ok());
         EXPECT_EQ(HeapTestNode::ReadRow(fetched->data).value, 1);
         SnapshotData fresh = GetLatestSnapshot(be);
         EXPECT_TRUE(HeapFetch(be, rel, tid, fresh)->data.empty());
         EXPECT_TRUE(HeapFetch(be, rel, {0, 99}, fresh)->data.empty());
         auto latest = HeapFetchLatest(be, rel, tid, 0, 0);
         ASSERT_TRUE(latest.ok());
         EXPECT_EQ(HeapTestNode::ReadRow(latest->data).value, 5);
         // A wrong predecessor means that the place was taken by another row.
         EXPECT_TRUE(HeapFetchLatest(be, rel, tid, 99999, 0)->data.empty());
         // Deleted: gone for the latest, still there for the old snapshot.
         TmFailure failure;
         EXPECT_EQ(*HeapDelete(be, rel, latest->t_self, 0, true, &failure),
                   TmResult::kOk);
         ASSERT_TRUE(CommitTransaction(be).ok());
         StartTransaction(be, IsolationLevel::kReadCommitted);
         EXPECT_TRUE(HeapFetchLatest(be, rel, tid, 0, 0)->data.empty());
         EXPECT_FALSE(HeapFetch(be, rel, tid, old)->data.empty());
         HeapTuple next = HeapTestNode::MakeRow(1, 9, "");
         EXPECT_EQ(
             *HeapUpdate(be, rel, latest->t_self, &next, 0, true, &failure),
             TmResult::kDeleted);
         EXPECT_EQ(failure.ctid, latest->t_self);
         AbortTransaction(be);
       },
       [&](Backend& be) {
         while (!snapshot_taken) be.env->tasks->Yield(SITE_ID(latch_wait));
         for (int i = 0; i < 4; ++i) {
           StartTransaction(be, IsolationLevel::kReadCommitted);
           ASSERT_TRUE(AddToRow(be, rel, 1, 1).ok());
           ASSERT_TRUE(CommitTransaction(be).ok());
         }
         updated = true;
       }});
}

TEST(Heap, DamagedLinePointersAreErrorsNotCrashes) {
  RelationData rel = HeapTestNode::MakeRelation();
  HeapTestNode node{HeapTestOptions()};
  node.RunToEnd({[&](Backend& be) {
    InsertCommitted(be, rel, 1, 1, "x");
    StartTransaction(be, IsolationLevel::kReadCommitted);
    SnapshotData snapshot = GetTransactionSnapshot(be);
    BufferGuard buffer(be, *ReadBuffer(be, rel.rd_node, 0));
    ItemIdData& lp = *PageGetItemId(buffer.page(), 1);
    ItemIdData good = lp;
    for (ItemIdData bad : {ItemIdData{8184, LP_NORMAL, 100},
                           ItemIdData{good.lp_off, LP_NORMAL, 10},
                           ItemIdData{good.lp_off + 4u, LP_NORMAL, 36}}) {
      lp = bad;
      EXPECT_FALSE(HeapFetch(be, rel, {0, 1}, snapshot).ok());
      HeapScan scan(be, rel, snapshot);
      auto row = scan.Next();
      ASSERT_FALSE(row.ok());
      EXPECT_EQ(row.status().sqlstate(), ERRCODE_DATA_CORRUPTED);
      TmFailure failure;
      EXPECT_FALSE(HeapDelete(be, rel, {0, 1}, 0, true, &failure).ok());
    }
    lp = good;
    EXPECT_TRUE(HeapFetch(be, rel, {0, 1}, snapshot).ok());
    TmFailure failure;
    EXPECT_FALSE(HeapDelete(be, rel, {0, 2}, 0, true, &failure).ok());
    buffer.Release();
    AbortTransaction(be);
  }});
}
}  // namespace
}  // namespace engine
