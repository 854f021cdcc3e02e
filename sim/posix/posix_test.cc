// The env contract on real files and real time.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/posix/posix_files.h"
#include "sim/posix/posix_world.h"

namespace sim::posix {
namespace {

using env::Code;

constexpr env::SiteInfo kSites[] = {
    {"yield", env::SiteKind::kYield, "a point"},
    {"draw", env::SiteKind::kDraw, "a value"},
};

class PosixTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/musth_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    auto files = PosixFiles::Open(root_);
    ASSERT_TRUE(files.ok());
    files_ = std::move(files.value());
  }

  void Put(std::string_view path, std::string_view content) {
    auto file = files_->Open(path, env::kOpenWrite | env::kOpenCreate);
    ASSERT_TRUE(file.ok()) << file.status().ToString();
    auto n = file.value()->Pwrite(0, {content.data(), content.size()});
    ASSERT_TRUE(n.ok());
    ASSERT_EQ(*n, static_cast<int64_t>(content.size()));
  }

  std::string Get(std::string_view path) {
    auto file = files_->Open(path, env::kOpenRead);
    EXPECT_TRUE(file.ok()) << file.status().ToString();
    std::string out(100, '?');
    auto n = file.value()->Pread(0, {out.data(), out.size()});
    EXPECT_TRUE(n.ok());
    out.resize(static_cast<size_t>(*n));
    return out;
  }

  std::string root_;
  std::unique_ptr<PosixFiles> files_;
};

TEST_F(PosixTest, FileKeepsWhatIsWrittenAndZeroFillsGaps) {
  auto file = files_->Open("f", env::kOpenWrite | env::kOpenCreate);
  ASSERT_TRUE(file.ok());
  env::File& f = *file.value();
  ASSERT_TRUE(f.Pwrite(4, {"abc", 3}).ok());
  EXPECT_EQ(*f.Size(), 7);
  EXPECT_EQ(Get("f"), std::string("\0\0\0\0abc", 7));
  ASSERT_TRUE(f.Truncate(5).ok());
  ASSERT_TRUE(f.Allocate(6, 2).ok());
  EXPECT_EQ(Get("f"), std::string("\0\0\0\0a\0\0\0", 8));
  ASSERT_TRUE(f.Allocate(0, 3).ok());  // never shrinks
  EXPECT_EQ(*f.Size(), 8);
  EXPECT_TRUE(f.StartWriteback(0, 8).ok());
  EXPECT_TRUE(f.Fsync().ok());
  EXPECT_TRUE(f.Fdatasync().ok());
  char c = 0;
  EXPECT_EQ(*f.Pread(8, {&c, 1}), 0);
}

TEST_F(PosixTest, OpenFlagsMeanWhatTheySay) {
  EXPECT_EQ(files_->Open("f", env::kOpenRead).status().code(), Code::kNotFound);
  Put("f", "old");
  EXPECT_EQ(
      files_
          ->Open("f", env::kOpenWrite | env::kOpenCreate | env::kOpenExclusive)
          .status()
          .code(),
      Code::kExists);
  ASSERT_TRUE(files_->Open("f", env::kOpenWrite | env::kOpenCreate).ok());
  EXPECT_EQ(Get("f"), "old");
  auto read_only = files_->Open("f", env::kOpenRead);
  EXPECT_FALSE(read_only.value()->Pwrite(0, {"x", 1}).ok());
  auto dsync = files_->Open("f", env::kOpenWrite | env::kOpenDsync);
  ASSERT_TRUE(dsync.ok());
  EXPECT_TRUE(dsync.value()->Pwrite(0, {"new", 3}).ok());
  EXPECT_EQ(Get("f"), "new");
  ASSERT_TRUE(files_->Open("f", env::kOpenWrite | env::kOpenTruncate).ok());
  EXPECT_EQ(Get("f"), "");
}

TEST_F(PosixTest, DirectoriesListSortedAndRenameReplaces) {
  ASSERT_TRUE(files_->Mkdir("d").ok());
  EXPECT_EQ(files_->Mkdir("d").code(), Code::kExists);
  for (const char* name : {"d/b", "d/a", "d/B", "d/10", "d/9"}) Put(name, name);
  EXPECT_EQ(*files_->List("d"),
            (std::vector<std::string>{"10", "9", "B", "a", "b"}));
  EXPECT_EQ(*files_->List(""), std::vector<std::string>{"d"});
  ASSERT_TRUE(files_->Rename("d/a", "d/b").ok());
  EXPECT_EQ(Get("d/b"), "d/a");
  EXPECT_EQ(files_->Rename("d/a", "d/x").code(), Code::kNotFound);
  EXPECT_EQ(files_->Rmdir("d").code(), Code::kExists);  // not empty
  EXPECT_TRUE(files_->FsyncDir("d").ok());
  EXPECT_TRUE(files_->FsyncDir("").ok());
  auto names = files_->List("d");
  ASSERT_TRUE(names.ok());
  for (const std::string& name : *names) {
    EXPECT_TRUE(files_->Unlink("d/" + name).ok());
  }
  EXPECT_TRUE(files_->Rmdir("d").ok());
  EXPECT_EQ(files_->Unlink("d").code(), Code::kNotFound);
}

TEST_F(PosixTest, StatTellsDirectoriesFromFiles) {
  ASSERT_TRUE(files_->Mkdir("d").ok());
  Put("f", "12345");
  EXPECT_TRUE(files_->Stat("d")->is_directory);
  EXPECT_FALSE(files_->Stat("f")->is_directory);
  EXPECT_EQ(files_->Stat("f")->size_bytes, 5);
  EXPECT_EQ(files_->Stat("nothing").status().code(), Code::kNotFound);
}

TEST_F(PosixTest, PathsNeverLeaveTheDirectory) {
  for (const char* path : {"/etc/passwd", "../x", "a/../../x"}) {
    EXPECT_EQ(files_->Open(path, env::kOpenRead).status().code(),
              Code::kInvalid);
    EXPECT_EQ(files_->Unlink(path).code(), Code::kInvalid);
    EXPECT_EQ(files_->Rename("f", path).code(), Code::kInvalid);
  }
}

TEST_F(PosixTest, UnlinkedFilesStayReadableThroughTheirHandle) {
  Put("f", "still here");
  auto file = files_->Open("f", env::kOpenRead);
  ASSERT_TRUE(files_->Unlink("f").ok());
  std::string out(10, '?');
  EXPECT_EQ(*file.value()->Pread(0, {out.data(), out.size()}), 10);
  EXPECT_EQ(out, "still here");
}

TEST(PosixErrno, MapsToCodes) {
  EXPECT_EQ(ErrnoStatus(ENOSPC, "write", "f").code(), Code::kNoSpace);
  EXPECT_EQ(ErrnoStatus(EIO, "write", "f").code(), Code::kIo);
  EXPECT_EQ(ErrnoStatus(EROFS, "write", "f").code(), Code::kReadOnly);
  EXPECT_EQ(ErrnoStatus(EINTR, "write", "f").code(), Code::kInterrupted);
  EXPECT_EQ(ErrnoStatus(EIO, "fsync", "base/1/2").message(),
            "could not fsync file \"base/1/2\": Input/output error");
  EXPECT_EQ(PosixFiles::Open("/nonexistent").status().code(), Code::kNotFound);
}

TEST(PosixWorldTest, TasksTakeTurnsAndParentsReap) {
  PosixWorld world(kSites, nullptr);
  env::Tasks& tasks = *world.env().tasks;
  std::string order;
  int reaped = 0;
  world.SpawnRoot("postmaster", [&] {
    for (char letter : {'a', 'b'}) {
      tasks.Spawn("child", [&, letter] {
        for (int i = 0; i < 3; ++i) {
          order += letter;
          tasks.Yield(0);
        }
        if (letter == 'b') tasks.Panic("enough");
      });
    }
    while (reaped < 2) {
      while (auto exit = tasks.ReapChild()) {
        ++reaped;
        EXPECT_EQ(exit->reason, reaped == 1 ? env::ExitReason::kReturned
                                            : env::ExitReason::kPanicked);
      }
      if (reaped < 2) tasks.Park(0);
    }
  });
  EXPECT_EQ(world.Run(), PosixWorld::StopReason::kIdle);
  EXPECT_EQ(order, "ababab");
  EXPECT_EQ(reaped, 2);
}

TEST(PosixWorldTest, WaitsInRealTime) {
  PosixWorld world(kSites, nullptr);
  env::Env& e = world.env();
  env::TimeNs early = 0;
  env::TimeNs late = 0;
  bool poll = true;
  uint64_t polls = 0;
  world.SpawnRoot("late", [&] {
    EXPECT_FALSE(e.tasks->ParkUntil(0, 30 * env::kMillisecond));
    late = e.clock->Now();
  });
  world.SpawnRoot("early", [&] {
    // A poller beside it does not delay the timeout for ever.
    EXPECT_FALSE(e.tasks->ParkUntil(0, 10 * env::kMillisecond));
    early = e.clock->Now();
    poll = false;
  });
  world.SpawnRoot("poller", [&] {
    while (poll) {
      ++polls;
      e.tasks->Yield(0);
    }
  });
  EXPECT_EQ(world.Run(), PosixWorld::StopReason::kIdle);
  EXPECT_GE(early, 10 * env::kMillisecond);
  EXPECT_GE(late, 30 * env::kMillisecond);
  EXPECT_GE(late, early);
  EXPECT_GT(polls, 10u);
  // 2020-01-01 has passed.
  EXPECT_GT(e.clock->WallMicros(), int64_t{7305} * 24 * 3600 * 1'000'000);
}

TEST(PosixWorldTest, KillUnwindsAndStuckIsReported) {
  PosixWorld world(kSites, nullptr);
  env::Tasks& tasks = *world.env().tasks;
  struct SeesKilled {
    env::Tasks* tasks;
    bool* seen;
    ~SeesKilled() { *seen = tasks->Killed(); }
  };
  bool seen = false;
  env::TaskId id = world.SpawnRoot("parked", [&] {
    SeesKilled guard{&tasks, &seen};
    while (true) tasks.Park(0);
  });
  EXPECT_EQ(world.Run(), PosixWorld::StopReason::kStuck);
  tasks.Kill(id);
  EXPECT_EQ(world.Run(), PosixWorld::StopReason::kIdle);
  EXPECT_TRUE(seen);
  EXPECT_EQ(tasks.ReapChild()->reason, env::ExitReason::kKilled);
}

TEST(PosixWorldTest, RequestStopReturnsAndRunGoesOn) {
  PosixWorld world(kSites, nullptr);
  int steps = 0;
  world.SpawnRoot("task", [&] {
    for (; steps < 10; ++steps) {
      if (steps == 5) world.RequestStop();
      world.env().tasks->Yield(0);
    }
  });
  EXPECT_EQ(world.Run(), PosixWorld::StopReason::kStopped);
  EXPECT_EQ(steps, 5);
  EXPECT_EQ(world.Run(), PosixWorld::StopReason::kIdle);
  EXPECT_EQ(steps, 10);
}

TEST(PosixWorldDeathTest, BrokenCheckAbortsWithItsCondition) {
  PosixWorld world(kSites, nullptr);
  world.SpawnRoot("careless", [] { SIM_CHECK(1 + 1 == 3); });
  EXPECT_DEATH(world.Run(), "check failed in careless: 1 \\+ 1 == 3");
}

}  // namespace
}  // namespace sim::posix
