#include "faults/directions.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace faults {
namespace {

using sim::CrashKind;

constexpr std::array<env::SiteInfo, 4> kSites = {
    env::SiteInfo{"commit_done", env::SiteKind::kInjection, "why"},
    env::SiteInfo{"lock_wait", env::SiteKind::kYield, "why"},
    env::SiteInfo{"a_bug", env::SiteKind::kPlanted, "why"},
    env::SiteInfo{"a_gap", env::SiteKind::kYield, "planted bugs only: why"}};

// What is wrong with the line; empty: nothing.
std::string Refusal(std::string_view line) {
  Directions directions;
  env::Status status =
      AddDirection("crash power-loss at end", kSites, &directions);
  EXPECT_TRUE(status.ok());
  return std::string(AddDirection(line, kSites, &directions).message());
}

TEST(Directions, CrashesNameKindProcessPlaceAndCount) {
  Directions d;
  for (const char* line :
       {"crash power-loss at commit_done", "crash task-kill s1 at lock_wait 3",
        "crash process-crash after s12.q3",
        "crash power-loss in recovery at fsync-middle 2",
        "crash power-loss at end"}) {
    ASSERT_TRUE(AddDirection(line, kSites, &d).ok()) << line;
    EXPECT_EQ(d.crashes.back().text, line);
  }
  ASSERT_EQ(d.crashes.size(), 5u);
  EXPECT_EQ(d.crashes[0].at.kind, Moment::Kind::kSite);
  EXPECT_EQ(d.crashes[0].at.site, 0);
  EXPECT_EQ(d.crashes[0].at.task, "");
  EXPECT_EQ(d.crashes[0].at.nth, 1u);
  EXPECT_EQ(d.crashes[1].kind, CrashKind::kTaskKill);
  EXPECT_EQ(d.crashes[1].at.task, "s1");
  EXPECT_EQ(d.crashes[1].at.nth, 3u);
  EXPECT_EQ(d.crashes[2].at.statement, (StatementRef{12, 3}));
  EXPECT_TRUE(d.crashes[3].in_recovery);
  EXPECT_EQ(d.crashes[3].at.step, sim::DeviceStep::kSyncMiddle);
  EXPECT_EQ(d.crashes[4].at.kind, Moment::Kind::kEnd);
}

TEST(Directions, CrashesAreCountedFromAStatementOnDemand) {
  Directions d;
  for (const char* line :
       {"crash power-loss s1 at step 17 during s1.q2",
        "crash process-crash checkpointer at write 2 during s3.q4",
        "crash power-loss at step", "crash power-loss in recovery at step 5"}) {
    ASSERT_TRUE(AddDirection(line, kSites, &d).ok()) << line;
  }
  EXPECT_EQ(d.crashes[0].at.kind, Moment::Kind::kStep);
  EXPECT_EQ(d.crashes[0].at.task, "s1");
  EXPECT_EQ(d.crashes[0].at.nth, 17u);
  EXPECT_EQ(d.crashes[0].at.during, (StatementRef{1, 2}));
  EXPECT_EQ(d.crashes[1].at.during, (StatementRef{3, 4}));
  EXPECT_EQ(d.crashes[2].at.nth, 1u);
  EXPECT_EQ(d.crashes[2].at.during.session, 0u);
  EXPECT_NE(Refusal("crash power-loss after s1.q1 during s1.q2"), "");
  EXPECT_NE(Refusal("crash power-loss in recovery at step 1 during s1.q2"), "");
  EXPECT_NE(Refusal("hold s1 at step 3 until after s1.q1"), "");
}

TEST(Directions, ImagesBelongToTheCrashAboveThem) {
  Directions d;
  for (const char* line :
       {"crash power-loss at end", "image lose all", "image keep names",
        "image keep base/5/16384 0..7", "crash power-loss at end",
        "image lose pg_wal/1 5"}) {
    ASSERT_TRUE(AddDirection(line, kSites, &d).ok()) << line;
  }
  ASSERT_EQ(d.crashes[0].image.size(), 3u);
  const sim::ImageRule& sectors = d.crashes[0].image[2];
  EXPECT_FALSE(sectors.lose);
  EXPECT_EQ(sectors.path, "base/5/16384");
  EXPECT_EQ(sectors.first_sector, 0u);
  EXPECT_EQ(sectors.last_sector, 7u);
  ASSERT_EQ(d.crashes[1].image.size(), 1u);
  EXPECT_EQ(d.crashes[1].image[0].last_sector, 5u);
}

TEST(Directions, HoldsEndAtTheFirstOfSeveralMoments) {
  Directions d;
  ASSERT_TRUE(AddDirection("hold s1 at commit_done 2 until after s2.q1 or "
                           "checkpointer at lock_wait",
                           kSites, &d)
                  .ok());
  ASSERT_TRUE(
      AddDirection("hold before s2.q1 until s1 at write", kSites, &d).ok());
  ASSERT_TRUE(
      AddDirection("hold s1 at a_gap until at commit_done", kSites, &d).ok());
  ASSERT_TRUE(
      AddDirection("hold s1 at fsync-done 2 until after inspection or after "
                   "s1.q1",
                   kSites, &d)
          .ok());
  ASSERT_EQ(d.holds.size(), 4u);
  EXPECT_EQ(d.holds[0].at.nth, 2u);
  ASSERT_EQ(d.holds[0].until.size(), 2u);
  EXPECT_EQ(d.holds[0].until[1].task, "checkpointer");
  EXPECT_FALSE(d.holds[0].optional);
  EXPECT_EQ(d.holds[1].at.statement, (StatementRef{2, 1}));
  EXPECT_TRUE(d.holds[2].optional);
  EXPECT_EQ(d.holds[3].at.step, sim::DeviceStep::kSyncDone);
  EXPECT_FALSE(d.holds[3].optional);
  ASSERT_EQ(d.holds[3].until.size(), 2u);
  EXPECT_EQ(d.holds[3].until[0].kind, Moment::Kind::kInspection);
  EXPECT_EQ(d.holds[3].until[1].statement, (StatementRef{1, 1}));
}

TEST(Directions, RefusalsSayWhatWasExpectedAndFound) {
  EXPECT_EQ(Refusal("crash blackout at end"),
            "expected power-loss, process-crash or task-kill, found "
            "\"blackout\"");
  EXPECT_NE(Refusal("crash power-loss at nowhere").find("found \"nowhere\""),
            std::string::npos);
  // A planted bug's switch is no place.
  EXPECT_NE(Refusal("crash power-loss at a_bug").find("expected a place"),
            std::string::npos);
  EXPECT_EQ(Refusal("crash power-loss after q1"),
            "expected a statement such as s1.q2, found \"q1\"");
  EXPECT_EQ(Refusal("crash power-loss at commit_done 0"),
            "expected a count from 1, found \"0\"");
  EXPECT_EQ(Refusal("crash power-loss at commit_done 1 2"),
            "expected the end of the line, found \"2\"");
  EXPECT_EQ(Refusal("image lose"),
            "expected all, names or a file, found the end of the line");
  EXPECT_EQ(Refusal("image lose f 7..3"),
            "expected a sector or a range such as 0..7, found \"7..3\"");
  EXPECT_EQ(Refusal("fail read f"),
            "expected fsync, extend or write, found \"read\"");
  EXPECT_EQ(Refusal("hold s1 at commit_done"),
            "expected \"until\", found the end of the line");
  EXPECT_NE(
      Refusal("hold s1 at write until after s1.q1").find("cannot be held"),
      std::string::npos);
  // Only holds know of inspections.
  EXPECT_EQ(Refusal("crash power-loss after inspection"),
            "expected a statement such as s1.q2, found \"inspection\"");
  Directions none;
  EXPECT_FALSE(AddDirection("image lose all", kSites, &none).ok());
}

}  // namespace
}  // namespace faults
