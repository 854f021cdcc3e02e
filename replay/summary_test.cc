#include "replay/summary.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "replay/campaign_state.h"
#include "replay/junit.h"
#include "replay/merge_cmd.h"
#include "replay/user_files.h"

namespace replay {
namespace {

Summary Sample(uint64_t first_seed, uint64_t last_seed) {
  Summary summary;
  summary.build = "musth-1";
  summary.profile = "strict";
  summary.parts = {{"strict", "0123", first_seed, last_seed, 0, 1}};
  summary.seeds = last_seed - first_seed + 1;
  summary.cpu_s = 2.5;
  summary.wall_s = 1.25;
  summary.virtual_ns = 123456789012345;
  summary.steps = 77;
  summary.crashes = 5;
  summary.statements_unpredicted["function"] = 2;
  summary.known_gaps["C5"] = 1;
  summary.judged["pages"] = 9;
  summary.outside["C19"] = 1;
  summary.schedulers["pct"] = 10;
  properties::RunStats::Family& family = summary.families["fsync_failure"];
  family.enabled_runs = 3;
  family.injected = 4;
  family.gap = 1;
  summary.crash_points["fsync middle"]["power loss"] = 6;
  return summary;
}

TEST(Summary, JsonReadsBackWhole) {
  Summary summary = Sample(0, 9);
  std::string json = summary.ToJson();
  Summary back = Summary::FromJson(json, "a.json").value();
  EXPECT_EQ(back.ToJson(), json);
  EXPECT_EQ(back.virtual_ns, summary.virtual_ns);
  EXPECT_EQ(back.parts, summary.parts);
}

TEST(Summary, JsonOfSomethingElseIsRefused) {
  nlohmann::json json = nlohmann::json::parse(Sample(0, 9).ToJson());
  json["parts"][0]["shard_index"] = 1;
  EXPECT_EQ(Summary::FromJson(json.dump(), "a.json").status().message(),
            "a.json: parts[0]: expected seeds and shard of a campaign of a "
            "summary that campaign --json wrote");
  // Every key is needed; those about legality follow from the build.
  json["parts"][0]["shard_index"] = 0;
  for (const auto& item : json.items()) {
    const std::string& key = item.key();
    nlohmann::json less = json;
    less.erase(key);
    bool derived = key == "illegal_crashes" || key == "rare_crashes";
    EXPECT_EQ(Summary::FromJson(less.dump(), "a.json").ok(), derived) << key;
  }
}

TEST(Summary, MergeOfPartsIsTheWhole) {
  Summary sum = Sample(0, 9);
  Summary more = Sample(10, 19);
  more.profile = more.parts[0].profile = "media";
  ASSERT_TRUE(sum.Merge(more).ok());
  EXPECT_EQ(sum.profile, "media+strict");
  EXPECT_EQ(sum.seeds, 20u);
  EXPECT_EQ(sum.cpu_s, 5.0);
  EXPECT_EQ(sum.judged.at("pages"), 18u);
  EXPECT_EQ(sum.families.at("fsync_failure").injected, 8u);
  EXPECT_EQ(sum.crash_points.at("fsync middle").at("power loss"), 12u);
  EXPECT_EQ(sum.parts.size(), 2u);
}

TEST(Summary, MergeCountsNothingTwice) {
  Summary sum = Sample(0, 9);
  std::string before = sum.ToJson();
  EXPECT_EQ(sum.Merge(Sample(9, 12)).message(),
            "seeds of strict 9..12 are counted already, with those of strict "
            "0..9");
  Summary other = Sample(10, 12);
  other.build = "musth-2";
  EXPECT_EQ(sum.Merge(other).message(),
            "build \"musth-2\", expected \"musth-1\"");
  EXPECT_EQ(sum.ToJson(), before);
}

RC_GTEST_PROP(Summary, PartsOverlapIfAndOnlyIfTheyShareASeed, ()) {
  auto part = [] {
    SeedPart part;
    part.first_seed = *rc::gen::inRange<uint64_t>(0, 20);
    part.last_seed = part.first_seed + *rc::gen::inRange<uint64_t>(0, 20);
    part.shard_count = *rc::gen::inRange<uint64_t>(1, 6);
    part.shard_index = *rc::gen::inRange<uint64_t>(0, part.shard_count);
    return part;
  };
  SeedPart a = part();
  SeedPart b = part();
  auto seeds = [](const SeedPart& p) {
    std::set<uint64_t> seeds;
    for (uint64_t s = p.first_seed + p.shard_index; s <= p.last_seed;
         s += p.shard_count) {
      seeds.insert(s);
    }
    return seeds;
  };
  bool shared = false;
  for (uint64_t seed : seeds(a)) shared |= seeds(b).count(seed) > 0;
  RC_ASSERT(a.Overlaps(b) == shared);
  RC_ASSERT(b.Overlaps(a) == shared);
  b.spec = "another";
  RC_ASSERT(!a.Overlaps(b));
}

RC_GTEST_PROP(NumberSet, HoldsWhatWasAddedAlsoThroughAFile,
              (const std::vector<uint8_t>& numbers)) {
  CampaignState state;
  state.summary = Sample(0, 255);
  std::set<uint64_t> expected;
  for (uint64_t number : numbers) {
    state.done.Add(number);
    expected.insert(number);
  }
  state.incidents.push_back(
      {7, "DUR", "ack", "t<1>", "lost \"x\"\nand", "a.recipe", true});
  CampaignState back = ParseState(FormatState(state), "state").value();
  for (uint64_t n = 0; n < 300; ++n) {
    RC_ASSERT(back.done.Has(n) == (expected.count(n) > 0));
  }
  RC_ASSERT(FormatState(back) == FormatState(state));
}

TEST(Junit, TellsEachIncidentOnceAndEscapesItsWords) {
  Summary summary = Sample(0, 99);
  summary.findings = 1;
  summary.harness_failures = 2;
  std::string text =
      FormatJunit(summary, {{7, "DUR", "ack", "transaction <731>",
                             "\"lost\" & gone", "a.recipe", false},
                            {8, "", "", "", "died\x01", "b.recipe", false}});
  EXPECT_EQ(text,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuite name=\"musth.strict\" tests=\"3\" failures=\"1\" "
            "errors=\"2\" time=\"1.250\">\n"
            "  <testcase classname=\"musth.strict\" name=\"97 seeds without a "
            "broken promise\" time=\"1.250\"/>\n"
            "  <testcase classname=\"musth.strict\" name=\"seed 7\">\n"
            "    <failure type=\"DUR\" message=\"&quot;lost&quot; &amp; "
            "gone\">DUR broken for transaction &lt;731&gt;&#10;recipe: "
            "a.recipe</failure>\n"
            "  </testcase>\n"
            "  <testcase classname=\"musth.strict\" name=\"seed 8\">\n"
            "    <error type=\"harness\" message=\"died?\">recipe: "
            "b.recipe</error>\n"
            "  </testcase>\n"
            "  <!-- 1 more are not listed -->\n"
            "</testsuite>\n");
}

TEST(MergeCmd, WritesTheSumAndReturnsWhatOneCampaignWould) {
  std::string dir = ::testing::TempDir() + "/merge";
  Summary broken = Sample(10, 19);
  broken.findings = 1;
  ASSERT_TRUE(WriteFile(dir + "/a", Sample(0, 9).ToJson()).ok());
  ASSERT_TRUE(WriteFile(dir + "/b", broken.ToJson()).ok());
  std::FILE* out = std::fopen((dir + "/out").c_str(), "w");
  EXPECT_EQ(RunMerge({dir + "/a", dir + "/b"}, dir + "/sum", out), kExitBroken);
  EXPECT_EQ(RunMerge({dir + "/a"}, "", out), kExitKept);
  EXPECT_EQ(RunMerge({dir + "/a", dir + "/a"}, dir + "/none", out), kExitUsage);
  EXPECT_EQ(RunMerge({dir + "/a", dir + "/out"}, "", out), kExitUsage);
  EXPECT_EQ(RunMerge({dir + "/missing"}, "", out), kExitUsage);
  std::fclose(out);
  EXPECT_FALSE(ReadFile(dir + "/none").ok());
  Summary sum =
      Summary::FromJson(ReadFile(dir + "/sum").value(), "sum").value();
  EXPECT_EQ(sum.seeds, 20u);
  EXPECT_NE(ReadFile(dir + "/out").value().find("20 seeds of strict"),
            std::string::npos);
}

}  // namespace
}  // namespace replay
