#include "engine/lock/lmgr.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "engine/common/errcodes.h"
#include "engine/common/sites.h"
#include "engine/heap/test_node.h"
#include "engine/ipc/proc.h"
#include "engine/txn/procarray.h"
#include "engine/txn/xact.h"

namespace engine {
namespace {

void Pause(Backend& be) { be.env->tasks->Yield(SITE_ID(latch_wait)); }

// Transactions that wait for each other as told: client i waits for the one
// that waits_for[i] names (-1: nobody), once all have an xid.
class WaitGraph {
 public:
  WaitGraph(uint64_t seed, std::vector<int> waits_for)
      : waits_for_(std::move(waits_for)),
        xids_(waits_for_.size(), kInvalidTransactionId),
        outcome_(waits_for_.size()),
        pids_(waits_for_.size()) {
    HeapTestOptions options;
    options.seed = seed;
    options.strategy = RestlessStrategy();
    HeapTestNode node(options);
    std::vector<HeapTestNode::Body> bodies;
    for (size_t i = 0; i < waits_for_.size(); ++i) {
      bodies.push_back([this, i](Backend& be) { Client(be, i); });
    }
    node.RunToEnd(bodies);
  }

  const Status& outcome(size_t i) const { return outcome_[i]; }
  env::TaskId pid(size_t i) const { return pids_[i]; }
  TransactionId xid(size_t i) const { return xids_[i]; }
  int victims() const {
    int n = 0;
    for (const Status& status : outcome_) n += status.ok() ? 0 : 1;
    return n;
  }

 private:
  void Client(Backend& be, size_t i) {
    StartTransaction(be, IsolationLevel::kReadCommitted);
    auto xid = GetCurrentTransactionId(be);
    ASSERT_TRUE(xid.ok());
    pids_[i] = be.pid;
    xids_[i] = *xid;
    while (std::count(xids_.begin(), xids_.end(), kInvalidTransactionId) > 0) {
      Pause(be);
    }
    if (waits_for_[i] >= 0) {
      TransactionId target = xids_[static_cast<size_t>(waits_for_[i])];
      outcome_[i] = XactLockTableWait(be, target);
      if (outcome_[i].ok()) {
        EXPECT_FALSE(TransactionIdIsInProgress(be, target));
      }
    }
    EXPECT_EQ(MyProc(be).waiting_for_xid, kInvalidTransactionId);
    if (outcome_[i].ok()) {
      ASSERT_TRUE(CommitTransaction(be).ok());
    } else {
      AbortTransaction(be);
    }
  }

  const std::vector<int> waits_for_;
  std::vector<TransactionId> xids_;
  std::vector<Status> outcome_;
  std::vector<env::TaskId> pids_;
};

TEST(Deadlock, OneOfTwoIsTheVictimAndTheOtherGoesOn) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    WaitGraph graph(seed, {1, 0});
    ASSERT_EQ(graph.victims(), 1) << "seed " << seed;
    size_t victim = graph.outcome(0).ok() ? 1 : 0;
    const Status& status = graph.outcome(victim);
    EXPECT_EQ(status.sqlstate(), ERRCODE_T_R_DEADLOCK_DETECTED);
    EXPECT_EQ(status.message(), "deadlock detected");
    size_t other = 1 - victim;
    EXPECT_EQ(
        status.detail(),
        fmt::format("Process {} waits for ShareLock on transaction {}; "
                    "blocked by process {}.\n"
                    "Process {} waits for ShareLock on transaction {}; "
                    "blocked by process {}.",
                    graph.pid(victim), graph.xid(other), graph.pid(other),
                    graph.pid(other), graph.xid(victim), graph.pid(victim)));
  }
}

TEST(Deadlock, OneOfThreeIsTheVictimAndTheOthersGoOn) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    WaitGraph graph(seed, {1, 2, 0});
    ASSERT_EQ(graph.victims(), 1) << "seed " << seed;
  }
}

TEST(Deadlock, WaitersBesideTheCycleAreNeverVictims) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    // 0 and 1 deadlock; 2 and 3 wait for members, 4 for a waiter, 5 for
    // nobody.
    WaitGraph graph(seed, {1, 0, 0, 1, 2, -1});
    ASSERT_EQ(graph.victims(), 1) << "seed " << seed;
    ASSERT_NE(graph.outcome(0).ok(), graph.outcome(1).ok());
  }
}

TEST(Deadlock, LongChainWithoutACycleHasNoVictim) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    WaitGraph graph(seed, {1, 2, 3, 4, -1});
    ASSERT_EQ(graph.victims(), 0) << "seed " << seed;
  }
}

TEST(XactLockTableWait, FinishedTransactionIsNotWaitedFor) {
  HeapTestNode node{HeapTestOptions()};
  node.RunToEnd({[](Backend& be) {
    StartTransaction(be, IsolationLevel::kReadCommitted);
    auto xid = GetCurrentTransactionId(be);
    ASSERT_TRUE(xid.ok());
    AbortTransaction(be);
    StartTransaction(be, IsolationLevel::kReadCommitted);
    EXPECT_TRUE(XactLockTableWait(be, *xid).ok());
    AbortTransaction(be);
  }});
}

TEST(ExtensionLock, IsHeldByOneAtATimeAndReachesEveryWaiter) {
  constexpr RelFileNode kRel = {1663, 5, 1};
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    HeapTestOptions options;
    options.seed = seed;
    options.strategy = RestlessStrategy();
    HeapTestNode node(options);
    int holders = 0;
    int grants = 0;
    HeapTestNode::Body body = [&](Backend& be) {
      for (int i = 0; i < 5; ++i) {
        // Another relation's lock is in nobody's way.
        RelationExtensionGuard other(be, {1663, 5, 100 + be.pid});
        RelationExtensionGuard guard(be, kRel);
        ASSERT_EQ(++holders, 1) << "seed " << seed;
        Pause(be);
        Pause(be);
        --holders;
        ++grants;
      }
    };
    node.RunToEnd({body, body, body, body});
    EXPECT_EQ(grants, 20);
  }
}

}  // namespace
}  // namespace engine
