// HeapTestNode: a node that ends at the heap, on a simulated disk, with one
// relation and no catalog.
//
//   HeapTestNode node(options);            a fresh cluster
//   node.RunToEnd({client, client});       recovery, then the clients
//   node.PowerLoss();                      what the disk makes of it
//   node.RunToEnd({check});                recovery again
#ifndef MUSTH_ENGINE_HEAP_TEST_NODE_H_
#define MUSTH_ENGINE_HEAP_TEST_NODE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/buffer/bufmgr.h"
#include "engine/common/backend.h"
#include "engine/heap/heapam.h"
#include "engine/txn/xact.h"
#include "engine/wal/checkpoint.h"
#include "engine/wal/rmgr.h"
#include "sim/choices.h"
#include "sim/disk.h"
#include "sim/world.h"

namespace engine {

struct HeapTestOptions {
  HeapTestOptions();
  Config config;  // small: 16 buffers, 64 KiB segments
  uint64_t seed = 1;
  std::vector<uint8_t> planted;  // see HeapTestNode::Plant()
  sim::StrategyOptions strategy;
  sim::DiskOptions disk;
  // Tells every event after the cluster was made.
  std::function<void(const env::Event&)> on_event;
};

class HeapTestNode : public sim::EventSubscriber, public sim::CrashHooks {
 public:
  using Body = std::function<void(Backend&)>;

  explicit HeapTestNode(HeapTestOptions options);
  ~HeapTestNode() override;

  // Starts the node on what the disk holds and runs the clients to their end,
  // a crash or a standstill. The node then just ends, as in a process crash,
  // unless shutdown asks for a shutdown checkpoint. Clients are connected in
  // their order.
  sim::World::StopReason Run(std::vector<Body> clients, bool shutdown = false);
  // Run, and fails the test unless it came to its end.
  void RunToEnd(std::vector<Body> clients, bool shutdown = false);
  void PowerLoss() { disk_.PowerLoss(); }
  // The next Run loses power after so many steps of its world: it returns
  // kCrashed, and PowerLoss() is up to the caller.
  void CrashAfter(uint64_t steps);
  void NeverCrash() { world_->set_crash_hooks(nullptr); }

  // The relation: (id int4, value int8, note text).
  static RelationData MakeRelation();
  static HeapTuple MakeRow(int32_t id, int64_t value, std::string_view note);
  struct RowValues {
    int32_t id = 0;
    int64_t value = 0;
    std::string note;
    bool operator==(const RowValues&) const = default;
  };
  static RowValues ReadRow(std::string_view tuple);
  // All rows that a new snapshot of the running transaction sees, with their
  // addresses, in physical order.
  struct FoundRow {
    ItemPointerData tid;
    RowValues row;
  };
  static std::vector<FoundRow> Select(Backend& be, const RelationData& rel);

  // The relation's pages as they are now, in the buffer pool.
  static std::vector<std::string> ReadPages(Backend& be,
                                            const RelationData& rel);
  // Blanks what redo does not reproduce: hints, checksums, command ids.
  static std::string MaskPage(std::string page);

  const Status& startup_status() const { return startup_status_; }
  const std::string& panic() const { return panic_; }
  sim::World& world() { return *world_; }
  sim::Disk& disk() { return disk_; }
  // The main data and blocks of every record so far, as inserted.
  const std::vector<std::string>& records() const { return records_; }

  void OnEvent(const env::Event& event) override;
  sim::CrashKind OnPoint(const sim::CrashPoint& point) override;

  static std::vector<uint8_t> Plant(env::SiteId site);

 private:
  void Bootstrap();
  void CreateSharedMemory();
  void Spawn(std::string_view name, BackendType type, Body body);
  void WaitForChildren();
  void Postmaster(const std::vector<Body>& clients, bool shutdown);
  std::string Describe(sim::World::StopReason reason);

  const HeapTestOptions options_;
  sim::Disk disk_;
  sim::Choices choices_;
  std::unique_ptr<sim::World> world_;
  env::HostId host_ = 0;
  RmgrTable rmgrs_ = {};
  std::unique_ptr<BufferWalHooks> hooks_;
  std::unique_ptr<CheckpointClient> client_;
  std::unique_ptr<SharedMemory> shared_;
  int children_ = 0;
  bool made_ = false;
  uint64_t crash_at_step_ = 0;
  Status startup_status_;
  std::string panic_;
  std::vector<std::string> records_;
};

// A strategy that switches often.
sim::StrategyOptions RestlessStrategy();

}  // namespace engine

#endif  // MUSTH_ENGINE_HEAP_TEST_NODE_H_
