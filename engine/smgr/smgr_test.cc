#include "engine/smgr/smgr.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "engine/common/errcodes.h"
#include "engine/common/sites.h"
#include "engine/smgr/sync.h"
#include "engine/smgr/test_node.h"
#include "sim/env/check.h"

namespace engine {
namespace {

using Op = FileCall::Op;

constexpr RelFileNode kRel{kDefaultTableSpaceOid, kDatabaseOid, 16384};

struct Block {
  alignas(8) char bytes[BLCKSZ];
  explicit Block(char fill) { std::memset(bytes, fill, sizeof bytes); }
  operator std::span<char, BLCKSZ>() { return std::span<char, BLCKSZ>(bytes); }
  operator std::span<const char, BLCKSZ>() const {
    return std::span<const char, BLCKSZ>(bytes);
  }
};

void RunProcess(TestNode& node, std::function<void(Backend&)> body) {
  node.Spawn("p", std::move(body));
  node.RunToEnd();
}

TEST(Smgr, PathsAreThoseOfPostgres) {
  EXPECT_EQ(RelationPath(kRel, kMainFork), "base/5/16384");
  EXPECT_EQ(RelationPath(kRel, kFsmFork), "base/5/16384_fsm");
  EXPECT_EQ(RelationPath(kRel, kVisibilityMapFork, 2), "base/5/16384_vm.2");
  EXPECT_EQ(RelationPath({kGlobalTableSpaceOid, 0, 1262}, kInitFork),
            "global/1262_init");
}

TEST(Smgr, BlocksReadBackAndFilesGrow) {
  TestNode node(1);
  RunProcess(node, [](Backend& be) {
    ASSERT_TRUE(SmgrCreate(be, kRel, kMainFork, false).ok());
    EXPECT_EQ(*SmgrNblocks(be, kRel, kMainFork), 0u);
    ASSERT_TRUE(SmgrExtend(be, kRel, kMainFork, 0, Block('a')).ok());
    ASSERT_TRUE(SmgrExtend(be, kRel, kMainFork, 1, Block('b')).ok());
    ASSERT_TRUE(SmgrWrite(be, kRel, kMainFork, 0, Block('c')).ok());
    EXPECT_EQ(*SmgrNblocks(be, kRel, kMainFork), 2u);
    Block block('z');
    ASSERT_TRUE(SmgrRead(be, kRel, kMainFork, 0, block).ok());
    EXPECT_EQ(block.bytes[BLCKSZ - 1], 'c');
    ASSERT_TRUE(SmgrRead(be, kRel, kMainFork, 1, block).ok());
    EXPECT_EQ(block.bytes[0], 'b');
    EXPECT_TRUE(*SmgrExists(be, kRel, kMainFork));
    EXPECT_FALSE(*SmgrExists(be, kRel, kFsmFork));
    Status again = SmgrCreate(be, kRel, kMainFork, false);
    EXPECT_EQ(again.message(),
              "could not create file \"base/5/16384\": File exists");
    EXPECT_TRUE(SmgrCreate(be, kRel, kMainFork, true).ok());
  });
}

TEST(Smgr, ErrorsReadLikePostgres) {
  TestNode node(1);
  RunProcess(node, [&](Backend& be) {
    Block block('a');
    Status missing = SmgrRead(be, kRel, kMainFork, 0, block);
    EXPECT_EQ(missing.sqlstate(), ERRCODE_UNDEFINED_FILE);
    EXPECT_EQ(
        missing.message(),
        "could not open file \"base/5/16384\": No such file or directory");
    ASSERT_TRUE(SmgrCreate(be, kRel, kMainFork, false).ok());
    Status past_end = SmgrRead(be, kRel, kMainFork, 3, block);
    EXPECT_EQ(past_end.sqlstate(), ERRCODE_DATA_CORRUPTED);
    EXPECT_EQ(past_end.message(),
              "could not read block 3 in file \"base/5/16384\": read only 0 of "
              "8192 bytes");

    node.files().hook = [](FileCall& call) { call.limit = 1000; };
    Status full = SmgrExtend(be, kRel, kMainFork, 0, block);
    EXPECT_EQ(full.sqlstate(), ERRCODE_DISK_FULL);
    EXPECT_EQ(full.message(),
              "could not extend file \"base/5/16384\": wrote only 1000 of 8192 "
              "bytes at block 0");
    EXPECT_EQ(full.hint(), "Check free disk space.");

    node.files().hook = [](FileCall& call) { call.fail = env::Code::kIo; };
    Status broken = SmgrWrite(be, kRel, kMainFork, 0, block);
    EXPECT_EQ(broken.sqlstate(), ERRCODE_IO_ERROR);
    EXPECT_EQ(broken.message(),
              "could not write block 0 in file \"base/5/16384\": Input/output "
              "error");
    node.files().hook = nullptr;
  });
}

TEST(Smgr, InterruptedCallsAreRepeated) {
  TestNode node(1);
  RunProcess(node, [&](Backend& be) {
    ASSERT_TRUE(SmgrCreate(be, kRel, kMainFork, false).ok());
    int left = 3;
    node.files().hook = [&left](FileCall& call) {
      if (left-- > 0) call.fail = env::Code::kInterrupted;
    };
    EXPECT_TRUE(SmgrExtend(be, kRel, kMainFork, 0, Block('a')).ok());
    EXPECT_LT(left, 0);
    node.files().hook = nullptr;
  });
}

TEST(Smgr, RedoReadsZerosBeyondTheEndButNotAfterAShortRead) {
  TestNode node(1);
  RunProcess(node, [&](Backend& be) {
    be.in_recovery = true;
    ASSERT_TRUE(SmgrCreate(be, kRel, kMainFork, true).ok());
    ASSERT_TRUE(SmgrExtend(be, kRel, kMainFork, 0, Block('a')).ok());
    Block block('z');
    ASSERT_TRUE(SmgrRead(be, kRel, kMainFork, 9, block).ok());
    EXPECT_EQ(block.bytes[17], 0);
    node.files().hook = [](FileCall& call) { call.limit = 512; };
    EXPECT_FALSE(SmgrRead(be, kRel, kMainFork, 0, block).ok());
    node.files().hook = nullptr;
  });
}

TEST(Smgr, RelationsContinueInASecondSegment) {
  TestNode node(1);
  RunProcess(node, [&](Backend& be) {
    ASSERT_TRUE(SmgrCreate(be, kRel, kMainFork, false).ok());
    // Behind a gap: the first segment is filled up with zeros.
    ASSERT_TRUE(
        SmgrExtend(be, kRel, kMainFork, RELSEG_SIZE + 1, Block('x')).ok());
    EXPECT_EQ(*SmgrNblocks(be, kRel, kMainFork), uint32_t{RELSEG_SIZE} + 2);
    EXPECT_EQ(node.files().Content("base/5/16384.1")->size(), 2 * BLCKSZ);
    Block block('z');
    ASSERT_TRUE(SmgrRead(be, kRel, kMainFork, RELSEG_SIZE + 1, block).ok());
    EXPECT_EQ(block.bytes[5], 'x');
    ASSERT_TRUE(SmgrTruncate(be, kRel, kMainFork, 3).ok());
    EXPECT_EQ(*SmgrNblocks(be, kRel, kMainFork), 3u);
    EXPECT_EQ(node.files().Content("base/5/16384.1")->size(), 0);
    EXPECT_FALSE(SmgrRead(be, kRel, kMainFork, RELSEG_SIZE + 1, block).ok());
    ASSERT_TRUE(SmgrUnlink(be, kRel, false).ok());
    EXPECT_EQ(node.files().Content("base/5/16384.1"), nullptr);
  });
}

TEST(Smgr, DroppedFileKeepsItsNameUntilTheNextCheckpoint) {
  TestNode node(1);
  RunProcess(node, [&](Backend& be) {
    ASSERT_TRUE(SmgrCreate(be, kRel, kMainFork, false).ok());
    ASSERT_TRUE(SmgrCreate(be, kRel, kFsmFork, false).ok());
    ASSERT_TRUE(SmgrExtend(be, kRel, kMainFork, 0, Block('a')).ok());
    SyncPreCheckpoint(be);  // a checkpoint is under way when it is dropped
    ASSERT_TRUE(SmgrUnlink(be, kRel, false).ok());
    EXPECT_EQ(node.files().Content("base/5/16384_fsm"), nullptr);
    ASSERT_NE(node.files().Content("base/5/16384"), nullptr);
    EXPECT_EQ(node.files().Content("base/5/16384")->size(), 0);
    ProcessSyncRequests(be);
    SyncPostCheckpoint(be);
    ASSERT_NE(node.files().Content("base/5/16384"), nullptr);
    SyncPreCheckpoint(be);
    ProcessSyncRequests(be);
    SyncPostCheckpoint(be);
    EXPECT_EQ(node.files().Content("base/5/16384"), nullptr);
    EXPECT_EQ(PendingSyncRequests(be), 0u);
  });
}

// The file system has stopped: every call fails, for segments that never were
// as well.
TEST(Smgr, UnlinkEndsOnADeadFileSystem) {
  for (bool is_redo : {false, true}) {
    TestNode node(1);
    RunProcess(node, [&](Backend& be) {
      ASSERT_TRUE(SmgrCreate(be, kRel, kMainFork, false).ok());
      int calls = 0;
      node.files().hook = [&](FileCall& call) {
        SIM_CHECK(++calls < 100);
        call.fail = env::Code::kIo;
      };
      EXPECT_TRUE(SmgrUnlink(be, kRel, is_redo).ok());
      node.files().hook = nullptr;
      EXPECT_NE(node.files().Content("base/5/16384"), nullptr);
    });
  }
}

TEST(Smgr, NewFilesAreSyncedAndTheirDirectoryOnRequest) {
  for (bool with_directory : {false, true}) {
    Config config;
    config.sync_new_file_directory = with_directory;
    TestNode node(1, config);
    RunProcess(node, [&](Backend& be) {
      ASSERT_TRUE(SmgrCreate(be, kRel, kMainFork, false).ok());
      EXPECT_EQ(node.files().CountInLog("syncdir base/5"),
                with_directory ? 1 : 0);
      EXPECT_EQ(PendingSyncRequests(be), 1u);
      ProcessSyncRequests(be);
      EXPECT_EQ(node.files().CountInLog("sync base/5/16384"), 1);
    });
  }
}

// Handles that another process has cached do not outlive a drop.
TEST(Smgr, CachedHandlesDoNotReachARecreatedRelation) {
  TestNode node(1);
  RunProcess(node, [&](Backend& be) {
    Backend other(be.env, be.shared, BackendType::kClient);
    SmgrInit(other);
    ASSERT_TRUE(SmgrCreate(be, kRel, kMainFork, false).ok());
    ASSERT_TRUE(SmgrExtend(be, kRel, kMainFork, 0, Block('a')).ok());
    EXPECT_EQ(*SmgrNblocks(other, kRel, kMainFork), 1u);
    ASSERT_TRUE(SmgrUnlink(be, kRel, true).ok());
    EXPECT_FALSE(SmgrNblocks(other, kRel, kMainFork).ok());
    ASSERT_TRUE(SmgrCreate(be, kRel, kMainFork, false).ok());
    EXPECT_EQ(*SmgrNblocks(other, kRel, kMainFork), 0u);
  });
}

TEST(Sync, RequestsThatComeDuringAnFsyncWaitForTheNextCheckpoint) {
  TestNode node(1);
  RunProcess(node, [&](Backend& be) {
    ASSERT_TRUE(SmgrCreate(be, kRel, kMainFork, false).ok());
    ASSERT_TRUE(SmgrCreate(be, kRel, kFsmFork, false).ok());
    node.files().hook = [&be](FileCall& call) {
      if (call.op != Op::kSync) return;
      RegisterSyncRequest(be, call.path);  // written again meanwhile
      RegisterSyncRequest(be, "base/5/16384_vm");
    };
    ProcessSyncRequests(be);
    node.files().hook = nullptr;
    EXPECT_EQ(node.files().CountInLog("sync base/5/16384"), 1);
    EXPECT_EQ(node.files().CountInLog("sync base/5/16384_fsm"), 1);
    EXPECT_EQ(PendingSyncRequests(be), 3u);
    ASSERT_TRUE(SmgrCreate(be, kRel, kVisibilityMapFork, false).ok());
    ProcessSyncRequests(be);
    EXPECT_EQ(node.files().CountInLog("sync base/5/16384"), 2);
    EXPECT_EQ(node.files().CountInLog("sync base/5/16384_vm"), 1);
    EXPECT_EQ(PendingSyncRequests(be), 0u);
  });
}

TEST(Sync, AFileDroppedDuringTheCheckpointIsNoError) {
  TestNode node(1);
  bool went_on = false;
  RunProcess(node, [&](Backend& be) {
    ASSERT_TRUE(SmgrCreate(be, kRel, kFsmFork, false).ok());
    node.files().hook = [&be](FileCall& call) {
      if (call.op != Op::kOpen) return;
      // Dropped between the choice of the file and its opening.
      ForgetSyncRequest(be, call.path);
      call.fail = env::Code::kNotFound;
    };
    ProcessSyncRequests(be);
    node.files().hook = nullptr;
    went_on = true;
  });
  EXPECT_TRUE(went_on);
}

// Ends the node's process by PANIC; returns whether it got past the sync.
bool SurvivesSyncOf(TestNode& node, env::Code failure, Op where) {
  bool survived = false;
  node.Spawn("checkpointer", [&](Backend& be) {
    ASSERT_TRUE(SmgrCreate(be, kRel, kMainFork, false).ok());
    node.files().hook = [=](FileCall& call) {
      if (call.op == where) call.fail = failure;
    };
    ProcessSyncRequests(be);
    survived = true;
  });
  node.RunToEnd();
  return survived;
}

TEST(Sync, AFailedFsyncOrALostFileIsAPanic) {
  TestNode failing(1);
  EXPECT_FALSE(SurvivesSyncOf(failing, env::Code::kIo, Op::kSync));
  TestNode lost(1);
  EXPECT_FALSE(SurvivesSyncOf(lost, env::Code::kNotFound, Op::kOpen));
}

#ifdef MUSTH_PLANTED
TEST(Sync, PlantedRetryTrustsTheSecondFsync) {
  TestNode node(1, Config(), TestNode::Plant(SITE_ID(fsync_failure_retried)));
  EXPECT_TRUE(SurvivesSyncOf(node, env::Code::kIo, Op::kSync));
}

TEST(Sync, PlantedSkipDropsTheRequests) {
  TestNode node(1, Config(),
                TestNode::Plant(SITE_ID(fsync_skipped_at_checkpoint)));
  RunProcess(node, [&](Backend& be) {
    ASSERT_TRUE(SmgrCreate(be, kRel, kMainFork, false).ok());
    ProcessSyncRequests(be);
    EXPECT_EQ(PendingSyncRequests(be), 0u);
    EXPECT_EQ(node.files().CountInLog("sync base/5/16384"), 0);
  });
}
#endif

}  // namespace
}  // namespace engine
