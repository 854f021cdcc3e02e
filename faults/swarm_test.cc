#include "faults/swarm.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "faults/atlas.h"

namespace faults {
namespace {

const Profile& ProfileNamed(std::string_view name) {
  sim::Choices choices(0);
  return *ResolveProfile(name, choices).value();
}

Knobs Draw(uint64_t seed, const Profile& profile,
           const KnobSettings& overrides = {}) {
  sim::Choices choices(seed);
  return DrawKnobs(choices, profile, overrides).value();
}

TEST(Swarm, BaseZeroGivesTheSimplestKnobs) {
  for (const char* profile : {"pg-contract", "strict"}) {
    sim::Choices choices(7, sim::Base::kZero);
    Knobs knobs = DrawKnobs(choices, ProfileNamed(profile), {}).value();
    EXPECT_EQ(ToString(knobs), ToString(Knobs())) << profile;
  }
}

TEST(Swarm, EveryKnobVariesAndEveryDrawnSetIsConsistent) {
  const Profile& strict = ProfileNamed("strict");
  std::map<std::string, std::set<std::string>> seen;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Knobs knobs = Draw(seed, strict);
    EXPECT_TRUE(CheckKnobs(knobs).ok()) << ToString(knobs);
    for (const std::string& name : KnobNames()) {
      seen[name].insert(GetKnob(knobs, name).value());
    }
  }
  for (const auto& [name, values] : seen) {
    // Options beyond PostgreSQL.
    bool never_drawn = false;
    for (const ContractRow& row : Contract()) never_drawn |= row.option == name;
    EXPECT_EQ(values.size() > 1, !never_drawn) << name;
  }
}

TEST(Swarm, ContractProfileKeepsSmallSectorsAndOrderedDirectories) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Knobs knobs = Draw(seed, ProfileNamed("pg-contract"));
    EXPECT_EQ(knobs.sector_size_bytes, 512);
    EXPECT_EQ(DiskOptionsOf(knobs).meta, sim::MetaMode::kOrdered);
  }
}

TEST(Swarm, GarbageHasItsShareAndMeetsChecksums) {
  constexpr int kRuns = 2000;
  for (const char* profile : {"pg-contract", "strict"}) {
    std::map<sim::Fill, int> drawn;
    int unchecked = 0;
    for (uint64_t seed = 0; seed < kRuns; ++seed) {
      Knobs knobs = Draw(seed, ProfileNamed(profile));
      sim::Fill fill = DiskOptionsOf(knobs).fill;
      ++drawn[fill];
      unchecked += knobs.data_checksums == 0;
      EXPECT_TRUE(fill == sim::Fill::kZero || knobs.data_checksums != 0);
    }
    EXPECT_NEAR(drawn[sim::Fill::kZero], kRuns / 2, 80) << profile;
    EXPECT_NEAR(drawn[sim::Fill::kGarbage], kRuns / 4, 80) << profile;
    EXPECT_NEAR(drawn[sim::Fill::kStale], kRuns / 4, 80) << profile;
    EXPECT_NEAR(unchecked, kRuns / 8, 60) << profile;
  }
  Knobs by_hand = Draw(1, ProfileNamed("pg-contract"),
                       {{"fill", "stale"}, {"data_checksums", "off"}});
  EXPECT_EQ(by_hand.data_checksums, 0);
}

TEST(Swarm, OddFileSystemsAreDrawnInStrictAlone) {
  std::set<std::string> contract;
  std::set<std::string> strict;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Knobs knobs = Draw(seed, ProfileNamed("pg-contract"));
    EXPECT_FALSE(DiskOptionsOf(knobs).delayed_allocation);
    contract.insert(GetKnob(knobs, "sync_failure").value());
    knobs = Draw(seed, ProfileNamed("strict"));
    strict.insert(GetKnob(knobs, "sync_failure").value());
  }
  EXPECT_EQ(contract, (std::set<std::string>{"ext4-ordered", "xfs"}));
  EXPECT_EQ(strict, (std::set<std::string>{"btrfs", "ext4-data", "ext4-ordered",
                                           "xfs"}));
}

TEST(Swarm, PageImagesAreOffOnlyWhereEightKilobytesAreAtomic) {
  int off = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Knobs knobs = Draw(seed, ProfileNamed("pg-contract"));
    off += knobs.full_page_writes == 0;
    EXPECT_TRUE(knobs.full_page_writes != 0 || knobs.atomic8k != 0);
  }
  EXPECT_GT(off, 0);
}

TEST(Swarm, OneKnobsOverrideMovesNoOther) {
  const Profile& profile = ProfileNamed("pg-contract");
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Knobs plain = Draw(seed, profile);
    Knobs edited = Draw(seed, profile, {{"sessions", "9"}});
    EXPECT_EQ(edited.sessions, 9);
    edited.sessions = plain.sessions;
    EXPECT_EQ(ToString(plain), ToString(edited));
  }
}

TEST(Swarm, ABulkLoadComesWithALogThatIsSoonFull) {
  const Profile& profile = ProfileNamed("pg-contract");
  int loads = 0;
  int delays = 0;
  for (uint64_t seed = 0; seed < 1200; ++seed) {
    Knobs knobs = Draw(seed, profile);
    if (knobs.bulk_load == 0) continue;
    ++loads;
    delays += knobs.commit_delay_ns != 0 && knobs.commit_siblings == 0;
    EXPECT_LE(knobs.wal_segment_size_bytes, 256 * 1024);
    EXPECT_GT(knobs.wal_insert_locks, 1);
  }
  EXPECT_NEAR(loads, 300, 60);
  EXPECT_GT(delays, loads / 2);
}

// An override of a draw reaches the knob by its printed address.
TEST(Swarm, DrawOverrideReachesTheKnobByName) {
  sim::Choices choices(3, sim::Base::kZero);
  choices.AddOverride(
      sim::Override::Parse("knobs w0 shared_buffers 0 = 2").value());
  Knobs knobs = DrawKnobs(choices, ProfileNamed("pg-contract"), {}).value();
  EXPECT_EQ(knobs.shared_buffers, 8);
  EXPECT_TRUE(choices.UnmatchedOverrides().empty());
}

TEST(Swarm, TextFormRoundTripsForEveryKnobAndSeed) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Knobs knobs = Draw(seed, ProfileNamed("strict"));
    // atomic8k and page images: the order of setting does not matter here.
    Knobs copy;
    for (const std::string& name : KnobNames()) {
      ASSERT_TRUE(SetKnob(&copy, name, GetKnob(knobs, name).value()).ok());
    }
    EXPECT_EQ(ToString(copy), ToString(knobs));
  }
}

TEST(Swarm, UnitsAreWrittenShortAndReadBack) {
  Knobs knobs;
  ASSERT_TRUE(SetKnob(&knobs, "wal_segment_size", "65536").ok());
  EXPECT_EQ(GetKnob(knobs, "wal_segment_size").value(), "64K");
  ASSERT_TRUE(SetKnob(&knobs, "checkpoint_timeout", "1500ms").ok());
  EXPECT_EQ(knobs.checkpoint_timeout_ns, 1500 * env::kMillisecond);
  ASSERT_TRUE(SetKnob(&knobs, "fill", "stale").ok());
  EXPECT_EQ(DiskOptionsOf(knobs).fill, sim::Fill::kStale);
}

TEST(Swarm, BadKnobsAreRefusedWithWhatWasExpected) {
  Knobs knobs;
  struct Case {
    const char* name;
    const char* value;
    const char* expected;
  };
  for (const Case& c :
       {Case{"shared_bufers", "8", "shared_buffers"},
        Case{"shared_buffers", "7", "8..65536"},
        Case{"shared_buffers", "8K", "8..65536"},
        Case{"shared_buffers", "-8", "8..65536"},
        Case{"wal_segment_size", "99999999999999999999K", "64K..16M"},
        Case{"wal_segment_size", "9223372036854775807K", "64K..16M"},
        Case{"checkpoint_timeout", "10", "1ms..86400s"},
        Case{"meta", "", "ordered, weak"},
        Case{"data_checksums", "1", "on or off"}}) {
    env::Status status = SetKnob(&knobs, c.name, c.value);
    ASSERT_FALSE(status.ok()) << c.name << " " << c.value;
    EXPECT_NE(status.message().find(c.expected), std::string_view::npos)
        << status.ToString();
  }
  EXPECT_EQ(ToString(knobs), ToString(Knobs()));
}

TEST(Swarm, ContradictingOverridesAreRefused) {
  sim::Choices choices(1, sim::Base::kZero);
  const Profile& profile = ProfileNamed("pg-contract");
  EXPECT_FALSE(DrawKnobs(choices, profile, {{"full_page_writes", "off"}}).ok());
  EXPECT_TRUE(DrawKnobs(choices, profile,
                        {{"full_page_writes", "off"}, {"atomic8k", "on"}})
                  .ok());
  EXPECT_FALSE(DrawKnobs(choices, profile,
                         {{"max_wal_size", "1M"}, {"wal_segment_size", "1M"}})
                   .ok());
}

}  // namespace
}  // namespace faults
