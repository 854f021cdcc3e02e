#include "engine/heap/test_node.h"

#include <gtest/gtest.h>

#include <utility>

#include "engine/common/sites.h"
#include "engine/ipc/proc.h"
#include "engine/lock/lmgr.h"
#include "engine/smgr/smgr.h"
#include "engine/txn/clog.h"
#include "engine/wal/xlog.h"
#include "engine/wal/xlog_redo.h"

namespace engine {
namespace {

constexpr RelFileNode kTestRel = {kDefaultTableSpaceOid, kDatabaseOid, 16384};
constexpr const char* kDirectories[] = {"base",   "base/5",  "global",
                                        "pg_wal", "pg_xact", "pg_stat"};

void InitBackend(Backend& be) {
  SmgrInit(be);
  BufferInit(be);
  XLogInit(be);
  TxnInit(be);
  HeapInit(be);
}

Status MakeCluster(Backend& be) {
  for (const char* directory : kDirectories) {
    RETURN_IF_ERROR(be.env->files->Mkdir(directory));
  }
  RETURN_IF_ERROR(BootStrapXLOG(be));
  RETURN_IF_ERROR(BootStrapCLOG(be));
  RETURN_IF_ERROR(StartupXLOG(be));
  RETURN_IF_ERROR(SmgrCreate(be, kTestRel, kMainFork, false));
  RETURN_IF_ERROR(SmgrImmedSync(be, kTestRel, kMainFork));
  RETURN_IF_ERROR(
      CreateCheckPoint(be, CHECKPOINT_IS_SHUTDOWN | CHECKPOINT_IMMEDIATE));
  for (const char* directory : kDirectories) {
    RETURN_IF_ERROR(be.env->files->FsyncDir(directory));
  }
  return be.env->files->FsyncDir("");
}

}  // namespace

HeapTestOptions::HeapTestOptions() {
  config.shared_buffers = 16;
  config.wal_buffers = 8;
  config.wal_segment_size = 64 * 1024;
  config.max_wal_size_bytes = 512 * 1024;
  config.min_wal_size_bytes = 128 * 1024;
}

sim::StrategyOptions RestlessStrategy() {
  sim::StrategyOptions strategy;
  strategy.switch_numerator = 1;
  strategy.switch_denominator = 2;
  strategy.timer_denominator = 32;
  return strategy;
}

HeapTestNode::HeapTestNode(HeapTestOptions options)
    : options_(std::move(options)),
      disk_(options_.disk),
      choices_(options_.seed),
      hooks_(MakeBufferWalHooks()),
      client_(MakeTxnCheckpointClient()) {
  rmgrs_[RM_XLOG_ID] = {"XLOG", XlogRedo};
  rmgrs_[RM_XACT_ID] = {"Transaction", XactRedo};
  rmgrs_[RM_CLOG_ID] = {"CLOG", ClogRedo};
  rmgrs_[RM_HEAP2_ID] = {"Heap2", Heap2Redo};
  rmgrs_[RM_HEAP_ID] = {"Heap", HeapRedo};
  sim::WorldOptions world_options;
  world_options.choices = &choices_;
  world_options.strategy = options_.strategy;
  world_options.max_steps = 20'000'000;
  world_ = std::make_unique<sim::World>(world_options);
  host_ = world_->AddHost(EngineSites(), options_.planted);
  disk_.Attach(&world_->device_host(host_), nullptr);
  world_->AttachFiles(host_, &disk_);
  world_->Subscribe(this);
  Bootstrap();
  made_ = true;
}

HeapTestNode::~HeapTestNode() {
  world_->EndAllTasks();
  world_.reset();
}

void HeapTestNode::CreateSharedMemory() {
  shared_ = std::make_unique<SharedMemory>(options_.config);
  ProcShmemInit(*shared_);
  SmgrShmemInit(*shared_);
  BufferShmemInit(*shared_);
  XLogShmemInit(*shared_);
  TxnShmemInit(*shared_);
  LockShmemInit(*shared_);
  SetBufferWalHooks(*shared_, hooks_.get());
  SetRmgrTable(*shared_, &rmgrs_);
  SetCheckpointClient(*shared_, client_.get());
}

void HeapTestNode::Spawn(std::string_view name, BackendType type, Body body) {
  ++children_;
  world_->env(host_).tasks->Spawn(name, [this, type, body = std::move(body)] {
    Backend be(&world_->env(host_), shared_.get(), type);
    Status status = ProcInit(be);
    if (!status.ok()) Panic(be, status.ToString());
    InitBackend(be);
    body(be);
    EXPECT_EQ(LWLocksHeld(be), 0);
    EXPECT_EQ(BuffersPinned(be), 0);
    ProcExit(be);
  });
}

void HeapTestNode::WaitForChildren() {
  env::Tasks* tasks = world_->env(host_).tasks;
  while (children_ > 0) {
    if (tasks->ReapChild().has_value()) {
      --children_;
    } else {
      tasks->Park(SITE_ID(postmaster_wait));
    }
  }
}

void HeapTestNode::Bootstrap() {
  CreateSharedMemory();
  children_ = 0;
  world_->SpawnRoot(host_, "initdb", [this] {
    Spawn("bootstrap", BackendType::kStartup,
          [this](Backend& be) { startup_status_ = MakeCluster(be); });
    WaitForChildren();
  });
  sim::World::StopReason reason = world_->Run();
  EXPECT_EQ(reason, sim::World::StopReason::kIdle) << Describe(reason);
  EXPECT_TRUE(startup_status_.ok()) << startup_status_.ToString();
}

void HeapTestNode::Postmaster(const std::vector<Body>& clients, bool shutdown) {
  Spawn("startup", BackendType::kStartup,
        [this](Backend& be) { startup_status_ = StartupXLOG(be); });
  WaitForChildren();
  if (!startup_status_.ok()) return;
  for (const Body& body : clients) Spawn("client", BackendType::kClient, body);
  WaitForChildren();
  if (!shutdown || !panic_.empty()) return;
  Spawn("checkpointer", BackendType::kCheckpointer, [](Backend& be) {
    PanicIfError(be, CreateCheckPoint(
                         be, CHECKPOINT_IS_SHUTDOWN | CHECKPOINT_IMMEDIATE));
  });
  WaitForChildren();
}

sim::World::StopReason HeapTestNode::Run(std::vector<Body> clients,
                                         bool shutdown) {
  CreateSharedMemory();
  children_ = 0;
  panic_.clear();
  startup_status_ = Status(env::Code::kInterrupted, "start-up did not finish");
  world_->SpawnRoot(host_, "postmaster", [this, clients, shutdown] {
    Postmaster(clients, shutdown);
  });
  sim::World::StopReason reason = world_->Run();
  if (reason == sim::World::StopReason::kIdle) disk_.ProcessCrash();
  return reason;
}

std::string HeapTestNode::Describe(sim::World::StopReason reason) {
  std::string text = sim::StopReasonName(reason);
  text += "\n" + world_->DescribeTasks();
  if (const sim::CheckFailure* failure = world_->check_failure()) {
    text += failure->condition + " " + failure->file + ":" +
            std::to_string(failure->line);
  }
  return text;
}

void HeapTestNode::RunToEnd(std::vector<Body> clients, bool shutdown) {
  sim::World::StopReason reason = Run(std::move(clients), shutdown);
  ASSERT_EQ(reason, sim::World::StopReason::kIdle) << Describe(reason);
  ASSERT_EQ(panic_, "");
  ASSERT_TRUE(startup_status_.ok()) << startup_status_.ToString();
}

RelationData HeapTestNode::MakeRelation() {
  RelationData rel;
  rel.rd_id = 16384;
  rel.relname = "t";
  rel.rd_node = kTestRel;
  Attribute id;
  id.attname = "id";
  id.atttypid = INT4OID;
  id.attlen = 4;
  Attribute value;
  value.attname = "value";
  value.atttypid = INT8OID;
  value.attlen = 8;
  value.attalign = 'd';
  Attribute note;
  note.attname = "note";
  note.atttypid = TEXTOID;
  note.attlen = -1;
  note.attstorage = 'x';
  note.attbyval = false;
  rel.rd_att = {id, value, note};
  return rel;
}

HeapTuple HeapTestNode::MakeRow(int32_t id, int64_t value,
                                std::string_view note) {
  Datum values[] = {Datum::Int(id), Datum::Int(value), Datum::Bytes(note)};
  auto tuple = HeapFormTuple(MakeRelation().rd_att, values);
  EXPECT_TRUE(tuple.ok()) << tuple.status().ToString();
  return std::move(tuple).value();
}

HeapTestNode::RowValues HeapTestNode::ReadRow(std::string_view tuple) {
  Datum values[3];
  Status status = HeapDeformTuple(MakeRelation().rd_att, tuple, values);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return {static_cast<int32_t>(values[0].num), values[1].num,
          std::string(values[2].bytes)};
}

std::vector<HeapTestNode::FoundRow> HeapTestNode::Select(
    Backend& be, const RelationData& rel) {
  std::vector<FoundRow> rows;
  SnapshotData snapshot = GetTransactionSnapshot(be);
  {
    HeapScan scan(be, rel, snapshot);
    for (;;) {
      auto row = scan.Next();
      EXPECT_TRUE(row.ok()) << row.status().ToString();
      if (!row.ok() || *row == nullptr) break;
      rows.push_back({(*row)->tid, ReadRow((*row)->tuple)});
    }
  }
  ReleaseStatementSnapshot(be);
  return rows;
}

std::vector<std::string> HeapTestNode::ReadPages(Backend& be,
                                                 const RelationData& rel) {
  std::vector<std::string> pages;
  auto nblocks = SmgrNblocks(be, rel.rd_node, kMainFork);
  EXPECT_TRUE(nblocks.ok());
  for (BlockNumber block = 0; nblocks.ok() && block < *nblocks; ++block) {
    auto buffer = ReadBuffer(be, rel.rd_node, block);
    EXPECT_TRUE(buffer.ok()) << buffer.status().ToString();
    if (!buffer.ok()) break;
    pages.emplace_back(BufferGetPage(be, *buffer), size_t{BLCKSZ});
    ReleaseBuffer(be, *buffer);
  }
  return pages;
}

std::string HeapTestNode::MaskPage(std::string page) {
  if (PageIsNew(page.data())) return page;
  PageHeader(page.data())->pd_checksum = 0;
  PageClearFull(page.data());
  PageClearPrunable(page.data());
  OffsetNumber last = PageGetMaxOffsetNumber(page.data());
  for (OffsetNumber offset = 1; offset <= last; ++offset) {
    const ItemIdData& lp = *PageGetItemId(page.data(), offset);
    if (!ItemIdIsNormal(lp)) continue;
    auto* tuple =
        reinterpret_cast<HeapTupleHeaderData*>(PageGetItem(page.data(), lp));
    tuple->t_infomask &= static_cast<uint16_t>(
        ~(HEAP_XMIN_FROZEN | HEAP_XMAX_COMMITTED | HEAP_XMAX_INVALID));
    HeapTupleHeaderSetCid(tuple, 0, false);
  }
  return page;
}

void HeapTestNode::OnEvent(const env::Event& event) {
  if (event.kind == env::EventKind::kPanic) panic_ = event.bytes;
  if (!made_) return;
  if (event.kind == env::EventKind::kWalInsert) {
    records_.emplace_back(event.bytes);
  }
  if (options_.on_event) options_.on_event(event);
}

void HeapTestNode::CrashAfter(uint64_t steps) {
  crash_at_step_ = world_->steps() + steps;
  world_->set_crash_hooks(this);
}

sim::CrashKind HeapTestNode::OnPoint(const sim::CrashPoint& point) {
  return point.step >= crash_at_step_ ? sim::CrashKind::kPowerLoss
                                      : sim::CrashKind::kNone;
}

std::vector<uint8_t> HeapTestNode::Plant(env::SiteId site) {
  std::vector<uint8_t> planted(EngineSites().size(), 0);
  planted[site] = 1;
  return planted;
}

}  // namespace engine
