// WalTestNode: a node that ends at the log, on a simulated disk, with a toy
// table to write to.
//
// The toy table is a row of relations of two standard pages each, a page being
// an array of 64-bit slots. Its resource manager (id 128) logs "slot := value"
// and page initialisation, as any access method would.
#ifndef MUSTH_ENGINE_WAL_WAL_TEST_NODE_H_
#define MUSTH_ENGINE_WAL_WAL_TEST_NODE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/buffer/bufmgr.h"
#include "engine/common/backend.h"
#include "engine/wal/checkpoint.h"
#include "engine/wal/rmgr.h"
#include "engine/wal/xlogreader.h"
#include "sim/choices.h"
#include "sim/disk.h"
#include "sim/world.h"

namespace engine {

inline constexpr RmgrId kToyRmgrId = 128;
inline constexpr RelFileNode kToyRel = {kDefaultTableSpaceOid, kDatabaseOid,
                                        16384};
inline constexpr BlockNumber kToyPagesPerRel = 2;
inline constexpr int kToySlotsPerPage = 64;

// The relation of the table's n-th page.
RelFileNode ToyRelOf(BlockNumber block);

// The counters that a transaction manager would keep.
class ToyCheckpointClient : public CheckpointClient {
 public:
  void FillCheckPoint(Backend& be, CheckPoint* checkpoint) override;
  Status CheckPointGuts(Backend&) override { return guts_status; }
  Status ApplyCheckPoint(Backend& be, const CheckPoint& checkpoint) override;
  void AdvanceNextXid(Backend& be, TransactionId xid) override;
  void SetNextOid(Backend&, Oid next_oid) override { next_oid_ = next_oid; }
  Status FinishRecovery(Backend&) override { return {}; }

  TransactionId next_xid() const { return next_xid_; }
  Oid next_oid() const { return next_oid_; }
  Status guts_status;

 private:
  TransactionId next_xid_ = kFirstNormalTransactionId;
  Oid next_oid_ = kFirstNormalObjectId;
};

// Appends initialised pages until the table has nblocks. One client only.
void ToyExtend(Backend& be, BlockNumber nblocks);
// Sets the slot of an existing page. Returns the record's end; does not flush.
// ballast bytes make the record longer.
XLogRecPtr ToySet(Backend& be, BlockNumber block, int slot, uint64_t value,
                  size_t ballast = 0);
// The slot's value, 0 if the page does not exist.
uint64_t ToyGet(Backend& be, BlockNumber block, int slot);

struct WalTestOptions {
  Config config;
  uint64_t seed = 1;
  std::vector<uint8_t> planted;  // see Plant()
  sim::StrategyOptions strategy;
  // Not null: as an exhaustive search wants its worlds; seed and strategy are
  // of no account then.
  const sim::WorldOptions* world = nullptr;
  sim::DiskOptions disk;
  sim::DiskFaultHooks* faults = nullptr;
  // Most bytes that one read or write transfers (SFM-20); 0: all.
  size_t max_transfer_bytes = 0;
};

class WalTestNode : public sim::EventSubscriber {
 public:
  // With a disk: the node that lives on it; without: a fresh cluster.
  explicit WalTestNode(const WalTestOptions& options,
                       std::unique_ptr<sim::Disk> disk = nullptr);
  ~WalTestNode() override;

  // Starts the node on what the disk holds, runs the clients to their end (or
  // to a crash) and stops it. With a checkpointer, the stop is a shutdown
  // checkpoint; without, the node just ends, as in a process crash.
  sim::World::StopReason Run(std::vector<std::function<void(Backend&)>> clients,
                             bool checkpointer = false);
  // Run, and fails the test unless it came to its end.
  void RunToEnd(std::vector<std::function<void(Backend&)>> clients,
                bool checkpointer = false);
  // Applies the disk's part of a crash.
  void ProcessCrash() { disk_->ProcessCrash(); }
  void PowerLoss() { disk_->PowerLoss(); }

  // What StartupXLOG of the last Run returned.
  const Status& startup_status() const { return startup_status_; }
  // Message of the last PANIC, "" if there was none.
  const std::string& panic() const { return panic_; }
  // a[0] of the last kRecoveryEnd event.
  XLogRecPtr recovery_end() const { return recovery_end_; }
  // Bytes of every record inserted so far, with its start.
  const std::vector<std::pair<XLogRecPtr, std::string>>& inserted() const {
    return inserted_;
  }
  uint64_t redone() const { return redone_; }
  // Phases of all checkpoints, and what happened to segments: a[1] of
  // kWalSegment, in order.
  const std::vector<CheckpointPhase>& phases() const { return phases_; }
  const std::vector<uint64_t>& segment_events() const {
    return segment_events_;
  }

  sim::World& world() { return *world_; }
  sim::Disk& disk() { return *disk_; }
  std::unique_ptr<sim::Disk> TakeDisk();
  const Config& config() const { return options_.config; }
  ToyCheckpointClient& client() { return client_; }

  // Content of a segment file; fails the test if there is none.
  std::string SegmentBytes(XLogSegNo segno);
  // Overwrites bytes of a file, behind the node's back.
  void Corrupt(const std::string& path, int64_t offset, std::string_view bytes);

  void OnEvent(const env::Event& event) override;

  static std::vector<uint8_t> Plant(env::SiteId site);

 private:
  void Bootstrap();
  void InitBackend(Backend& be);
  void Postmaster(const std::vector<std::function<void(Backend&)>>& clients,
                  bool checkpointer);

  const WalTestOptions options_;
  std::unique_ptr<sim::Disk> disk_;
  std::unique_ptr<env::Files> short_files_;
  sim::Choices choices_;
  std::unique_ptr<sim::World> world_;
  env::HostId host_ = 0;
  std::unique_ptr<SharedMemory> shared_;
  std::unique_ptr<BufferWalHooks> hooks_;
  RmgrTable rmgrs_ = {};
  ToyCheckpointClient client_;
  Status startup_status_;
  std::string panic_;
  XLogRecPtr recovery_end_ = 0;
  uint64_t redone_ = 0;
  std::vector<CheckpointPhase> phases_;
  std::vector<uint64_t> segment_events_;
  std::vector<std::pair<XLogRecPtr, std::string>> inserted_;
};

// Reads WAL pages out of segment files that sit in memory.
XLogPageRead PagesOf(std::function<std::string(XLogSegNo)> segment,
                     uint32_t segsize);

}  // namespace engine

#endif  // MUSTH_ENGINE_WAL_WAL_TEST_NODE_H_
