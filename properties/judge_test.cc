#include "properties/judge.h"

#include <gtest/gtest.h>

#include "properties/fake_node.h"
#include "sim/fault_hooks.h"

namespace properties {
namespace {

using env::EventKind;

class JudgeTest : public ::testing::Test {
 protected:
  // The only verdict, as "TAG oracle: message", or all of them.
  std::string Verdicts() {
    std::string out;
    for (const Verdict& v : judge_.TakeVerdicts()) {
      if (!out.empty()) out += "\n";
      out += v.promise + " " + v.oracle + ": " + v.subject + ": " + v.message;
    }
    return out;
  }
  // True if a verdict begins with "TAG oracle" and contains text.
  ::testing::AssertionResult Says(const std::string& start,
                                  const std::string& text) {
    std::string all = Verdicts();
    size_t at = 0;
    while (at < all.size()) {
      size_t end = all.find('\n', at);
      if (end == std::string::npos) end = all.size();
      std::string line = all.substr(at, end - at);
      if (line.rfind(start, 0) == 0 && line.find(text) != std::string::npos) {
        return ::testing::AssertionSuccess();
      }
      at = end + 1;
    }
    return ::testing::AssertionFailure() << "verdicts:\n" << all;
  }
  void Recovered() { judge_.OnRecovered(node_.files()); }

  // Two committed transactions, the second updating the first's row, one
  // aborted; a crash that keeps everything.
  void SomeHistory() {
    uint32_t first = node_.Begin();
    row1_ = node_.Insert(first, 1, 10);
    row2_ = node_.Insert(first, 2, 20);
    node_.Commit(first);
    uint32_t second = node_.Begin();
    row3_ = node_.Update(second, row1_, 1, 11);
    node_.Commit(second);
    uint32_t third = node_.Begin();
    row4_ = node_.Insert(third, 3, 30);
    node_.Delete(third, row2_);
    node_.Abort(third);
    node_.CrashAndRecover(node_.wal_end());
  }

  Judge judge_{JudgeOptions()};
  FakeNode node_{&judge_};
  uint64_t row1_ = 0;
  uint64_t row2_ = 0;
  uint64_t row3_ = 0;
  uint64_t row4_ = 0;
};

TEST_F(JudgeTest, ACorrectHistoryBreaksNothing) {
  SomeHistory();
  Recovered();
  EXPECT_EQ(Verdicts(), "");
  // Another epoch, in which an asynchronous commit is cut off.
  uint32_t kept = node_.Begin();
  node_.Delete(kept, row2_);
  node_.Commit(kept);
  uint64_t cut = node_.wal_end();
  uint32_t lost = node_.Begin();
  node_.CommitRecord(lost, /*sync=*/false);
  node_.Visible(lost);
  node_.Ack(lost);
  node_.CrashAndRecover(cut);
  Recovered();
  EXPECT_EQ(Verdicts(), "");
  EXPECT_EQ(judge_.model().stats().acked_commits, 4u);
  node_.ShutDown();
  judge_.OnShutdown(node_.files());
  EXPECT_EQ(Verdicts(), "");
}

TEST_F(JudgeTest, AckBeforeFlushIsSeenAtOnce) {
  uint32_t xid = node_.Begin();
  node_.Insert(xid, 1, 1);
  node_.CommitRecord(xid);
  node_.Visible(xid);
  EXPECT_TRUE(Says("DUR ack", "became visible to others when WAL was flushed"));
  node_.Ack(xid);
  EXPECT_TRUE(Says("DUR ack", "was acknowledged when WAL was flushed"));
}

TEST_F(JudgeTest, AckedCommitAboveTheCutIsLost) {
  uint64_t cut = node_.wal_end();
  uint32_t xid = node_.Begin();
  node_.Insert(xid, 1, 1);
  node_.Commit(xid);
  node_.tuples().begin()->second.xmin = xid;
  node_.CrashAndRecover(cut);
  EXPECT_TRUE(Says("DUR ack", "lost: its client was told of the commit"));
}

TEST_F(JudgeTest, ObservedCommitAboveTheCutIsLost) {
  uint64_t cut = node_.wal_end();
  uint32_t xid = node_.Begin();
  uint64_t tid = node_.Insert(xid, 1, 1);
  uint64_t end = node_.CommitRecord(xid);
  node_.Flush(end);
  node_.Visible(xid);
  node_.Emit(EventKind::kTupleRead, {FakeNode::kRel, tid, xid, 0}, {}, 2);
  node_.CrashAndRecover(cut);
  EXPECT_TRUE(Says("DUR ack", "task 2 had read its row"));
}

TEST_F(JudgeTest, ACommitRecordLiesBehindThoseItsTransactionSaw) {
  uint32_t seen = node_.Begin(1);
  node_.Insert(seen, 1, 1);
  uint64_t end = node_.CommitRecord(seen, /*sync=*/false);
  node_.Visible(seen);
  uint32_t sees = node_.Begin(2);
  node_.Emit(EventKind::kSnapshot, {sees, sees + 1, 0, 0, 1}, {}, 2);
  node_.Emit(EventKind::kCommitRecord, {sees, end - 1, 0}, {}, 2);
  EXPECT_TRUE(Says("WAL ack", "of a transaction that its snapshot shows"));
  uint32_t saw_nothing = node_.Begin(3);
  node_.Emit(EventKind::kCommitRecord, {saw_nothing, end - 1, 0}, {}, 3);
  EXPECT_EQ(Verdicts(), "");
}

TEST_F(JudgeTest, WhatARecoveryDecidedStaysDecided) {
  uint64_t before = node_.wal_end();
  uint32_t in_doubt = node_.Begin();
  node_.Insert(in_doubt, 1, 1);
  node_.CommitRecord(in_doubt, /*sync=*/false);
  node_.CrashAndRecover(node_.wal_end());
  Recovered();
  EXPECT_EQ(Verdicts(), "");
  node_.Emit(EventKind::kCrash, {2, 2});
  node_.Emit(EventKind::kRecoveryStart, {0, 0});
  node_.Emit(EventKind::kRecoveryEnd, {before});
  EXPECT_TRUE(Says("DUR ack", "where a recovery had ended that clients saw"));
}

TEST_F(JudgeTest, InDoubtCommitMayGoEitherWayButWhole) {
  uint32_t xid = node_.Begin();
  node_.Insert(xid, 1, 1);
  node_.CommitRecord(xid);
  node_.CrashAndRecover(node_.wal_end());
  Recovered();
  EXPECT_EQ(Verdicts(), "");
  EXPECT_EQ(judge_.model().stats().in_doubt, 1u);
}

TEST_F(JudgeTest, DirtyReadIsSeen) {
  uint32_t xid = node_.Begin(1);
  uint64_t tid = node_.Insert(xid, 1, 1);
  node_.Emit(EventKind::kTupleRead, {FakeNode::kRel, tid, xid, 0}, {}, 1);
  EXPECT_EQ(Verdicts(), "");
  node_.Emit(EventKind::kTupleRead, {FakeNode::kRel, tid, xid, 0}, {}, 2);
  EXPECT_TRUE(Says("VIS ack", "its inserter is still running"));
}

TEST_F(JudgeTest, LostUpdateIsAConflict) {
  SomeHistory();
  Recovered();
  EXPECT_EQ(Verdicts(), "");
  uint32_t a = node_.Begin();
  uint32_t b = node_.Begin(2);
  node_.Update(a, row3_, 1, 12);
  node_.Update(b, row3_, 1, 13);
  node_.Commit(a);
  node_.Commit(b);
  node_.CrashAndRecover(node_.wal_end());
  Recovered();
  EXPECT_TRUE(Says("VIS content", "had already removed"));
}

TEST_F(JudgeTest, CommitLogThatForgotATransaction) {
  SomeHistory();
  node_.committed().erase(701);
  node_.WriteFiles(FakeNode::kInProduction);
  Recovered();
  std::string all = Verdicts();
  EXPECT_NE(all.find("the commit log says in progress"), std::string::npos);
  EXPECT_NE(all.find("(1, 11) of transaction 701 (task 1) is missing"),
            std::string::npos)
      << all;
  EXPECT_NE(all.find("(1, 10) of transaction 700 (task 1) is visible although"),
            std::string::npos)
      << all;
}

TEST_F(JudgeTest, RowsOfAnAbortedTransactionMayNotShow) {
  SomeHistory();
  node_.committed().insert(702);
  node_.WriteFiles(FakeNode::kInProduction);
  Recovered();
  std::string all = Verdicts();
  EXPECT_NE(all.find("ATOM content: transaction 702"), std::string::npos);
  EXPECT_NE(all.find("(3, 30) of transaction 702 (task 1), which did not "
                     "commit, is visible"),
            std::string::npos)
      << all;
}

TEST_F(JudgeTest, HalfATransactionIsNotAtomicAllOfItIsLost) {
  uint32_t xid = node_.Begin();
  uint64_t one = node_.Insert(xid, 1, 10);
  uint64_t two = node_.Insert(xid, 2, 20);
  node_.Commit(xid);
  node_.CrashAndRecover(node_.wal_end());
  node_.tuples()[one].xmin = 600;  // of nobody who committed
  node_.WriteFiles(FakeNode::kInProduction);
  Recovered();
  EXPECT_TRUE(Says("ATOM content", "(1, 10) of transaction 700"));
  node_.tuples()[two].xmin = 600;
  node_.WriteFiles(FakeNode::kInProduction);
  Recovered();
  EXPECT_TRUE(Says("DUR content", "(1, 10) of transaction 700"));
}

TEST_F(JudgeTest, ColumnsThatChanged) {
  SomeHistory();
  node_.tuples()[row3_].body = Int4Body({1, 99});
  node_.WriteFiles(FakeNode::kInProduction);
  Recovered();
  EXPECT_TRUE(Says("REC content",
                   "transaction 701 (task 1) wrote (1, 11), found "
                   "(1, 99)"));
}

TEST_F(JudgeTest, TornPageFailsItsChecksum) {
  SomeHistory();
  std::string& page = node_.files().At(HeapPath(FakeNode::kRel));
  page[kPageBytes - 1] = static_cast<char>(page[kPageBytes - 1] ^ 1);
  Recovered();
  EXPECT_TRUE(Says("REC structure: page base/5/16384:0", "checksum"));
}

// A garbage page behind the relation's only one: nobody is blamed for it if it
// is excused, and the rows of the other page are still judged.
TEST_F(JudgeTest, AnExcusedPageIsSkippedAndTheOthersAreRead) {
  SomeHistory();
  node_.files().At(HeapPath(FakeNode::kRel)).append(kPageBytes, 'g');
  std::vector<uint32_t> asked;
  bool excused = false;
  auto excuse = [&](std::string_view path, uint32_t block) {
    EXPECT_EQ(path, HeapPath(FakeNode::kRel));
    asked.push_back(block);
    return excused;
  };
  ClusterImage blamed(&node_.files(), true, excuse);
  EXPECT_EQ(blamed.Heap(FakeNode::kRel).findings.size(), 1u);
  excused = true;
  ClusterImage image(&node_.files(), true, excuse);
  const HeapFile& heap = image.Heap(FakeNode::kRel);
  EXPECT_TRUE(heap.findings.empty());
  EXPECT_EQ(heap.excused, std::vector<uint32_t>{1});
  EXPECT_EQ(heap.tuples.size(), 4u);
  EXPECT_EQ(asked, (std::vector<uint32_t>{1, 1}));
  Recovered();  // without a fault that damaged it
  EXPECT_TRUE(Says("REC structure: page base/5/16384:1", "page"));
}

TEST_F(JudgeTest, RefusalWithoutDamageIsAFalseAlarm) {
  SomeHistory();
  env::Status refusal =
      env::Status::Sql(env::MakeSqlState("XX001"),
                       "invalid page in block 7 of relation base/5/16384");
  EXPECT_FALSE(judge_.JudgeRefusal("table t", refusal));
  EXPECT_TRUE(judge_.detected().empty());
  EXPECT_TRUE(Says("REC attribution: table t",
                   "no injected fault damaged page base/5/16384:7"));
}

TEST_F(JudgeTest, HintBitThatTheCommitLogDenies) {
  SomeHistory();
  node_.tuples()[row4_].infomask = kHeapXminCommitted;
  node_.WriteFiles(FakeNode::kInProduction);
  Recovered();
  EXPECT_TRUE(Says("VIS structure", "a hint says that xmin 702 committed"));
}

TEST_F(JudgeTest, PageThatIsAheadOfTheLog) {
  SomeHistory();
  node_.set_page_lsn(node_.wal_end() + 8);
  node_.WriteFiles(FakeNode::kInProduction);
  Recovered();
  EXPECT_TRUE(Says("WAL structure: page base/5/16384:0", "has LSN"));
}

TEST_F(JudgeTest, LogThatLostARecordAfterRecovery) {
  SomeHistory();
  std::string& segment = node_.files().At(node_.wal_path());
  segment[60] = static_cast<char>(segment[60] ^ 1);
  Recovered();
  EXPECT_TRUE(Says("WAL wal: log after recovery", "the log on disk ends at"));
}

TEST_F(JudgeTest, ControlFileInTheWrongStateOrNamingNoCheckpoint) {
  SomeHistory();
  node_.WriteFiles(FakeNode::kShutDown);
  Recovered();
  EXPECT_TRUE(Says("REC structure: global/pg_control",
                   "cluster is shut down, expected in production"));
  std::string& control = node_.files().At(kControlFilePath);
  control[0] = static_cast<char>(control[0] ^ 1);
  Recovered();
  EXPECT_TRUE(Says("REC structure: global/pg_control", "CRC"));
}

TEST_F(JudgeTest, RecordsBehindTheShutdownCheckpoint) {
  SomeHistory();
  uint32_t xid = node_.Begin();
  node_.ShutDown();
  node_.Abort(xid);
  judge_.OnShutdown(node_.files());
  EXPECT_TRUE(Says("CKPT structure: log after shutdown", "follows"));
}

TEST_F(JudgeTest, PageWrittenBeforeItsWal) {
  uint64_t flushed = node_.wal_end();
  node_.Emit(EventKind::kPageWrite,
             {uint64_t{FakeNode::kRel} << 32 | 3, 0, flushed, flushed});
  EXPECT_EQ(Verdicts(), "");
  node_.Emit(EventKind::kPageWrite,
             {uint64_t{FakeNode::kRel} << 32 | 3, 0, flushed + 8, flushed + 8});
  EXPECT_TRUE(Says("WAL wal_before_data: page base/5/16384:3", "written with"));
}

TEST_F(JudgeTest, PositionsThatGoBack) {
  node_.Emit(EventKind::kCheckpoint, {1, 5000, 0});
  node_.Emit(EventKind::kCheckpoint, {5, 5000, 6000});
  node_.Emit(EventKind::kCheckpoint, {1, 4000, 0});
  EXPECT_TRUE(Says("CKPT wal_before_data: redo pointer", "went back"));
  node_.Emit(EventKind::kRecoveryStart, {100, 200});
  EXPECT_TRUE(Says("CKPT wal_before_data: recovery", "durably pointed at"));
}

// What was read back counts as durable only after a power loss: the fsync of
// pg_control may have failed, and the cached bytes vanish later.
TEST_F(JudgeTest, ACheckpointReadFromTheCacheMayVanish) {
  auto crash = [this](sim::CrashKind kind) {
    node_.Emit(EventKind::kCrash, {static_cast<uint64_t>(kind)});
  };
  node_.Emit(EventKind::kCheckpoint, {5, 90, 100});
  crash(sim::CrashKind::kProcess);
  node_.Emit(EventKind::kRecoveryStart, {190, 200});
  crash(sim::CrashKind::kProcess);
  node_.Emit(EventKind::kRecoveryStart, {90, 100});
  EXPECT_EQ(Verdicts(), "");
  crash(sim::CrashKind::kPowerLoss);
  crash(sim::CrashKind::kProcess);
  node_.Emit(EventKind::kRecoveryStart, {190, 200});
  crash(sim::CrashKind::kProcess);
  node_.Emit(EventKind::kRecoveryStart, {90, 100});
  EXPECT_TRUE(Says("CKPT wal_before_data: recovery", "durably pointed at"));
}

TEST_F(JudgeTest, PinsAndLocksEndWithTheirStatement) {
  node_.Emit(EventKind::kResourcesHeld, {0, 0, 0}, {}, 2);
  node_.Emit(EventKind::kResourcesHeld, {1, 0, 0}, {}, 2);
  EXPECT_EQ(Verdicts(), "");
  node_.Emit(EventKind::kResourcesHeld, {0, 1, 0}, {}, 2);
  EXPECT_TRUE(Says("RES structure: task 2", "its statement ends with 1 buf"));
  node_.Emit(EventKind::kResourcesHeld, {1, 0, 3}, {}, 4);
  EXPECT_TRUE(Says("RES structure: task 4", "0 buffers pinned and 3 LWLocks"));
}

TEST_F(JudgeTest, ScanMustReturnTheCommittedRows) {
  SomeHistory();
  engine::StatementResult result;
  result.rows = {{"1", "11"}, {"2", "20"}};
  judge_.CompareScan("t", result);
  EXPECT_EQ(Verdicts(), "");
  result.rows = {{"1", "10"}, {"2", "20"}};
  judge_.CompareScan("t", result);
  std::string all = Verdicts();
  EXPECT_NE(all.find("does not return the committed row (1, 11)"),
            std::string::npos);
  EXPECT_NE(all.find("returns (1, 10), which no committed row is"),
            std::string::npos);
}

TEST_F(JudgeTest, ScanCountsCommitsWithoutACrash) {
  uint32_t xid = node_.Begin();
  node_.Insert(xid, 5, 50);
  node_.Commit(xid);
  engine::StatementResult result;
  result.rows = {{"5", "50"}};
  judge_.CompareScan("t", result);
  EXPECT_EQ(Verdicts(), "");
}

TEST_F(JudgeTest, StatementCountsMustMatchItsChanges) {
  PlanStatement statement;
  statement.id = {2, 4, 1};
  judge_.OnStatementSent(1, statement);
  uint32_t xid = node_.Begin();
  node_.Insert(xid, 1, 1);
  node_.Insert(xid, 2, 2);
  std::vector<engine::StatementResult> results(1);
  results[0].command_tag = "INSERT 0 2";
  results[0].rows_affected = 2;
  judge_.OnStatementResult(1, statement, results);
  EXPECT_EQ(Verdicts(), "");
  EXPECT_EQ(judge_.model().Describe(xid), "transaction 700 (s2.t4)");
  results[0].rows_affected = 1;
  judge_.OnStatementResult(1, statement, results);
  EXPECT_TRUE(Says("STMT ack: statement s2.t4.q1",
                   "changed 1 rows and "
                   "changed 2"));
}

TEST_F(JudgeTest, TheSmallestCutOfSeveralRecoveriesCounts) {
  uint32_t first = node_.Begin();
  node_.Insert(first, 1, 1);
  uint64_t cut = node_.CommitRecord(first);
  uint32_t second = node_.Begin();
  node_.Insert(second, 2, 2);
  node_.CommitRecord(second);
  node_.Emit(EventKind::kCrash, {2, 1});
  node_.Emit(EventKind::kRecoveryStart, {0, 0});
  node_.Emit(EventKind::kRecoveryEnd, {cut});
  node_.Emit(EventKind::kCrash, {2, 2});
  node_.Emit(EventKind::kRecoveryStart, {0, 0});
  // The end-of-recovery checkpoint took the place of the second commit.
  node_.Emit(EventKind::kRecoveryEnd, {cut + 120});
  node_.Emit(EventKind::kReady, {});
  EXPECT_EQ(judge_.model().FindByXid(first)->fate, TxnFate::kCommitted);
  EXPECT_EQ(judge_.model().Rows(FakeNode::kRel).size(), 1u);
}

TEST(LivenessOracle, ReportsWhoIsLeftAndRefusalsWithoutExcuse) {
  VerdictSink sink;
  LivenessOracle oracle(&sink, 500);
  EXPECT_FALSE(oracle.Overdue(10'000));
  oracle.OnFaultsStopped(1000);
  EXPECT_FALSE(oracle.Overdue(1500));
  EXPECT_TRUE(oracle.Overdue(1501));
  oracle.OnFaultsGoOn();
  EXPECT_FALSE(oracle.Overdue(1501));
  oracle.OnFaultsStopped(1100);
  oracle.OnDeadline(1700, {}, "");
  EXPECT_TRUE(sink.verdicts().empty());
  oracle.OnDeadline(1700, {"s1", "s3"}, "s1 waits for a lock");
  ASSERT_EQ(sink.verdicts().size(), 1u);
  EXPECT_EQ(sink.verdicts()[0].subject, "s1, s3");
  EXPECT_EQ(sink.verdicts()[0].message,
            "not finished 600 scheduling steps after the faults stopped\n"
            "s1 waits for a lock");
  oracle.OnExcuse();
  oracle.OnRefusedStart("no WAL");
  EXPECT_EQ(sink.verdicts().size(), 1u);
  oracle.OnNodeStarts();
  oracle.OnRefusedStart("no WAL");
  EXPECT_EQ(sink.verdicts().size(), 2u);
}

}  // namespace
}  // namespace properties
