#include "properties/wal_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "properties/copy_host.h"
#include "properties/decoders/bytes.h"
#include "properties/decoders/wal_image.h"
#include "sim/fault_log.h"

namespace properties {
namespace {

using env::EventKind;

}  // namespace

WalOracle::WalOracle(const WalOracle& other, const Model* model,
                     VerdictSink* sink, const sim::Disk* disk,
                     sim::DeviceHost* host)
    : WalOracle(other) {
  sync_failed_before_ |=
      other.disk_ != nullptr && other.disk_->stats().sync_failures != 0;
  // All that is undetermined is drawn under the new host's scope.
  copy_is_exact_ = true;
  power_losses_ = UINT64_MAX;
  power_loss_scope_.clear();
  true_end_.reset();
  model_ = model;
  sink_ = sink;
  disk_ = disk;
  host_ = host;
}

void WalOracle::Report(const char* promise, std::string subject,
                       std::string message) {
  sink_->Report(promise, "wal", std::move(subject), std::move(message), seq_);
}

void WalOracle::OnEvent(const env::Event& e) {
  seq_ = e.seq;
  switch (e.kind) {
    case EventKind::kWalInsert:
      OnInsert(e);
      break;
    case EventKind::kRecoveryStart:
      recovery_redo_ = e.a[0];
      FindTrueEnd();
      break;
    case EventKind::kRecoveryEnd:
      recovery_end_ = e.a[0];
      CheckEnd(e.a[0], e.seq);
      // The log goes on from here; what was above is written over.
      inserted_.erase(inserted_.lower_bound(e.a[0]), inserted_.end());
      // The last one may have been cut in two.
      if (!inserted_.empty() && inserted_.rbegin()->second.end > e.a[0]) {
        inserted_.erase(std::prev(inserted_.end()));
      }
      break;
    default:
      break;
  }
}

void WalOracle::OnInsert(const env::Event& e) {
  Inserted in;
  in.end = e.a[1];
  in.kind = static_cast<uint32_t>(e.a[2]);
  in.xid = static_cast<uint32_t>(e.a[3]);
  in.prev = e.a[4];
  if (e.bytes.size() >= 24) {
    in.crc = LoadField<uint32_t>(e.bytes, 20);
    CheckImages(e);
  }
  first_inserted_ = std::min(first_inserted_, e.a[0]);
  auto [it, is_new] = inserted_.insert_or_assign(e.a[0], in);
  std::string subject = fmt::format("WAL record at {}", LsnToText(e.a[0]));
  if (!is_new) Report("WAL", subject, "its place was given out twice");
  // Insertions are announced in the order in which they end, not in which they
  // begin: compare with the neighbours that are known by now.
  if (it != inserted_.begin()) {
    auto before = std::prev(it);
    if (before->second.end > e.a[0]) {
      Report(
          "WAL", subject,
          fmt::format("begins inside the record at {}, which ends at {}",
                      LsnToText(before->first), LsnToText(before->second.end)));
    }
  }
}

// Recovery can use an image only if it is a page again.
void WalOracle::CheckImages(const env::Event& e) {
  std::string_view bytes = e.bytes;
  env::Result<WalRecord> record =
      DecodeWalRecord(bytes.substr(0, LoadField<uint32_t>(bytes, 0)));
  if (!record.ok()) {
    Report("WAL", fmt::format("WAL record at {}", LsnToText(e.a[0])),
           std::string(record.status().message()));
    return;
  }
  for (const WalBlockRef& block : record->blocks) {
    if (!block.has_image) continue;
    env::Result<std::string> page = RestoreWalImage(block);
    if (page.ok()) continue;
    Report("WAL",
           fmt::format("image of block {} of relation {} in the WAL record at "
                       "{}",
                       block.block, block.rel_node, LsnToText(e.a[0])),
           std::string(page.status().message()));
  }
}

void WalOracle::OnCrash(sim::CrashKind kind) {
  true_end_.reset();
  if (disk_ == nullptr || host_ == nullptr) return;
  bool open = disk_->OpenSectors() != 0;
  if (kind == sim::CrashKind::kPowerLoss) {
    // What an earlier power loss left open was drawn under another scope.
    copy_is_exact_ = !open;
    power_loss_scope_.clear();
  } else if (disk_->stats().power_losses != power_losses_ && open) {
    // No recovery has started since the power loss: its scope is not known.
    copy_is_exact_ = false;
  }
  power_losses_ = disk_->stats().power_losses;
}

// Requires: called while the event is emitted, before recovery reads records.
void WalOracle::FindTrueEnd() {
  true_end_.reset();
  if (disk_ == nullptr || host_ == nullptr || !copy_is_exact_) return;
  if (disk_->stats().sync_failures != 0 || sync_failed_before_) return;
  // The power loss was drawn in the incarnation that began with it. A process
  // crash since then has begun another one.
  bool fresh = disk_->stats().power_losses != power_losses_;
  if (fresh) {
    power_losses_ = disk_->stats().power_losses;
    power_loss_scope_ = host_->scope().path();
  }
  sim::Scope scope = power_loss_scope_.empty()
                         ? host_->scope()
                         : sim::Scope::FromPath(power_loss_scope_);
  CopyHost host(host_->choices(), std::move(scope));
  std::unique_ptr<sim::Disk> copy = disk_->Clone();
  copy->Attach(&host, nullptr);
  copy->Freeze();
  {
    DiskView view(*copy);
    ClusterImage image(&view, false);
    if (image.control().ok()) {
      WalDecoder wal(&view, image.wal_layout());
      wal.BeginRead(image.control()->checkpoint_copy.redo);
      while (wal.Next()) {
      }
      true_end_ = TrueEnd{wal.end(), wal.missing_continuation(), wal.reason()};
    }
  }
  copy->Attach(nullptr, nullptr);
}

bool WalOracle::MediaStruckLog() const {
  auto records = disk_->fault_log().records();
  return std::any_of(records.begin(), records.end(),
                     [](const sim::FaultRecord& record) {
                       return record.damage != sim::Damage::kGarbageFill &&
                              record.damage != sim::Damage::kStaleFill &&
                              record.path.substr(0, 7) == "pg_wal/";
                     });
}

void WalOracle::CheckEnd(uint64_t engine_end, uint64_t seq) {
  seq_ = seq;
  if (!true_end_.has_value() || MediaStruckLog()) return;
  bool right = engine_end == true_end_->end ||
               (true_end_->missing_continuation != 0 &&
                engine_end == true_end_->missing_continuation);
  if (!right) {
    Report("REC", "end of recovery",
           fmt::format("recovery ended at {}, valid WAL ends at {} ({})",
                       LsnToText(engine_end), LsnToText(true_end_->end),
                       true_end_->reason));
  }
  true_end_.reset();
}

void WalOracle::OnRecovered(const ClusterImage& image, uint64_t seq) {
  seq_ = seq;
  if (!image.control().ok()) return;  // StructureOracle reports it
  WalDecoder wal(&image.files(), image.wal_layout());
  uint64_t walk_start = recovery_redo_;
  uint64_t segment = image.control()->wal_segment_bytes;
  wal.BeginRead(walk_start);
  // Segments that only the old checkpoint needed may be gone by now.
  while (!image.files().Read("pg_wal/" +
                             WalSegmentName(image.wal_layout(), walk_start)) &&
         walk_start < recovery_end_) {
    walk_start = (walk_start / segment + 1) * segment;
    if (!wal.BeginAtSegment(walk_start)) continue;
    walk_start = wal.end();
  }
  std::set<TxnKey> commits;
  while (wal.Next()) CheckRecord(wal.record(), &commits);
  if (wal.end() < recovery_end_) {
    Report("WAL", "log after recovery",
           fmt::format("recovery ended at {}, the log on disk ends at {} ({})",
                       LsnToText(recovery_end_), LsnToText(wal.end()),
                       wal.reason()));
    return;
  }
  for (const TxnKey& key : model_->decided()) {
    const Txn* txn = model_->Find(key);
    if (txn == nullptr || txn->fate != TxnFate::kCommitted) continue;
    if (txn->commit_end <= walk_start || commits.count(key) != 0) continue;
    Report("WAL", txn->ToString(),
           fmt::format("its commit record should end at {}; the log on disk "
                       "has none of it",
                       LsnToText(txn->commit_end)));
  }
}

void WalOracle::CheckRecord(const WalRecord& record,
                            std::set<TxnKey>* commits) {
  if (record.start < first_inserted_) return;
  std::string subject =
      fmt::format("WAL record at {}", LsnToText(record.start));
  auto it = inserted_.find(record.start);
  if (it == inserted_.end()) {
    Report("WAL", subject, "is valid on disk and was never inserted");
    return;
  }
  const Inserted& in = it->second;
  uint32_t kind = static_cast<uint32_t>(record.rmid) << 8 | record.info;
  uint32_t crc = LoadField<uint32_t>(record.bytes, 20);
  if (in.end != record.end || in.xid != record.xid || in.kind != kind ||
      in.prev != record.prev || in.crc != crc) {
    Report("WAL", subject,
           fmt::format(
               "on disk it is of kind {:#06x}, transaction {}, and ends "
               "at {}; inserted was kind {:#06x}, transaction {}, "
               "ending at {}{}",
               kind, record.xid, LsnToText(record.end), in.kind, in.xid,
               LsnToText(in.end), in.crc != crc ? ", with another CRC" : ""));
    return;
  }
  std::optional<WalXactEnd> xact = DecodeXactEnd(record);
  if (!xact.has_value() || !xact->commit || record.end > recovery_end_) return;
  const Txn* txn = model_->FindByXid(xact->xid);
  if (txn == nullptr || txn->commit_end != record.end) {
    Report("WAL", subject,
           fmt::format("commits transaction {}, which did not commit there",
                       xact->xid));
    return;
  }
  commits->insert(txn->key);
}

}  // namespace properties
