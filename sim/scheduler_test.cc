// Who runs when: strategies, time, parking, recorded schedules.
#include "sim/scheduler.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "sim/test_world.h"

namespace sim {
namespace {

using StopReason = World::StopReason;

StrategyOptions Walk(uint32_t switch_denominator, uint32_t timer_denominator) {
  StrategyOptions s;
  s.switch_denominator = switch_denominator;
  s.timer_denominator = timer_denominator;
  return s;
}

// Three tasks append their letter at every point; returns the interleaving.
std::string Interleaving(TestWorld& w, int points = 3) {
  std::string order;
  for (char letter : {'a', 'b', 'c'}) {
    w.Spawn(std::string(1, letter), [&order, letter, points] {
      for (int i = 0; i < points; ++i) {
        order += letter;
        PassPoint();
      }
    });
  }
  EXPECT_EQ(w->Run(), StopReason::kIdle);
  return order;
}

TEST(Scheduler, SameSeedSameHashAndDifferentSeedsDiffer) {
  std::set<uint64_t> hashes;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    TestWorld first(seed);
    TestWorld second(seed);
    EXPECT_EQ(Interleaving(first), Interleaving(second));
    EXPECT_EQ(first->hash(), second->hash());
    hashes.insert(first->hash());
  }
  EXPECT_GT(hashes.size(), 30u);
}

TEST(Scheduler, ReachesEveryInterleavingOfThreeShortTasks) {
  // 6! / (2!)^3 orders of the letters.
  std::set<std::string> orders;
  StackPool pool;
  for (uint64_t seed = 0; seed < 5000 && orders.size() < 90; ++seed) {
    WorldOptions options;
    options.strategy = Walk(1 + seed % 3, 128);
    options.stacks = &pool;
    TestWorld w(seed, options);
    orders.insert(Interleaving(w, 2));
  }
  EXPECT_EQ(orders.size(), 90u);
}

TEST(Scheduler, ZeroBaseKeepsRunning) {
  WorldOptions options;
  TestWorld w(Choices(7, Base::kZero), options);
  EXPECT_EQ(Interleaving(w), "aaabbbccc");
}

TEST(Scheduler, RoundRobinTakesTurns) {
  WorldOptions options;
  options.strategy.kind = StrategyKind::kRoundRobin;
  TestWorld w(0, options);
  EXPECT_EQ(Interleaving(w), "abcabcabc");
  options.strategy.quantum = 2;
  TestWorld two(0, options);
  EXPECT_EQ(Interleaving(two), "aabbccabc");
}

// A busy little node: children, timers, sleeps, permits, device points.
void Busy(TestWorld& w) {
  w.Spawn("postmaster", [&w] {
    env::Tasks& tasks = w.tasks();
    for (int i = 0; i < 4; ++i) {
      tasks.Spawn("backend", [&w] {
        env::Tasks& t = w.tasks();
        for (int k = 0; k < 20; ++k) {
          w->device_host(0).DevicePoint(DeviceStep::kWrite, 1);
          PassPoint(kTestInjection);
          if (k % 5 == 0) w->device_host(0).DeviceDelay(100 * (k + 1));
          t.Unpark(1);
          uint64_t value = w->env(0).random->Draw(kTestDraw, 1000);
          w->env(0).events->Emit(env::EventKind::kCommand, value, k);
        }
      });
    }
    int reaped = 0;
    while (reaped < 4) {
      tasks.ParkUntil(kTestYield, w->now() + 5000);
      while (tasks.ReapChild().has_value()) ++reaped;
    }
  });
}

TEST(Scheduler, RecordedScheduleReplaysExactly) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    WorldOptions options;
    options.record_schedule = true;
    options.strategy = Walk(1 + seed % 8, 2 + seed % 40);
    TestWorld original(seed, options);
    Busy(original);
    ASSERT_EQ(original->Run(), StopReason::kIdle);

    WorldOptions again;
    again.strategy.kind = StrategyKind::kRecorded;
    for (const ScheduleEntry& entry : original->recorded_schedule()) {
      auto parsed = ScheduleEntry::Parse(entry.ToString());
      ASSERT_TRUE(parsed.ok());
      again.strategy.schedule.push_back(*parsed);
    }
    ASSERT_GT(again.strategy.schedule.size(), 5u);
    TestWorld replay(seed, again);
    Busy(replay);
    ASSERT_EQ(replay->Run(), StopReason::kIdle);
    EXPECT_EQ(replay->hash(), original->hash());
    EXPECT_EQ(replay->schedule_misses(), 0u);

    // Without its schedule the run is another one.
    again.strategy.schedule.clear();
    TestWorld bare(seed, again);
    Busy(bare);
    ASSERT_EQ(bare->Run(), StopReason::kIdle);
    EXPECT_NE(bare->hash(), original->hash());
  }
}

TEST(Scheduler, StacksPoisonedDifferentlyHashTheSame) {
  uint64_t plain = 0;
  for (int poison : {-1, 0x00, 0xFF}) {
    WorldOptions options;
    options.poison_stacks = poison >= 0;
    options.poison = static_cast<uint8_t>(poison);
    StackPool pool;
    options.stacks = &pool;
    TestWorld w(5, options);
    Busy(w);
    ASSERT_EQ(w->Run(), StopReason::kIdle);
    if (poison < 0) plain = w->hash();
    EXPECT_EQ(w->hash(), plain);
  }
}

// One value for every compiler, optimisation level and sanitizer.
TEST(Scheduler, HashOfABusyRunIsTheSameOnEveryBuild) {
  TestWorld w(5);
  Busy(w);
  ASSERT_EQ(w->Run(), StopReason::kIdle);
  EXPECT_EQ(w->hash(), 10337675663619569451u);
}

TEST(Scheduler, UninitialisedStackReadsShowUnderPoison) {
  auto run = [](uint8_t poison) {
    WorldOptions options;
    options.poison_stacks = true;
    options.poison = poison;
    TestWorld w(5, options);
    w.Spawn("reader", [&w] {
      // Far below any frame: what the stack was filled with.
      const char* frame = static_cast<char*>(__builtin_frame_address(0));
      const volatile char* below = frame - 64 * 1024;
      w->env(0).events->Emit(env::EventKind::kCommand,
                             static_cast<unsigned char>(*below));
    });
    EXPECT_EQ(w->Run(), StopReason::kIdle);
    return w->hash();
  };
  EXPECT_NE(run(0x00), run(0xFF));
}

TEST(Scheduler, SiblingsKeepTheirScopesWhenOneIsRemoved) {
  auto scopes = [](bool with_extra) {
    TestWorld w(3);
    std::vector<env::TaskId> ids;
    w.Spawn("postmaster", [&] {
      if (with_extra) w.tasks().Spawn("checkpointer", [] {});
      ids.push_back(w.tasks().Spawn("backend", [] {}));
      ids.push_back(w.tasks().Spawn("backend", [] {}));
      ids.push_back(w.tasks().Spawn("bg writer/1", [] {}));
    });
    EXPECT_EQ(w->Run(), StopReason::kIdle);
    std::vector<std::string> out;
    for (env::TaskId id : ids) out.push_back(w->task_scope_path(id));
    return out;
  };
  std::vector<std::string> expected = {
      "w0/h0/i0/postmaster/backend",
      "w0/h0/i0/postmaster/backend.1",
      "w0/h0/i0/postmaster/bg_writer_1",
  };
  EXPECT_EQ(scopes(true), expected);
  EXPECT_EQ(scopes(false), expected);
}

TEST(Scheduler, UnparkBeforeParkIsKeptOnce) {
  TestWorld w(1);
  int passed = 0;
  env::TaskId sleeper = w.Spawn("sleeper", [&] {
    PassPoint();
    w.tasks().Unpark(w.tasks().Self());
    w.tasks().Unpark(w.tasks().Self());
    w.tasks().Park(kTestYield);
    ++passed;
    w.tasks().Park(kTestYield);  // both Unparks counted as one
    ++passed;
  });
  EXPECT_EQ(w->Run(), StopReason::kStuck);
  EXPECT_EQ(passed, 1);
  EXPECT_NE(w->DescribeTasks().find("sleeper"), std::string::npos);
  w.tasks().Unpark(sleeper);
  EXPECT_EQ(w->Run(), StopReason::kIdle);
  EXPECT_EQ(passed, 2);
}

TEST(Scheduler, NoWakeupIsLost) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    TestWorld w(seed);
    int items = 0;
    int taken = 0;
    env::TaskId consumer = w.Spawn("consumer", [&] {
      while (taken < 10) {
        while (items == 0) w.tasks().Park(kTestYield);
        --items;
        ++taken;
        PassPoint();
      }
    });
    for (int p = 0; p < 2; ++p) {
      w.Spawn("producer", [&] {
        for (int i = 0; i < 5; ++i) {
          ++items;
          w.tasks().Unpark(consumer);
          PassPoint();
        }
      });
    }
    ASSERT_EQ(w->Run(), StopReason::kIdle) << seed;
    EXPECT_EQ(taken, 10);
  }
}

TEST(Scheduler, TimeoutsFireInOrderOfDeadlineThenArming) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    TestWorld w(seed);
    std::string woken;
    std::vector<env::TimeNs> at;
    struct Row {
      const char* name;
      env::TimeNs deadline;
    };
    for (Row row : {Row{"c", 300}, Row{"a", 100}, Row{"b", 200}}) {
      w.Spawn(row.name, [&, row] {
        EXPECT_FALSE(w.tasks().ParkUntil(kTestYield, row.deadline));
        woken += row.name;
        at.push_back(w->now());
      });
    }
    EXPECT_EQ(w->Run(), StopReason::kIdle);
    EXPECT_EQ(w->now(), 300);
    // A later timer may race the task that an earlier one woke, so only the
    // clock's reading is certain.
    EXPECT_EQ(std::set<char>(woken.begin(), woken.end()).size(), 3u);
    for (env::TimeNs t : at) EXPECT_GE(t, 100);
  }
}

TEST(Scheduler, UnparkBeatsTheTimeoutAndDisarmsIt) {
  TestWorld w(4);
  bool first = false;
  bool second = true;
  env::TaskId waiter = w.Spawn("waiter", [&] {
    first = w.tasks().ParkUntil(kTestYield, 1'000'000);
    second = w.tasks().ParkUntil(kTestYield, 2'000);
    // A deadline that has passed returns without moving time.
    EXPECT_FALSE(w.tasks().ParkUntil(kTestYield, 10));
  });
  w.tasks().Unpark(waiter);
  EXPECT_EQ(w->Run(), StopReason::kIdle);
  EXPECT_TRUE(first);
  EXPECT_FALSE(second);
  EXPECT_EQ(w->now(), 2'000);
}

TEST(Scheduler, UnparkDoesNotEndADeviceDelay) {
  TestWorld w(4);
  env::TaskId sleeper = w.Spawn("sleeper", [&] {
    w->device_host(0).DeviceDelay(500);
    EXPECT_EQ(w->now(), 500);
    w.tasks().Park(kTestYield);  // the Unpark was kept
  });
  w.Spawn("waker", [&] { w.tasks().Unpark(sleeper); });
  EXPECT_EQ(w->Run(), StopReason::kIdle);
}

// Holds task "a" at its second site until somebody lets go.
class HoldSecond : public HoldHooks {
 public:
  bool Held(env::TaskId task) override {
    if (task == watched && ++asked == 2) held = true;
    return task == watched && held;
  }
  env::TaskId watched = env::kNoTask;
  int asked = 0;
  bool held = false;
};

TEST(Scheduler, AHeldTaskWaitsForItsReleaseAndKeepsItsWakeups) {
  TestWorld w(Choices(1, Base::kZero), WorldOptions());
  HoldSecond hooks;
  w->set_hold_hooks(&hooks);
  std::string log;
  hooks.watched = w.Spawn("a", [&] {
    PassPoint();
    log += 'a';
    PassPoint();  // held here
    log += 'A';
    w.tasks().Park(kTestYield);  // returns at once: b's Unpark was kept
    log += '!';
  });
  w.Spawn("b", [&] {
    for (int i = 0; i < 5; ++i) PassPoint();
    w.tasks().Unpark(hooks.watched);
    log += 'b';
    for (int i = 0; i < 5; ++i) PassPoint();
    log += 'B';
    hooks.held = false;
    w->ReleaseHold(hooks.watched);
  });
  EXPECT_EQ(w->Run(), StopReason::kIdle);
  EXPECT_EQ(log, "abBA!");
}

TEST(Scheduler, ATaskMayBeHeldAtADeviceStep) {
  TestWorld w(Choices(1, Base::kZero), WorldOptions());
  HoldSecond hooks;
  w->set_hold_hooks(&hooks);
  std::string log;
  hooks.watched = w.Spawn("a", [&] {
    PassPoint();
    w->device_host(0).DevicePoint(DeviceStep::kSyncDone, 1);  // held here
    log += 'a';
  });
  w.Spawn("b", [&] {
    for (int i = 0; i < 5; ++i) PassPoint();
    log += 'b';
    hooks.held = false;
    w->ReleaseHold(hooks.watched);
  });
  EXPECT_EQ(w->Run(), StopReason::kIdle);
  EXPECT_EQ(log, "ba");
}

TEST(Scheduler, TimeoutsRaceRunningCode) {
  // The runner polls a flag that only a timer's task sets: the number of
  // polls before must vary, and a poller must never stop time.
  std::set<int> polls_seen;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    WorldOptions options;
    options.strategy = Walk(4, 16);
    TestWorld w(seed, options);
    bool done = false;
    int polls = 0;
    w.Spawn("timer", [&] {
      w.tasks().ParkUntil(kTestYield, env::kSecond);
      done = true;
    });
    w.Spawn("poller", [&] {
      while (!done) {
        ++polls;
        PassPoint();
      }
    });
    EXPECT_EQ(w->Run(), StopReason::kIdle);
    polls_seen.insert(polls);
  }
  EXPECT_GT(polls_seen.size(), 10u);
}

TEST(Scheduler, PollerStopsNeitherTimeNorOthersUnderAnyStrategy) {
  for (int kind = 0; kind < 3; ++kind) {
    WorldOptions options;
    options.strategy.kind = static_cast<StrategyKind>(kind);
    options.strategy.timer_numerator = 0;
    options.strategy.switch_numerator = 0;
    TestWorld w(Choices(1, Base::kZero), options);
    bool done = false;
    w.Spawn("poller", [&] {
      while (!done) PassPoint();
    });
    w.Spawn("timer", [&] {
      w.tasks().ParkUntil(kTestYield, env::kSecond);
      done = true;
    });
    EXPECT_EQ(w->Run(), StopReason::kIdle) << kind;
    EXPECT_EQ(w->now(), env::kSecond);
  }
}

TEST(Scheduler, ChoosingTheSameTaskSwitchesNothing) {
  TestWorld w(2);
  w.Spawn("alone", [] {
    for (int i = 0; i < 1000; ++i) PassPoint();
  });
  EXPECT_EQ(w->Run(), StopReason::kIdle);
  EXPECT_EQ(w->switches(), 1u);
  EXPECT_EQ(w->sync_ops(), 1000u);
  EXPECT_EQ(w->site_hits(0, kTestYield), 1000u);
}

TEST(Scheduler, ScheduleEntryParseNamesWhatItExpected) {
  for (const char* bad :
       {"", "a 1 b", "a -> b", "a x -> b", "a 1 -> ", "a 1 -> b c", " 1 -> b",
        "a 1x -> b", "a@ 1 -> b", "@m 1 -> b"}) {
    auto parsed = ScheduleEntry::Parse(bad);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_NE(parsed.status().message().find("SCOPE[@MARK] N -> SCOPE"),
              std::string::npos);
  }
}

// Task "a" does `before` points, sets its mark and does three more; "b" has
// points of its own all the time.
std::string MarkedWork(TestWorld& w, int before) {
  std::string order;
  w.Spawn("a", [&w, &order, before] {
    for (int i = 0; i < before; ++i) PassPoint();
    w->Mark(env::Current().task, "s1.q1");
    for (int i = 0; i < 3; ++i) {
      order += 'a';
      PassPoint();
    }
  });
  w.Spawn("b", [&w, &order] {
    for (int i = 0; i < 3; ++i) {
      order += 'b';
      PassPoint();
    }
  });
  EXPECT_EQ(w->Run(), StopReason::kIdle);
  return order;
}

TEST(Scheduler, EntriesCountedFromAMarkKeepTheirPlace) {
  WorldOptions options;
  options.strategy.kind = StrategyKind::kRecorded;
  // After the second point since the mark; b's first point since then.
  options.strategy.schedule = {{"w0/h0/i0/a", 2, "w0/h0/i0/b", "s1.q1"},
                               {"w0/h0/i0/b", 1, "w0/h0/i0/a", "s1.q1"}};
  for (int before : {0, 1, 7}) {
    TestWorld w(0, options);
    EXPECT_EQ(MarkedWork(w, before), "aababb") << before;
    EXPECT_TRUE(w->unused_schedule().empty());
  }
  // Without the mark the entry has nothing to say.
  options.strategy.schedule = {{"w0/h0/i0/a", 9, "w0/h0/i0/b", "s1.q1"},
                               {"w0/h0/i0/a", 2, "w0/h0/i0/b", "s9.q9"}};
  TestWorld w(0, options);
  EXPECT_EQ(MarkedWork(w, 0), "aaabbb");
  EXPECT_EQ(w->unused_schedule(), (std::vector<size_t>{0, 1}));
}

TEST(Scheduler, MarkedSchedulesReplayExactly) {
  int marked = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    WorldOptions options;
    options.strategy = Walk(2, 8);
    options.record_schedule = options.marks = true;
    TestWorld original(seed, options);
    std::string order = MarkedWork(original, 1);
    WorldOptions again;
    again.strategy.kind = StrategyKind::kRecorded;
    for (const ScheduleEntry& entry : original->recorded_schedule()) {
      marked += entry.mark == "s1.q1" ? 1 : 0;
      auto parsed = ScheduleEntry::Parse(entry.ToString());
      ASSERT_TRUE(parsed.ok());
      EXPECT_EQ(*parsed, entry);
      again.strategy.schedule.push_back(*parsed);
    }
    TestWorld replay(seed, again);
    EXPECT_EQ(MarkedWork(replay, 1), order);
    EXPECT_EQ(replay->hash(), original->hash());
    // Marks alone change nothing.
    options.marks = false;
    TestWorld plain(seed, options);
    MarkedWork(plain, 1);
    EXPECT_EQ(plain->hash(), original->hash());
  }
  EXPECT_GT(marked, 10);
}

TEST(Scheduler, MissedEntriesAreCounted) {
  WorldOptions options;
  options.strategy.kind = StrategyKind::kRecorded;
  options.strategy.schedule = {{"w0/h0/i0/a", 1, "w0/h0/i0/nobody", ""},
                               {"w0/h0/i0/a", 2, "w0/h0/i0/c", ""}};
  TestWorld w(0, options);
  EXPECT_EQ(Interleaving(w), "aacccabbb");
  EXPECT_EQ(w->schedule_misses(), 1u);
  EXPECT_EQ(w->unused_schedule(), std::vector<size_t>{0});
}

}  // namespace
}  // namespace sim
