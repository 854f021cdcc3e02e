#include "properties/shadow_oracle.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "properties/cluster_image.h"
#include "properties/decoders/test_cluster.h"
#include "properties/decoders/test_record.h"
#include "sim/choices.h"

namespace properties {
namespace {

using env::EventKind;

constexpr uint32_t kRel = 16384;
constexpr uint16_t kXmaxInvalid = 0x0800;
constexpr uint8_t kHeap = kRmHeap;
constexpr uint8_t kInit = 0x80;

// A node's disk whose writes are told to the oracle, and a log without bytes
// on disk.
class ShadowOracleTest : public ::testing::Test,
                         private sim::DeviceHost,
                         private env::EventSink {
 protected:
  using env::EventSink::Emit;

  ShadowOracleTest() {
    EXPECT_TRUE(disk_.Mkdir("base").ok());
    EXPECT_TRUE(disk_.Mkdir("base/5").ok());
    oracle_.LoadTemplate(disk_);
    disk_.Attach(this, nullptr);
    Emit(EventKind::kXidAssigned, 700);
  }
  ~ShadowOracleTest() override { disk_.Attach(nullptr, nullptr); }

  // Logs a record; returns its end.
  uint64_t Log(const TestRecord& record) {
    std::string bytes = record.Bytes();
    env::Event e;
    e.kind = EventKind::kWalInsert;
    e.a[0] = at_;
    at_ += AlignUp(bytes.size(), 8);
    e.a[1] = at_;
    e.bytes = bytes;
    Emit(e);
    return at_;
  }
  uint64_t LogInsert(uint32_t xid, uint16_t offset,
                     const std::vector<int>& values) {
    bool init = offset == 1;
    return Log(TestRecord(kHeap, init ? kInit : 0, xid, InsertMain(offset))
                   .Block(0, kRel, 0,
                          LoggedTuple(Int4Body(values), kXmaxInvalid), init));
  }
  uint64_t LogCommit(uint32_t xid) {
    return Log(TestRecord(kRmXact, 0, xid, std::string(8, '\0')));
  }
  void Flush(uint64_t lsn) { Emit(EventKind::kWalFlush, lsn); }
  // The node writes block 0.
  void Write(std::string page, uint64_t lsn) {
    PokeField(&page, 4, static_cast<uint32_t>(lsn));
    uint64_t key = uint64_t{kRel} << 32;
    Emit(EventKind::kPageWrite, key, 0, lsn, lsn);
    auto file = disk_.Open(HeapPath(kRel), env::kOpenWrite | env::kOpenCreate);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->Pwrite(0, page).ok());
  }
  void CrashAndRecover(uint64_t cut) {
    Emit(EventKind::kRecoveryStart, 1000, 1000);
    Emit(EventKind::kRecoveryEnd, cut);
  }
  std::string Verdicts() {
    std::string out;
    for (const Verdict& v : sink_.verdicts()) {
      out += v.promise + " " + v.subject + ": " + v.message + "\n";
    }
    sink_ = VerdictSink();
    return out;
  }
  std::string AtRest(bool shut_down) {
    DiskView files(disk_);
    ClusterImage image(&files, ClusterFormat());
    if (shut_down) {
      oracle_.OnShutdown(image, 1);
    } else {
      oracle_.OnRecovered(image, 1);
    }
    return Verdicts();
  }

  // Rows (1, 10) by 700 and (2, 20) by 701.
  static TestPage TwoRows() {
    TestPage page;
    page.Add(700, 0, 1, Int4Body({1, 10}), kXmaxInvalid);
    page.Add(701, 0, 2, Int4Body({2, 20}), kXmaxInvalid);
    return page;
  }

  sim::Disk disk_{sim::DiskOptions()};
  VerdictSink sink_;
  ShadowOracle oracle_{&sink_, &disk_};
  uint64_t at_ = 4096;

 private:
  void DevicePoint(sim::DeviceStep, uint64_t) override {}
  void DeviceDelay(env::TimeNs) override {}
  env::TimeNs Now() override { return 0; }
  sim::Choices& choices() override { return choices_; }
  const sim::Scope& scope() override { return scope_; }
  env::EventSink& events() override { return *this; }
  void Emit(env::Event event) override {
    event.task = 1;
    oracle_.OnEvent(event);
  }

  sim::Choices choices_{0};
  sim::Scope scope_;
};

TEST_F(ShadowOracleTest, ACorrectHistoryBreaksNothing) {
  LogInsert(700, 1, {1, 10});
  uint64_t second = LogInsert(701, 2, {2, 20});
  Flush(second);
  Write(TwoRows().Bytes(0), second);
  uint64_t deleted = Log(TestRecord(kHeap, 0x10, 702, DeleteMain(702, 1, 0x10))
                             .Block(0, kRel, 0, ""));
  std::string page = TwoRows().Bytes(0);
  PokeField(&page, 20, uint32_t{702});  // pd_prune_xid
  size_t first = LoadField<uint32_t>(page, 24) & 0x7FFF;
  PokeField(&page, first + 4, uint32_t{702});      // t_xmax
  PokeField(&page, first + 18, uint16_t{0x2002});  // keys updated
  PokeField(&page, first + 20, uint16_t{0});
  Write(page, deleted);
  EXPECT_EQ(Verdicts(), "");
  EXPECT_EQ(AtRest(true), "");
  EXPECT_EQ(oracle_.pages_compared(), 3u);
}

TEST_F(ShadowOracleTest, AnUpdateTakesItsEndsFromTheOldVersion) {
  LogInsert(700, 1, {1, 10, 100});
  // The first and the last column as before: prefix 4, suffix 4.
  std::string data = {4, 0, 4, 0};
  std::string body = Int4Body({1, 77, 100});
  PokeField(&body, 2, uint16_t{0x2800});
  PokeField(&body, 0, uint16_t{0x8003});
  data += body.substr(0, 6) + body.substr(10, 4);
  uint64_t end = Log(TestRecord(kHeap, 0x40, 701, UpdateMain(701, 1, 2, 0x60))
                         .Block(0, kRel, 0, data));
  TestPage page;
  page.Add(700, 701, 2, Int4Body({1, 10, 100}), 0);
  page.Add(701, 0, 2, body, 0);
  std::string bytes = page.Bytes(0);
  size_t old = LoadField<uint32_t>(bytes, 24) & 0x7FFF;
  PokeField(&bytes, old + 18, uint16_t{0x4003});  // HOT updated
  PokeField(&bytes, 20, uint32_t{701});
  Write(bytes, end);
  EXPECT_EQ(Verdicts(), "");
  bytes[bytes.size() - 1] = 1;
  Write(bytes, end);
  EXPECT_NE(Verdicts().find("REDO page base/5/16384:0: is written"),
            std::string::npos);
}

TEST_F(ShadowOracleTest, AChangeWithoutARecordIsSeenWhenThePageIsWritten) {
  LogInsert(700, 1, {1, 10});
  uint64_t end = LogInsert(701, 2, {2, 20});
  TestPage page;
  page.Add(700, 0, 1, Int4Body({1, 11}), kXmaxInvalid);
  page.Add(701, 0, 2, Int4Body({2, 20}), kXmaxInvalid);
  Write(page.Bytes(0), end);
  EXPECT_NE(Verdicts().find("byte 28 of line pointer 1's tuple is 0xb, redo "
                            "makes 0xa"),
            std::string::npos);
}

TEST_F(ShadowOracleTest, AnImageMustBeWhatRedoMakes) {
  uint64_t end = LogInsert(700, 1, {1, 10});
  TestPage good = TwoRows();
  good.SetLsn(end);
  auto insert = [&](const std::string& image) {
    Log(TestRecord(kHeap, 0, 701, InsertMain(2))
            .Block(0, kRel, 0, "", false, image));
  };
  insert(good.Bytes(0));
  EXPECT_EQ(Verdicts(), "");
  EXPECT_EQ(oracle_.images_compared(), 1u);
  // The same again with a first row that no record made.
  CrashAndRecover(end);
  TestPage bad;
  bad.Add(700, 699, 1, Int4Body({1, 10}), kXmaxInvalid);
  bad.Add(701, 0, 2, Int4Body({2, 20}), kXmaxInvalid);
  bad.SetLsn(end);
  insert(bad.Bytes(0));
  EXPECT_NE(Verdicts().find("t_xmax of line pointer 1 is 0x2bb, redo makes 0"),
            std::string::npos);
}

TEST_F(ShadowOracleTest, TheLsnMustBeTheLastRecords) {
  uint64_t first = LogInsert(700, 1, {1, 10});
  TestPage one;
  one.Add(700, 0, 1, Int4Body({1, 10}), kXmaxInvalid);
  Write(one.Bytes(0), first - 8);
  EXPECT_NE(Verdicts().find("where no record that touches it ends"),
            std::string::npos);
  LogInsert(701, 2, {2, 20});
  Write(one.Bytes(0), first);
  EXPECT_NE(Verdicts().find("is lost"), std::string::npos);
  // Read back at an older state.
  Emit(EventKind::kPageRead, uint64_t{kRel} << 32, 0, first);
  EXPECT_NE(Verdicts().find("is read with LSN"), std::string::npos);
}

TEST_F(ShadowOracleTest, ACrashTakesBackWhatIsAboveTheCut) {
  uint64_t first = LogInsert(700, 1, {1, 10});
  LogInsert(701, 2, {2, 20});
  TestPage one;
  one.Add(700, 0, 1, Int4Body({1, 10}), kXmaxInvalid);
  CrashAndRecover(first);
  Write(one.Bytes(0), first);
  EXPECT_EQ(AtRest(false), "");
  // Two rows are a state that the cut has taken back.
  Write(TwoRows().Bytes(0), first);
  EXPECT_NE(Verdicts(), "");
}

TEST_F(ShadowOracleTest, AMissingPageIsSeenAfterRecovery) {
  uint64_t end = LogInsert(700, 1, {1, 10});
  CrashAndRecover(end);
  EXPECT_NE(AtRest(false).find("is not there"), std::string::npos);
}

TEST_F(ShadowOracleTest, FilesThatGoWithTheirTransactionAreNotLookedFor) {
  uint64_t end = LogInsert(700, 1, {1, 10});
  std::string main(12, '\0');
  PokeField(&main, 8, uint32_t{4});  // it has files
  main.append(16, '\0');
  PokeField(&main, 12, uint32_t{1});
  PokeField(&main, 24, kRel);
  uint64_t dropped = Log(TestRecord(kRmXact, 0x80, 701, main));
  CrashAndRecover(dropped);
  EXPECT_EQ(AtRest(false), "");
  // A commit above the cut dropped nothing.
  CrashAndRecover(end);
  EXPECT_NE(AtRest(false).find("is not there"), std::string::npos);
}

TEST_F(ShadowOracleTest, AHintMayNotReachDiskBeforeItsCommitRecord) {
  uint64_t end = LogInsert(700, 1, {1, 10});
  uint64_t commit = LogCommit(700);
  Flush(end);
  TestPage page;
  page.Add(700, 0, 1, Int4Body({1, 10}), kXmaxInvalid | kHeapXminCommitted);
  Write(page.Bytes(0), end);
  EXPECT_NE(Verdicts().find("a hint that xmin 700 committed; WAL is flushed"),
            std::string::npos);
  Flush(commit);
  Write(page.Bytes(0), end);
  EXPECT_EQ(Verdicts(), "");
  TestPage aborted;
  aborted.Add(700, 0, 1, Int4Body({1, 10}), kXmaxInvalid | kHeapXminInvalid);
  Write(aborted.Bytes(0), end);
  EXPECT_NE(Verdicts().find("a hint that xmin 700 aborted"), std::string::npos);
}

TEST_F(ShadowOracleTest, ARecordWithoutARedoOfTheJudgesIsReported) {
  Log(TestRecord(kRmHeap2, 0x10, 700, "x").Block(0, kRel, 0, "y"));
  EXPECT_NE(Verdicts().find("the judges know no redo of resource manager 9"),
            std::string::npos);
}

}  // namespace
}  // namespace properties
