// Node: one database server. Its postmaster is a root task; start-up process,
// checkpointer, background writer, WAL writer and one backend per client are
// its children.
//
//   Main() -- startup process: recovery -- kReady -- children run
//     ^                                                |
//     +---- a child died: kill all, new shared memory -+
//
// Rules
// 1. A child that is killed or panics takes shared memory with it: all other
//    children are killed and the node recovers from disk (crash restart).
// 2. A start-up process that dies ends the postmaster, as in PostgreSQL.
// 3. A client whose backend died is connected again after the restart; its
//    body starts anew and must know where it stands.
// Source: src/backend/postmaster/postmaster.c.
#ifndef MUSTH_ENGINE_NODE_NODE_H_
#define MUSTH_ENGINE_NODE_NODE_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/buffer/bufmgr.h"
#include "engine/common/backend.h"
#include "engine/sql/session.h"
#include "engine/wal/checkpoint.h"

namespace engine {

// Where the postmaster stands.
enum class NodeState : uint8_t {
  kStopped,   // never started, or Main() has returned
  kStarting,  // recovery
  kRunning,   // sessions are served
  kStopping,  // clean shutdown
  kFailed,    // the start-up process refused or died; Main() has returned
};

// How a node is asked to stop. Source: pg_ctl's modes.
enum class ShutdownMode : uint8_t {
  kSmart,      // once every client is done
  kFast,       // clients are cut off, their transactions roll back
  kImmediate,  // everything stops at once; the next start recovers
};

// A fresh cluster may look as if it had lived for a while.
struct InitDbRoom {
  // 0, or how much of a WAL segment the log leaves for what comes next; then
  // two recycled segments lie ahead.
  uint32_t wal_bytes = 0;
  // 0, or how many transaction ids the first page of the commit log has left.
  uint32_t xids = 0;

  auto operator<=>(const InitDbRoom&) const = default;
};

class Node {
 public:
  // Settings must be those of the data directory where initdb fixed them.
  Node(env::Env* env, const Config& config);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Creates a fresh cluster in an empty data directory and leaves it cleanly
  // shut down. Requires: a task of this host. Suspends: yes.
  Status InitDb(const InitDbRoom& room = {});

  // The postmaster. Requires: a task of this host. Returns after a shutdown
  // or when start-up failed. Suspends: yes.
  void Main();

  // Registers a client; it is connected at once when the node is running,
  // else when it gets there. `body` runs in the client's backend and is called
  // again after a crash restart unless it had returned. From any task or from
  // outside. Suspends: no.
  // While clients are held (see HoldClients) only `first` ones are connected.
  void AddClient(std::string name, std::function<void(Session&)> body,
                 bool first = false);
  // Held clients wait until they are released; connected ones go on. A driver
  // holds them to look at a recovered node before anyone changes it.
  void HoldClients(bool hold);
  // How many clients' bodies have not returned yet.
  int ClientsLeft() const;

  // Asks the node to stop. A later request may only be more drastic than the
  // one before it. Suspends: no.
  void RequestShutdown(ShutdownMode mode = ShutdownMode::kSmart);

  NodeState state() const { return state_; }
  // Why start-up failed.
  const Status& failure() const { return failure_; }
  int restarts() const { return restarts_; }
  const Config& config() const { return config_; }

 private:
  struct Client {
    std::string name;
    std::function<void(Session&)> body;
    bool first = false;
    bool done = false;
    env::TaskId task = env::kNoTask;
  };
  enum class ServeResult : uint8_t { kShutdown, kCrashed, kFailed };

  void CreateSharedMemory();
  void InitBackend(Backend& be);
  env::TaskId SpawnChild(std::string_view name, BackendType type,
                         std::function<void(Backend&)> body);
  static bool IsDone(const Client& client);
  ServeResult Serve();
  bool RunStartup();
  void StartServices();
  void StartClients();
  // False when a child died and the node must restart.
  bool ReapChildren();
  void KillChildren();
  bool ShutdownIsDue() const;
  ServeResult Shutdown();
  void WakePostmaster();
  Status BootStrap(Backend& be, const InitDbRoom& room);
  Status AddRecycledSegments(Backend& be);

  env::Env* const env_;
  const Config config_;
  RmgrTable rmgrs_;
  std::unique_ptr<BufferWalHooks> wal_hooks_;
  std::unique_ptr<CheckpointClient> checkpoint_client_;
  std::unique_ptr<SharedMemory> shared_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::map<env::TaskId, std::string> children_;
  NodeState state_ = NodeState::kStopped;
  Status failure_;
  env::TaskId postmaster_ = env::kNoTask;
  env::TaskId checkpointer_ = env::kNoTask;
  bool hold_clients_ = false;
  bool shutdown_requested_ = false;
  ShutdownMode shutdown_mode_ = ShutdownMode::kSmart;
  // Clients' backends that are only starting give up.
  bool clients_stop_ = false;
  bool services_stop_ = false;
  int restarts_ = 0;
};

}  // namespace engine

#endif  // MUSTH_ENGINE_NODE_NODE_H_
