// Hosts, crashes, stopping, draws and events of a world.
#include "sim/world.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "sim/test_world.h"

namespace sim {
namespace {

using StopReason = World::StopReason;

// Crashes at the n-th point it is asked about, and keeps what it was asked.
class CrashAt final : public CrashHooks {
 public:
  CrashAt(uint64_t at, CrashKind kind) : at_(at), kind_(kind) {}
  CrashKind OnPoint(const CrashPoint& point) override {
    points.push_back(point);
    return points.size() == at_ ? kind_ : CrashKind::kNone;
  }
  std::vector<CrashPoint> points;

 private:
  uint64_t at_;
  CrashKind kind_;
};

TEST(World, HooksAreAskedAtEveryPointWithItsPlace) {
  TestWorld w(1);
  CrashAt never(0, CrashKind::kNone);
  w->set_crash_hooks(&never);
  w.Spawn("task", [&] {
    PassPoint(kTestYield);
    PassPoint(kTestInjection);
    w->device_host(0).DevicePoint(DeviceStep::kSyncMiddle, 9);
    w.tasks().ParkUntil(kTestYield, 100);
    w->device_host(0).DeviceDelay(5);
    w->device_host(0).DeviceDelay(0);
  });
  // Outside of any task a device point is nothing.
  w->device_host(0).DevicePoint(DeviceStep::kWrite, 9);
  EXPECT_EQ(w->Run(), StopReason::kIdle);
  ASSERT_EQ(never.points.size(), 5u);
  EXPECT_EQ(never.points[0].place, CrashPlace::kStep);
  EXPECT_EQ(never.points[1].place, CrashPlace::kInjection);
  EXPECT_EQ(never.points[1].site, kTestInjection);
  EXPECT_EQ(never.points[2].place, CrashPlace::kDevice);
  EXPECT_EQ(never.points[2].device_step, DeviceStep::kSyncMiddle);
  EXPECT_EQ(w->sim_site_hits(kSimSite_device_sync_middle), 1u);
  EXPECT_EQ(w->sim_site_hits(kSimSite_device_write), 0u);
  EXPECT_EQ(w->site_hits(0, kTestInjection), 1u);
  EXPECT_EQ(w->now(), 105);
}

TEST(World, PowerLossEndsEveryTaskOfTheHostInOrderOfId) {
  struct Noted {
    int id;
    std::vector<int>* log;
    ~Noted() { log->push_back(id); }
  };
  for (uint64_t at = 1; at < 20; ++at) {
    TestWorld w(at);
    CrashAt crash(at, CrashKind::kPowerLoss);
    w->set_crash_hooks(&crash);
    std::vector<int> unwound;
    for (int i = 0; i < 3; ++i) {
      w.Spawn("task", [&, i] {
        Noted noted{i, &unwound};
        w.tasks().ParkUntil(kTestYield, 50);
        while (true) PassPoint();
      });
    }
    ASSERT_EQ(w->Run(), StopReason::kCrashed);
    EXPECT_EQ(w->last_crash_kind(), CrashKind::kPowerLoss);
    EXPECT_EQ(w->last_crash_host(), w.host());
    EXPECT_EQ(w->last_crash_point().step, crash.points.back().step);
    EXPECT_TRUE(std::is_sorted(unwound.begin(), unwound.end()));
    EXPECT_EQ(w->live_tasks(), 0u);
    EXPECT_EQ(w->incarnation(0), 1u);
    EXPECT_EQ(w->device_host(0).scope().path(), "w0/h0/i1");
    // No timer of the dead fires.
    env::TimeNs then = w->now();
    w.Spawn("again", [] { PassPoint(); });
    EXPECT_EQ(w->Run(), StopReason::kIdle);
    EXPECT_EQ(w->now(), then);
  }
}

TEST(World, CrashOfOneHostLeavesTheOtherRunning) {
  TestWorld w(3);
  env::HostId second = w->AddHost(kTestSites, {});
  int progress = 0;
  w->SpawnRoot(second, "survivor", [&] {
    for (; progress < 50; ++progress) {
      w->env(second).tasks->Yield(kTestYield);
    }
  });
  w.Spawn("victim", [] {
    while (true) PassPoint();
  });
  class CrashVictim final : public CrashHooks {
   public:
    CrashKind OnPoint(const CrashPoint& p) override {
      return p.host == 0 && ++seen_ == 5 ? CrashKind::kProcess
                                         : CrashKind::kNone;
    }

   private:
    int seen_ = 0;
  } hooks;
  w->set_crash_hooks(&hooks);
  ASSERT_EQ(w->Run(), StopReason::kCrashed);
  EXPECT_EQ(w->last_crash_host(), 0);
  EXPECT_EQ(w->live_tasks(), 1u);
  EXPECT_EQ(w->incarnation(second), 0u);
  EXPECT_EQ(w->Run(), StopReason::kIdle);
  EXPECT_EQ(progress, 50);
}

TEST(World, TaskKillLetsTheParentReapAndTheRunGoOn) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    TestWorld w(seed);
    class KillOne final : public CrashHooks {
     public:
      CrashKind OnPoint(const CrashPoint& p) override {
        return p.place == CrashPlace::kInjection && ++seen_ == 3
                   ? CrashKind::kTaskKill
                   : CrashKind::kNone;
      }

     private:
      int seen_ = 0;
    } hooks;
    w->set_crash_hooks(&hooks);
    int killed = 0;
    int returned = 0;
    w.Spawn("postmaster", [&] {
      for (int i = 0; i < 3; ++i) {
        w.tasks().Spawn("backend", [] {
          for (int k = 0; k < 3; ++k) PassPoint(kTestInjection);
        });
      }
      while (killed + returned < 3) {
        while (auto exit = w.tasks().ReapChild()) {
          ++(exit->reason == env::ExitReason::kKilled ? killed : returned);
        }
        if (killed + returned < 3) w.tasks().Park(kTestYield);
      }
    });
    EXPECT_EQ(w->Run(), StopReason::kIdle);
    EXPECT_EQ(killed, 1);
    EXPECT_EQ(returned, 2);
  }
}

TEST(World, StopsOnRequestAndGoesOnWhereItWas) {
  auto run = [](bool stop) {
    TestWorld w(8);
    for (int i = 0; i < 2; ++i) {
      w.Spawn("task", [&w, stop] {
        for (int k = 0; k < 10; ++k) {
          if (stop && k == 5) w->RequestStop();
          PassPoint();
        }
      });
    }
    int stops = 0;
    while (w->Run() == StopReason::kStopped) ++stops;
    EXPECT_EQ(stops, stop ? 2 : 0);
    return w->hash();
  };
  // Stopping is invisible to the run.
  EXPECT_EQ(run(true), run(false));
}

TEST(World, StepLimitEndsARunThatNeverEnds) {
  WorldOptions options;
  options.max_steps = 1000;
  TestWorld w(8, options);
  w.Spawn("task", [] {
    while (true) PassPoint();
  });
  EXPECT_EQ(w->Run(), StopReason::kStepLimit);
  EXPECT_EQ(w->Run(), StopReason::kStepLimit);
  EXPECT_LE(w->steps(), 1001u);
}

TEST(World, CrashHostFromOutsideWorksAfterAStop) {
  TestWorld w(9);
  w.Spawn("task", [&] {
    w->RequestStop();
    while (true) PassPoint();
  });
  ASSERT_EQ(w->Run(), StopReason::kStopped);
  w->CrashHost(0, CrashKind::kProcess);
  EXPECT_EQ(w->last_crash_kind(), CrashKind::kProcess);
  EXPECT_EQ(w->incarnation(0), 1u);
  EXPECT_EQ(w->Run(), StopReason::kIdle);
}

TEST(World, DrawsAreKeyedByTaskSiteAndCount) {
  auto draw = [](bool with_other) {
    TestWorld w(11);
    std::vector<uint64_t> values;
    if (with_other) {
      w.Spawn("other", [&] { w->env(0).random->Draw(kTestDraw, 0); });
    }
    w.Spawn("drawer", [&] {
      for (int i = 0; i < 3; ++i) {
        values.push_back(w->env(0).random->Draw(kTestDraw, 1000));
        PassPoint();
      }
    });
    EXPECT_EQ(w->Run(), StopReason::kIdle);
    return values;
  };
  std::vector<uint64_t> values = draw(false);
  EXPECT_EQ(values, draw(true));
  EXPECT_EQ(std::set<uint64_t>(values.begin(), values.end()).size(), 3u);
}

TEST(World, PlantedSwitchesAreSeenThroughCurrent) {
  Choices choices(1);
  WorldOptions options;
  options.choices = &choices;
  World w(options);
  env::HostId host = w.AddHost(kTestSites, {0, 1, 0});
  bool on[3] = {};
  w.SpawnRoot(host, "task", [&] {
    for (env::SiteId i = 0; i < 3; ++i) on[i] = env::PlantedOn(i);
  });
  EXPECT_EQ(w.Run(), StopReason::kIdle);
  EXPECT_FALSE(on[0]);
  EXPECT_TRUE(on[1]);
  EXPECT_FALSE(on[2]);
}

class Collect final : public EventSubscriber {
 public:
  void OnEvent(const env::Event& event) override {
    EXPECT_EQ(event.seq, seen.size());
    seen.push_back(event);
    seen.back().bytes = {};
  }
  std::vector<env::Event> seen;
};

TEST(World, EventsAreStampedWithHostTaskTimeAndOrder) {
  TestWorld w(12);
  Collect log;
  w->Subscribe(&log);
  env::TaskId id = w.Spawn("task", [&] {
    w.tasks().ParkUntil(kTestYield, 77);
    w->env(0).events->Emit(env::EventKind::kCommitRecord, 1, 2, 3, 4, 5, 6);
  });
  EXPECT_EQ(w->Run(), StopReason::kIdle);
  std::vector<env::EventKind> kinds;
  for (const env::Event& e : log.seen) kinds.push_back(e.kind);
  using K = env::EventKind;
  EXPECT_EQ(kinds, (std::vector<K>{K::kHostStart, K::kTaskStart, K::kSwitch,
                                   K::kTimer, K::kCommitRecord, K::kTaskExit}));
  EXPECT_EQ(log.seen[4].task, id);
  EXPECT_EQ(log.seen[4].time_ns, 77);
  EXPECT_EQ(log.seen[4].a[5], 6u);
  w->Unsubscribe(&log);
}

TEST(RollingHash, EveryFieldCounts) {
  std::set<uint64_t> hashes;
  auto add = [&hashes](const env::Event& e) {
    RollingHash h;
    h.Add(e);
    hashes.insert(h.value());
  };
  env::Event base;
  base.kind = env::EventKind::kAcked;
  base.bytes = "0123456789abcdef0";
  add(base);
  for (int i = 0; i < 6; ++i) {
    env::Event e = base;
    e.a[i] = 1;
    add(e);
  }
  env::Event e = base;
  e.host = 1;
  add(e);
  e = base;
  e.task = 1;
  add(e);
  e = base;
  e.time_ns = 1;
  add(e);
  e = base;
  e.kind = env::EventKind::kAbort;
  add(e);
  for (size_t n = 0; n < base.bytes.size(); ++n) {
    e = base;
    e.bytes = base.bytes.substr(0, n);
    add(e);
  }
  // seq follows from the position and is not hashed.
  EXPECT_EQ(hashes.size(), 1 + 6 + 4 + base.bytes.size());
}

TEST(RollingHash, ZeroBytesAtTheEndCount) {
  std::string zeros(64, '\0');
  std::set<uint64_t> hashes;
  for (size_t n = 0; n <= zeros.size(); ++n) {
    hashes.insert(HashBytes(std::string_view(zeros).substr(0, n)));
  }
  EXPECT_EQ(hashes.size(), zeros.size() + 1);
}

// A fixed value ties the hash to itself across compilers and releases.
TEST(RollingHash, IsTheSameOnEveryBuild) {
  RollingHash h;
  env::Event e;
  e.kind = env::EventKind::kWalInsert;
  e.a[0] = 0x1234;
  e.bytes = "record";
  h.Add(e);
  EXPECT_EQ(h.value(), 2965465826453455597u);
}

TEST(World, MainStackCallsRunOffTheTasksStack) {
  // Far more stack than a task has.
  TestWorld w(13);
  uint64_t sum = 0;
  w.Spawn("task", [&] {
    PassPoint();
    env::Current().env->tasks->CallOnMainStack([&] {
      volatile char big[1 << 20];
      for (size_t i = 0; i < sizeof(big); i += 4096) {
        big[i] = 1;
        sum += static_cast<uint64_t>(big[i]);
      }
      EXPECT_NE(env::Current().task, env::kNoTask);
    });
    PassPoint();
  });
  w.Spawn("other", [] { PassPoint(); });
  EXPECT_EQ(w->Run(), StopReason::kIdle);
  EXPECT_EQ(sum, 256u);
}

}  // namespace
}  // namespace sim
