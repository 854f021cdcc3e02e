#include "engine/txn/slru.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "engine/common/errcodes.h"
#include "engine/common/sites.h"
#include "engine/smgr/sync.h"
#include "engine/smgr/test_node.h"
#include "engine/txn/slru_seal.h"

namespace engine {
namespace {

constexpr int kBuffers = 3;

// A byte of a file.
char ByteAt(TestNode& node, const std::string& path, int64_t offset) {
  char byte = 0;
  node.files().Content(path)->Read(offset, {&byte, 1});
  return byte;
}

// Marks a page with a value, in its first and last byte.
void Mark(Slru& slru, int slot, char value) {
  slru.page(slot)[0] = value;
  slru.page(slot)[BLCKSZ - 1] = value;
  slru.MarkDirty(slot);
}

int Zero(Backend& be, Slru& slru, int64_t pageno) {
  auto slot = slru.ZeroPage(be, pageno);
  EXPECT_TRUE(slot.ok()) << slot.status().ToString();
  return slot.ok() ? *slot : 0;
}

TEST(Slru, EvictedPagesAreReadBackFromTheirSegment) {
  TestNode node(1);
  Slru slru("pg_xact", kBuffers, 1);
  node.Spawn("client", [&](Backend& be) {
    // Page 32 opens the second segment.
    for (int64_t pageno = 28; pageno < 36; ++pageno) {
      int slot = Zero(be, slru, pageno);
      Mark(slru, slot, static_cast<char>(pageno));
    }
    EXPECT_FALSE(slru.IsCached(28));
    for (int64_t pageno = 28; pageno < 36; ++pageno) {
      auto slot = slru.ReadPage(be, pageno, false);
      ASSERT_TRUE(slot.ok()) << slot.status().ToString();
      EXPECT_EQ(slru.page(*slot)[0], static_cast<char>(pageno));
      EXPECT_EQ(slru.page(*slot)[BLCKSZ - 1], static_cast<char>(pageno));
    }
    ASSERT_TRUE(slru.WriteAll(be).ok());
    EXPECT_EQ(PendingSyncRequests(be), 2u);
  });
  node.RunToEnd();
  EXPECT_EQ(node.files().Content("pg_xact/0000")->size(), 32 * BLCKSZ);
  EXPECT_EQ(node.files().Content("pg_xact/0001")->size(), 4 * BLCKSZ);
  EXPECT_EQ(ByteAt(node, "pg_xact/0001", 3 * BLCKSZ), 35);
}

TEST(Slru, MissingPageIsZeroInRecoveryAndAnErrorOtherwise) {
  TestNode node(1);
  Slru slru("pg_xact", kBuffers, 1);
  node.Spawn("client", [&](Backend& be) {
    auto missing = slru.ReadPage(be, 0, false);
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.status().sqlstate(), ERRCODE_UNDEFINED_FILE);
    auto zero = slru.ReadPage(be, 0, true);
    ASSERT_TRUE(zero.ok());
    EXPECT_EQ(slru.page(*zero)[17], 0);
    // Half a page is damage in either case.
    Mark(slru, *zero, 'x');
    ASSERT_TRUE(slru.WriteAll(be).ok());
    for (int64_t pageno : {5, 6, 7}) Zero(be, slru, pageno);
    ASSERT_FALSE(slru.IsCached(0));
    ASSERT_TRUE(slru.WriteAll(be).ok());
    node.files().Content("pg_xact/0000")->Resize(BLCKSZ / 2);
    auto half = slru.ReadPage(be, 0, true);
    ASSERT_FALSE(half.ok());
    EXPECT_EQ(half.status().sqlstate(), ERRCODE_INTERNAL_ERROR);
  });
  node.RunToEnd();
}

TEST(Slru, FailedWriteReportsItsErrorAndLosesNothing) {
  TestNode node(1);
  Slru slru("pg_xact", kBuffers, 1);
  int failures = 2;
  node.files().hook = [&](FileCall& call) {
    if (call.op != FileCall::Op::kWrite || failures == 0) return;
    if (--failures == 1) {
      call.fail = env::Code::kIo;
    } else {
      call.limit = 100;  // a short write
    }
  };
  node.Spawn("client", [&](Backend& be) {
    int slot = Zero(be, slru, 0);
    Mark(slru, slot, 'a');
    EXPECT_EQ(slru.WriteAll(be).sqlstate(), ERRCODE_IO_ERROR);
    EXPECT_EQ(PendingSyncRequests(be), 0u);
    EXPECT_EQ(slru.WriteAll(be).sqlstate(), ERRCODE_DISK_FULL);
    ASSERT_TRUE(slru.WriteAll(be).ok());
    EXPECT_EQ(PendingSyncRequests(be), 1u);
  });
  node.RunToEnd();
  EXPECT_EQ(ByteAt(node, "pg_xact/0000", BLCKSZ - 1), 'a');
}

TEST(Slru, ChangeDuringAWriteMakesThePageDirtyAgain) {
  TestNode node(1);
  Slru slru("pg_xact", kBuffers, 1);
  int slot = -1;
  bool changed = false;
  node.files().hook = [&](FileCall& call) {
    if (call.op != FileCall::Op::kWrite || changed) return;
    changed = true;
    Mark(slru, slot, 'b');
  };
  node.Spawn("client", [&](Backend& be) {
    slot = Zero(be, slru, 0);
    Mark(slru, slot, 'a');
    ASSERT_TRUE(slru.WritePage(be, slot).ok());
    EXPECT_EQ(ByteAt(node, "pg_xact/0000", 0), 'a');
    ASSERT_TRUE(slru.WriteAll(be).ok());
    EXPECT_EQ(ByteAt(node, "pg_xact/0000", 0), 'b');
  });
  node.RunToEnd();
}

TEST(Slru, WriteAllWaitsUntilAWriteInProgressIsRegistered) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    TestNode node(seed);
    Slru slru("pg_xact", kBuffers, 1);
    bool writing = false;
    node.files().hook = [&](FileCall& call) {
      if (call.op == FileCall::Op::kWrite) writing = true;
    };
    node.Spawn("evictor", [&](Backend& be) {
      int slot = Zero(be, slru, 0);
      Mark(slru, slot, 'a');
      EXPECT_TRUE(slru.WritePage(be, slot).ok());
    });
    node.Spawn("checkpointer", [&](Backend& be) {
      while (!writing) be.env->tasks->Yield(SITE_ID(latch_wait));
      EXPECT_TRUE(slru.WriteAll(be).ok());
      EXPECT_EQ(PendingSyncRequests(be), 1u);
    });
    node.RunToEnd();
  }
}

TEST(Slru, ConcurrentProcessesNeverSeeAnotherPageOrAnOldOne) {
  constexpr int64_t kPages = 7;
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    TestNode node(seed);
    Slru slru("pg_xact", kBuffers, 1);
    std::vector<char> truth(kPages, 0);
    int ready = 0;
    for (int client = 0; client < 4; ++client) {
      node.Spawn("client", [&, client](Backend& be) {
        if (client == 0) {
          for (int64_t p = 0; p < kPages; ++p) Zero(be, slru, p);
          ready = 1;
        }
        while (ready == 0) be.env->tasks->Yield(SITE_ID(latch_wait));
        for (int i = 0; i < 30; ++i) {
          auto pageno = static_cast<int64_t>((client * 5 + i * 3) % kPages);
          auto slot = slru.ReadPage(be, pageno, false);
          ASSERT_TRUE(slot.ok()) << slot.status().ToString();
          char& expected = truth[static_cast<size_t>(pageno)];
          ASSERT_EQ(slru.page(*slot)[0], expected) << "seed " << seed;
          ASSERT_EQ(slru.page(*slot)[BLCKSZ - 1], expected);
          expected = static_cast<char>(expected + 1);
          Mark(slru, *slot, expected);
        }
      });
    }
    node.RunToEnd();
  }
}

TEST(Slru, SealedPagesComeBackAndDamageIsFound) {
  TestNode node(1);
  constexpr int64_t kStride = static_cast<int64_t>(kSealedPageBytes);
  node.Spawn("client", [&](Backend& be) {
    Slru slru("pg_xact", kBuffers, 1, /*sealed=*/true);
    for (int64_t pageno = 0; pageno < 6; ++pageno) {
      Mark(slru, Zero(be, slru, pageno), static_cast<char>(pageno + 1));
    }
    ASSERT_TRUE(slru.WriteAll(be).ok());
    const char junk[] = {'!'};
    // In the data of page 2, in the checksum of page 3.
    node.files().Content("pg_xact/0000")->Write(2 * kStride + 5 * 512, junk);
    node.files().Content("pg_xact/0000")->Write(3 * kStride + 505, junk);
    Slru later("pg_xact", kBuffers, 1, /*sealed=*/true);
    for (int64_t pageno = 0; pageno < 6; ++pageno) {
      auto slot = later.ReadPage(be, pageno, false);
      bool damaged = pageno == 2 || pageno == 3;
      ASSERT_EQ(slot.ok(), !damaged) << pageno;
      if (damaged) {
        EXPECT_EQ(slot.status().sqlstate(), ERRCODE_DATA_CORRUPTED);
        continue;
      }
      EXPECT_EQ(later.page(*slot)[0], static_cast<char>(pageno + 1));
      EXPECT_EQ(later.page(*slot)[BLCKSZ - 1], static_cast<char>(pageno + 1));
    }
  });
  node.RunToEnd();
}

// A crash mixes old and new sectors of a page; that is no damage.
TEST(SlruSeal, TornPagesAreWholeSwappedSectorsAreNot) {
  std::array<char, BLCKSZ> before;
  std::array<char, BLCKSZ> after;
  before.fill('b');
  after.fill('a');
  std::array<char, kSealedPageBytes> torn;
  std::array<char, kSealedPageBytes> newer;
  SealPage(before, 5, torn);
  SealPage(after, 5, newer);
  for (size_t i = 1; i < kSealSectors; i += 2) {
    std::copy_n(newer.begin() + static_cast<ptrdiff_t>(i * kSealSectorBytes),
                kSealSectorBytes,
                torn.begin() + static_cast<ptrdiff_t>(i * kSealSectorBytes));
  }
  std::array<char, BLCKSZ> page;
  ASSERT_TRUE(UnsealPage(torn, 5, page));
  for (size_t at = 0; at < page.size(); ++at) {
    ASSERT_EQ(page[at], at / kSealDataBytes % 2 == 1 ? 'a' : 'b') << at;
  }
  EXPECT_FALSE(UnsealPage(torn, 6, page));
  std::swap_ranges(torn.begin(), torn.begin() + kSealSectorBytes,
                   torn.begin() + 2 * kSealSectorBytes);
  EXPECT_FALSE(UnsealPage(torn, 5, page));
  torn.fill(0);
  EXPECT_FALSE(UnsealPage(torn, 5, page));
}

}  // namespace
}  // namespace engine
