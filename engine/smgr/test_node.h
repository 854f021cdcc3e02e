// TestNode: one node's bottom layers in a simulated world, over files in
// memory that fail on request.
#ifndef MUSTH_ENGINE_SMGR_TEST_NODE_H_
#define MUSTH_ENGINE_SMGR_TEST_NODE_H_

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/common/backend.h"
#include "sim/choices.h"
#include "sim/world.h"

namespace engine {

// What a file call is about to do, and what to do instead.
struct FileCall {
  enum class Op : uint8_t {
    kOpen,
    kRead,
    kWrite,
    kSync,
    kTruncate,
    kUnlink,
    kSyncDir,
  };
  Op op = Op::kOpen;
  std::string path;
  int64_t offset = 0;
  // Set by the hook: the error to report, or how many bytes to transfer.
  env::Code fail = env::Code::kOk;
  int64_t limit = INT64_MAX;
};

// A file's bytes; what was never written is not stored and reads as zeros.
class FakeContent {
 public:
  int64_t size() const { return size_; }
  void Resize(int64_t size);
  void Read(int64_t offset, std::span<char> out) const;
  void Write(int64_t offset, std::span<const char> data);

 private:
  static constexpr int64_t kChunk = 4096;
  std::map<int64_t, std::string> chunks_;  // by offset / kChunk
  int64_t size_ = 0;
};

// Files in memory. Every call is a scheduling point, then asks the hook, then
// is done at once.
class FakeFiles : public env::Files {
 public:
  env::Result<std::unique_ptr<env::File>> Open(std::string_view path,
                                               uint32_t flags) override;
  env::Status Unlink(std::string_view path) override;
  env::Status Rename(std::string_view from, std::string_view to) override;
  env::Status Mkdir(std::string_view path) override;
  env::Status Rmdir(std::string_view path) override;
  env::Status FsyncDir(std::string_view path) override;
  env::Result<std::vector<std::string>> List(std::string_view path) override;
  env::Result<env::FileInfo> Stat(std::string_view path) override;

  // Called at the start of each call, on the caller's stack; may suspend.
  std::function<void(FileCall&)> hook;
  // "read base/5/1", "sync base/5/1", ...: the calls that succeeded.
  std::vector<std::string> log;

  std::shared_ptr<FakeContent> Content(const std::string& path) const;
  int CountInLog(std::string_view entry) const;

  // For the files that are open.
  env::Status Enter(FileCall& call);

 private:
  std::map<std::string, std::shared_ptr<FakeContent>> files_;
};

class TestNode {
 public:
  explicit TestNode(uint64_t seed, Config config = Config(),
                    std::vector<uint8_t> planted = {},
                    sim::StrategyOptions strategy = {});
  // As an exhaustive search wants its worlds.
  explicit TestNode(const sim::WorldOptions& world, Config config = Config(),
                    std::vector<uint8_t> planted = {});

  // Starts a process; the backend has its ipc and smgr state.
  void Spawn(std::string_view name, std::function<void(Backend&)> body);
  // Runs until all processes have ended. Fails the test on any other end.
  void RunToEnd();

  sim::World& world() { return *world_; }
  SharedMemory& shared() { return shared_; }
  FakeFiles& files() { return files_; }

  // A planted-bug table with one switch on.
  static std::vector<uint8_t> Plant(env::SiteId site);

 private:
  void Build(const sim::WorldOptions& options, std::vector<uint8_t> planted);

  FakeFiles files_;
  sim::Choices choices_;
  SharedMemory shared_;
  std::unique_ptr<sim::World> world_;
  env::HostId host_ = 0;
};

}  // namespace engine

#endif  // MUSTH_ENGINE_SMGR_TEST_NODE_H_
