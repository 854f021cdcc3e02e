#include "engine/wal/wal_test_node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/buffer/buffer_guard.h"
#include "engine/common/sites.h"
#include "engine/ipc/proc.h"
#include "engine/smgr/smgr.h"
#include "engine/wal/xlog.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xlog_redo.h"
#include "engine/wal/xloginsert.h"
#include "engine/wal/xlogutils.h"

namespace engine {
namespace {

constexpr uint8_t kToyInit = 0x00;
constexpr uint8_t kToySet = 0x10;

struct ToySetBody {
  uint64_t value;
  uint32_t slot;
};

void InitToyPage(char* page) {
  PageInit(page, 0);
  // The slots lie where line pointers would, so that they are not in the hole.
  PageHeader(page)->pd_lower = static_cast<uint16_t>(
      kSizeOfPageHeaderData + kToySlotsPerPage * sizeof(uint64_t));
}

char* SlotAt(char* page, uint32_t slot) {
  return page + kSizeOfPageHeaderData + slot * sizeof(uint64_t);
}

Status ToyRedo(Backend& be, XLogReaderState& record) {
  if ((record.info() & 0xF0) == kToyInit) {
    ASSIGN_OR_RETURN(Buffer buffer, XLogInitBufferForRedo(be, record, 0));
    BufferGuard guard(be, buffer, /*locked=*/true);
    InitToyPage(guard.page());
    PageSetLSN(guard.page(), record.EndRecPtr());
    MarkBufferDirty(be, buffer);
    return {};
  }
  ASSIGN_OR_RETURN(RedoBuffer redo, XLogReadBufferForRedo(be, record, 0));
  if (redo.buffer == kInvalidBuffer) return {};
  BufferGuard guard(be, redo.buffer, /*locked=*/true);
  if (redo.action != XLogRedoAction::BLK_NEEDS_REDO) return {};
  ToySetBody body;
  std::memcpy(&body, record.block(0).data.data(), sizeof(body));
  std::memcpy(SlotAt(guard.page(), body.slot), &body.value, sizeof(body.value));
  PageSetLSN(guard.page(), record.EndRecPtr());
  MarkBufferDirty(be, redo.buffer);
  return {};
}

// A file whose reads and writes transfer few bytes at a time.
class ShortFile : public env::File {
 public:
  ShortFile(std::unique_ptr<env::File> file, size_t limit)
      : file_(std::move(file)), limit_(limit) {}
  Result<int64_t> Pread(int64_t offset, std::span<char> out) override {
    return file_->Pread(offset, out.first(std::min(out.size(), limit_)));
  }
  Result<int64_t> Pwrite(int64_t offset, std::span<const char> in) override {
    return file_->Pwrite(offset, in.first(std::min(in.size(), limit_)));
  }
  Status Fsync() override { return file_->Fsync(); }
  Status Fdatasync() override { return file_->Fdatasync(); }
  Status StartWriteback(int64_t offset, int64_t length) override {
    return file_->StartWriteback(offset, length);
  }
  Status Truncate(int64_t size) override { return file_->Truncate(size); }
  Status Allocate(int64_t offset, int64_t length) override {
    return file_->Allocate(offset, length);
  }
  Result<int64_t> Size() override { return file_->Size(); }

 private:
  std::unique_ptr<env::File> file_;
  size_t limit_;
};

// The log's files are short; those of relations fail on it by design.
class ShortFiles : public env::Files {
 public:
  ShortFiles(env::Files* files, size_t limit) : files_(files), limit_(limit) {}
  Result<std::unique_ptr<env::File>> Open(std::string_view path,
                                          uint32_t flags) override {
    ASSIGN_OR_RETURN(std::unique_ptr<env::File> file,
                     files_->Open(path, flags));
    if (path.starts_with("base/")) return file;
    return std::unique_ptr<env::File>(
        std::make_unique<ShortFile>(std::move(file), limit_));
  }
  Status Unlink(std::string_view path) override { return files_->Unlink(path); }
  Status Rename(std::string_view from, std::string_view to) override {
    return files_->Rename(from, to);
  }
  Status Mkdir(std::string_view path) override { return files_->Mkdir(path); }
  Status Rmdir(std::string_view path) override { return files_->Rmdir(path); }
  Status FsyncDir(std::string_view path) override {
    return files_->FsyncDir(path);
  }
  Result<std::vector<std::string>> List(std::string_view path) override {
    return files_->List(path);
  }
  Result<env::FileInfo> Stat(std::string_view path) override {
    return files_->Stat(path);
  }

 private:
  env::Files* files_;
  size_t limit_;
};

BufferGuard ReadLocked(Backend& be, BlockNumber block, BufferLockMode mode) {
  Result<Buffer> buffer =
      ReadBuffer(be, ToyRelOf(block), block % kToyPagesPerRel);
  PanicIfError(be, buffer.status());
  BufferGuard guard(be, *buffer);
  guard.Lock(mode);
  return guard;
}

}  // namespace

void ToyCheckpointClient::FillCheckPoint(Backend&, CheckPoint* checkpoint) {
  checkpoint->nextXid = next_xid_;
  checkpoint->nextOid = next_oid_;
}

Status ToyCheckpointClient::ApplyCheckPoint(Backend&,
                                            const CheckPoint& checkpoint) {
  next_xid_ = static_cast<TransactionId>(checkpoint.nextXid);
  next_oid_ = checkpoint.nextOid;
  return {};
}

void ToyCheckpointClient::AdvanceNextXid(Backend&, TransactionId xid) {
  if (TransactionIdFollowsOrEquals(xid, next_xid_)) {
    next_xid_ = TransactionIdNext(xid);
  }
}

RelFileNode ToyRelOf(BlockNumber block) {
  RelFileNode rel = kToyRel;
  rel.relNode += block / kToyPagesPerRel;
  return rel;
}

void ToyExtend(Backend& be, BlockNumber nblocks) {
  for (BlockNumber block = 0; block < nblocks; ++block) {
    RelFileNode rel = ToyRelOf(block);
    PanicIfError(be, SmgrCreate(be, rel, kMainFork, /*is_redo=*/true));
    Result<BlockNumber> have = SmgrNblocks(be, rel, kMainFork);
    PanicIfError(be, have.status());
    if (*have > block % kToyPagesPerRel) continue;
    Result<Buffer> buffer = ExtendRelation(be, rel, kMainFork);
    PanicIfError(be, buffer.status());
    BufferGuard guard(be, *buffer, /*locked=*/true);
    CriticalSection crit(be);
    InitToyPage(guard.page());
    MarkBufferDirty(be, *buffer);
    XLogInsertion record(be);
    record.RegisterBuffer(0, *buffer, REGBUF_WILL_INIT);
    PageSetLSN(guard.page(), record.Insert(kToyRmgrId, kToyInit));
  }
}

XLogRecPtr ToySet(Backend& be, BlockNumber block, int slot, uint64_t value,
                  size_t ballast) {
  BufferGuard guard = ReadLocked(be, block, BufferLockMode::kExclusive);
  CriticalSection crit(be);
  ToySetBody body = {};
  body.value = value;
  body.slot = static_cast<uint32_t>(slot);
  std::memcpy(SlotAt(guard.page(), body.slot), &value, sizeof(value));
  MarkBufferDirty(be, guard.get());
  XLogInsertion record(be);
  std::string extra(ballast, 'b');
  record.RegisterData(extra.data(), extra.size());
  record.RegisterBuffer(0, guard.get(), REGBUF_STANDARD);
  record.RegisterBufData(0, &body, sizeof(body));
  XLogRecPtr end = record.Insert(kToyRmgrId, kToySet);
  PageSetLSN(guard.page(), end);
  return end;
}

uint64_t ToyGet(Backend& be, BlockNumber block, int slot) {
  RelFileNode rel = ToyRelOf(block);
  Result<bool> exists = SmgrExists(be, rel, kMainFork);
  PanicIfError(be, exists.status());
  if (!*exists) return 0;
  Result<BlockNumber> nblocks = SmgrNblocks(be, rel, kMainFork);
  PanicIfError(be, nblocks.status());
  if (block % kToyPagesPerRel >= *nblocks) return 0;
  BufferGuard guard = ReadLocked(be, block, BufferLockMode::kShare);
  if (PageIsNew(guard.page())) return 0;
  uint64_t value = 0;
  std::memcpy(&value, SlotAt(guard.page(), static_cast<uint32_t>(slot)),
              sizeof(value));
  return value;
}

WalTestNode::WalTestNode(const WalTestOptions& options,
                         std::unique_ptr<sim::Disk> disk)
    : options_(options),
      disk_(std::move(disk)),
      choices_(options.seed),
      hooks_(MakeBufferWalHooks()) {
  rmgrs_[kToyRmgrId] = {"Toy", ToyRedo};
  sim::WorldOptions world_options;
  world_options.choices = &choices_;
  world_options.strategy = options.strategy;
  if (options.world != nullptr) world_options = *options.world;
  world_ = std::make_unique<sim::World>(world_options);
  host_ = world_->AddHost(EngineSites(), options.planted);
  world_->Subscribe(this);
  const bool fresh = disk_ == nullptr;
  if (fresh) disk_ = std::make_unique<sim::Disk>(options.disk);
  disk_->Attach(&world_->device_host(host_), options.faults);
  env::Files* files = disk_.get();
  if (options.max_transfer_bytes > 0) {
    short_files_ =
        std::make_unique<ShortFiles>(files, options.max_transfer_bytes);
    files = short_files_.get();
  }
  world_->AttachFiles(host_, files);
  if (fresh) Bootstrap();
}

WalTestNode::~WalTestNode() {
  world_->EndAllTasks();
  world_.reset();
}

std::unique_ptr<sim::Disk> WalTestNode::TakeDisk() {
  world_->EndAllTasks();
  disk_->Attach(nullptr, nullptr);
  return std::move(disk_);
}

void WalTestNode::InitBackend(Backend& be) {
  Status status = ProcInit(be);
  EXPECT_TRUE(status.ok()) << status.ToString();
  SmgrInit(be);
  BufferInit(be);
  XLogInit(be);
}

void WalTestNode::Bootstrap() {
  shared_ = std::make_unique<SharedMemory>(options_.config);
  ProcShmemInit(*shared_);
  XLogShmemInit(*shared_);
  world_->SpawnRoot(host_, "initdb", [this] {
    Backend be(&world_->env(host_), shared_.get(), BackendType::kPostmaster);
    for (const char* dir : {"base", "base/5", "global", "pg_wal"}) {
      EXPECT_TRUE(be.env->files->Mkdir(dir).ok());
    }
    Status status = BootStrapXLOG(be);
    EXPECT_TRUE(status.ok()) << status.ToString();
    for (const char* dir : {"", "base", "base/5"}) {
      EXPECT_TRUE(be.env->files->FsyncDir(dir).ok());
    }
  });
  EXPECT_EQ(world_->Run(), sim::World::StopReason::kIdle);
}

void WalTestNode::Postmaster(
    const std::vector<std::function<void(Backend&)>>& clients,
    bool checkpointer) {
  env::Env* env = &world_->env(host_);
  auto spawn = [&](const std::string& name, BackendType type,
                   std::function<void(Backend&)> body) {
    return env->tasks->Spawn(name, [this, env, type, body = std::move(body)] {
      Backend be(env, shared_.get(), type);
      InitBackend(be);
      body(be);
      ProcExit(be);
    });
  };
  size_t running = 0;
  bool panicked = false;
  auto wait_until = [&](size_t left) {
    while (running > left && !panicked) {
      std::optional<env::ChildExit> child = env->tasks->ReapChild();
      if (!child) {
        env->tasks->Park(SITE_ID(latch_wait));
        continue;
      }
      --running;
      panicked = child->reason == env::ExitReason::kPanicked;
    }
  };
  ++running;
  spawn("startup", BackendType::kStartup,
        [this](Backend& be) { startup_status_ = StartupXLOG(be); });
  wait_until(0);
  if (panicked || !startup_status_.ok()) return;
  if (checkpointer) {
    ++running;
    spawn("checkpointer", BackendType::kCheckpointer, [](Backend& be) {
      Status status = CheckpointerMain(be);
      EXPECT_TRUE(status.ok()) << status.ToString();
    });
  }
  for (size_t i = 0; i < clients.size(); ++i) {
    ++running;
    spawn("client" + std::to_string(i), BackendType::kClient, clients[i]);
  }
  wait_until(checkpointer ? 1 : 0);
  if (!checkpointer || panicked) return;
  Backend be(env, shared_.get(), BackendType::kPostmaster);
  RequestShutdownCheckpoint(be);
  wait_until(0);
}

sim::World::StopReason WalTestNode::Run(
    std::vector<std::function<void(Backend&)>> clients, bool checkpointer) {
  shared_ = std::make_unique<SharedMemory>(options_.config);
  ProcShmemInit(*shared_);
  SmgrShmemInit(*shared_);
  BufferShmemInit(*shared_);
  SetBufferWalHooks(*shared_, hooks_.get());
  XLogShmemInit(*shared_);
  SetRmgrTable(*shared_, &rmgrs_);
  SetCheckpointClient(*shared_, &client_);
  panic_.clear();
  redone_ = 0;
  startup_status_ = Status(env::Code::kInterrupted, "start-up did not end");
  world_->SpawnRoot(host_, "postmaster",
                    [this, clients = std::move(clients), checkpointer] {
                      Postmaster(clients, checkpointer);
                    });
  sim::World::StopReason reason = world_->Run();
  // A PANIC of one process ends the node.
  if (!panic_.empty()) world_->EndAllTasks();
  return reason;
}

void WalTestNode::RunToEnd(std::vector<std::function<void(Backend&)>> clients,
                           bool checkpointer) {
  sim::World::StopReason reason = Run(std::move(clients), checkpointer);
  ASSERT_EQ(reason, sim::World::StopReason::kIdle)
      << sim::StopReasonName(reason) << " "
      << (world_->check_failure() != nullptr
              ? world_->check_failure()->condition
              : world_->DescribeTasks());
  ASSERT_EQ(panic_, "");
  ASSERT_TRUE(startup_status_.ok()) << startup_status_.ToString();
}

std::string WalTestNode::SegmentBytes(XLogSegNo segno) {
  std::string bytes;
  disk_->Freeze();
  std::string path = XLogFilePath(1, segno, options_.config.wal_segment_size);
  EXPECT_TRUE(disk_->PeekFile(path, &bytes)) << path;
  return bytes;
}

void WalTestNode::Corrupt(const std::string& path, int64_t offset,
                          std::string_view bytes) {
  Result<std::unique_ptr<env::File>> file = disk_->Open(path, env::kOpenWrite);
  ASSERT_TRUE(file.ok()) << path;
  Result<int64_t> n =
      (*file)->Pwrite(offset, std::span(bytes.data(), bytes.size()));
  ASSERT_TRUE(n.ok());
  ASSERT_TRUE((*file)->Fsync().ok());
}

void WalTestNode::OnEvent(const env::Event& event) {
  switch (event.kind) {
    case env::EventKind::kWalInsert:
      inserted_.emplace_back(event.a[0], std::string(event.bytes));
      break;
    case env::EventKind::kPanic:
      panic_ = std::string(event.bytes);
      break;
    case env::EventKind::kRecoveryEnd:
      recovery_end_ = event.a[0];
      break;
    case env::EventKind::kCheckpoint:
      phases_.push_back(static_cast<CheckpointPhase>(event.a[0]));
      break;
    case env::EventKind::kWalSegment:
      segment_events_.push_back(event.a[1]);
      break;
    case env::EventKind::kRedo:
      ++redone_;
      break;
    default:
      break;
  }
}

std::vector<uint8_t> WalTestNode::Plant(env::SiteId site) {
  std::vector<uint8_t> planted(EngineSites().size(), 0);
  planted[site] = 1;
  return planted;
}

XLogPageRead PagesOf(std::function<std::string(XLogSegNo)> segment,
                     uint32_t segsize) {
  return [segment = std::move(segment), segsize](
             XLogRecPtr page, std::span<char, XLOG_BLCKSZ> out) -> Status {
    std::string bytes = segment(XLByteToSeg(page, segsize));
    size_t offset = XLogSegmentOffset(page, segsize);
    if (bytes.size() < offset + XLOG_BLCKSZ) {
      return Status(env::Code::kNotFound, "no such page");
    }
    std::memcpy(out.data(), bytes.data() + offset, XLOG_BLCKSZ);
    return {};
  };
}

}  // namespace engine
