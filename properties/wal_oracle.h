// WalOracle: the log on disk is what was inserted, and recovery found its end.
//
// Checks:
// 1. When recovery starts, the oracle walks the log in a copy of the disk with
//    its own reader and finds the true end; recovery must end there (REC).
// 2. After recovery every record on disk, from where recovery started, is the
//    one that was inserted at that place: end, transaction, kind, CRC; none is
//    invented (WAL). Every commit record belongs to the transaction that the
//    model has there, and every commit of the model below the cut is on disk.
// 3. No two records are given the same place (WAL).
// The copy resolves what the power loss left undetermined exactly as the real
// disk will, because draws are keyed and the copy is attached under the scope
// in which the power loss was drawn. Where that cannot be guaranteed (what an
// earlier power loss left open, a failed fsync whose cached pages may vanish,
// media faults in the log) the first check is skipped.
// Does not check: segments that were recycled before the walk, contents of
// records (ContentOracle sees their effects), WAL of other timelines.
#ifndef MUSTH_PROPERTIES_WAL_ORACLE_H_
#define MUSTH_PROPERTIES_WAL_ORACLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "properties/cluster_image.h"
#include "properties/model.h"
#include "properties/oracle.h"
#include "sim/device_host.h"
#include "sim/disk.h"
#include "sim/env/event_sink.h"

namespace properties {

class WalOracle {
 public:
  // Model and sink outlive the oracle. disk and host are those of the node and
  // may be null: then check 1 is left out.
  WalOracle(const Model* model, VerdictSink* sink, const sim::Disk* disk,
            sim::DeviceHost* host)
      : model_(model), sink_(sink), disk_(disk), host_(host) {}

  // A copy for a copy of the disk that has just crashed, and its host. Not
  // followed by OnCrash.
  WalOracle(const WalOracle& other, const Model* model, VerdictSink* sink,
            const sim::Disk* disk, sim::DeviceHost* host);

  void OnEvent(const env::Event& event);
  // Before the disk forgets.
  void OnCrash(sim::CrashKind kind);
  // Check 2. Requires: the model's cut is applied.
  void OnRecovered(const ClusterImage& image, uint64_t seq);

 private:
  struct Inserted {
    uint64_t end = 0;
    uint64_t prev = 0;
    uint32_t kind = 0;  // rmid << 8 | info
    uint32_t xid = 0;
    uint32_t crc = 0;
  };
  void OnInsert(const env::Event& event);
  void CheckImages(const env::Event& event);
  void FindTrueEnd();
  // The medium damaged the log: what the copy shows is not what recovery read.
  bool MediaStruckLog() const;
  void CheckEnd(uint64_t engine_end, uint64_t seq);
  void CheckRecord(const WalRecord& record, std::set<TxnKey>* commits);
  void Report(const char* promise, std::string subject, std::string message);

  const Model* model_;
  VerdictSink* sink_;
  const sim::Disk* disk_;
  sim::DeviceHost* host_;
  uint64_t seq_ = 0;

  std::map<uint64_t, Inserted> inserted_;  // by start
  uint64_t first_inserted_ = UINT64_MAX;   // older records are the template's
  uint64_t recovery_redo_ = 0;
  uint64_t recovery_end_ = 0;

  // What makes check 1 sound for the coming recovery.
  bool copy_is_exact_ = true;
  // An fsync had failed on the disk that this one is a copy of.
  bool sync_failed_before_ = false;
  uint64_t power_losses_ = 0;
  std::string power_loss_scope_;
  struct TrueEnd {
    uint64_t end = 0;
    uint64_t missing_continuation = 0;
    std::string reason;
  };
  std::optional<TrueEnd> true_end_;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_WAL_ORACLE_H_
