#include "properties/pilot_run.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "properties/cluster_template.h"
#include "properties/workload.h"
#include "sim/env/site.h"

namespace properties {
namespace {

using env::AccessGroup;

class PilotRunTest : public testing::Test {
 protected:
  sim::PilotCounts Run(const Plan& plan) {
    PilotParts parts;
    parts.seed = 5;
    parts.config.wal_segment_size = 64 << 10;
    parts.disk = templates_.Fresh(parts.config, sim::DiskOptions(), {}).value();
    parts.plan = &plan;
    parts.stacks = &stacks_;
    return RunPilot(std::move(parts));
  }

  Plan PlanWith(uint32_t sessions, uint32_t transactions) {
    sim::Choices choices(5);
    PlanKnobs knobs;
    knobs.sessions = sessions;
    knobs.transactions = transactions;
    return GeneratePlan(choices, sim::Scope().Child("w0"), knobs);
  }

  static uint64_t Of(const sim::PilotCounts& counts, const std::string& task,
                     AccessGroup group) {
    return counts.Of(env::SiteHash(task), sim::GroupBit(group));
  }

  sim::StackPool stacks_;
  ClusterTemplates templates_{&stacks_};
};

TEST_F(PilotRunTest, CountsWhatEachSessionDoes) {
  Plan plan = PlanWith(3, 4);
  sim::PilotCounts counts = Run(plan);
  for (const char* session : {"s1", "s2", "s3"}) {
    EXPECT_GT(Of(counts, session, AccessGroup::kLog), 10u) << session;
    EXPECT_GT(Of(counts, session, AccessGroup::kPage), 10u) << session;
    EXPECT_GT(Of(counts, session, AccessGroup::kSessions), 4u) << session;
  }
  // Set-up and start-up come before the count begins.
  EXPECT_FALSE(counts.Knows(env::SiteHash("setup")));
  EXPECT_FALSE(counts.Knows(env::SiteHash("startup")));
  sim::PilotCounts again = Run(plan);
  for (AccessGroup group :
       {AccessGroup::kLog, AccessGroup::kPage, AccessGroup::kSessions}) {
    EXPECT_EQ(Of(counts, "s2", group), Of(again, "s2", group));
  }
  EXPECT_EQ(counts.Total(sim::kAllAccessGroups),
            again.Total(sim::kAllAccessGroups));
}

TEST_F(PilotRunTest, LongerPlansHaveMore) {
  uint32_t all = sim::kAllAccessGroups;
  uint64_t little = Run(PlanWith(2, 2)).Total(all);
  uint64_t much = Run(PlanWith(2, 12)).Total(all);
  EXPECT_GT(much, 3 * little);
}

TEST_F(PilotRunTest, PlanWhoseSetUpFailsHasNoCounts) {
  Plan plan = PlanWith(1, 2);
  ASSERT_FALSE(plan.setup.empty());
  plan.setup.front().statement.reset();
  plan.setup.front().sql = "INSERT INTO nowhere VALUES (1);";
  EXPECT_TRUE(Run(plan).empty());
}

}  // namespace
}  // namespace properties
