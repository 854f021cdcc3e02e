// ShadowOracle: redo of every record, by the judges' own code, beside the node.
//
//   template disk ─► ShadowPage per block ◄─ kWalInsert (record bytes)
//                        │ state at a page's LSN
//         compare masked ├── image in the record (the page as do left it)
//                        ├── bytes of every page write (kPageWrite, kFileWrite)
//                        └── pages on the frozen disk after a recovery, and
//                            after a shutdown
//
// Checks (REDO unless noted):
// 1. Redo of each record, without its image, makes the page that the running
//    node made: against the record's own image and at the next page write.
// 2. What recovery made of a page is the same, at the same LSN.
// 3. A page's LSN is the end of the last record that touched it: a page that
//    is written, read back or found at rest with an older one has lost a
//    change (CKPT), with an unknown one was changed without a record.
// 4. A hint that a transaction committed is written only when its commit
//    record is flushed, a hint that it did not only when it has none (WAL).
// After a crash pages and commits rewind to the cut.
// Page images are never taken for redo, except where they are the record.
// A page without a surviving record that injected damage excuses is skipped.
// Does not check: parts in MaskTable(); pages that no record of the run
// touched; free space and visibility maps, the commit log (ContentOracle),
// relations that were rolled back or dropped; pages read while an fsync has
// failed and the node does not know yet, or from media that may be damaged.
#ifndef MUSTH_PROPERTIES_SHADOW_ORACLE_H_
#define MUSTH_PROPERTIES_SHADOW_ORACLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "properties/cluster_image.h"
#include "properties/data_files.h"
#include "properties/oracle.h"
#include "properties/shadow_page.h"
#include "sim/disk.h"
#include "sim/env/event_sink.h"

namespace properties {

class ShadowOracle {
 public:
  // Both outlive the oracle. The disk is the node's; null switches the oracle
  // off. check_reads: the disk returns what was written.
  ShadowOracle(VerdictSink* sink, const sim::Disk* disk,
               bool check_reads = true)
      : sink_(sink), disk_(disk), check_reads_(check_reads) {}

  // A copy for a copy of the disk.
  ShadowOracle(const ShadowOracle& other, VerdictSink* sink,
               const sim::Disk* disk)
      : ShadowOracle(other) {
    sink_ = sink;
    disk_ = disk;
  }

  // The cluster before the first event, with nothing undetermined.
  void LoadTemplate(const sim::Disk& disk);

  void OnEvent(const env::Event& event);
  // Every page that a record touched, on the frozen disk. Requires: no session
  // runs.
  void OnRecovered(const ClusterImage& image, uint64_t seq);
  void OnShutdown(const ClusterImage& image, uint64_t seq);

  // Pages compared with redo so far; images compared; for tests.
  uint64_t pages_compared() const { return pages_compared_; }
  uint64_t images_compared() const { return images_compared_; }

 private:
  struct Relation {
    uint64_t dropped_at = 0;   // end of the commit record that drops it; or 0
    bool rolled_back = false;  // its file goes without a trace in the log
  };
  struct WriteUnderWay {
    uint64_t page = 0;
    uint64_t lsn = 0;
  };

  void OnInsert(const env::Event& event);
  void OnXactEnd(const WalRecord& record);
  void OnCreate(const WalRecord& record);
  void OnBlock(TouchedBlock touched);
  void CheckImage(const TouchedBlock& touched, ShadowPage* page,
                  const std::string& subject);
  void OnFileWrite(const env::Event& event);
  void OnPageRead(const env::Event& event);
  void OnRecoveryEnd(uint64_t cut);
  void FoldAll(uint64_t redo);

  // The page's shadow, from the template if no record has touched it.
  ShadowPage& Page(uint64_t page);
  // Null if no record touched the page or its relation is gone.
  ShadowPage* Known(uint64_t page);
  bool IsGone(uint32_t rel) const;
  // Compares a page as written or at rest; it must be in state `least` or a
  // later one.
  void CheckPage(uint64_t page, ShadowPage* shadow, std::string_view bytes,
                 size_t least, const char* where);
  void CheckHints(uint64_t page, std::string_view bytes);
  void CheckHint(uint64_t page, size_t line, const char* whose, uint32_t xid,
                 bool committed);
  void CheckAtRest(const ClusterImage& image, bool shut_down);
  void Report(const char* promise, std::string subject, std::string message);

  VerdictSink* sink_;
  const sim::Disk* disk_;
  const bool check_reads_;
  std::shared_ptr<const sim::Disk> template_;
  uint64_t seq_ = 0;

  DataFiles files_;
  std::map<uint64_t, ShadowPage> pages_;  // relation << 32 | block
  std::map<uint32_t, Relation> relations_;
  std::map<uint32_t, uint64_t> commits_;  // xid -> end of its commit record
  std::map<env::TaskId, WriteUnderWay> writes_;
  uint32_t first_xid_ = 0;  // earlier ones are the template's
  uint64_t flushed_ = 0;
  uint64_t cut_ = 0;  // end of the last recovery
  bool recovering_ = false;
  uint64_t replaying_ = 0;  // start of the record under redo
  bool sync_failed_ = false;
  uint64_t pages_compared_ = 0;
  uint64_t images_compared_ = 0;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_SHADOW_ORACLE_H_
