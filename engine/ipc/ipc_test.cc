#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/common/errcodes.h"
#include "engine/common/sites.h"
#include "engine/ipc/latch.h"
#include "engine/ipc/lwlock.h"
#include "engine/ipc/proc.h"
#include "engine/smgr/test_node.h"

namespace engine {
namespace {

void Pause() { YIELD_POINT(latch_wait); }

// Keeps each process running until it blocks, in order of their start.
sim::StrategyOptions RunToBlock() {
  sim::StrategyOptions options;
  options.kind = sim::StrategyKind::kRoundRobin;
  options.quantum = 1000000;
  return options;
}

TEST(LWLock, ExcludesUnderManySchedules) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    TestNode node(seed);
    LWLock lock;
    int readers = 0;
    int writers = 0;
    int most_readers = 0;
    int done = 0;
    for (int p = 0; p < 4; ++p) {
      node.Spawn("p" + std::to_string(p), [&, p](Backend& be) {
        for (int i = 0; i < 8; ++i) {
          bool exclusive = (p + i) % 3 == 0;
          LWLockGuard guard(
              be, lock,
              exclusive ? LWLockMode::kExclusive : LWLockMode::kShared);
          EXPECT_EQ(writers, 0);
          EXPECT_TRUE(!exclusive || readers == 0);
          (exclusive ? writers : readers) += 1;
          most_readers = std::max(most_readers, readers);
          Pause();
          Pause();
          (exclusive ? writers : readers) -= 1;
          EXPECT_TRUE(LWLockHeldByMe(be, lock));
          EXPECT_EQ(LWLocksHeld(be), 1);
        }
        EXPECT_EQ(LWLocksHeld(be), 0);
        ++done;
      });
    }
    node.RunToEnd();
    EXPECT_EQ(done, 4);
    EXPECT_TRUE(lock.free());
    EXPECT_GT(most_readers, 1) << "shared locks were never shared";
  }
}

// A writer that queues behind a reader is not overtaken by later readers, and
// the readers behind it get the lock together.
TEST(LWLock, WaitersAreServedInOrderOfArrival) {
  TestNode node(1, Config(), {}, RunToBlock());
  LWLock lock;
  ConditionVariable go;
  std::vector<std::string> order;
  auto take = [&](const char* name, LWLockMode mode) {
    return [&, name, mode](Backend& be) {
      LWLockAcquire(be, lock, mode);
      order.push_back(name);
      Pause();
      LWLockRelease(be, lock);
    };
  };
  node.Spawn("holder", [&](Backend& be) {
    LWLockAcquire(be, lock, LWLockMode::kShared);
    ConditionVariableSleep(be, go);
    ConditionVariableCancelSleep(be, go);
    LWLockRelease(be, lock);
  });
  node.Spawn("writer", take("writer", LWLockMode::kExclusive));
  node.Spawn("reader1", take("reader1", LWLockMode::kShared));
  node.Spawn("reader2", take("reader2", LWLockMode::kShared));
  node.Spawn("writer2", take("writer2", LWLockMode::kExclusive));
  node.Spawn("reader3", take("reader3", LWLockMode::kShared));
  node.Spawn("starter", [&](Backend& be) {
    EXPECT_TRUE(order.empty());
    EXPECT_EQ(lock.shared_holders(), 1);
    // Compatible with the holder, but it would pass the queue.
    EXPECT_FALSE(LWLockConditionalAcquire(be, lock, LWLockMode::kShared));
    ConditionVariableBroadcast(be, go);
  });
  node.RunToEnd();
  EXPECT_EQ(order, (std::vector<std::string>{"writer", "reader1", "reader2",
                                             "writer2", "reader3"}));
}

TEST(LWLock, ReleaseAllLetsOthersGoOn) {
  TestNode node(1);
  LWLock a;
  LWLock b;
  bool got = false;
  node.Spawn("holder", [&](Backend& be) {
    LWLockAcquire(be, a, LWLockMode::kExclusive);
    LWLockAcquire(be, b, LWLockMode::kShared);
    Pause();
    LWLockReleaseAll(be);
    EXPECT_EQ(LWLocksHeld(be), 0);
  });
  node.Spawn("waiter", [&](Backend& be) {
    LWLockGuard first(be, a, LWLockMode::kExclusive);
    LWLockGuard second(be, b, LWLockMode::kExclusive);
    got = true;
  });
  node.RunToEnd();
  EXPECT_TRUE(got);
  EXPECT_TRUE(a.free());
  EXPECT_TRUE(b.free());
}

// A process that dies while it waits leaves no trace that others trip over.
TEST(LWLock, HandingOverToAKilledWaiterTouchesNothingOfIts) {
  TestNode node(1, Config(), {}, RunToBlock());
  LWLock lock;
  env::TaskId victim = env::kNoTask;
  node.Spawn("holder", [&](Backend& be) {
    LWLockAcquire(be, lock, LWLockMode::kExclusive);
    victim = be.env->tasks->Spawn("victim", [&] {
      Backend mine(be.env, be.shared, BackendType::kClient);
      LWLockAcquire(mine, lock, LWLockMode::kExclusive);
      ADD_FAILURE() << "a killed process went on";
    });
    ConditionVariable never;  // lets the victim run until it waits
    ConditionVariableTimedSleep(be, never, be.env->clock->Now() + env::kSecond);
    ConditionVariableCancelSleep(be, never);
    EXPECT_NE(node.world().DescribeTasks().find("victim"), std::string::npos);
    be.env->tasks->Kill(victim);
    ConditionVariableTimedSleep(be, never, be.env->clock->Now() + env::kSecond);
    ConditionVariableCancelSleep(be, never);
    LWLockRelease(be, lock);
  });
  node.RunToEnd();
}

TEST(ConditionVariable, BroadcastWakesEveryWaiter) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    TestNode node(seed);
    ConditionVariable cv;
    bool ready = false;
    int woken = 0;
    for (int p = 0; p < 3; ++p) {
      node.Spawn("sleeper", [&](Backend& be) {
        Pause();
        while (!ready) ConditionVariableSleep(be, cv);
        ConditionVariableCancelSleep(be, cv);
        ++woken;
      });
    }
    node.Spawn("waker", [&](Backend& be) {
      Pause();
      ready = true;
      ConditionVariableBroadcast(be, cv);
    });
    node.RunToEnd();
    EXPECT_EQ(woken, 3);
    EXPECT_TRUE(cv.waiters.empty());
  }
}

// The condition suspends between looking and sleeping; the broadcast falls
// into that gap.
TEST(ConditionVariable, PreparedSleepMissesNoBroadcast) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    TestNode node(seed);
    ConditionVariable cv;
    LWLock lock;
    bool ready = false;
    auto look = [&](Backend& be) {
      LWLockGuard guard(be, lock, LWLockMode::kShared);
      bool seen = ready;
      guard.Release();
      Pause();
      return seen;
    };
    node.Spawn("sleeper", [&](Backend& be) {
      ConditionVariablePrepareToSleep(be, cv);
      while (!look(be)) ConditionVariableSleep(be, cv);
      ConditionVariableCancelSleep(be, cv);
    });
    node.Spawn("waker", [&](Backend& be) {
      LWLockGuard guard(be, lock, LWLockMode::kExclusive);
      ready = true;
      ConditionVariableBroadcast(be, cv);
    });
    node.RunToEnd();
  }
}

TEST(ConditionVariable, TimedSleepEndsAtItsDeadline) {
  TestNode node(1);
  ConditionVariable cv;
  node.Spawn("sleeper", [&](Backend& be) {
    env::TimeNs deadline = be.env->clock->Now() + env::kSecond;
    EXPECT_FALSE(ConditionVariableTimedSleep(be, cv, deadline));
    EXPECT_GE(be.env->clock->Now(), deadline);
    ConditionVariableCancelSleep(be, cv);
    EXPECT_TRUE(cv.waiters.empty());
  });
  node.RunToEnd();
}

TEST(Proc, RefusesOneClientTooManyAndReusesSlots) {
  Config config;
  config.max_connections = 3;
  TestNode node(1, config, {}, RunToBlock());
  node.Spawn("first", [&](Backend& be) {
    Backend second(be.env, be.shared, BackendType::kClient);
    Backend third(be.env, be.shared, BackendType::kClient);
    Backend fourth(be.env, be.shared, BackendType::kClient);
    EXPECT_TRUE(ProcInit(second).ok());
    EXPECT_TRUE(ProcInit(third).ok());
    Status refused = ProcInit(fourth);
    EXPECT_EQ(refused.sqlstate(), ERRCODE_TOO_MANY_CONNECTIONS);
    EXPECT_EQ(refused.message(), "sorry, too many clients already");
    // The node's own processes have slots of their own.
    Backend checkpointer(be.env, be.shared, BackendType::kCheckpointer);
    EXPECT_TRUE(ProcInit(checkpointer).ok());
    MyProc(second).lxid = 41;
    ProcExit(second);
    EXPECT_TRUE(ProcInit(fourth).ok());
    EXPECT_EQ(MyProc(fourth).lxid, 41u);  // goes on, is never used twice
    ProcExit(third);
    ProcExit(fourth);
    ProcExit(checkpointer);
  });
  node.RunToEnd();
}

}  // namespace
}  // namespace engine
