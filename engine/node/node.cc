#include "engine/node/node.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/buffer/bufmgr.h"
#include "engine/catalog/relcache.h"
#include "engine/common/sites.h"
#include "engine/heap/heapam.h"
#include "engine/ipc/proc.h"
#include "engine/lock/lmgr.h"
#include "engine/node/rmgr_table.h"
#include "engine/smgr/smgr.h"
#include "engine/txn/clog.h"
#include "engine/txn/varsup.h"
#include "engine/txn/xact.h"
#include "engine/wal/xlog.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xlog_redo.h"
#include "engine/wal/xloginsert.h"
#include "sim/env/race.h"

namespace engine {
namespace {

constexpr const char* kDirectories[] = {
    "base",        "base/5",      "global",       "pg_commit_ts",
    "pg_dynshmem", "pg_logical",  "pg_multixact", "pg_notify",
    "pg_replslot", "pg_serial",   "pg_snapshots", "pg_stat",
    "pg_stat_tmp", "pg_subtrans", "pg_tblspc",    "pg_twophase",
    "pg_wal",      "pg_xact",
};

Status WriteVersionFile(env::Env* env, std::string_view path) {
  ASSIGN_OR_RETURN(auto file,
                   env->files->Open(path, env::kOpenWrite | env::kOpenCreate |
                                              env::kOpenTruncate));
  constexpr std::string_view kVersion = "15\n";
  ASSIGN_OR_RETURN(int64_t written, file->Pwrite(0, kVersion));
  if (written != static_cast<int64_t>(kVersion.size())) {
    return Status(env::Code::kIo, "short write to PG_VERSION");
  }
  return file->Fsync();
}

bool Told(const bool& stop) { return env::UnlockedRead(stop, "a signal"); }

void BgWriterMain(Backend& be, const bool& stop) {
  while (!Told(stop)) {
    env::TimeNs wake = be.env->clock->Now() + be.config().bgwriter_delay_ns;
    be.env->tasks->ParkUntil(SITE_ID(bgwriter_wait), wake);
    if (Told(stop)) break;
    // A failed write leaves the page dirty; whoever needs the buffer, or the
    // checkpointer, meets the error again and reports it.
    (void)BgBufferSync(be, be.config().bgwriter_max_pages).ok();
  }
}

void WalWriterMain(Backend& be, const bool& stop) {
  while (!Told(stop)) {
    env::TimeNs wake = be.env->clock->Now() + be.config().wal_writer_delay_ns;
    be.env->tasks->ParkUntil(SITE_ID(walwriter_wait), wake);
    if (Told(stop)) break;
    XLogBackgroundFlush(be);
  }
}

}  // namespace

Node::Node(env::Env* env, const Config& config)
    : env_(env),
      config_(config),
      rmgrs_(MakeRmgrTable()),
      wal_hooks_(MakeBufferWalHooks()),
      checkpoint_client_(MakeTxnCheckpointClient()) {}

Node::~Node() = default;

void Node::CreateSharedMemory() {
  shared_ = std::make_unique<SharedMemory>(config_);
  ProcShmemInit(*shared_);
  SmgrShmemInit(*shared_);
  BufferShmemInit(*shared_);
  XLogShmemInit(*shared_);
  TxnShmemInit(*shared_);
  LockShmemInit(*shared_);
  CatalogShmemInit(*shared_);
  SetBufferWalHooks(*shared_, wal_hooks_.get());
  SetRmgrTable(*shared_, &rmgrs_);
  SetCheckpointClient(*shared_, checkpoint_client_.get());
}

void Node::InitBackend(Backend& be) {
  SmgrInit(be);
  BufferInit(be);
  XLogInit(be);
  TxnInit(be);
  HeapInit(be);
  CatalogInit(be);
}

// Copies the current segment to the next two names, as if it had been recycled
// to each of them.
Status Node::AddRecycledSegments(Backend& be) {
  uint32_t segsize = config_.wal_segment_size;
  XLogSegNo segno = XLByteToSeg(GetXLogInsertRecPtr(be), segsize);
  ASSIGN_OR_RETURN(auto from, env_->files->Open(XLogFilePath(1, segno, segsize),
                                                env::kOpenRead));
  std::vector<char> bytes(segsize);
  ASSIGN_OR_RETURN(int64_t read, from->Pread(0, bytes));
  SIM_CHECK(read == segsize);
  for (XLogSegNo next = segno + 1; next <= segno + 2; ++next) {
    ASSIGN_OR_RETURN(auto to,
                     env_->files->Open(XLogFilePath(1, next, segsize),
                                       env::kOpenWrite | env::kOpenCreate));
    ASSIGN_OR_RETURN(int64_t written, to->Pwrite(0, bytes));
    SIM_CHECK(written == segsize);
    RETURN_IF_ERROR(to->Fsync());
  }
  return env_->files->FsyncDir(kXLogDir);
}

Status Node::BootStrap(Backend& be, const InitDbRoom& room) {
  for (const char* directory : kDirectories) {
    RETURN_IF_ERROR(env_->files->Mkdir(directory));
  }
  RETURN_IF_ERROR(WriteVersionFile(env_, "PG_VERSION"));
  RETURN_IF_ERROR(WriteVersionFile(env_, "base/5/PG_VERSION"));
  RETURN_IF_ERROR(BootStrapXLOG(be));
  RETURN_IF_ERROR(BootStrapCLOG(be));
  RETURN_IF_ERROR(StartupXLOG(be));
  StartTransaction(be, IsolationLevel::kReadCommitted);
  RETURN_IF_ERROR(BootStrapCatalog(be));
  RETURN_IF_ERROR(CommitTransaction(be));
  if (room.xids > 0) LeaveXidsOnCLOGPage(be, room.xids);
  if (room.wal_bytes > 0) LogFillSegment(be, room.wal_bytes);
  RETURN_IF_ERROR(
      CreateCheckPoint(be, CHECKPOINT_IS_SHUTDOWN | CHECKPOINT_IMMEDIATE));
  if (room.wal_bytes > 0) RETURN_IF_ERROR(AddRecycledSegments(be));
  for (const char* directory : kDirectories) {
    RETURN_IF_ERROR(env_->files->FsyncDir(directory));
  }
  return env_->files->FsyncDir("");
}

Status Node::InitDb(const InitDbRoom& room) {
  SIM_CHECK(state_ == NodeState::kStopped);
  CreateSharedMemory();
  Status status;
  {
    Backend be(env_, shared_.get(), BackendType::kStartup);
    RETURN_IF_ERROR(ProcInit(be));
    InitBackend(be);
    status = BootStrap(be, room);
    ProcExit(be);
  }
  shared_.reset();
  return status;
}

void Node::Main() {
  SIM_CHECK(state_ == NodeState::kStopped);
  postmaster_ = env_->tasks->Self();
  ServeResult result = Serve();
  while (result == ServeResult::kCrashed && !shutdown_requested_) {
    ++restarts_;
    result = Serve();
  }
  if (result == ServeResult::kCrashed) {
    failure_ =
        Status(env::Code::kInterrupted, "abnormal database system shutdown");
  }
  state_ = result == ServeResult::kShutdown ? NodeState::kStopped
                                            : NodeState::kFailed;
}

env::TaskId Node::SpawnChild(std::string_view name, BackendType type,
                             std::function<void(Backend&)> body) {
  env::TaskId task = env_->tasks->Spawn(name, [this, type, body]() {
    Backend be(env_, shared_.get(), type);
    Status status = ProcInit(be);
    if (!status.ok()) Panic(be, status.ToString());
    InitBackend(be);
    body(be);
    // As at the end of a statement: what is left is a leak.
    be.env->events->Emit(env::EventKind::kResourcesHeld, 1,
                         static_cast<uint64_t>(BuffersPinned(be)),
                         static_cast<uint64_t>(LWLocksHeld(be)));
    LWLockReleaseAll(be);
    ReleaseAllBuffers(be);
    ProcExit(be);
  });
  children_[task] = std::string(name);
  return task;
}

bool Node::RunStartup() {
  bool recovered = false;
  failure_ = Status();
  SpawnChild("startup", BackendType::kStartup, [this, &recovered](Backend& be) {
    failure_ = StartupXLOG(be);
    recovered = failure_.ok();
  });
  while (!children_.empty()) {
    std::optional<env::ChildExit> exit = env_->tasks->ReapChild();
    if (exit.has_value()) {
      children_.erase(exit->task);
    } else {
      env_->tasks->Park(SITE_ID(postmaster_wait));
    }
  }
  if (!recovered && failure_.ok()) {
    failure_ = Status(env::Code::kInterrupted, "startup process died");
  }
  return recovered;
}

void Node::StartServices() {
  services_stop_ = false;
  checkpointer_ =
      SpawnChild("checkpointer", BackendType::kCheckpointer,
                 [](Backend& be) { PanicIfError(be, CheckpointerMain(be)); });
  SpawnChild("bgwriter", BackendType::kBgWriter,
             [this](Backend& be) { BgWriterMain(be, services_stop_); });
  SpawnChild("walwriter", BackendType::kWalWriter,
             [this](Backend& be) { WalWriterMain(be, services_stop_); });
}

void Node::StartClients() {
  for (size_t i = 0; i < clients_.size(); ++i) {
    Client* client = clients_[i].get();
    if (client->task != env::kNoTask || IsDone(*client)) continue;
    if (hold_clients_ && !client->first) continue;
    client->task = SpawnChild(client->name, BackendType::kClient,
                              [this, client](Backend& be) {
                                if (Told(clients_stop_)) return;
                                bool cut_off = false;
                                {
                                  Session session(be);
                                  client->body(session);
                                  cut_off = session.terminated();
                                  session.Close();
                                }
                                env::AtomicSection client_state(client);
                                client->done = !cut_off;
                              });
  }
}

bool Node::ReapChildren() {
  bool crashed = false;
  for (;;) {
    std::optional<env::ChildExit> exit = env_->tasks->ReapChild();
    if (!exit.has_value()) break;
    children_.erase(exit->task);
    for (const auto& client : clients_) {
      if (client->task == exit->task) client->task = env::kNoTask;
    }
    if (exit->reason != env::ExitReason::kReturned) crashed = true;
    if (exit->task == checkpointer_) checkpointer_ = env::kNoTask;
  }
  return !crashed;
}

void Node::KillChildren() {
  for (const auto& child : children_) env_->tasks->Kill(child.first);
  while (!children_.empty()) {
    ReapChildren();
    if (!children_.empty()) env_->tasks->Park(SITE_ID(postmaster_wait));
  }
}

bool Node::ShutdownIsDue() const {
  return shutdown_requested_ &&
         (shutdown_mode_ != ShutdownMode::kSmart || ClientsLeft() == 0);
}

Node::ServeResult Node::Shutdown() {
  state_ = NodeState::kStopping;
  env_->events->Emit(env::EventKind::kShutdown, 0,
                     static_cast<uint64_t>(shutdown_mode_));
  if (shutdown_mode_ == ShutdownMode::kImmediate) {
    KillChildren();
    return ServeResult::kShutdown;
  }
  if (shutdown_mode_ == ShutdownMode::kFast) {
    clients_stop_ = true;
    Backend be(env_, shared_.get(), BackendType::kPostmaster);
    TerminateClientBackends(be);
  }
  services_stop_ = true;
  for (const auto& child : children_) env_->tasks->Unpark(child.first);
  bool asked = false;
  while (!children_.empty()) {
    if (!ReapChildren()) {
      KillChildren();
      return ServeResult::kCrashed;
    }
    // The checkpointer goes last, when nothing can write WAL any more.
    bool alone = children_.size() == 1 && checkpointer_ != env::kNoTask;
    if (alone && !asked) {
      Backend be(env_, shared_.get(), BackendType::kPostmaster);
      RequestShutdownCheckpoint(be);
      asked = true;
    }
    if (!children_.empty()) env_->tasks->Park(SITE_ID(postmaster_wait));
  }
  env_->events->Emit(env::EventKind::kShutdown, 1,
                     static_cast<uint64_t>(shutdown_mode_));
  return ServeResult::kShutdown;
}

Node::ServeResult Node::Serve() {
  state_ = NodeState::kStarting;
  checkpointer_ = env::kNoTask;
  for (const auto& client : clients_) client->task = env::kNoTask;
  CreateSharedMemory();
  if (!RunStartup()) {
    shared_.reset();
    return ServeResult::kFailed;
  }
  StartServices();
  state_ = NodeState::kRunning;
  env_->events->Emit(env::EventKind::kReady);
  ServeResult result = ServeResult::kShutdown;
  for (;;) {
    if (!ReapChildren()) {
      KillChildren();
      result = ServeResult::kCrashed;
      break;
    }
    if (ShutdownIsDue()) {
      result = Shutdown();
      break;
    }
    StartClients();
    env_->tasks->Park(SITE_ID(postmaster_wait));
  }
  shared_.reset();
  return result;
}

void Node::WakePostmaster() {
  if (postmaster_ != env::kNoTask) env_->tasks->Unpark(postmaster_);
}

void Node::AddClient(std::string name, std::function<void(Session&)> body,
                     bool first) {
  auto client = std::make_unique<Client>();
  client->name = std::move(name);
  client->body = std::move(body);
  client->first = first;
  clients_.push_back(std::move(client));
  WakePostmaster();
}

void Node::HoldClients(bool hold) {
  hold_clients_ = hold;
  WakePostmaster();
}

bool Node::IsDone(const Client& client) {
  env::AtomicSection client_state(&client);
  return client.done;
}

int Node::ClientsLeft() const {
  int left = 0;
  for (const auto& client : clients_) left += IsDone(*client) ? 0 : 1;
  return left;
}

void Node::RequestShutdown(ShutdownMode mode) {
  shutdown_mode_ = std::max(shutdown_mode_, mode);
  shutdown_requested_ = true;
  WakePostmaster();
}

}  // namespace engine
