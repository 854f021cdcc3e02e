#include "properties/run_recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "properties/run.h"
#include "sim/test_world.h"

namespace properties {
namespace {

using Kind = TimelineEntry::Kind;
using sim::Stream;

class RunRecorderTest : public ::testing::Test {
 protected:
  RunRecorderTest() : recorder_(sim::kTestSites) {
    sim::WorldOptions options;
    options.record_schedule = options.marks = true;
    options.strategy.switch_denominator = 1;  // at every point
    options.strategy.timer_denominator = 1;
    world_ = std::make_unique<sim::TestWorld>(5, options);
    world_->operator*().Subscribe(&recorder_);
  }

  // A draw whose names the test knows.
  void Draw(Stream stream, const std::string& scope, const std::string& site,
            uint64_t n, uint64_t bound, uint64_t value) {
    recorder_.OnDraw(stream, sim::Scope::FromPath(scope).key(),
                     env::SiteHash(site), n, bound, value);
  }

  std::vector<std::string> Draws() {
    std::vector<std::string> out;
    for (const sim::Override& draw : recorder_.Take().draws) {
      out.push_back(draw.ToString());
    }
    return out;
  }

  std::unique_ptr<sim::TestWorld> world_;
  RunRecorder recorder_;
};

TEST_F(RunRecorderTest, DrawsThatNobodyKnowsByNameAreSaidByTheirKeys) {
  recorder_.OnWorld(&**world_, nullptr);
  Draw(Stream::kDiskFault, "w0/h0/i0", "media.whole_page", 2, 3, 2);
  Draw(Stream::kCrashImage, "w0/h0/i0/base/5/1", "sector", 7, 4, 1);
  Draw(Stream::kDiskFault, "w0/h0/i0", "a_new_draw", 0, 3, 1);
  std::vector<std::string> draws = Draws();
  ASSERT_EQ(draws.size(), 3u);
  EXPECT_EQ(draws[0], "disk-fault w0/h0/i0 media.whole_page 2 = 2");
  // Nobody opened that file.
  EXPECT_EQ(draws[1].substr(0, 13), "crash-image #");
  EXPECT_EQ(draws[2].substr(0, 21), "disk-fault w0/h0/i0 #");
  // They decide the same draws.
  sim::Choices choices(9, sim::Base::kZero);
  for (const std::string& text : draws) {
    choices.AddOverride(sim::Override::Parse(text).value());
  }
  auto scope = sim::Scope::FromPath("w0/h0/i0");
  EXPECT_EQ(choices.Draw(Stream::kCrashImage,
                         sim::Scope::FromPath("w0/h0/i0/base/5/1"),
                         env::SiteHash("sector"), 7, 4),
            1u);
  EXPECT_EQ(choices.Draw(Stream::kDiskFault, scope, env::SiteHash("a_new_draw"),
                         0, 3),
            1u);
}

TEST_F(RunRecorderTest, ADrawIsSaidOnceAndOnlyIfItSaysSomething) {
  // Before there is a world: the plan and the knobs are written out otherwise.
  Draw(Stream::kWorkload, "w0/plan/s1", "rows", 0, 9, 3);
  Draw(Stream::kKnobs, "w0", "shared_buffers", 0, 9, 3);
  Draw(Stream::kKnobs, "w0/faults", "latency", 0, 100, 80);
  recorder_.OnWorld(&**world_, nullptr);
  Draw(Stream::kWorkload, "w0/h0/i0", "test_draw", 0, 9, 4);
  Draw(Stream::kSchedule, "w0/h0/i0/a", "switch", 0, 9, 4);
  Draw(Stream::kCrashPoint, "w0/h0", "place", 0, 9, 4);
  for (int i = 0; i < 2; ++i) {
    Draw(Stream::kCrashImage, "w0/h0/i0", "log-prefix", 1, 9, 4);
  }
  // Strikes with its largest value only.
  Draw(Stream::kDiskFault, "w0/h0/i0", "sync_failure", 0, 9, 7);
  Draw(Stream::kDiskFault, "w0/h0/i0", "sync_failure", 1, 9, 8);
  EXPECT_EQ(Draws(), (std::vector<std::string>{
                         "knobs w0/faults latency 0 = 80",
                         "workload w0/h0/i0 test_draw 0 = 4",
                         "crash-image w0/h0/i0 log-prefix 1 = 4",
                         "disk-fault w0/h0/i0 sync_failure 1 = 8",
                     }));
}

// Also when a task ends, and when a timer fires.
TEST_F(RunRecorderTest, EveryEntryOfTheScheduleIsInTheTimeline) {
  recorder_.OnWorld(&**world_, nullptr);
  sim::World& world = **world_;
  for (const char* name : {"a", "b", "c"}) {
    world_->Spawn(name, [name, &world] {
      for (int i = 0; i < 5; ++i) {
        if (i == 2) world.Mark(env::Current().task, std::string(name) + ".q1");
        sim::PassPoint();
      }
      env::Current().env->tasks->ParkUntil(sim::kTestYield, 1000);
    });
  }
  EXPECT_EQ(world.Run(), sim::World::StopReason::kIdle);
  RunRecord record = recorder_.Take();
  std::vector<std::string> said;
  bool timer = false;
  bool ended = false;
  for (const TimelineEntry& entry : record.timeline) {
    ASSERT_TRUE(entry.kind == Kind::kSwitch || entry.kind == Kind::kTimer);
    said.push_back(entry.label);
    timer |= entry.kind == Kind::kTimer;
  }
  std::vector<std::string> expected;
  for (const sim::ScheduleEntry& entry : record.schedule) {
    std::string text = entry.ToString();
    expected.push_back(text.substr(0, text.rfind(" ->")));
    // Five points and the sleep, of which two come before the mark; then the
    // end.
    ended |= !entry.mark.empty() && entry.n == 5;
  }
  EXPECT_EQ(said, expected);
  EXPECT_TRUE(timer);
  EXPECT_TRUE(ended);
}

// ---- Whole runs

RunOutcome Recorded(const RunSpec& spec) {
  static RunContext context;
  RunOptions options;
  options.record = true;
  env::Result<RunOutcome> outcome = Run(context, spec, options);
  EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
  EXPECT_NE(outcome->record, nullptr);
  return std::move(outcome).value();
}

bool Has(const RunRecord& record, const std::string& knob) {
  return std::any_of(record.knobs.begin(), record.knobs.end(),
                     [&knob](const auto& k) { return k.first == knob; });
}

// A name that somebody forgot makes recipes harder to read. Nobody knows the
// path of a file that a device call looked for and did not find.
TEST(RunRecord, NoDrawIsWithoutAName) {
  RunSpec spec;
  for (const char* profile : {"pg-contract", "media", "beyond"}) {
    spec.profile = profile;
    for (spec.seed = 0; spec.seed < 25; ++spec.seed) {
      RunOutcome outcome = Recorded(spec);
      for (const sim::Override& draw : outcome.record->draws) {
        bool in_vain = draw.site.starts_with("latency");
        EXPECT_TRUE(draw.site[0] != '#' &&
                    (in_vain || draw.scope_path[0] != '#'))
            << profile << " seed " << spec.seed << ": " << draw.ToString();
      }
    }
  }
}

TEST(RunRecord, ARestartAfterAShutdownIsNoCrashAndCountsAllTheSame) {
  RunSpec spec;
  spec.knobs = {{"shutdown", "fast"}, {"shutdown_after", "4"}};
  int both = 0;
  for (spec.seed = 0; spec.seed < 20; ++spec.seed) {
    RunOutcome outcome = Recorded(spec);
    const RunRecord& record = *outcome.record;
    uint32_t incarnation = 0;
    size_t crashes = 0;
    bool stopped = false;
    for (const TimelineEntry& entry : record.timeline) {
      if (entry.kind == Kind::kRestart) {
        stopped |= entry.text == "a fast shutdown";
        ++incarnation;
      }
      if (entry.kind != Kind::kCrash) continue;
      ASSERT_LT(crashes, record.crashes.size());
      const RecordedCrash& crash = record.crashes[crashes++];
      EXPECT_EQ(entry.text, crash.kind);
      EXPECT_EQ(crash.incarnation, incarnation) << spec.seed;
      bool task_kill = crash.kind == "task-kill";
      EXPECT_EQ(crash.tasks.empty(), !task_kill);
      if (!task_kill) ++incarnation;
      both += stopped ? 1 : 0;
    }
    EXPECT_EQ(crashes, record.crashes.size());
  }
  EXPECT_GT(both, 3);
}

TEST(RunRecord, AQuietTailThatDirectionsOverruleIsNotDemanded) {
  RunSpec spec;
  RunSpec plain;
  while (!Has(*Recorded(plain).record, "quiet_tail")) ++plain.seed;
  spec.seed = plain.seed;
  spec.sessions = {{1, "SELECT 1;\nSELECT 2;\n"}};
  spec.directions = {"crash power-loss after s1.q2"};
  RunOutcome outcome = Recorded(spec);
  EXPECT_TRUE(outcome.unmet_directions.empty());
  EXPECT_FALSE(Has(*outcome.record, "quiet_tail"));
  // Said again with what was recorded, the crash still comes.
  spec.knobs = outcome.record->knobs;
  EXPECT_TRUE(Recorded(spec).unmet_directions.empty());
  spec.knobs = {{"quiet_tail", "on"}};
  EXPECT_TRUE(Has(*Recorded(spec).record, "quiet_tail"));
}

// Written out as sessions, pgbench's books are still added up.
TEST(RunRecord, BooksThatMustBalanceAreSaidAndJudged) {
  RunSpec spec;
  spec.scripts = {{"tpcb-like", "", 1}, {"select-only", "", 1}};
  EXPECT_EQ(Recorded(spec).record->books, Books::kAll);
  spec.scripts.push_back({"simple-update", "", 1});
  EXPECT_EQ(Recorded(spec).record->books, Books::kPairs);
  spec.scripts.push_back({"own", "SELECT 1;", 1});
  EXPECT_EQ(Recorded(spec).record->books, Books::kNone);
  spec.scripts.clear();
  spec.setup_sql =
      "CREATE TABLE pgbench_history (delta int4);"
      "CREATE TABLE pgbench_tellers (tbalance int4);"
      "CREATE TABLE pgbench_accounts (abalance int4);"
      "CREATE TABLE pgbench_branches (bbalance int4);";
  spec.sessions = {{1,
                    "BEGIN; INSERT INTO pgbench_tellers VALUES (7);"
                    "INSERT INTO pgbench_branches VALUES (7); END;"}};
  EXPECT_TRUE(Recorded(spec).broken.empty());
  spec.books = Books::kPairs;
  EXPECT_TRUE(Recorded(spec).broken.empty());
  spec.books = Books::kAll;
  RunOutcome outcome = Recorded(spec);
  ASSERT_FALSE(outcome.broken.empty());
  EXPECT_EQ(outcome.broken.front().oracle, "tpcb");
}

}  // namespace
}  // namespace properties
