// How tasks end: exits, kills, panics, broken checks.
#include "sim/process.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/env/check.h"
#include "sim/test_world.h"

namespace sim {
namespace {

using StopReason = World::StopReason;

// Notes that it was destroyed, and whether Killed() held then.
class Guard {
 public:
  Guard(std::string name, std::vector<std::string>* log)
      : name_(std::move(name)), log_(log) {}
  ~Guard() {
    bool killed = env::Current().env->tasks->Killed();
    log_->push_back(name_ + (killed ? " killed" : " alive"));
  }

 private:
  std::string name_;
  std::vector<std::string>* log_;
};

TEST(Process, ExitIsReapedByTheParentOldestFirst) {
  TestWorld w(1);
  std::vector<env::ChildExit> reaped;
  std::vector<env::TaskId> children;
  w.Spawn("parent", [&] {
    for (int i = 0; i < 3; ++i) {
      children.push_back(w.tasks().Spawn("child", [] { PassPoint(); }));
    }
    while (reaped.size() < 3) {
      w.tasks().Park(kTestYield);
      while (auto exit = w.tasks().ReapChild()) reaped.push_back(*exit);
    }
    EXPECT_FALSE(w.tasks().ReapChild().has_value());
  });
  EXPECT_EQ(w->Run(), StopReason::kIdle);
  ASSERT_EQ(reaped.size(), 3u);
  for (const env::ChildExit& exit : reaped) {
    EXPECT_EQ(exit.reason, env::ExitReason::kReturned);
  }
  // The root itself is reaped from outside.
  auto root = w.tasks().ReapChild();
  ASSERT_TRUE(root.has_value());
  EXPECT_EQ(w->task_name(root->task), "parent");
}

TEST(Process, KillUnwindsAParkedChildAndDestructorsSeeIt) {
  TestWorld w(2);
  std::vector<std::string> log;
  bool went_on = false;
  env::ChildExit exit;
  w.Spawn("parent", [&] {
    env::TaskId child = w.tasks().Spawn("child", [&] {
      Guard outer("outer", &log);
      { Guard scoped("scoped", &log); }
      Guard inner("inner", &log);
      w.tasks().Park(kTestYield);
      went_on = true;
    });
    for (int i = 0; i < 20; ++i) PassPoint();
    w.tasks().Kill(child);
    while (true) {
      if (auto reaped = w.tasks().ReapChild()) {
        exit = *reaped;
        break;
      }
      w.tasks().Park(kTestYield);
    }
    EXPECT_FALSE(w.tasks().Killed());
  });
  EXPECT_EQ(w->Run(), StopReason::kIdle);
  EXPECT_FALSE(went_on);
  EXPECT_EQ(log, (std::vector<std::string>{"scoped alive", "inner killed",
                                           "outer killed"}));
  EXPECT_EQ(exit.reason, env::ExitReason::kKilled);
}

TEST(Process, AKilledTaskThatNeverRanDoesNotRun) {
  TestWorld w(2);
  bool ran = false;
  env::TaskId id = w.Spawn("child", [&] { ran = true; });
  w.tasks().Kill(id);
  EXPECT_EQ(w->Run(), StopReason::kIdle);
  EXPECT_FALSE(ran);
  EXPECT_EQ(w.tasks().ReapChild()->reason, env::ExitReason::kKilled);
}

class PanicLog final : public EventSubscriber {
 public:
  void OnEvent(const env::Event& event) override {
    if (event.kind == env::EventKind::kPanic)
      messages.emplace_back(event.bytes);
  }
  std::vector<std::string> messages;
};

TEST(Process, PanicUnwindsAndTheParentLearnsWhy) {
  TestWorld w(3);
  PanicLog panics;
  w->Subscribe(&panics);
  std::vector<std::string> log;
  env::ExitReason reason = env::ExitReason::kReturned;
  w.Spawn("parent", [&] {
    w.tasks().Spawn("child", [&] {
      Guard guard("guard", &log);
      w.tasks().Panic("could not fsync file \"pg_wal/1\": EIO");
    });
    std::optional<env::ChildExit> exit;
    while (!(exit = w.tasks().ReapChild())) w.tasks().Park(kTestYield);
    reason = exit->reason;
  });
  EXPECT_EQ(w->Run(), StopReason::kIdle);
  EXPECT_EQ(reason, env::ExitReason::kPanicked);
  EXPECT_EQ(log, std::vector<std::string>{"guard killed"});
  ASSERT_EQ(panics.messages.size(), 1u);
  EXPECT_EQ(panics.messages[0], "could not fsync file \"pg_wal/1\": EIO");
  w->Unsubscribe(&panics);
}

TEST(Process, BrokenCheckParksTheTaskAndEndsTheRun) {
  std::vector<std::string> log;
  int line = 0;
  bool other_started = false;
  bool other_finished = false;
  {
    TestWorld w(4);
    w.Spawn("careless", [&] {
      Guard guard("guard", &log);
      // Memory that only the lost stack refers to must not count as a leak.
      auto owned = std::make_unique<std::string>(1000, 'x');
      while (!other_started) PassPoint();
      line = __LINE__ + 1;
      SIM_CHECK(owned->size() == 7);
    });
    w.Spawn("other", [&] {
      Guard guard("other", &log);
      other_started = true;
      w.tasks().Park(kTestYield);
      other_finished = true;
    });
    EXPECT_EQ(w->Run(), StopReason::kCheckFailed);
    ASSERT_NE(w->check_failure(), nullptr);
    EXPECT_EQ(w->check_failure()->condition, "owned->size() == 7");
    EXPECT_EQ(w->check_failure()->line, line);
    EXPECT_EQ(w->check_failure()->task_name, "careless");
    EXPECT_NE(w->check_failure()->file.find("process_test.cc"),
              std::string::npos);
    // The verdict stays.
    EXPECT_EQ(w->Run(), StopReason::kCheckFailed);
  }
  // The lost task was never unwound; the other one was, by the destructor.
  EXPECT_FALSE(other_finished);
  EXPECT_EQ(log, std::vector<std::string>{"other killed"});
}

TEST(Process, ADestructorThatSuspendsWhileUnwindingIsABrokenCheck) {
  struct Suspends {
    ~Suspends() { PassPoint(); }
  };
  TestWorld w(5);
  env::TaskId victim = w.Spawn("victim", [&] {
    Suspends suspends;
    w.tasks().Park(kTestYield);
  });
  w.Spawn("killer", [&] {
    for (int i = 0; i < 10; ++i) PassPoint();
    w.tasks().Kill(victim);
  });
  EXPECT_EQ(w->Run(), StopReason::kCheckFailed);
  EXPECT_EQ(w->check_failure()->task_name, "victim");
}

TEST(Process, ACheckInASubscriberIsPinnedOnTheTaskThatEmitted) {
  class Strict final : public EventSubscriber {
   public:
    void OnEvent(const env::Event& event) override {
      SIM_CHECK(event.kind != env::EventKind::kXidAssigned);
    }
  };
  Strict strict;
  TestWorld w(6);
  w->Subscribe(&strict);
  w.Spawn("emitter",
          [&] { w->env(0).events->Emit(env::EventKind::kXidAssigned, 3); });
  EXPECT_EQ(w->Run(), StopReason::kCheckFailed);
  EXPECT_EQ(w->check_failure()->task_name, "emitter");
}

TEST(Process, CurrentNamesTheRunningTask) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    TestWorld w(seed);
    for (int i = 0; i < 3; ++i) {
      w.Spawn("task", [&w] {
        env::TaskId self = w.tasks().Self();
        for (int k = 0; k < 10; ++k) {
          PassPoint();
          ASSERT_EQ(env::Current().task, self);
          ASSERT_EQ(env::Current().env, &w->env(0));
          ASSERT_EQ(w.tasks().Self(), self);
        }
      });
    }
    EXPECT_EQ(w->Run(), StopReason::kIdle);
    EXPECT_EQ(env::Current().task, env::kNoTask);
    EXPECT_EQ(env::Current().env, nullptr);
  }
}

TEST(Process, ScopeLabelsHoldNoSeparators) {
  EXPECT_EQ(ScopeLabel("wal writer/2.1"), "wal_writer_2_1");
}

TEST(ProcessDeathTest, SuspendingOutsideOfTasksAborts) {
  TestWorld w(1);
  EXPECT_DEATH(w.tasks().Park(kTestYield), "task != nullptr");
}

}  // namespace
}  // namespace sim
