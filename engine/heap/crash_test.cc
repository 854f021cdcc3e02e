// Transactions under power loss: what was acknowledged stays, what was aborted
// is gone, and every transaction is there whole or not at all.
#include <gtest/gtest.h>

#include <set>

#include "engine/common/sites.h"
#include "engine/heap/heapam.h"
#include "engine/heap/test_node.h"
#include "engine/txn/xact.h"
#include "engine/wal/checkpoint.h"

namespace engine {
namespace {

constexpr int32_t kCounterId = 1000;

struct Told {
  std::set<int32_t> acked;
  std::set<int32_t> aborted;
  std::set<int32_t> started;
};

Status InsertRow(Backend& be, const RelationData& rel, int32_t id) {
  // Rows of some size, so that pages are evicted and extended.
  HeapTuple tuple = HeapTestNode::MakeRow(id, 0, std::string(700, 'r'));
  return HeapInsert(be, rel, &tuple, GetCurrentCommandId(be, true));
}

// Adds one to the counter row.
Status Count(Backend& be, const RelationData& rel) {
  CommandCounterIncrement(be);
  CommandId cid = GetCurrentCommandId(be, true);
  for (const HeapTestNode::FoundRow& found : HeapTestNode::Select(be, rel)) {
    if (found.row.id != kCounterId) continue;
    ItemPointerData tid = found.tid;
    int64_t value = found.row.value;
    for (;;) {
      HeapTuple next = HeapTestNode::MakeRow(kCounterId, value + 1, "");
      TmFailure failure;
      ASSIGN_OR_RETURN(TmResult result,
                       HeapUpdate(be, rel, tid, &next, cid, true, &failure));
      if (result == TmResult::kOk) break;
      ASSIGN_OR_RETURN(HeapTuple latest, HeapFetchLatest(be, rel, failure.ctid,
                                                         failure.xmax, cid));
      if (latest.data.empty()) break;
      tid = latest.t_self;
      value = HeapTestNode::ReadRow(latest.data).value;
    }
  }
  return {};
}

// Transactions that insert a row and count it.
void Writer(Backend& be, int client, bool synchronous, Told* told) {
  RelationData rel = HeapTestNode::MakeRelation();
  for (int i = 0; i < 6; ++i) {
    int32_t id = client * 100 + i;
    StartTransaction(be, IsolationLevel::kReadCommitted);
    SetSynchronousCommit(be, synchronous);
    told->started.insert(id);
    Status status = InsertRow(be, rel, id);
    if (status.ok()) status = Count(be, rel);
    ASSERT_TRUE(status.ok()) << status.ToString();
    if (i % 3 == 2) {
      AbortTransaction(be);
      told->aborted.insert(id);
    } else {
      ASSERT_TRUE(CommitTransaction(be).ok());
      if (synchronous) told->acked.insert(id);
    }
  }
}

void Checkpointer(Backend& be) {
  for (int i = 0; i < 4; ++i) {
    PanicIfError(be,
                 CreateCheckPoint(be, CHECKPOINT_IMMEDIATE | CHECKPOINT_FORCE));
  }
}

void Judge(Backend& be, const Told& told, const std::string& where) {
  RelationData rel = HeapTestNode::MakeRelation();
  StartTransaction(be, IsolationLevel::kReadCommitted);
  std::set<int32_t> found;
  int64_t counter = -1;
  for (const HeapTestNode::FoundRow& f : HeapTestNode::Select(be, rel)) {
    if (f.row.id == kCounterId) {
      ASSERT_EQ(counter, -1) << "two counters " << where;
      counter = f.row.value;
    } else {
      ASSERT_TRUE(found.insert(f.row.id).second) << where;
      ASSERT_EQ(f.row.note.size(), 700u);
    }
  }
  for (int32_t id : told.acked) {
    ASSERT_TRUE(found.count(id)) << "lost " << id << " " << where;
  }
  for (int32_t id : found) {
    ASSERT_TRUE(told.started.count(id)) << where;
    ASSERT_FALSE(told.aborted.count(id)) << "aborted " << id << " " << where;
  }
  ASSERT_EQ(counter, static_cast<int64_t>(found.size())) << where;
  AbortTransaction(be);
}

// One run; crash_after 0: to its end. Returns the steps it took.
uint64_t RunOnce(uint64_t seed, uint64_t crash_after) {
  std::string where = "seed " + std::to_string(seed) + " crash after " +
                      std::to_string(crash_after);
  HeapTestOptions options;
  options.seed = seed;
  options.strategy = RestlessStrategy();
  options.config.shared_buffers = 12;
  options.config.clog_buffers = 1 + static_cast<int>(seed % 2);
  HeapTestNode node(options);
  node.RunToEnd({[](Backend& be) {
    StartTransaction(be, IsolationLevel::kReadCommitted);
    HeapTuple row = HeapTestNode::MakeRow(kCounterId, 0, "");
    RelationData rel = HeapTestNode::MakeRelation();
    PanicIfError(be, HeapInsert(be, rel, &row, GetCurrentCommandId(be, true)));
    PanicIfError(be, CommitTransaction(be));
  }});
  Told told;
  uint64_t begin = node.world().steps();
  if (crash_after > 0) node.CrashAfter(crash_after);
  auto reason = node.Run({[&](Backend& be) { Writer(be, 1, true, &told); },
                          [&](Backend& be) { Writer(be, 2, true, &told); },
                          [&](Backend& be) { Writer(be, 3, false, &told); },
                          [&](Backend& be) { Checkpointer(be); }});
  uint64_t steps = node.world().steps() - begin;
  EXPECT_EQ(reason, crash_after > 0 ? sim::World::StopReason::kCrashed
                                    : sim::World::StopReason::kIdle)
      << where;
  EXPECT_EQ(node.panic(), "") << where;
  node.NeverCrash();
  node.PowerLoss();
  for (int recovery = 0; recovery < 2; ++recovery) {
    node.RunToEnd({[&](Backend& be) { Judge(be, told, where); }});
    node.PowerLoss();
  }
  return steps;
}

TEST(Crash, TransactionsAreDurableAndWholeAfterPowerLossAtAnyStep) {
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    uint64_t steps = RunOnce(seed, 0);
    for (uint64_t part = 1; part <= 4; ++part) {
      RunOnce(seed, steps * (4 * part - 3 + seed % 4) / 17);
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace engine
