#include "replay/worker_pool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>

namespace replay {
namespace {

WorkerPool::Answer PidOf(uint64_t job) {
  return {std::to_string(job) + " " + std::to_string(getpid()), false};
}

// All results of jobs 0..n-1, by job.
std::map<uint64_t, WorkerPool::Result> RunAll(WorkerPool* pool, uint64_t n,
                                              bool alone = false) {
  std::map<uint64_t, WorkerPool::Result> results;
  for (uint64_t job = 0; job < n; ++job) pool->Submit(job, alone);
  while (pool->pending() > 0) {
    std::optional<WorkerPool::Result> result = pool->Wait(1000);
    if (!result.has_value()) continue;
    EXPECT_EQ(results.count(result->job), 0u) << "answered twice";
    results.emplace(result->job, *result);
  }
  return results;
}

std::string PidIn(const WorkerPool::Result& result) {
  return result.bytes.substr(result.bytes.find(' ') + 1);
}

TEST(WorkerPool, EveryJobIsAnsweredOnceByOneOfTheWorkers) {
  WorkerPool pool({3, 1000, 60}, PidOf);
  std::set<std::string> pids;
  auto results = RunAll(&pool, 500);
  ASSERT_EQ(results.size(), 500u);
  for (const auto& [job, result] : results) {
    EXPECT_EQ(result.bytes.substr(0, result.bytes.find(' ')),
              std::to_string(job));
    EXPECT_EQ(result.death, "");
    pids.insert(PidIn(result));
  }
  EXPECT_LE(pids.size(), 3u);
  EXPECT_EQ(pids.count(std::to_string(getpid())), 0u);
}

TEST(WorkerPool, WorkersAreReplacedAfterTheirShare) {
  WorkerPool pool({2, 7, 60}, PidOf);
  std::map<std::string, int> jobs_of;
  for (const auto& [job, result] : RunAll(&pool, 100)) {
    EXPECT_EQ(result.death, "") << job;
    ++jobs_of[PidIn(result)];
  }
  EXPECT_GE(jobs_of.size(), 15u);
  for (const auto& [pid, jobs] : jobs_of) EXPECT_LE(jobs, 7) << pid;
}

TEST(WorkerPool, DeathIsChargedToItsOwnJobOnly) {
  WorkerPool pool({2, 50, 60}, [](uint64_t job) -> WorkerPool::Answer {
    if (job == 13) raise(SIGKILL);
    if (job == 14) _exit(9);
    return {"ok", false};
  });
  auto results = RunAll(&pool, 100);
  ASSERT_EQ(results.size(), 100u);
  for (const auto& [job, result] : results) {
    if (job == 13) {
      EXPECT_EQ(result.death, "killed by signal 9 (Killed)");
    } else if (job == 14) {
      EXPECT_EQ(result.death, "exited with status 9");
    } else {
      EXPECT_EQ(result.bytes, "ok") << job << result.death;
    }
  }
}

TEST(WorkerPool, SilentWorkerIsKilledAndItsJobNamed) {
  WorkerPool pool({1, 50, 1}, [](uint64_t job) -> WorkerPool::Answer {
    volatile bool forever = job == 2;
    while (forever) {
    }
    return {"ok", false};
  });
  auto results = RunAll(&pool, 6);
  ASSERT_EQ(results.size(), 6u);
  EXPECT_EQ(results[2].death, "silent for 1 s of CPU time");
  EXPECT_TRUE(results[2].timed_out);
  EXPECT_FALSE(results[3].timed_out);
  EXPECT_EQ(results[3].bytes, "ok");
}

TEST(WorkerPool, WhoGetsNoCpuTimeIsWaitedForLonger) {
  WorkerPool pool({2, 50, 1}, [](uint64_t job) -> WorkerPool::Answer {
    if (job == 1) sleep(3);
    if (job == 2) sleep(100);
    return {"ok", false};
  });
  auto results = RunAll(&pool, 6);
  ASSERT_EQ(results.size(), 6u);
  EXPECT_EQ(results[1].bytes, "ok");
  EXPECT_TRUE(results[2].timed_out);
  EXPECT_EQ(results[2].death.substr(0, 11), "silent for ");
}

TEST(WorkerPool, WorkThatAsksForItGetsANewProcessNext) {
  WorkerPool pool({1, 1000, 60}, [](uint64_t job) -> WorkerPool::Answer {
    WorkerPool::Answer answer = PidOf(job);
    answer.recycle = job == 4;
    return answer;
  });
  auto results = RunAll(&pool, 9);
  EXPECT_EQ(PidIn(results[0]), PidIn(results[4]));
  EXPECT_NE(PidIn(results[4]), PidIn(results[5]));
  EXPECT_EQ(PidIn(results[5]), PidIn(results[8]));
}

TEST(WorkerPool, JobsThatWantToBeAloneShareNoProcess) {
  WorkerPool pool({2, 1000, 60}, PidOf);
  std::set<std::string> pids;
  RunAll(&pool, 10);
  for (const auto& [job, result] : RunAll(&pool, 20, true)) {
    EXPECT_EQ(result.death, "");
    EXPECT_TRUE(pids.insert(PidIn(result)).second) << job;
  }
}

TEST(WorkerPool, LargeAnswersArriveWhole) {
  WorkerPool pool({2, 1000, 60}, [](uint64_t job) -> WorkerPool::Answer {
    return {std::string(1000000 + job, static_cast<char>('a' + job)), false};
  });
  for (const auto& [job, result] : RunAll(&pool, 8)) {
    EXPECT_EQ(result.bytes,
              std::string(1000000 + job, static_cast<char>('a' + job)));
  }
}

// Neither side may wait for the other to read.
TEST(WorkerPool, LargeJobsPassLargeAnswers) {
  WorkerPool pool({1, 1000, 10},
                  WorkerPool::TextWork([](uint64_t, const std::string& text) {
                    return WorkerPool::Answer{text + text, false};
                  }));
  for (uint64_t job = 0; job < 12; ++job) {
    pool.Submit(job, false, std::string(3000000, static_cast<char>('a' + job)));
  }
  size_t answers = 0;
  while (pool.pending() > 0) {
    std::optional<WorkerPool::Result> result = pool.Wait(1000);
    if (!result.has_value()) continue;
    EXPECT_EQ(result->death, "");
    EXPECT_EQ(result->bytes,
              std::string(6000000, static_cast<char>('a' + result->job)));
    ++answers;
  }
  EXPECT_EQ(answers, 12u);
}

TEST(WorkerPool, NoWorkerOutlivesThePool) {
  {
    WorkerPool pool({2, 1000, 60}, [](uint64_t) -> WorkerPool::Answer {
      sleep(100);
      return {};
    });
    pool.Submit(1);
    pool.Submit(2);
    EXPECT_FALSE(pool.Wait(50).has_value());
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

}  // namespace
}  // namespace replay
