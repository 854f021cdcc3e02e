#include "properties/structure_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "properties/decoders/bytes.h"

namespace properties {
namespace {

constexpr uint32_t kFirstNormalXid = 3;
constexpr uint32_t kXidsPerClogPage = 32768;
constexpr uint8_t kInfoShutdownCheckpoint = 0x00;
constexpr uint8_t kInfoOnlineCheckpoint = 0x10;

bool IsCheckpoint(const WalRecord& record) {
  uint8_t op = record.info & 0xF0;
  return record.rmid == kRmXlog &&
         (op == kInfoShutdownCheckpoint || op == kInfoOnlineCheckpoint);
}

// True if xid may stand in a tuple header, given the next one to be assigned.
bool XidIsPlausible(uint32_t xid, uint32_t next_xid) {
  return xid < kFirstNormalXid || static_cast<int32_t>(xid - next_xid) < 0;
}

}  // namespace

void StructureOracle::Report(const char* promise, std::string subject,
                             std::string message) {
  Verdict v;
  v.promise = promise;
  v.oracle = "structure";
  v.subject = std::move(subject);
  v.message = std::move(message);
  v.event_seq = seq_;
  sink_->Report(std::move(v));
}

void StructureOracle::Check(const ClusterImage& image, const Catalog& catalog,
                            bool shut_down, uint64_t seq) {
  seq_ = seq;
  newest_lsn_ = 0;
  newest_page_.clear();
  if (!image.control().ok()) {
    Report("REC", "global/pg_control",
           std::string(image.control().status().message()));
    return;
  }
  auto next_xid =
      static_cast<uint32_t>(image.control()->checkpoint_copy.next_xid);
  for (const auto& [filenode, relation] : catalog) {
    if (relation.kind == 'r') CheckHeap(image, relation, next_xid);
  }
  CheckClog(image, next_xid);
  CheckControl(image, shut_down);
  CheckLog(image, shut_down);
}

void StructureOracle::CheckControl(const ClusterImage& image, bool shut_down) {
  const ControlFile& control = *image.control();
  ClusterState wanted =
      shut_down ? ClusterState::kShutDown : ClusterState::kInProduction;
  if (control.state != wanted) {
    Report(
        "REC", "global/pg_control",
        fmt::format("says that the cluster is {}, expected {}",
                    ClusterStateName(control.state), ClusterStateName(wanted)));
  }
  if (shut_down && control.checkpoint_copy.redo != control.checkpoint) {
    Report("CKPT", "global/pg_control",
           fmt::format("redo of the shutdown checkpoint at {} is {}",
                       LsnToText(control.checkpoint),
                       LsnToText(control.checkpoint_copy.redo)));
  }
}

void StructureOracle::CheckLog(const ClusterImage& image, bool shut_down) {
  const ControlFile& control = *image.control();
  WalDecoder wal(&image.files(), image.wal_layout());
  wal.BeginRead(control.checkpoint_copy.redo);
  bool found = false;
  uint64_t last = 0;
  while (wal.Next()) {
    last = wal.record().start;
    if (last != control.checkpoint) continue;
    found = IsCheckpoint(wal.record()) &&
            wal.record().main_data == control.checkpoint_bytes;
  }
  if (!found) {
    Report("CKPT", "global/pg_control",
           fmt::format("names a checkpoint at {}; the log from {} to {} has no "
                       "such record ({})",
                       LsnToText(control.checkpoint),
                       LsnToText(control.checkpoint_copy.redo),
                       LsnToText(wal.end()), wal.reason()));
  }
  if (newest_lsn_ > wal.end()) {
    Report("WAL", newest_page_,
           fmt::format("has LSN {}, the log on disk ends at {} ({})",
                       LsnToText(newest_lsn_), LsnToText(wal.end()),
                       wal.reason()));
  }
  if (shut_down && last != control.checkpoint) {
    Report("CKPT", "log after shutdown",
           fmt::format("a record at {} follows the shutdown checkpoint at {}",
                       LsnToText(last), LsnToText(control.checkpoint)));
  }
}

void StructureOracle::CheckHeap(const ClusterImage& image,
                                const DecodedRelation& relation,
                                uint32_t next_xid) {
  const HeapFile& heap = image.Heap(relation.filenode);
  for (const Finding& finding : heap.findings) {
    Report("REC", finding.subject, finding.message);
  }
  if (heap.newest_lsn > newest_lsn_) {
    newest_lsn_ = heap.newest_lsn;
    newest_page_ = heap.newest_page;
  }
  for (const HeapTupleRef& tuple : heap.tuples) {
    CheckTuple(image, relation, tuple, next_xid);
  }
}

void StructureOracle::CheckTuple(const ClusterImage& image,
                                 const DecodedRelation& relation,
                                 const HeapTupleRef& tuple, uint32_t next_xid) {
  const TupleHeader& h = tuple.header;
  auto subject = [&] { return DescribeTid(relation.filenode, tuple.tid); };
  if (h.xmin == 0 || !XidIsPlausible(h.xmin, next_xid) ||
      !XidIsPlausible(h.xmax, next_xid)) {
    Report("REC", subject(),
           fmt::format("xmin {} and xmax {} with next xid {}", h.xmin, h.xmax,
                       next_xid));
  }
  if ((h.ctid >> 16) >= image.Heap(relation.filenode).blocks ||
      (h.ctid & 0xFFFF) == 0) {
    Report("REC", subject(),
           fmt::format("t_ctid ({},{}) is outside the relation", h.ctid >> 16,
                       h.ctid & 0xFFFF));
  }
  uint16_t xmin_hint = h.infomask & kHeapXminFrozen;
  bool xmin_committed = image.clog().IsCommitted(h.xmin);
  if ((xmin_hint == kHeapXminCommitted && !xmin_committed) ||
      (xmin_hint == kHeapXminInvalid && xmin_committed)) {
    Report("VIS", subject(),
           fmt::format("a hint says that xmin {} {}, the commit log says the "
                       "opposite",
                       h.xmin, xmin_committed ? "aborted" : "committed"));
  }
  bool xmax_counts = h.xmax != 0 && (h.infomask & kHeapXmaxIsMulti) == 0 &&
                     (h.infomask & kHeapXmaxInvalid) == 0;
  if (xmax_counts && (h.infomask & kHeapXmaxCommitted) != 0 &&
      !image.clog().IsCommitted(h.xmax)) {
    Report("VIS", subject(),
           fmt::format("a hint says that xmax {} committed, the commit log "
                       "says no",
                       h.xmax));
  }
  env::Result<Row> row = DecodeTupleBody(relation.shape, tuple.body);
  if (!row.ok()) {
    Report("REC", subject(),
           fmt::format("relation \"{}\": {}", relation.name,
                       row.status().message()));
  }
}

void StructureOracle::CheckClog(const ClusterImage& image, uint32_t next_xid) {
  if (next_xid > kFirstNormalXid &&
      !image.clog().StatusOf(next_xid - 1).has_value()) {
    Report("REC", ClogPath(next_xid - 1),
           fmt::format("has no place for transaction {}", next_xid - 1));
  }
  // Behind the next xid the page is zero: such an xid has never run.
  uint32_t page_end = (next_xid / kXidsPerClogPage + 1) * kXidsPerClogPage;
  const std::string* file = image.files().Read(ClogPath(next_xid));
  size_t byte = next_xid % (kXidsPerClogPage * 32) / 4;
  if (file == nullptr || byte + 1 >= file->size()) return;
  std::string_view rest =
      std::string_view(*file).substr(byte + 1, (page_end - next_xid) / 4);
  if (!AllZero(rest)) {
    Report("REC", ClogPath(next_xid),
           fmt::format("knows how transactions behind the next xid {} ended",
                       next_xid));
  }
}

void StructureOracle::CheckNothingPending(const sim::Disk& disk, uint64_t seq) {
  seq_ = seq;
  uint64_t pending = disk.DirtySectors();
  if (pending == 0) return;
  Report("CKPT", "disk after shutdown",
         fmt::format("{} sectors were written and never synced", pending));
}

}  // namespace properties
