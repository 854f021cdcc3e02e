#include "engine/txn/clog.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/common/sites.h"
#include "engine/heap/test_node.h"
#include "engine/ipc/proc.h"
#include "engine/smgr/sync.h"
#include "engine/txn/txn_shared.h"
#include "engine/txn/varsup.h"
#include "engine/wal/xlog.h"

namespace engine {
namespace {

// xids around the borders of bytes, groups, pages and a segment.
std::vector<TransactionId> InterestingXids() {
  std::vector<TransactionId> xids;
  for (TransactionId page : {0u, 1u, 2u, 5u, 6u}) {
    TransactionId base = page * CLOG_XACTS_PER_PAGE;
    for (TransactionId offset : {3u, 4u, 5u, 31u, 32u, 32767u}) {
      xids.push_back(base + offset);
    }
  }
  return xids;
}

XidStatus PlannedStatus(TransactionId xid) {
  return xid % 3 == 0 ? XidStatus::kAborted : XidStatus::kCommitted;
}

void ExpectPlanned(Backend& be) {
  for (TransactionId xid : InterestingXids()) {
    auto status = TransactionIdGetStatus(be, xid, nullptr);
    ASSERT_TRUE(status.ok()) << status.status().ToString();
    EXPECT_EQ(*status, PlannedStatus(xid)) << xid;
    // Its neighbours were never set.
    for (TransactionId other : {xid - 9, xid + 9}) {
      TransactionId in_page = other % CLOG_XACTS_PER_PAGE;
      if (in_page < 6 || in_page == 31 || in_page == 32) continue;
      if (other / CLOG_XACTS_PER_PAGE != xid / CLOG_XACTS_PER_PAGE) continue;
      auto neighbour = TransactionIdGetStatus(be, other, nullptr);
      ASSERT_TRUE(neighbour.ok()) << neighbour.status().ToString();
      EXPECT_EQ(*neighbour, XidStatus::kInProgress) << other;
    }
  }
}

void MakePages(Backend& be, TransactionId pages) {
  LWLockGuard lock(be, Procs(be).xid_gen_lock, LWLockMode::kExclusive);
  for (TransactionId page = 1; page < pages; ++page) {
    ASSERT_TRUE(ExtendCLOG(be, page * CLOG_XACTS_PER_PAGE).ok());
  }
}

TEST(Clog, StatusesSurviveEvictionAndACheckpointBeforePowerLoss) {
  HeapTestOptions options;
  options.config.clog_buffers = 2;
  HeapTestNode node(options);
  node.RunToEnd(
      {[](Backend& be) {
        MakePages(be, 7);
        for (TransactionId xid : InterestingXids()) {
          ASSERT_TRUE(TransactionIdSetStatus(be, xid, PlannedStatus(xid),
                                             kInvalidXLogRecPtr)
                          .ok());
        }
        ExpectPlanned(be);
        AdvanceNextTransactionIdPastXid(be, 7 * CLOG_XACTS_PER_PAGE - 1);
      }},
      /*shutdown=*/true);
  node.PowerLoss();
  node.RunToEnd({[](Backend& be) { ExpectPlanned(be); }});
}

TEST(Clog, PermanentTransactionIdsNeedNoFile) {
  HeapTestNode node{HeapTestOptions()};
  node.RunToEnd({[](Backend& be) {
    EXPECT_TRUE(*TransactionIdDidCommit(be, kBootstrapTransactionId));
    EXPECT_TRUE(*TransactionIdDidCommit(be, kFrozenTransactionId));
    EXPECT_FALSE(*TransactionIdDidCommit(be, kInvalidTransactionId));
    auto far = TransactionIdDidCommit(be, 50 * CLOG_XACTS_PER_PAGE);
    ASSERT_FALSE(far.ok());
    EXPECT_EQ(far.status().message(),
              "could not access status of transaction 1638400");
  }});
}

TEST(Clog, PageWithAnAsynchronousCommitIsWrittenOnlyAfterItsWal) {
  HeapTestNode node{HeapTestOptions()};
  node.RunToEnd({[](Backend& be) {
    StartTransaction(be, IsolationLevel::kReadCommitted);
    SetSynchronousCommit(be, false);
    auto xid = GetCurrentTransactionId(be);
    ASSERT_TRUE(xid.ok());
    ASSERT_TRUE(CommitTransaction(be).ok());
    XLogRecPtr lsn = LastCommitLSN(be);
    ASSERT_TRUE(XLogNeedsFlush(be, lsn));
    XLogRecPtr hint_lsn = 0;
    EXPECT_EQ(*TransactionIdGetStatus(be, *xid, &hint_lsn),
              XidStatus::kCommitted);
    EXPECT_EQ(hint_lsn, lsn);
    // An older requirement of the same group does not lower it.
    ASSERT_TRUE(
        TransactionIdSetStatus(be, *xid + 1, XidStatus::kCommitted, 1).ok());
    EXPECT_EQ(SharedTxn(be).clog.group_lsn(0, 0), lsn);
    ASSERT_TRUE(CheckPointCLOG(be).ok());
    EXPECT_FALSE(XLogNeedsFlush(be, lsn));
  }});
}

TEST(Clog, StartUpForgetsStatusesBeyondTheNextXid) {
  HeapTestNode node{HeapTestOptions()};
  TransactionId next = 0;
  node.RunToEnd(
      {[&](Backend& be) {
        StartTransaction(be, IsolationLevel::kReadCommitted);
        ASSERT_TRUE(GetCurrentTransactionId(be).ok());
        ASSERT_TRUE(CommitTransaction(be).ok());
        next = ReadNextTransactionId(be);
        // Aborts whose records were never flushed leave such bits behind.
        for (TransactionId xid = next; xid < next + 9; ++xid) {
          ASSERT_TRUE(TransactionIdSetStatus(be, xid, XidStatus::kAborted,
                                             kInvalidXLogRecPtr)
                          .ok());
        }
      }},
      /*shutdown=*/true);
  node.RunToEnd({[&](Backend& be) {
    EXPECT_EQ(ReadNextTransactionId(be), next);
    EXPECT_TRUE(*TransactionIdDidCommit(be, next - 1));
    for (TransactionId xid = next; xid < next + 9; ++xid) {
      EXPECT_EQ(*TransactionIdGetStatus(be, xid, nullptr),
                XidStatus::kInProgress);
    }
  }});
}

}  // namespace
}  // namespace engine
