#include "properties/ack_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "properties/decoders/wal_decoder.h"

namespace properties {
namespace {

using env::EventKind;

constexpr uint32_t kFirstNormalXid = 3;

bool ChangesRows(const std::string& command_tag) {
  for (const char* verb : {"INSERT", "UPDATE", "DELETE"}) {
    if (command_tag.rfind(verb, 0) == 0) return true;
  }
  return false;
}

}  // namespace

void AckOracle::Report(const char* promise, std::string subject,
                       std::string message, uint64_t seq) {
  sink_->Report(promise, "ack", std::move(subject), std::move(message), seq);
}

void AckOracle::OnEvent(const env::Event& e) {
  last_seq_ = e.seq;
  switch (e.kind) {
    case EventKind::kWalFlush:
      flushed_ = std::max(flushed_, e.a[0]);
      break;
    case EventKind::kRecoveryStart:
      visible_end_ = 0;
      seen_end_.clear();
      break;
    case EventKind::kRecoveryEnd:
      flushed_ = e.a[0];
      CheckCutGrows(e);
      break;
    case EventKind::kVisible: {
      CheckFlushed(e, "became visible to others");
      const Txn* txn = model_->FindByXid(static_cast<uint32_t>(e.a[0]));
      if (txn != nullptr) {
        visible_end_ = std::max(visible_end_, txn->commit_end);
      }
      break;
    }
    case EventKind::kSnapshot:
      seen_end_[e.task] = visible_end_;
      break;
    case EventKind::kCommitRecord:
      CheckCommitOrder(e);
      break;
    case EventKind::kAcked:
      if (e.a[0] != 0) CheckFlushed(e, "was acknowledged");
      break;
    case EventKind::kTupleRead:
      CheckRead(e);
      break;
    case EventKind::kReady:
      CheckDecided(e.seq);
      settled_ = model_->last_cut();
      break;
    default:
      break;
  }
}

void AckOracle::CheckFlushed(const env::Event& e, const char* what) {
  const Txn* txn = model_->FindByXid(static_cast<uint32_t>(e.a[0]));
  if (txn == nullptr) return;
  if (txn->commit_end == 0) {
    Report("DUR", txn->ToString(),
           fmt::format("{} without a commit record", what), e.seq);
    return;
  }
  if (!txn->synchronous || txn->commit_end <= flushed_) return;
  Report("DUR", txn->ToString(),
         fmt::format("{} when WAL was flushed up to {}; its commit record ends "
                     "at {}",
                     what, LsnToText(flushed_), LsnToText(txn->commit_end)),
         e.seq);
}

void AckOracle::CheckRead(const env::Event& e) {
  auto xmin = static_cast<uint32_t>(e.a[2]);
  if (xmin < kFirstNormalXid || xmin == model_->XidOfTask(e.task)) return;
  const Txn* txn = model_->FindByXid(xmin);
  if (txn == nullptr) return;  // of the template
  bool legal = txn->key.epoch == model_->epoch()
                   ? txn->visible
                   : txn->fate == TxnFate::kCommitted;
  if (legal) return;
  Report(
      "VIS", txn->ToString(),
      fmt::format("{} was read by task {} although its inserter is {}",
                  DescribeTid(static_cast<uint32_t>(e.a[0]), e.a[1]), e.task,
                  txn->fate == TxnFate::kAborted ? "aborted" : "still running"),
      e.seq);
}

void AckOracle::CheckCommitOrder(const env::Event& e) {
  auto seen = seen_end_.find(e.task);
  if (seen == seen_end_.end() || e.a[1] > seen->second) return;
  Report("WAL", model_->Describe(static_cast<uint32_t>(e.a[0])),
         fmt::format("its commit record ends at {}, before one at {} of a "
                     "transaction that its snapshot shows",
                     LsnToText(e.a[1]), LsnToText(seen->second)),
         e.seq);
}

void AckOracle::CheckCutGrows(const env::Event& e) {
  if (e.a[0] >= settled_) return;
  Report("DUR", "recovery",
         fmt::format("ended at {}, before {}, where a recovery had ended that "
                     "clients saw",
                     LsnToText(e.a[0]), LsnToText(settled_)),
         e.seq);
}

void AckOracle::CheckDecided(uint64_t seq) {
  if (epoch_ == model_->epoch()) return;
  epoch_ = model_->epoch();
  for (const TxnKey& key : model_->decided()) {
    const Txn* txn = model_->Find(key);
    if (txn == nullptr || txn->fate != TxnFate::kLost || !txn->synchronous) {
      continue;
    }
    if (!txn->acked && !txn->observed) continue;
    std::string how = txn->acked
                          ? "its client was told of the commit"
                          : fmt::format("{} had read its row", txn->observer);
    Report("DUR", txn->ToString(),
           fmt::format("lost: {}, its commit record ends at {}, recovery ended "
                       "at {}",
                       how, LsnToText(txn->commit_end),
                       LsnToText(model_->last_cut())),
           seq);
  }
}

void AckOracle::OnStatement(
    const PlanStatement& statement,
    const std::vector<engine::StatementResult>& results) {
  int64_t claimed = 0;
  bool changes = false;
  for (const engine::StatementResult& result : results) {
    // What a statement did before its ERROR is undone; nothing to compare.
    if (!result.status.ok()) return;
    if (!ChangesRows(result.command_tag)) continue;
    changes = true;
    claimed += result.rows_affected;
  }
  uint64_t made = model_->TupleChanges(statement.id);
  if (!changes && made == 0) return;
  if (static_cast<uint64_t>(claimed) == made) return;
  Report(
      "STMT", "statement " + statement.id.ToString(),
      fmt::format("says that it changed {} rows and changed {}", claimed, made),
      last_seq_);
}

}  // namespace properties
