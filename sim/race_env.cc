#include "sim/race_env.h"

#include <map>
#include <utility>

#include "sim/env/check.h"
#include "sim/env/race.h"

namespace sim {

#ifndef MUSTH_TSAN

class RaceEnv::Impl {};

RaceEnv::RaceEnv() = default;
RaceEnv::~RaceEnv() = default;
void RaceEnv::Wrap(env::Env*) {}
env::Files* RaceEnv::WrapFiles(env::Files* files) { return files; }
std::function<void()> RaceEnv::WrapBody(std::function<void()> body) {
  return body;
}

#else

namespace {

using env::Unwatched;

// Before a call that may suspend. A spinlock held across it would hide races.
void MaySuspend() {
  Unwatched unwatched;
  SIM_CHECK(env::Current().atomic_sections == 0);
}

class RaceClock final : public env::Clock {
 public:
  explicit RaceClock(env::Clock* inner) : inner_(inner) {}
  env::TimeNs Now() override {
    Unwatched unwatched;
    return inner_->Now();
  }
  int64_t WallMicros() override {
    Unwatched unwatched;
    return inner_->WallMicros();
  }

 private:
  env::Clock* inner_;
};

class RaceRandom final : public env::Random {
 public:
  explicit RaceRandom(env::Random* inner) : inner_(inner) {}
  uint64_t Draw(env::SiteId site, uint64_t bound) override {
    Unwatched unwatched;
    return inner_->Draw(site, bound);
  }

 private:
  env::Random* inner_;
};

class RaceEvents final : public env::EventSink {
 public:
  explicit RaceEvents(env::EventSink* inner) : inner_(inner) {}
  using env::EventSink::Emit;
  void Emit(env::Event event) override {
    Unwatched unwatched;
    inner_->Emit(event);
  }

 private:
  env::EventSink* inner_;
};

class RaceFile final : public env::File {
 public:
  explicit RaceFile(std::unique_ptr<env::File> inner)
      : inner_(std::move(inner)) {}
  ~RaceFile() override {
    Unwatched unwatched;
    inner_.reset();
  }
  env::Result<int64_t> Pread(int64_t offset, std::span<char> out) override {
    MaySuspend();
    {
      Unwatched unwatched;
      env::Result<int64_t> n = inner_->Pread(offset, out);
      if (!n.ok()) return n;
      out = out.first(static_cast<size_t>(*n));
    }
    env::RaceWrite(out.data(), out.size());
    return static_cast<int64_t>(out.size());
  }
  env::Result<int64_t> Pwrite(int64_t offset,
                              std::span<const char> data) override {
    MaySuspend();
    env::RaceRead(data.data(), data.size());
    Unwatched unwatched;
    return inner_->Pwrite(offset, data);
  }
  env::Status Fsync() override {
    MaySuspend();
    Unwatched unwatched;
    return inner_->Fsync();
  }
  env::Status Fdatasync() override {
    MaySuspend();
    Unwatched unwatched;
    return inner_->Fdatasync();
  }
  env::Status StartWriteback(int64_t offset, int64_t length) override {
    MaySuspend();
    Unwatched unwatched;
    return inner_->StartWriteback(offset, length);
  }
  env::Status Truncate(int64_t size_bytes) override {
    MaySuspend();
    Unwatched unwatched;
    return inner_->Truncate(size_bytes);
  }
  env::Status Allocate(int64_t offset, int64_t length) override {
    MaySuspend();
    Unwatched unwatched;
    return inner_->Allocate(offset, length);
  }
  env::Result<int64_t> Size() override {
    Unwatched unwatched;
    return inner_->Size();
  }

 private:
  std::unique_ptr<env::File> inner_;
};

class RaceFiles final : public env::Files {
 public:
  explicit RaceFiles(env::Files* inner) : inner_(inner) {}
  env::Result<std::unique_ptr<env::File>> Open(std::string_view path,
                                               uint32_t flags) override {
    MaySuspend();
    Unwatched unwatched;
    ASSIGN_OR_RETURN(std::unique_ptr<env::File> file,
                     inner_->Open(path, flags));
    return std::unique_ptr<env::File>(
        std::make_unique<RaceFile>(std::move(file)));
  }
  env::Status Unlink(std::string_view path) override {
    MaySuspend();
    Unwatched unwatched;
    return inner_->Unlink(path);
  }
  env::Status Rename(std::string_view from, std::string_view to) override {
    MaySuspend();
    Unwatched unwatched;
    return inner_->Rename(from, to);
  }
  env::Status Mkdir(std::string_view path) override {
    MaySuspend();
    Unwatched unwatched;
    return inner_->Mkdir(path);
  }
  env::Status Rmdir(std::string_view path) override {
    MaySuspend();
    Unwatched unwatched;
    return inner_->Rmdir(path);
  }
  env::Status FsyncDir(std::string_view path) override {
    MaySuspend();
    Unwatched unwatched;
    return inner_->FsyncDir(path);
  }
  env::Result<std::vector<std::string>> List(std::string_view path) override {
    MaySuspend();
    Unwatched unwatched;
    return inner_->List(path);
  }
  env::Result<env::FileInfo> Stat(std::string_view path) override {
    MaySuspend();
    Unwatched unwatched;
    return inner_->Stat(path);
  }

 private:
  env::Files* inner_;
};

class RaceTasks final : public env::Tasks {
 public:
  explicit RaceTasks(env::Tasks* inner) : inner_(inner) {}

  std::function<void()> Body(std::function<void()> body) {
    return [this, body = std::move(body)] {
      env::TaskId self = inner_->Self();
      Ended ended{this, self};
      env::RaceAcquire(Start(self));
      env::Watched watched;
      body();
    };
  }

  env::TaskId Spawn(std::string_view name,
                    std::function<void()> body) override {
    Unwatched unwatched;
    env::TaskId child = inner_->Spawn(name, Body(std::move(body)));
    env::RaceRelease(Start(child));
    return child;
  }
  env::TaskId Self() override {
    Unwatched unwatched;
    return inner_->Self();
  }
  using env::Tasks::Park;
  using env::Tasks::ParkUntil;
  using env::Tasks::Yield;
  void Yield(env::SiteId site, env::Access next) override {
    MaySuspend();
    Unwatched unwatched;
    inner_->Yield(site, next);
  }
  void Park(env::SiteId site, env::Access next) override {
    MaySuspend();
    Unwatched unwatched;
    inner_->Park(site, next);
    env::RaceAcquire(Wake(inner_->Self()));
  }
  bool ParkUntil(env::SiteId site, env::TimeNs deadline,
                 env::Access next) override {
    MaySuspend();
    Unwatched unwatched;
    bool woken = inner_->ParkUntil(site, deadline, next);
    if (woken) env::RaceAcquire(Wake(inner_->Self()));
    return woken;
  }
  void Unpark(env::TaskId task) override {
    Unwatched unwatched;
    env::RaceRelease(Wake(task));
    inner_->Unpark(task);
  }
  void Kill(env::TaskId task) override {
    Unwatched unwatched;
    inner_->Kill(task);
  }
  std::optional<env::ChildExit> ReapChild() override {
    Unwatched unwatched;
    std::optional<env::ChildExit> exit = inner_->ReapChild();
    if (exit.has_value()) env::RaceAcquire(End(exit->task));
    return exit;
  }
  [[noreturn]] void Panic(std::string message) override {
    Unwatched unwatched;
    inner_->Panic(std::move(message));
    SIM_UNREACHABLE();
  }
  bool Killed() override {
    Unwatched unwatched;
    return inner_->Killed();
  }
  void CallOnMainStack(const std::function<void()>& fn) override {
    Unwatched unwatched;
    inner_->CallOnMainStack(fn);
  }

 private:
  // The names of a task's three orders.
  struct Tokens {
    char start = 0;
    char wake = 0;
    char end = 0;
  };
  struct Ended {
    RaceTasks* tasks;
    env::TaskId task;
    ~Ended() { env::RaceRelease(tasks->End(task)); }
  };
  const void* Start(env::TaskId task) { return &tokens_[task].start; }
  const void* Wake(env::TaskId task) { return &tokens_[task].wake; }
  const void* End(env::TaskId task) { return &tokens_[task].end; }

  env::Tasks* inner_;
  std::map<env::TaskId, Tokens> tokens_;
};

}  // namespace

class RaceEnv::Impl {
 public:
  explicit Impl(const env::Env& inner)
      : clock(inner.clock),
        tasks(inner.tasks),
        random(inner.random),
        events(inner.events) {}

  RaceClock clock;
  RaceTasks tasks;
  RaceRandom random;
  RaceEvents events;
  std::unique_ptr<RaceFiles> files;
};

RaceEnv::RaceEnv() = default;
RaceEnv::~RaceEnv() = default;

void RaceEnv::Wrap(env::Env* env) {
  impl_ = std::make_unique<Impl>(*env);
  env->clock = &impl_->clock;
  env->tasks = &impl_->tasks;
  env->random = &impl_->random;
  env->events = &impl_->events;
}

env::Files* RaceEnv::WrapFiles(env::Files* files) {
  impl_->files = std::make_unique<RaceFiles>(files);
  return impl_->files.get();
}

std::function<void()> RaceEnv::WrapBody(std::function<void()> body) {
  return impl_->tasks.Body(std::move(body));
}

#endif  // MUSTH_TSAN

}  // namespace sim
