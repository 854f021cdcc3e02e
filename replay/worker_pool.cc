#include "replay/worker_pool.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "sim/env/check.h"

namespace replay {
namespace {

// Jobs that wait in a worker, so that it need not wait for the next one.
constexpr size_t kPipeline = 4;
// How much longer a worker may be silent that has no CPU time.
constexpr int kPatience = 10;

struct JobHeader {
  uint64_t job;
  uint64_t size_bytes;  // of the text that follows
};
struct AnswerHeader {
  uint64_t job;
  uint32_t size_bytes;
  uint32_t last;  // the worker ends after this answer
};

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// How much CPU time a process has had; 0 if it is gone.
int64_t CpuMsOf(int pid) {
  clockid_t clock = 0;
  timespec time = {};
  if (clock_getcpuclockid(pid, &clock) != 0) return 0;
  if (clock_gettime(clock, &time) != 0) return 0;
  return int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

bool SendAll(int socket, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    ssize_t n = send(socket, at, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

// False at end of file.
bool ReceiveAll(int socket, void* data, size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    ssize_t n = recv(socket, at, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

std::string DeathOf(int status) {
  if (WIFSIGNALED(status)) {
    int signal = WTERMSIG(status);
    return fmt::format("killed by signal {} ({})", signal, strsignal(signal));
  }
  return fmt::format("exited with status {}", WEXITSTATUS(status));
}

}  // namespace

WorkerPool::WorkerPool(const Options& options, Work work)
    : WorkerPool(options,
                 TextWork([work = std::move(work)](
                              uint64_t job, const std::string& /*text*/) {
                   return work(job);
                 })) {}

WorkerPool::WorkerPool(const Options& options, TextWork work)
    : options_(options), work_(std::move(work)) {
  SIM_CHECK(options_.workers > 0 && options_.jobs_per_worker > 0);
}

WorkerPool::~WorkerPool() {
  for (const std::unique_ptr<Worker>& worker : workers_) {
    close(worker->socket);
    kill(worker->pid, SIGKILL);
    waitpid(worker->pid, nullptr, 0);
  }
}

void WorkerPool::Submit(uint64_t job, bool alone, std::string text) {
  queue_.push_back(Job{job, alone, std::move(text)});
}

size_t WorkerPool::pending() const {
  size_t n = queue_.size() + results_.size();
  for (const auto& worker : workers_) n += worker->unanswered.size();
  return n;
}

size_t WorkerPool::appetite() const {
  return static_cast<size_t>(options_.workers) * kPipeline * 2;
}

// Jobs go to the least busy worker that may take one more. A job that wants to
// be alone waits for a free place, and the queue behind it with it.
void WorkerPool::Dispatch() {
  while (!queue_.empty()) {
    const Job job = queue_.front();
    bool place_free = workers_.size() < static_cast<size_t>(options_.workers);
    Worker* best = nullptr;
    Worker* idle = nullptr;
    for (const auto& worker : workers_) {
      if (worker->retiring) continue;
      size_t busy = worker->unanswered.size();
      if (busy == 0) idle = worker.get();
      if (worker->jobs_left == 0 || busy >= kPipeline) continue;
      if (best == nullptr || busy < best->unanswered.size()) {
        best = worker.get();
      }
    }
    bool wants_new = job.alone || best == nullptr || !best->unanswered.empty();
    if (wants_new && place_free) {
      if (!Spawn(job.alone ? 1 : options_.jobs_per_worker)) return;
      best = workers_.back().get();
    } else if (job.alone) {
      // Its end of file tells an idle worker to make room.
      if (idle != nullptr) {
        shutdown(idle->socket, SHUT_WR);
        idle->retiring = true;
      }
      return;
    }
    if (best == nullptr) return;
    queue_.pop_front();
    Give(*best, job);
  }
}

bool WorkerPool::Spawn(uint64_t jobs) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return false;
  }
  int parent = getpid();
  int pid = fork();
  if (pid < 0) {
    close(sockets[0]);
    close(sockets[1]);
    return false;
  }
  if (pid == 0) {
    // A worker must not outlive its parent.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    close(sockets[0]);
    for (const auto& other : workers_) close(other->socket);
    WorkerMain(sockets[1], jobs);
  }
  close(sockets[1]);
  auto worker = std::make_unique<Worker>();
  worker->pid = pid;
  worker->socket = sockets[0];
  worker->jobs_left = jobs;
  workers_.push_back(std::move(worker));
  return true;
}

void WorkerPool::WorkerMain(int socket, uint64_t jobs) {
  JobHeader job = {};
  std::string text;
  while (ReceiveAll(socket, &job, sizeof(job))) {
    text.resize(job.size_bytes);
    if (!ReceiveAll(socket, text.data(), text.size())) _exit(1);
    Answer answer = work_(job.job, text);
    bool last = answer.recycle || --jobs == 0;
    AnswerHeader header = {job.job, static_cast<uint32_t>(answer.bytes.size()),
                           last ? 1u : 0u};
    if (!SendAll(socket, &header, sizeof(header)) ||
        !SendAll(socket, answer.bytes.data(), answer.bytes.size())) {
      _exit(1);
    }
    if (last) break;
  }
  // Neither destructors nor atexit handlers: they belong to the parent.
  _exit(0);
}

void WorkerPool::Give(Worker& worker, const Job& job) {
  if (worker.unanswered.empty()) Heard(worker);
  worker.unanswered.push_back(job);
  --worker.jobs_left;
  JobHeader header = {job.id, job.text.size()};
  worker.output.append(reinterpret_cast<const char*>(&header), sizeof(header));
  worker.output.append(job.text);
  Flush(worker);
}

// Never waits: the worker may be writing an answer, and nobody but this thread
// reads it. What the socket does not take now it takes in Poll.
void WorkerPool::Flush(Worker& worker) {
  size_t sent = 0;
  while (sent < worker.output.size()) {
    ssize_t n = send(worker.socket, worker.output.data() + sent,
                     worker.output.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    bool full = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    // A worker that has just died does not take it; Bury() sorts that out.
    if (n <= 0 && !full) sent = worker.output.size();
    if (n <= 0) break;
    sent += static_cast<size_t>(n);
  }
  worker.output.erase(0, sent);
}

std::optional<WorkerPool::Result> WorkerPool::Wait(int timeout_ms,
                                                   int wake_fd) {
  if (results_.empty()) {
    Dispatch();
    Poll(timeout_ms, wake_fd);
    KillSilentWorkers();
    Dispatch();
  }
  if (results_.empty()) return std::nullopt;
  Result result = std::move(results_.front());
  results_.pop_front();
  return result;
}

void WorkerPool::Poll(int timeout_ms, int wake_fd) {
  std::vector<pollfd> fds;
  for (const auto& worker : workers_) {
    short events = worker->output.empty() ? POLLIN : POLLIN | POLLOUT;
    fds.push_back(pollfd{worker->socket, events, 0});
  }
  if (wake_fd >= 0) fds.push_back(pollfd{wake_fd, POLLIN, 0});
  // Wake up often enough to notice silence.
  int wait_ms = std::min(timeout_ms, options_.timeout_s * 250);
  if (poll(fds.data(), fds.size(), wait_ms) <= 0) return;
  // From the back: Bury removes.
  for (size_t i = workers_.size(); i-- > 0;) {
    Worker& worker = *workers_[i];
    if ((fds[i].revents & POLLOUT) != 0) Flush(worker);
    if ((fds[i].revents & ~POLLOUT) == 0) continue;
    char buffer[65536];
    ssize_t n = recv(worker.socket, buffer, sizeof(buffer), MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n > 0) {
      worker.input.append(buffer, static_cast<size_t>(n));
      TakeAnswers(worker);
    } else {
      Bury(i, "");
    }
  }
}

void WorkerPool::TakeAnswers(Worker& worker) {
  size_t at = 0;
  AnswerHeader header;
  while (worker.input.size() - at >= sizeof(header)) {
    std::memcpy(&header, worker.input.data() + at, sizeof(header));
    if (worker.input.size() - at - sizeof(header) < header.size_bytes) break;
    SIM_CHECK(!worker.unanswered.empty() &&
              worker.unanswered.front().id == header.job);
    worker.unanswered.pop_front();
    Heard(worker);
    worker.retiring |= header.last != 0;
    results_.push_back(Result{
        header.job, worker.input.substr(at + sizeof(header), header.size_bytes),
        "", false});
    at += sizeof(header) + header.size_bytes;
  }
  worker.input.erase(0, at);
}

// The worker is gone. If it did not say goodbye, its running job is to blame;
// the others are given out again, before the rest of the queue.
void WorkerPool::Bury(size_t index, const std::string& reason) {
  std::unique_ptr<Worker> worker = std::move(workers_[index]);
  workers_.erase(workers_.begin() + static_cast<ptrdiff_t>(index));
  close(worker->socket);
  int status = 0;
  while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!worker->retiring && !worker->unanswered.empty()) {
    results_.push_back(Result{worker->unanswered.front().id, "",
                              reason.empty() ? DeathOf(status) : reason,
                              !reason.empty()});
    worker->unanswered.pop_front();
  }
  for (; !worker->unanswered.empty(); worker->unanswered.pop_back()) {
    queue_.push_front(worker->unanswered.back());
  }
}

void WorkerPool::Heard(Worker& worker) {
  worker.heard_ms = NowMs();
  worker.heard_cpu_ms = CpuMsOf(worker.pid);
}

void WorkerPool::KillSilentWorkers() {
  int64_t limit_ms = int64_t{options_.timeout_s} * 1000;
  for (size_t i = workers_.size(); i-- > 0;) {
    const Worker& worker = *workers_[i];
    int64_t silent_ms = NowMs() - worker.heard_ms;
    if (worker.unanswered.empty() || silent_ms < limit_ms) continue;
    int64_t worked_ms = CpuMsOf(worker.pid) - worker.heard_cpu_ms;
    if (worked_ms < limit_ms && silent_ms < kPatience * limit_ms) continue;
    kill(worker.pid, SIGKILL);
    Bury(i, worked_ms >= limit_ms
                ? fmt::format("silent for {} s of CPU time", options_.timeout_s)
                : fmt::format("silent for {} s", silent_ms / 1000));
  }
}

}  // namespace replay
