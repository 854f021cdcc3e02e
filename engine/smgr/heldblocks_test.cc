#include "engine/smgr/heldblocks.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "engine/common/errcodes.h"
#include "engine/smgr/smgr.h"
#include "engine/smgr/test_node.h"

namespace engine {
namespace {

constexpr RelFileNode kRel{kDefaultTableSpaceOid, kDatabaseOid, 16384};
constexpr RelFileNode kOther{kDefaultTableSpaceOid, kDatabaseOid, 16385};

void RunProcess(TestNode& node, std::function<void(Backend&)> body) {
  node.Spawn("p", std::move(body));
  node.RunToEnd();
}

TEST(HeldBlocks, AFileReadsBackWhatWasNoted) {
  TestNode node(1);
  RunProcess(node, [](Backend& be) {
    ASSERT_TRUE(LoadHeldBlocks(be).ok());  // a cluster without one
    NoteHeldBlock(be, kRel, 0);
    NoteHeldBlock(be, kRel, 9);
    NoteHeldBlock(be, kOther, 3);
    BeginHeldBlocks(be);
    NoteHeldBlock(be, kRel, 4);  // nobody has synced it
    ASSERT_TRUE(SaveHeldBlocks(be).ok());
    EXPECT_TRUE(IsHeldBlock(be, kRel, 4));
    ForgetHeldBlocks(be, kOther, 0);
    ASSERT_TRUE(LoadHeldBlocks(be).ok());
    for (BlockNumber block = 0; block < 12; ++block) {
      EXPECT_EQ(IsHeldBlock(be, kRel, block), block == 0 || block == 9);
      EXPECT_EQ(IsHeldBlock(be, kOther, block), block == 3);
    }
  });
}

TEST(HeldBlocks, TruncationAndUnlinkForget) {
  TestNode node(1);
  RunProcess(node, [](Backend& be) {
    ASSERT_TRUE(SmgrCreate(be, kRel, kMainFork, false).ok());
    alignas(8) char page[BLCKSZ] = {};
    for (BlockNumber block = 0; block < 4; ++block) {
      ASSERT_TRUE(SmgrExtend(be, kRel, kMainFork, block,
                             std::span<const char, BLCKSZ>(page))
                      .ok());
      NoteHeldBlock(be, kRel, block);
    }
    ASSERT_TRUE(SmgrTruncate(be, kRel, kMainFork, 2).ok());
    EXPECT_TRUE(IsHeldBlock(be, kRel, 1));
    EXPECT_FALSE(IsHeldBlock(be, kRel, 2));
    EXPECT_FALSE(IsHeldBlock(be, kRel, 3));
    ASSERT_TRUE(SmgrUnlink(be, kRel, false).ok());
    EXPECT_FALSE(IsHeldBlock(be, kRel, 0));
  });
}

TEST(HeldBlocks, WhatIsTruncatedDuringTheCheckpointIsNotSaved) {
  TestNode node(1);
  RunProcess(node, [](Backend& be) {
    NoteHeldBlock(be, kRel, 1);
    NoteHeldBlock(be, kRel, 2);
    BeginHeldBlocks(be);
    ForgetHeldBlocks(be, kRel, 2);
    NoteHeldBlock(be, kRel, 2);
    ASSERT_TRUE(SaveHeldBlocks(be).ok());
    ASSERT_TRUE(LoadHeldBlocks(be).ok());
    EXPECT_TRUE(IsHeldBlock(be, kRel, 1));
    EXPECT_FALSE(IsHeldBlock(be, kRel, 2));
  });
}

TEST(HeldBlocks, RedoOfATruncationForgetsThoughTheFileIsShortAlready) {
  TestNode node(1);
  RunProcess(node, [](Backend& be) {
    ASSERT_TRUE(SmgrCreate(be, kRel, kMainFork, false).ok());
    NoteHeldBlock(be, kRel, 0);
    NoteHeldBlock(be, kRel, 3);
    be.in_recovery = true;
    ASSERT_TRUE(SmgrTruncate(be, kRel, kMainFork, 3).ok());
    EXPECT_TRUE(IsHeldBlock(be, kRel, 0));
    EXPECT_FALSE(IsHeldBlock(be, kRel, 3));
    ASSERT_TRUE(SmgrTruncate(be, kRel, kMainFork, 0).ok());
    EXPECT_FALSE(IsHeldBlock(be, kRel, 0));
  });
}

TEST(HeldBlocks, ADamagedFileIsRefusedWhereverItIsDamaged) {
  TestNode node(1);
  RunProcess(node, [&node](Backend& be) {
    NoteHeldBlock(be, kRel, 17);
    BeginHeldBlocks(be);
    ASSERT_TRUE(SaveHeldBlocks(be).ok());
    FakeContent& file = *node.files().Content(kHeldBlocksPath);
    std::string good(static_cast<size_t>(file.size()), '\0');
    file.Read(0, good);
    for (size_t at = 0; at < good.size(); ++at) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 4);
      file.Write(0, bad);
      Status status = LoadHeldBlocks(be);
      ASSERT_FALSE(status.ok()) << at;
      EXPECT_EQ(status.sqlstate(), ERRCODE_DATA_CORRUPTED);
    }
    file.Write(0, good);
    EXPECT_TRUE(LoadHeldBlocks(be).ok());
    file.Resize(file.size() - 1);
    EXPECT_FALSE(LoadHeldBlocks(be).ok());
  });
}

}  // namespace
}  // namespace engine
