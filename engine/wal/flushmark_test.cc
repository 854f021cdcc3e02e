// The flush watermark: damage inside the log is not taken for its end.
#include "engine/wal/flushmark.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/wal/wal_test_node.h"
#include "engine/wal/xlog.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xlogwrite.h"

namespace engine {
namespace {

constexpr uint32_t kSegment = 64 << 10;

WalTestOptions Options(bool watermark) {
  WalTestOptions options;
  options.config.wal_segment_size = kSegment;
  options.config.max_wal_size_bytes = 8 * kSegment;
  options.config.min_wal_size_bytes = 2 * kSegment;
  options.config.wal_flush_watermark = watermark;
  return options;
}

// Ten records, flushed one by one; the last one's end.
XLogRecPtr TenFlushes(WalTestNode* node) {
  XLogRecPtr end = 0;
  node->RunToEnd({[&end](Backend& be) {
    ToyExtend(be, 1);
    for (uint64_t value = 1; value <= 10; ++value) {
      end = ToySet(be, 0, 0, value);
      XLogFlush(be, end);
    }
  }});
  node->ProcessCrash();
  return end;
}

// Damages the payload of the record three before the last.
void DamageLog(WalTestNode* node) {
  XLogRecPtr start = node->inserted()[node->inserted().size() - 3].first;
  XLogRecPtr at = start + 30;
  node->Corrupt(XLogFilePath(1, XLByteToSeg(at, kSegment), kSegment),
                static_cast<int64_t>(at % kSegment), "\x55\x55");
}

TEST(FlushMark, AnIntactLogStartsAndTheMarkGoesOn) {
  WalTestNode node(Options(true));
  for (int life = 0; life < 4; ++life) {
    XLogRecPtr end = TenFlushes(&node);
    node.RunToEnd({[](Backend& be) { EXPECT_EQ(ToyGet(be, 0, 0), 10u); }});
    EXPECT_GE(node.recovery_end(), end);
    node.ProcessCrash();
  }
}

TEST(FlushMark, DamageBeforeTheFlushedEndIsRefused) {
  WalTestNode node(Options(true));
  XLogRecPtr end = TenFlushes(&node);
  DamageLog(&node);
  node.Run({});
  EXPECT_EQ(node.startup_status().message(),
            "write-ahead log ends before it should");
  EXPECT_NE(node.startup_status().detail().find(LsnToString(end)),
            std::string_view::npos)
      << node.startup_status().detail();
  node.ProcessCrash();
  node.Run({});  // and again: nothing was given up meanwhile
  EXPECT_FALSE(node.startup_status().ok());
}

// What the option is for: without it the same damage goes unnoticed.
TEST(FlushMark, WithoutTheOptionTheLogEndsAtTheDamage) {
  WalTestNode node(Options(false));
  XLogRecPtr end = TenFlushes(&node);
  DamageLog(&node);
  node.RunToEnd({});
  EXPECT_LT(node.recovery_end(), end);
  EXPECT_FALSE(node.disk().PeekExists(kFlushMarkPath));
}

TEST(FlushMark, OneDamagedSectorLeavesTheOtherBothAreRefused) {
  for (int sectors = 1; sectors <= 2; ++sectors) {
    WalTestNode node(Options(true));
    TenFlushes(&node);
    for (int i = 0; i < sectors; ++i) {
      node.Corrupt(kFlushMarkPath, i * 512 + 9, "\x55");
    }
    node.Run({});
    EXPECT_EQ(node.startup_status().ok(), sectors == 1);
    if (sectors == 2) {
      EXPECT_EQ(node.startup_status().message(),
                "incorrect checksum in file \"global/pg_wal_flushmark\"");
    }
  }
}

// At no crash may the mark be ahead of what the device has of the log.
TEST(FlushMark, PowerLossAnywhereLeavesALogThatReachesTheMark) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    WalTestOptions options = Options(true);
    options.seed = seed;
    WalTestNode node(options);
    class CrashAt : public sim::CrashHooks {
     public:
      explicit CrashAt(uint64_t n) : left_(n) {}
      sim::CrashKind OnPoint(const sim::CrashPoint&) override {
        return --left_ == 0 ? sim::CrashKind::kPowerLoss
                            : sim::CrashKind::kNone;
      }

     private:
      uint64_t left_;
    } crash(seed * 7);
    node.world().set_crash_hooks(&crash);
    node.Run({[](Backend& be) {
      ToyExtend(be, 1);
      for (uint64_t value = 1; value <= 20; ++value) {
        XLogFlush(be, ToySet(be, 0, 0, value, value * 37 % 9000));
      }
    }});
    node.world().set_crash_hooks(nullptr);
    node.PowerLoss();
    node.RunToEnd({});
    EXPECT_TRUE(node.startup_status().ok())
        << "seed " << seed << ": " << node.startup_status().ToString() << " "
        << node.startup_status().detail();
  }
}

}  // namespace
}  // namespace engine
