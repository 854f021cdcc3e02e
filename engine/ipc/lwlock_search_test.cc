// Lightweight locks under every schedule of a few processes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/common/sites.h"
#include "engine/ipc/latch.h"
#include "engine/ipc/lwlock.h"
#include "engine/smgr/test_node.h"
#include "sim/exhaustive_search.h"

namespace engine {
namespace {

using Modes = std::vector<LWLockMode>;
constexpr LWLockMode kX = LWLockMode::kExclusive;
constexpr LWLockMode kS = LWLockMode::kShared;

// What one process saw of the others while it held the lock.
struct Crowd {
  int exclusive = 0;
  int shared = 0;
  std::string wrong;
};

// Each process takes and gives up the lock once for each of its modes, and
// suspends while it has it.
sim::ExhaustiveSearch::Result Search(const std::vector<Modes>& processes) {
  sim::ExhaustiveSearch search({});
  return search.Run([&](const sim::WorldOptions& world) -> std::string {
    TestNode node(world);
    LWLock lock;
    Crowd crowd;
    size_t ended = 0;
    for (size_t p = 0; p < processes.size(); ++p) {
      node.Spawn("p" + std::to_string(p), [&, p](Backend& be) {
        for (LWLockMode mode : processes[p]) {
          LWLockGuard guard(be, lock, mode);
          env::NoteAccess(&lock, mode == kX);
          int& mine = mode == kX ? crowd.exclusive : crowd.shared;
          if (crowd.exclusive > 0 || (mode == kX && crowd.shared > 0)) {
            crowd.wrong = "not alone";
          }
          ++mine;
          YIELD_POINT(latch_wait);
          --mine;
        }
        env::NoteAccess(&ended, true);
        ++ended;
      });
    }
    sim::World::StopReason reason = node.world().Run();
    if (!crowd.wrong.empty()) return crowd.wrong;
    if (reason != sim::World::StopReason::kIdle) {
      return std::string(sim::StopReasonName(reason));
    }
    if (!lock.free()) return "left locked";
    return ended == processes.size() ? "" : "somebody is missing";
  });
}

TEST(LWLockSearch, ExcludesAndWakesUnderEverySchedule) {
  for (const std::vector<Modes>& processes : std::vector<std::vector<Modes>>{
           {{kX, kX}, {kX, kS}}, {{kX}, {kS}, {kS}}, {{kX}, {kX}, {kS}}}) {
    sim::ExhaustiveSearch::Result result = Search(processes);
    EXPECT_TRUE(result.complete);
    EXPECT_EQ(result.findings, 0u) << result.first_finding;
    EXPECT_GT(result.runs, 6u);
  }
}

// A waiter that looks, then sleeps, and meanwhile misses the broadcast; with
// ConditionVariablePrepareToSleep it does not.
sim::ExhaustiveSearch::Result SleepSearch(bool prepares) {
  sim::ExhaustiveSearch search({});
  return search.Run([&](const sim::WorldOptions& world) -> std::string {
    TestNode node(world);
    ConditionVariable cv;
    bool flag = false;
    auto look = [&] {
      env::NoteAccess(&flag, false);
      return flag;
    };
    for (const char* name : {"waiter1", "waiter2"}) {
      node.Spawn(name, [&](Backend& be) {
        if (prepares) ConditionVariablePrepareToSleep(be, cv);
        while (!look()) {
          YIELD_POINT(latch_wait);
          ConditionVariableSleep(be, cv);
        }
        ConditionVariableCancelSleep(be, cv);
      });
    }
    node.Spawn("setter", [&](Backend& be) {
      YIELD_POINT(latch_wait);
      env::NoteAccess(&flag, true);
      flag = true;
      ConditionVariableBroadcast(be, cv);
    });
    sim::World::StopReason reason = node.world().Run();
    return reason == sim::World::StopReason::kIdle ? "" : "a waiter is stuck";
  });
}

TEST(ConditionVariableSearch, PreparedSleepersMissNoBroadcast) {
  sim::ExhaustiveSearch::Result result = SleepSearch(true);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.findings, 0u);
  sim::ExhaustiveSearch::Result careless = SleepSearch(false);
  EXPECT_TRUE(careless.complete);
  EXPECT_GT(careless.findings, 0u);
  EXPECT_EQ(careless.first_finding, "a waiter is stuck");
}

}  // namespace
}  // namespace engine
