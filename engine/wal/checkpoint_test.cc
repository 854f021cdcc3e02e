// Checkpoints, pg_control and the life of segment files.
#include "engine/wal/checkpoint.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/common/sites.h"
#include "engine/ipc/proc.h"
#include "engine/wal/control_file.h"
#include "engine/wal/wal_test_node.h"
#include "engine/wal/xlog.h"
#include "engine/wal/xlog_ctl.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xlog_redo.h"
#include "engine/wal/xloginsert.h"
#include "engine/wal/xlogrecord.h"

namespace engine {
namespace {

constexpr uint32_t kSegment = 64 << 10;

WalTestOptions Options() {
  WalTestOptions options;
  options.config.wal_segment_size = kSegment;
  options.config.wal_buffers = 4;
  options.config.shared_buffers = 16;
  options.config.max_wal_size_bytes = 8 * kSegment;
  options.config.min_wal_size_bytes = 2 * kSegment;
  return options;
}

ControlFileData ControlOf(WalTestNode& node) {
  std::string bytes;
  node.disk().Freeze();
  EXPECT_TRUE(node.disk().PeekFile(kControlFilePath, &bytes));
  EXPECT_EQ(bytes.size(), PG_CONTROL_FILE_SIZE);
  Result<ControlFileData> data = DecodeControlFile(bytes, kSegment);
  EXPECT_TRUE(data.ok()) << data.status().ToString();
  return data.ok() ? *data : ControlFileData();
}

int Count(const std::vector<CheckpointPhase>& phases, CheckpointPhase phase) {
  return static_cast<int>(std::count(phases.begin(), phases.end(), phase));
}

void Sleep(Backend& be, env::TimeNs duration_ns) {
  env::TimeNs until = be.env->clock->Now() + duration_ns;
  while (be.env->clock->Now() < until) {
    be.env->tasks->ParkUntil(SITE_ID(latch_wait), until);
  }
}

TEST(ControlFile, EveryChangedBitIsRefused) {
  Config config;
  config.wal_segment_size = kSegment;
  ControlFileData data = NewControlFile(config);
  data.state = DB_IN_PRODUCTION;
  std::string good = EncodeControlFile(data);
  ASSERT_TRUE(DecodeControlFile(good, kSegment).ok());
  for (size_t bit = 0; bit < 8 * offsetof(ControlFileData, pad7); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    Result<ControlFileData> result = DecodeControlFile(bad, kSegment);
    ASSERT_FALSE(result.ok()) << bit;
    bool version = bit / 8 >= 8 && bit / 8 < 12;
    EXPECT_EQ(result.status().message(),
              version ? "database files are incompatible with server"
                      : "incorrect checksum in control file")
        << bit;
  }
  EXPECT_FALSE(DecodeControlFile(good.substr(0, 200), kSegment).ok());
  // What pads the structure behind its CRC is covered by nothing.
  std::string padded = good;
  padded[sizeof(ControlFileData) - 1] = 'x';
  Result<ControlFileData> padding = DecodeControlFile(padded, kSegment);
  ASSERT_TRUE(padding.ok());
  EXPECT_EQ(EncodeControlFile(*padding), good);
}

TEST(ControlFile, ForeignClustersAreRefusedWithTheReason) {
  Config config;
  config.wal_segment_size = kSegment;
  ControlFileData data = NewControlFile(config);
  data.blcksz = 4096;
  Status status = DecodeControlFile(EncodeControlFile(data), kSegment).status();
  EXPECT_EQ(status.message(), "database files are incompatible with server");
  EXPECT_EQ(status.detail(),
            "The database cluster was initialized with BLCKSZ 4096, but the "
            "server was compiled with BLCKSZ 8192.");
  data = NewControlFile(config);
  data.xlog_seg_size = 12345;
  status = DecodeControlFile(EncodeControlFile(data), kSegment).status();
  EXPECT_EQ(status.message(),
            "WAL segment size must be a power of two between 1 MB and 1 GB, "
            "but the control file specifies 12345 bytes");
}

TEST(ControlFile, FollowsTheLifeOfTheNode) {
  WalTestNode node(Options());
  EXPECT_EQ(ControlOf(node).state, DB_SHUTDOWNED);
  XLogRecPtr bootstrap = ControlOf(node).checkPoint;
  EXPECT_EQ(bootstrap, kSegment + kSizeOfXLogLongPHD);
  node.RunToEnd({[](Backend& be) { ToyExtend(be, 1); }});
  EXPECT_EQ(ControlOf(node).state, DB_IN_PRODUCTION);
  node.ProcessCrash();
  node.RunToEnd({}, /*checkpointer=*/true);
  ControlFileData data = ControlOf(node);
  EXPECT_EQ(data.state, DB_SHUTDOWNED);
  EXPECT_GT(data.checkPoint, bootstrap);
  // A shutdown checkpoint's redo pointer is the record itself.
  EXPECT_EQ(data.checkPointCopy.redo, data.checkPoint);
  node.RunToEnd({});
  EXPECT_EQ(node.redone(), 0u);
}

// wal_log_hints may change between two starts; the log says so, for whoever
// replays it, and pg_control at once.
TEST(ControlFile, ChangedSettingsAreLoggedAtTheNextStart) {
  WalTestOptions options = Options();
  std::unique_ptr<sim::Disk> disk;
  {
    WalTestNode node(options);
    node.RunToEnd({}, /*checkpointer=*/true);
    EXPECT_EQ(ControlOf(node).wal_log_hints, 0);
    EXPECT_TRUE(node.inserted().empty() ||
                node.inserted().size() == 1u);  // the shutdown checkpoint
    disk = node.TakeDisk();
  }
  options.config.wal_log_hints = true;
  WalTestNode node(options, std::move(disk));
  node.RunToEnd({[](Backend& be) { ToyExtend(be, 1); }});
  ASSERT_FALSE(node.inserted().empty());
  const std::string& first = node.inserted().front().second;
  ASSERT_EQ(first.size(), kSizeOfXLogRecord + 2 + sizeof(xl_parameter_change));
  XLogRecord record;
  std::memcpy(&record, first.data(), sizeof(record));
  EXPECT_EQ(record.xl_rmid, RM_XLOG_ID);
  EXPECT_EQ(record.xl_info, XLOG_PARAMETER_CHANGE);
  EXPECT_EQ(ControlOf(node).wal_log_hints, 1);
  // It is replayed, and not logged again.
  size_t records = node.inserted().size();
  node.ProcessCrash();
  node.RunToEnd({});
  EXPECT_EQ(ControlOf(node).wal_log_hints, 1);
  EXPECT_EQ(node.inserted().size(), records + 1);  // end of recovery
}

TEST(Checkpoint, AnIdleNodeSkipsIt) {
  WalTestNode node(Options());
  node.RunToEnd({[](Backend& be) {
                  ToyExtend(be, 1);
                  PanicIfError(be, RequestCheckpoint(be, CHECKPOINT_WAIT));
                  PanicIfError(be, RequestCheckpoint(be, CHECKPOINT_WAIT));
                  // What is marked unimportant is no reason either.
                  XLogInsertion record(be);
                  record.RegisterData("x", 1);
                  record.SetRecordFlags(XLOG_MARK_UNIMPORTANT);
                  record.Insert(kToyRmgrId, 0x20);
                  PanicIfError(be, RequestCheckpoint(be, CHECKPOINT_WAIT));
                  PanicIfError(be, RequestCheckpoint(
                                       be, CHECKPOINT_WAIT | CHECKPOINT_FORCE));
                }},
                true);
  EXPECT_EQ(Count(node.phases(), CheckpointPhase::kSkipped), 2);
  EXPECT_EQ(Count(node.phases(), CheckpointPhase::kEnd), 3);  // and shutdown
}

TEST(Checkpoint, ComesByItselfAfterTheTimeout) {
  WalTestOptions options = Options();
  options.config.checkpoint_timeout_ns = env::kSecond;
  WalTestNode node(options);
  int checkpoints = 0;
  int skipped = 0;
  node.RunToEnd({[&](Backend& be) {
                  ToyExtend(be, 1);
                  // Time passes while the checkpointer works, too: look often.
                  for (int i = 0; i < 100 && skipped == 0; ++i) {
                    Sleep(be, env::kSecond / 4);
                    skipped = Count(node.phases(), CheckpointPhase::kSkipped);
                  }
                  checkpoints = Count(node.phases(), CheckpointPhase::kEnd);
                }},
                true);
  EXPECT_EQ(checkpoints, 1);
  EXPECT_EQ(skipped, 1);
}

TEST(Checkpoint, ComesByItselfAfterEnoughWalAndKeepsPgWalSmall) {
  WalTestNode node(Options());
  int checkpoints = 0;
  size_t most_files = 0;
  node.RunToEnd(
      {[&](Backend& be) {
        ToyExtend(be, 1);
        for (int i = 0; i < 200; ++i) {
          XLogFlush(be, ToySet(be, 0, 0, static_cast<uint64_t>(i), 15000));
          most_files =
              std::max(most_files, node.disk().PeekList("pg_wal").size());
        }
        checkpoints = Count(node.phases(), CheckpointPhase::kEnd);
      }},
      true);
  // 3 MB of log in checkpoints of about half of max_wal_size.
  EXPECT_GE(checkpoints, 4);
  EXPECT_LE(most_files, 20u);
  std::vector<uint64_t> events = node.segment_events();
  EXPECT_GT(std::count(events.begin(), events.end(), 1u), 3);  // recycled
  // The segment before the redo pointer's is kept.
  XLogSegNo redo = ControlOf(node).checkPointCopy.redo / kSegment;
  EXPECT_TRUE(node.disk().PeekExists(XLogFilePath(1, redo - 1, kSegment)));
  EXPECT_FALSE(node.disk().PeekExists(XLogFilePath(1, redo - 2, kSegment)));
  node.RunToEnd({[](Backend& be) { EXPECT_EQ(ToyGet(be, 0, 0), 199u); }});
}

TEST(Checkpoint, WaitsForTransactionsBetweenRecordAndStatus) {
  WalTestNode node(Options());
  bool released = false;
  bool done_before_release = false;
  node.RunToEnd({[&](Backend& be) {
                  ToyExtend(be, 1);
                  MyProc(be).delayChkptFlags |= DELAY_CHKPT_START;
                  PanicIfError(be, RequestCheckpoint(be, CHECKPOINT_FORCE));
                  Sleep(be, env::kSecond);
                  done_before_release =
                      Count(node.phases(), CheckpointPhase::kBuffers) > 0;
                  EXPECT_EQ(Count(node.phases(), CheckpointPhase::kRedo), 1);
                  released = true;
                  MyProc(be).delayChkptFlags = 0;
                  PanicIfError(be, RequestCheckpoint(
                                       be, CHECKPOINT_FORCE | CHECKPOINT_WAIT));
                }},
                true);
  EXPECT_TRUE(released);
  EXPECT_FALSE(done_before_release);
}

TEST(Checkpoint, AFailedOneLeavesThePreviousInForce) {
  WalTestNode node(Options());
  XLogRecPtr before = ControlOf(node).checkPoint;
  node.RunToEnd(
      {[&](Backend& be) {
        ToyExtend(be, 1);
        XLogFlush(be, ToySet(be, 0, 0, 9));
        node.client().guts_status = Status(env::Code::kNoSpace, "full");
        Status status =
            RequestCheckpoint(be, CHECKPOINT_FORCE | CHECKPOINT_WAIT);
        EXPECT_EQ(status.message(), "checkpoint request failed");
        EXPECT_EQ(ControlOf(node).checkPoint, before);
        node.client().guts_status = Status();
        PanicIfError(be,
                     RequestCheckpoint(be, CHECKPOINT_FORCE | CHECKPOINT_WAIT));
        EXPECT_GT(ControlOf(node).checkPoint, before);
      }},
      true);
}

TEST(Checkpoint, ShortTransfersOfTheLogAreContinued) {
  WalTestOptions options = Options();
  options.max_transfer_bytes = 1000;
  WalTestNode node(options);
  for (uint64_t life = 1; life <= 3; ++life) {
    node.RunToEnd({[&](Backend& be) {
                    EXPECT_EQ(ToyGet(be, 0, 0), life - 1);
                    ToyExtend(be, 1);
                    XLogFlush(be, ToySet(be, 0, 0, life, 30000));
                  }},
                  life == 2);
    node.PowerLoss();
  }
}

// Fails the n-th fsync of files whose path has the prefix.
class FailSync : public sim::DiskFaultHooks {
 public:
  explicit FailSync(std::string prefix) : prefix_(std::move(prefix)) {}
  sim::SyncFailure OnSync(std::string_view path, uint64_t) override {
    if (!armed || !path.starts_with(prefix_)) return sim::SyncFailure::kNone;
    armed = false;
    return sim::SyncFailure::kExt4Ordered;
  }
  env::TimeNs Latency(sim::DeviceStep, std::string_view) override { return 0; }
  bool armed = false;

 private:
  std::string prefix_;
};

TEST(Checkpoint, AFailedFsyncOfTheLogIsAPanicAndLosesNothingAcked) {
  for (bool rewrite : {false, true}) {
    FailSync faults("pg_wal/");
    WalTestOptions options = Options();
    options.faults = &faults;
    options.config.rewrite_wal_before_trust = rewrite;
    WalTestNode node(options);
    bool acked = false;
    node.Run({[&](Backend& be) {
      ToyExtend(be, 1);
      XLogFlush(be, ToySet(be, 0, 0, 1));
      faults.armed = true;
      XLogFlush(be, ToySet(be, 0, 0, 2));
      acked = true;
    }});
    EXPECT_FALSE(acked);
    EXPECT_NE(node.panic().find("could not fsync file"), std::string::npos);
    node.ProcessCrash();
    uint64_t seen = 0;
    node.RunToEnd({[&](Backend& be) { seen = ToyGet(be, 0, 0); }});
    EXPECT_GE(seen, 1u);
    node.PowerLoss();
    // With the option, what the first recovery showed stays.
    node.RunToEnd({[&](Backend& be) {
      if (rewrite) {
        EXPECT_EQ(ToyGet(be, 0, 0), seen);
      }
      EXPECT_GE(ToyGet(be, 0, 0), 1u);
    }});
  }
}

// The disk is full for the log, from the moment it is armed.
class FullDisk : public sim::DiskFaultHooks {
 public:
  int64_t Capacity(std::string_view path, int64_t used, int64_t) override {
    bool full = armed && path.starts_with("pg_wal/");
    return full ? used : INT64_MAX;
  }
  sim::SyncFailure OnSync(std::string_view, uint64_t) override {
    return sim::SyncFailure::kNone;
  }
  env::TimeNs Latency(sim::DeviceStep, std::string_view) override { return 0; }
  bool armed = false;
};

TEST(Checkpoint, NoSpaceForTheLogIsAPanicAndLosesNothingAcked) {
  FullDisk faults;
  WalTestOptions options = Options();
  options.faults = &faults;
  WalTestNode node(options);
  uint64_t acked = 0;
  node.Run({[&](Backend& be) {
    ToyExtend(be, 1);
    XLogFlush(be, ToySet(be, 0, 0, 1));
    faults.armed = true;
    for (uint64_t value = 2; value < 1000; ++value) {
      XLogFlush(be, ToySet(be, 0, 0, value, 30000));
      acked = value;
    }
  }});
  EXPECT_GE(acked, 2u);
  EXPECT_LT(acked, 999u);
  EXPECT_NE(node.panic().find("No space left on device"), std::string::npos)
      << node.panic();
  EXPECT_NE(node.panic().find("pg_wal/xlogtemp."), std::string::npos);
  node.PowerLoss();
  faults.armed = false;  // somebody made room
  node.RunToEnd({[&](Backend& be) {
    EXPECT_GE(ToyGet(be, 0, 0), acked);
    XLogFlush(be, ToySet(be, 0, 0, 5000, 30000));
    EXPECT_EQ(ToyGet(be, 0, 0), 5000u);
  }});
}

// Cuts every second transfer of the log short and interrupts every third.
class ShortTransfers : public sim::DiskFaultHooks {
 public:
  sim::TransferFault OnTransfer(sim::Transfer, std::string_view path, int64_t,
                                int64_t length) override {
    if (!path.starts_with("pg_wal/")) return {};
    ++calls;
    if (calls % 3 == 0) return {sim::TransferOutcome::kInterrupted, 0};
    if (calls % 2 == 0 || length < 2) return {};
    return {sim::TransferOutcome::kShort, length / 2};
  }
  sim::SyncFailure OnSync(std::string_view, uint64_t) override {
    return sim::SyncFailure::kNone;
  }
  env::TimeNs Latency(sim::DeviceStep, std::string_view) override { return 0; }
  int calls = 0;
};

TEST(Checkpoint, InterruptedTransfersOfTheLogAreRepeated) {
  ShortTransfers faults;
  WalTestOptions options = Options();
  options.faults = &faults;
  WalTestNode node(options);
  node.RunToEnd({[&](Backend& be) {
    ToyExtend(be, 1);
    for (uint64_t value = 1; value <= 20; ++value) {
      XLogFlush(be, ToySet(be, 0, 0, value, 5000));
    }
  }});
  node.PowerLoss();
  node.RunToEnd({[&](Backend& be) { EXPECT_EQ(ToyGet(be, 0, 0), 20u); }});
  EXPECT_GT(faults.calls, 40);
}

}  // namespace
}  // namespace engine
