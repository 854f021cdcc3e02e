#include "engine/smgr/test_node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "engine/common/sites.h"
#include "engine/ipc/proc.h"
#include "engine/smgr/smgr.h"

namespace engine {
namespace {

using Op = FileCall::Op;

const char* OpName(Op op) {
  static constexpr const char* kNames[] = {
      "open", "read", "write", "sync", "truncate", "unlink", "syncdir"};
  return kNames[static_cast<size_t>(op)];
}

env::Status Error(env::Code code) { return env::Status(code, "injected"); }

class FakeFile : public env::File {
 public:
  FakeFile(FakeFiles* files, std::string path,
           std::shared_ptr<FakeContent> content)
      : files_(files), path_(std::move(path)), content_(std::move(content)) {}

  env::Result<int64_t> Pread(int64_t offset, std::span<char> out) override {
    FileCall call{Op::kRead, path_, offset, env::Code::kOk, INT64_MAX};
    RETURN_IF_ERROR(files_->Enter(call));
    int64_t n = std::min({static_cast<int64_t>(out.size()), call.limit,
                          std::max<int64_t>(content_->size() - offset, 0)});
    content_->Read(offset, out.first(static_cast<size_t>(n)));
    return n;
  }
  env::Result<int64_t> Pwrite(int64_t offset,
                              std::span<const char> data) override {
    FileCall call{Op::kWrite, path_, offset, env::Code::kOk, INT64_MAX};
    RETURN_IF_ERROR(files_->Enter(call));
    int64_t n = std::min(static_cast<int64_t>(data.size()), call.limit);
    content_->Write(offset, data.first(static_cast<size_t>(n)));
    return n;
  }
  env::Status Fsync() override {
    FileCall call{Op::kSync, path_, 0, env::Code::kOk, INT64_MAX};
    return files_->Enter(call);
  }
  env::Status Fdatasync() override { return Fsync(); }
  env::Status StartWriteback(int64_t, int64_t) override { return {}; }
  env::Status Truncate(int64_t size_bytes) override {
    FileCall call{Op::kTruncate, path_, size_bytes, env::Code::kOk, INT64_MAX};
    RETURN_IF_ERROR(files_->Enter(call));
    content_->Resize(size_bytes);
    return {};
  }
  env::Status Allocate(int64_t offset, int64_t length) override {
    content_->Resize(std::max(content_->size(), offset + length));
    return {};
  }
  env::Result<int64_t> Size() override { return content_->size(); }

 private:
  FakeFiles* files_;
  std::string path_;
  std::shared_ptr<FakeContent> content_;
};

}  // namespace

void FakeContent::Resize(int64_t size) {
  int64_t kept = (size + kChunk - 1) / kChunk;
  chunks_.erase(chunks_.lower_bound(kept), chunks_.end());
  auto last = chunks_.find(size / kChunk);
  if (last != chunks_.end()) {
    last->second.resize(static_cast<size_t>(size % kChunk));
    last->second.resize(kChunk);
  }
  size_ = size;
}

void FakeContent::Read(int64_t offset, std::span<char> out) const {
  while (!out.empty()) {
    auto at = static_cast<size_t>(offset % kChunk);
    size_t n = std::min(out.size(), static_cast<size_t>(kChunk) - at);
    auto chunk = chunks_.find(offset / kChunk);
    if (chunk == chunks_.end()) {
      std::memset(out.data(), 0, n);
    } else {
      std::memcpy(out.data(), chunk->second.data() + at, n);
    }
    out = out.subspan(n);
    offset += static_cast<int64_t>(n);
  }
}

void FakeContent::Write(int64_t offset, std::span<const char> data) {
  size_ = std::max(size_, offset + static_cast<int64_t>(data.size()));
  while (!data.empty()) {
    auto at = static_cast<size_t>(offset % kChunk);
    size_t n = std::min(data.size(), static_cast<size_t>(kChunk) - at);
    std::string& chunk = chunks_[offset / kChunk];
    chunk.resize(kChunk);
    std::memcpy(chunk.data() + at, data.data(), n);
    data = data.subspan(n);
    offset += static_cast<int64_t>(n);
  }
}

env::Status FakeFiles::Enter(FileCall& call) {
  YIELD_POINT(lwlock_acquire);
  if (hook) hook(call);
  if (call.fail != env::Code::kOk) return Error(call.fail);
  log.push_back(std::string(OpName(call.op)) + " " + call.path);
  return {};
}

env::Result<std::unique_ptr<env::File>> FakeFiles::Open(std::string_view path,
                                                        uint32_t flags) {
  FileCall call{Op::kOpen, std::string(path), 0, env::Code::kOk, INT64_MAX};
  RETURN_IF_ERROR(Enter(call));
  std::shared_ptr<FakeContent>& content = files_[call.path];
  if (content == nullptr) {
    if ((flags & env::kOpenCreate) == 0) {
      files_.erase(call.path);
      return Error(env::Code::kNotFound);
    }
    content = std::make_shared<FakeContent>();
  } else if ((flags & env::kOpenExclusive) != 0) {
    return Error(env::Code::kExists);
  }
  if ((flags & env::kOpenTruncate) != 0) {
    content = std::make_shared<FakeContent>();
  }
  return std::unique_ptr<env::File>(
      std::make_unique<FakeFile>(this, call.path, content));
}

env::Status FakeFiles::Unlink(std::string_view path) {
  FileCall call{Op::kUnlink, std::string(path), 0, env::Code::kOk, INT64_MAX};
  RETURN_IF_ERROR(Enter(call));
  if (files_.erase(call.path) == 0) return Error(env::Code::kNotFound);
  return {};
}

env::Status FakeFiles::Rename(std::string_view from, std::string_view to) {
  auto it = files_.find(std::string(from));
  if (it == files_.end()) return Error(env::Code::kNotFound);
  std::shared_ptr<FakeContent> content = std::move(it->second);
  files_.erase(it);
  files_[std::string(to)] = std::move(content);
  return {};
}
env::Status FakeFiles::Mkdir(std::string_view) { return {}; }
env::Status FakeFiles::Rmdir(std::string_view) { return {}; }

env::Status FakeFiles::FsyncDir(std::string_view path) {
  FileCall call{Op::kSyncDir, std::string(path), 0, env::Code::kOk, INT64_MAX};
  return Enter(call);
}

env::Result<std::vector<std::string>> FakeFiles::List(std::string_view) {
  return std::vector<std::string>();
}

env::Result<env::FileInfo> FakeFiles::Stat(std::string_view path) {
  std::shared_ptr<FakeContent> content = Content(std::string(path));
  if (content == nullptr) return Error(env::Code::kNotFound);
  return env::FileInfo{false, content->size()};
}

std::shared_ptr<FakeContent> FakeFiles::Content(const std::string& path) const {
  auto it = files_.find(path);
  return it == files_.end() ? nullptr : it->second;
}

int FakeFiles::CountInLog(std::string_view entry) const {
  return static_cast<int>(std::count(log.begin(), log.end(), entry));
}

TestNode::TestNode(uint64_t seed, Config config, std::vector<uint8_t> planted,
                   sim::StrategyOptions strategy)
    : choices_(seed), shared_(config) {
  sim::WorldOptions options;
  options.choices = &choices_;
  options.strategy = strategy;
  Build(options, std::move(planted));
}

TestNode::TestNode(const sim::WorldOptions& world, Config config,
                   std::vector<uint8_t> planted)
    : choices_(0), shared_(config) {
  Build(world, std::move(planted));
}

void TestNode::Build(const sim::WorldOptions& options,
                     std::vector<uint8_t> planted) {
  world_ = std::make_unique<sim::World>(options);
  host_ = world_->AddHost(EngineSites(), std::move(planted));
  world_->AttachFiles(host_, &files_);
  ProcShmemInit(shared_);
  SmgrShmemInit(shared_);
}

void TestNode::Spawn(std::string_view name,
                     std::function<void(Backend&)> body) {
  world_->SpawnRoot(host_, name, [this, body = std::move(body)] {
    Backend be(&world_->env(host_), &shared_, BackendType::kClient);
    Status status = ProcInit(be);
    EXPECT_TRUE(status.ok()) << status.ToString();
    SmgrInit(be);
    body(be);
    ProcExit(be);
  });
}

void TestNode::RunToEnd() {
  sim::World::StopReason reason = world_->Run();
  ASSERT_EQ(reason, sim::World::StopReason::kIdle)
      << sim::StopReasonName(reason) << "\n"
      << (world_->check_failure() != nullptr
              ? world_->check_failure()->condition
              : world_->DescribeTasks());
}

std::vector<uint8_t> TestNode::Plant(env::SiteId site) {
  std::vector<uint8_t> planted(EngineSites().size(), 0);
  planted[site] = 1;
  return planted;
}

}  // namespace engine
