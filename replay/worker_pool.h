// WorkerPool: runs jobs in forked processes and survives their deaths.
//
//   parent ──job──► worker      one socket pair per worker
//          ◄─answer─            answers come in the order of the jobs
//
// A job is a number, with a text if the caller wishes; what they mean is the
// caller's affair. A worker that dies
// (or answers nothing for too long and is killed) is charged to the job that
// it was running; the jobs queued behind that one go to other workers. Workers
// are replaced after a bounded number of jobs, or when their work asks for it.
// One thread; forks without exec, so what the caller built before is shared.
#ifndef MUSTH_REPLAY_WORKER_POOL_H_
#define MUSTH_REPLAY_WORKER_POOL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace replay {

class WorkerPool {
 public:
  struct Answer {
    std::string bytes;
    // The worker must not be trusted with another job.
    bool recycle = false;
  };
  // Runs in the worker.
  using Work = std::function<Answer(uint64_t job)>;
  using TextWork = std::function<Answer(uint64_t job, const std::string& text)>;

  struct Options {
    int workers = 1;
    uint64_t jobs_per_worker = 1000;
    // Seconds of its CPU time without an answer after which a worker is killed,
    // or ten times as long by the clock: a busy machine is no reason.
    int timeout_s = 120;
  };

  struct Result {
    uint64_t job = 0;
    std::string bytes;  // the answer
    // Not empty: there is none, and this is why ("killed by signal 11
    // (Segmentation fault)").
    std::string death;
    bool timed_out = false;  // it was killed for its silence
  };

  WorkerPool(const Options& options, Work work);
  WorkerPool(const Options& options, TextWork work);
  // Kills all workers.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // alone: in a new process that does nothing else.
  void Submit(uint64_t job, bool alone = false, std::string text = "");
  // Jobs submitted and not yet returned by Wait.
  size_t pending() const;
  // So many pending jobs keep every worker busy.
  size_t appetite() const;

  // The next result, or none after timeout_ms or when wake_fd (if not
  // negative) can be read.
  std::optional<Result> Wait(int timeout_ms, int wake_fd = -1);

 private:
  struct Job {
    uint64_t id = 0;
    bool alone = false;
    std::string text;
  };
  struct Worker {
    int pid = -1;
    int socket = -1;
    uint64_t jobs_left = 0;      // until it is replaced
    std::deque<Job> unanswered;  // the first is running
    std::string input;           // of an answer that is not complete
    std::string output;          // of jobs that its socket has no room for
    int64_t heard_ms = 0;
    int64_t heard_cpu_ms = 0;  // its CPU time then
    bool retiring = false;     // said that its last answer was the last
  };

  void Dispatch();
  bool Spawn(uint64_t jobs);
  void Give(Worker& worker, const Job& job);
  void Poll(int timeout_ms, int wake_fd);
  void TakeAnswers(Worker& worker);
  void Flush(Worker& worker);
  void Bury(size_t index, const std::string& reason);
  static void Heard(Worker& worker);
  void KillSilentWorkers();
  [[noreturn]] void WorkerMain(int socket, uint64_t jobs);

  Options options_;
  TextWork work_;
  std::deque<Job> queue_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::deque<Result> results_;
};

}  // namespace replay

#endif  // MUSTH_REPLAY_WORKER_POOL_H_
