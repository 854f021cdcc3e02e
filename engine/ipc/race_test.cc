// What --config=tsan reports and what it lets pass, on small planted accesses.
#include "sim/env/race.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "engine/common/sites.h"
#include "engine/ipc/latch.h"
#include "engine/ipc/lwlock.h"
#include "engine/smgr/test_node.h"

namespace {

int reports = 0;

}  // namespace

#ifdef MUSTH_TSAN
// Called by ThreadSanitizer, which may not be called back; the reports are this
// test's results.
extern "C" __attribute__((no_sanitize("thread"))) void __tsan_on_report(
    void* /*report*/) {
  ++reports;
}
extern "C" __attribute__((no_sanitize("thread"))) const char*
__tsan_default_options() {
  return "exitcode=0:suppress_equal_addresses=0:suppress_equal_stacks=0";
}
#endif

namespace engine {
namespace {

// What processes share.
struct Shared {
  LWLock lock;
  ConditionVariable cv;
  int value = 0;
  bool ready = false;
};

class Race : public testing::Test {
 protected:
  void SetUp() override {
#ifndef MUSTH_TSAN
    GTEST_SKIP() << "built without ThreadSanitizer";
#endif
    reports = 0;
  }

  // Two processes do the same, neither beginning after the other's end. Returns
  // how many reports there were.
  int ReportsOf(const std::function<void(Backend&, Shared&)>& body) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      TestNode node(seed);
      auto shared = std::make_unique<Shared>();
      for (const char* name : {"first", "second"}) {
        node.Spawn(name, [&](Backend& be) {
          YIELD_POINT(latch_wait);
          body(be, *shared);
          YIELD_POINT(latch_wait);
        });
      }
      node.RunToEnd();
    }
    return reports;
  }

 private:
  env::Unwatched unwatched_;  // the test itself is no process
};

TEST_F(Race, ReportsAWriteWithoutALock) {
  EXPECT_GT(ReportsOf([](Backend&, Shared& shared) { ++shared.value; }), 0);
}

TEST_F(Race, IsSilentAboutAWriteUnderAnExclusiveLock) {
  EXPECT_EQ(ReportsOf([](Backend& be, Shared& shared) {
              LWLockGuard guard(be, shared.lock, LWLockMode::kExclusive);
              ++shared.value;
            }),
            0);
}

TEST_F(Race, ReportsAWriteUnderAShareLock) {
  EXPECT_GT(ReportsOf([](Backend& be, Shared& shared) {
              LWLockGuard guard(be, shared.lock, LWLockMode::kShared);
              ++shared.value;
            }),
            0);
}

TEST_F(Race, ReportsAReadWithoutTheLockThatTheWriterHolds) {
  EXPECT_GT(ReportsOf([](Backend& be, Shared& shared) {
              int seen = shared.value;
              LWLockGuard guard(be, shared.lock, LWLockMode::kExclusive);
              shared.value = seen + 1;
            }),
            0);
}

TEST_F(Race, IsSilentAboutAMarkedReadWithoutTheLock) {
  EXPECT_EQ(ReportsOf([](Backend& be, Shared& shared) {
              int seen = env::UnlockedRead(shared.value, "a test");
              LWLockGuard guard(be, shared.lock, LWLockMode::kExclusive);
              shared.value = seen + 1;
            }),
            0);
}

TEST_F(Race, IsSilentAboutAnAtomicSection) {
  EXPECT_EQ(ReportsOf([](Backend&, Shared& shared) {
              env::AtomicSection spinlock(&shared.value);
              ++shared.value;
            }),
            0);
}

TEST_F(Race, OrdersWhatABroadcastAnnounces) {
  TestNode node(1);
  Shared shared;
  node.Spawn("sleeper", [&](Backend& be) {
    ConditionVariablePrepareToSleep(be, shared.cv);
    while (!env::UnlockedRead(shared.ready, "a test")) {
      ConditionVariableSleep(be, shared.cv);
    }
    ConditionVariableCancelSleep(be, shared.cv);
    ++shared.value;
  });
  node.Spawn("waker", [&](Backend& be) {
    YIELD_POINT(latch_wait);
    ++shared.value;
    shared.ready = true;
    ConditionVariableBroadcast(be, shared.cv);
  });
  node.RunToEnd();
  EXPECT_EQ(reports, 0);
}

// A spinlock across a suspension would order what nothing orders.
TEST_F(Race, AnAtomicSectionMayNotSuspend) {
  TestNode node(1);
  Shared shared;
  node.Spawn("process", [&](Backend&) {
    env::AtomicSection spinlock(&shared.value);
    YIELD_POINT(latch_wait);
  });
  EXPECT_EQ(node.world().Run(), sim::World::StopReason::kCheckFailed);
}

}  // namespace
}  // namespace engine
