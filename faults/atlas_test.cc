#include "faults/atlas.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "engine/common/sites.h"
#include "faults/crash_faults.h"
#include "faults/swarm.h"

namespace faults {
namespace {

std::string FaultModel() {
  std::ifstream file("faults/FAULT_MODEL.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The row as FAULT_MODEL.md has it.
std::string InMarkdown(const ContractRow& row) {
  std::string line = fmt::format("| {} | {} |", row.name, row.fault);
  for (Requirement requirement : row.required) {
    line += fmt::format(" {} |", RequirementName(requirement));
  }
  std::string gap;
  if (!row.postgres.empty()) gap = std::string(row.postgres);
  if (row.IsKnownGap()) gap += fmt::format("; closed by `{}`", row.option);
  return line + fmt::format(" {} |", gap.empty() ? "the same" : gap);
}

TEST(Atlas, FaultModelSaysTheSame) {
  std::string text = FaultModel();
  ASSERT_FALSE(text.empty());
  for (const ContractRow& row : Contract()) {
    EXPECT_NE(text.find(InMarkdown(row)), std::string::npos)
        << "FAULT_MODEL.md lacks\n"
        << InMarkdown(row);
  }
  size_t rows = 0;
  for (size_t at = text.find("\n| C"); at != std::string::npos;
       at = text.find("\n| C", at + 1)) {
    ++rows;
  }
  EXPECT_EQ(rows, Contract().size());
}

TEST(Atlas, RowsAreNumberedAndFound) {
  int n = 0;
  for (const ContractRow& row : Contract()) {
    EXPECT_EQ(row.name, fmt::format("C{}", ++n));
    EXPECT_EQ(FindRow(row.name), &row);
  }
  EXPECT_EQ(n, 23);
  EXPECT_EQ(FindRow("C24"), nullptr);
}

TEST(Atlas, EveryGapHasItsOptionAndSaysWhenItsFaultStruck) {
  std::set<std::string_view> options;
  Evidence nothing;
  for (const ContractRow& row : Contract()) {
    EXPECT_EQ(row.struck != nullptr,
              row.IsKnownGap() || row.IsOutside(ProfileColumn::kBeyond))
        << row.name;
    if (row.struck != nullptr) {
      EXPECT_FALSE(row.struck(nothing)) << row.name;
    }
    if (!row.IsKnownGap()) continue;
    EXPECT_TRUE(options.insert(row.option).second) << row.option;
    EXPECT_TRUE(GetKnob(Knobs(), row.option).ok()) << row.option;
    EXPECT_EQ(GetKnob(Knobs(), row.option).value(), "off") << row.option;
    EXPECT_FALSE(row.postgres.empty()) << row.name;
  }
}

TEST(Atlas, AGapStrikesByItsOwnFaultAlone) {
  Evidence lost;
  lost.entries_lost = 1;
  EXPECT_FALSE(FindRow("C5")->struck(lost));  // ordered: that is row C4
  lost.weak_metadata = true;
  EXPECT_TRUE(FindRow("C5")->struck(lost));
  EXPECT_FALSE(FindRow("C11")->struck(lost));
  Evidence rot;
  sim::FaultRecord record;
  record.damage = sim::Damage::kBitRot;
  record.path = "pg_wal/000000010000000000000001";
  rot.Add(record);
  EXPECT_TRUE(FindRow("C21")->struck(rot));
  EXPECT_FALSE(FindRow("C22")->struck(rot));
  record.path = "pg_xact/0000";
  rot.Add(record);
  EXPECT_TRUE(FindRow("C22")->struck(rot));
  EXPECT_FALSE(FindRow("C18")->struck(rot));
}

TEST(Atlas, AZeroedPageStrikesOnceItIsReadAsZeros) {
  sim::FaultRecord record;
  record.damage = sim::Damage::kZeroed;
  record.path = "base/5/16384";
  record.seen = true;
  Evidence evidence;
  evidence.Add(record);  // of a page that was not zeros as a whole
  EXPECT_FALSE(FindRow("C16")->struck(evidence));
  record.seen_as_zeros = true;
  record.path = "base/5/16384_fsm";
  evidence.Add(record);
  record.path = "pg_wal/000000010000000000000001";
  evidence.Add(record);
  record.path = "base/5/16384";
  record.damage = sim::Damage::kReadError;
  evidence.Add(record);
  EXPECT_FALSE(FindRow("C16")->struck(evidence));
  record.damage = sim::Damage::kMisread;
  evidence.Add(record);
  EXPECT_TRUE(FindRow("C16")->struck(evidence));
}

TEST(Atlas, FilesHaveTheirClass) {
  EXPECT_EQ(FileClassOf("base/5/16384_fsm"), FileClass::kData);
  EXPECT_EQ(FileClassOf("global/1262"), FileClass::kData);
  EXPECT_EQ(FileClassOf("global/pg_control"), FileClass::kControl);
  EXPECT_EQ(FileClassOf("global/pg_wal_flushmark"), FileClass::kOther);
  EXPECT_EQ(FileClassOf("base/5/PG_VERSION"), FileClass::kOther);
  EXPECT_EQ(FileClassOf("pg_wal/000000010000000000000001"), FileClass::kWal);
  EXPECT_EQ(FileClassOf("pg_xact/0000"), FileClass::kClog);
}

TEST(Atlas, ProfilesThatDemandSurvivalHaveOnlyWhatTheyMustSurviveOrDetect) {
  for (const ContractRow& row : Contract()) {
    Requirement here =
        row.required[static_cast<size_t>(ProfileColumn::kPgContract)];
    EXPECT_TRUE(here == Requirement::kNotDrawn ||
                here == Requirement::kSurvive || here == Requirement::kDetect)
        << row.name;
  }
}

TEST(Atlas, FamiliesOfRowsBelongToTheProfile) {
  uint32_t of_rows = 0;
  for (const ContractRow& row : Contract()) of_rows |= row.families;
  // Families that break nothing by themselves: they reorder and delay.
  uint32_t harmless = 0;
  for (Family family : {Family::kWriteback, Family::kLatency, Family::kStall}) {
    harmless |= uint32_t{1} << static_cast<int>(family);
  }
  uint32_t contract = Profiles()[0].families;
  EXPECT_EQ(contract & ~(of_rows | harmless), 0u)
      << "a family of pg-contract belongs to no row";
}

// A row is demanded where one of its families can strike, and only there.
TEST(Atlas, ColumnsFollowTheFamiliesOfTheProfiles) {
  for (const ContractRow& row : Contract()) {
    if (row.families == 0) continue;
    for (int i = 0; i < kProfileColumns; ++i) {
      bool drawn =
          row.required[static_cast<size_t>(i)] != Requirement::kNotDrawn;
      const Profile& profile = Profiles()[static_cast<size_t>(i)];
      if (drawn) {
        EXPECT_NE(row.families & profile.families, 0u)
            << row.name << " under " << profile.name;
      }
    }
  }
  uint32_t of_rows = 0;
  for (const ContractRow& row : Contract()) of_rows |= row.families;
  for (Family family :
       {Family::kReadError, Family::kBitRot, Family::kGarbage, Family::kZeroed,
        Family::kMisread, Family::kReadOnlyFs, Family::kMisdirected,
        Family::kLostWrite, Family::kShornSector, Family::kLyingFlush}) {
    EXPECT_NE(of_rows >> static_cast<int>(family) & 1, 0u)
        << FamilyName(family) << " belongs to no row";
  }
}

TEST(Atlas, EveryDamageHasAFamilyThatLeavesIt) {
  for (int i = 0; i < sim::kDamageCount; ++i) {
    EXPECT_TRUE(LeavesDamage(FamilyOf(static_cast<sim::Damage>(i))));
  }
  EXPECT_FALSE(LeavesDamage(Family::kSyncFailure));
  EXPECT_EQ(FamilyOf(sim::Damage::kStaleFill), Family::kFill);
}

TEST(Atlas, ExclusionsNamePointsThatExistAndGiveAReason) {
  std::vector<std::string> points = CrashPointNames(engine::EngineSites());
  std::set<std::string> names(points.begin(), points.end());
  EXPECT_EQ(names.size(), points.size());
  std::set<std::pair<std::string, sim::CrashKind>> seen;
  for (const Exclusion& exclusion : IllegalCrashes()) {
    EXPECT_EQ(names.count(std::string(exclusion.point)), 1u) << exclusion.point;
    EXPECT_TRUE(
        seen.insert({std::string(exclusion.point), exclusion.kind}).second);
    EXPECT_GT(exclusion.reason.size(), 20u) << exclusion.point;
    // Power loss is legal everywhere.
    EXPECT_NE(exclusion.kind, sim::CrashKind::kPowerLoss) << exclusion.point;
  }
}

TEST(Atlas, RarePointsAreInjectionPointsOfTheEngine) {
  for (bool in_recovery : {false, true}) {
    for (std::string_view point : RarePoints(in_recovery)) {
      bool found = false;
      for (const env::SiteInfo& site : engine::EngineSites()) {
        found |= site.kind == env::SiteKind::kInjection && site.name == point;
      }
      EXPECT_TRUE(found) << point;
    }
  }
}

}  // namespace
}  // namespace faults
