#include "properties/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/fault_hooks.h"

namespace properties {
namespace {

using env::EventKind;

// Below: bootstrap, whose work counts as committed when it is done.
constexpr uint32_t kFirstNormalXid = 3;
constexpr uint32_t kFirstUserRelation = 16384;

bool IsCatalog(uint32_t rel) {
  return rel == kPgClassRel || rel == kPgAttributeRel;
}

std::vector<std::string_view> Bodies(const RelationRows& rows) {
  std::vector<std::string_view> bodies;
  for (const auto& [tid, row] : rows) bodies.push_back(row.body);
  return bodies;
}

uint32_t Low32(uint64_t v) { return static_cast<uint32_t>(v); }

}  // namespace

std::string DescribeTid(uint32_t rel, uint64_t tid) {
  return fmt::format("base/5/{} ({},{})", rel, tid >> 16, tid & 0xFFFF);
}

std::string Txn::ToString() const {
  return fmt::format("transaction {} ({})", key.xid, name);
}

void Model::AddTemplateRow(uint32_t rel, uint64_t tid, std::string_view body) {
  if (IsCatalog(rel)) catalog_ = nullptr;
  rows_[rel][tid] = {std::string(body), {kTemplateEpoch, 0}};
}

Txn& Model::Touch(uint32_t xid, env::TaskId task) {
  TxnKey key{epoch_, xid};
  auto [it, is_new] = txns_.try_emplace(key);
  Txn& txn = it->second;
  if (is_new) {
    txn.key = key;
    auto state = tasks_.find(task);
    if (state != tasks_.end() && state->second.in_statement) {
      txn.name = state->second.statement.TransactionName();
    } else {
      txn.name = fmt::format("task {}", task);
    }
  }
  return txn;
}

void Model::AddOp(uint32_t xid, env::TaskId task, TupleOp op) {
  if (xid >= kFirstNormalXid) {
    Touch(xid, task).ops.push_back(std::move(op));
    return;
  }
  Txn bootstrap;
  bootstrap.key = {kTemplateEpoch, xid};
  bootstrap.name = "bootstrap";
  Apply(bootstrap, op);
}

// The record itself decides: a crash may come before the transaction says that
// it wrote it.
void Model::OnWalInsert(const env::Event& e) {
  constexpr uint64_t kXactRmgr = 1;
  constexpr uint64_t kOpMask = 0x70;  // XLOG_XACT_COMMIT is 0
  if (e.a[2] >> 8 != kXactRmgr || (e.a[2] & kOpMask) != 0) return;
  Touch(Low32(e.a[3]), e.task).commit_end = e.a[1];
}

void Model::OnTupleChange(const env::Event& e) {
  uint32_t xid = Low32(e.a[0]);
  uint32_t rel = Low32(e.a[1]);
  TupleOp op;
  op.rel = rel;
  op.tid = e.a[2];
  if (e.kind != EventKind::kTupleInsert) {
    op.kind = TupleOp::Kind::kDelete;
    AddOp(xid, e.task, op);
  }
  if (e.kind != EventKind::kTupleDelete) {
    op.kind = TupleOp::Kind::kInsert;
    if (e.kind == EventKind::kTupleUpdate) op.tid = e.a[3];
    op.body = std::string(e.bytes);
    AddOp(xid, e.task, std::move(op));
  }
  auto state = tasks_.find(e.task);
  if (rel >= kFirstUserRelation && state != tasks_.end() &&
      state->second.in_statement) {
    ++changes_[state->second.statement.Packed()];
  }
}

// Somebody who reads a version sees its inserter's work.
void Model::OnTupleRead(const env::Event& e) {
  uint32_t xmin = Low32(e.a[2]);
  auto reader = tasks_.find(e.task);
  uint32_t own = reader == tasks_.end() ? 0 : reader->second.xid;
  if (xmin == own) return;
  auto it = txns_.find({epoch_, xmin});
  if (it == txns_.end() || !it->second.visible || it->second.observed) return;
  it->second.observed = true;
  it->second.observer = reader != tasks_.end() && reader->second.in_statement
                            ? reader->second.statement.ToString()
                            : fmt::format("task {}", e.task);
}

void Model::MarkObserved(uint32_t xid, const std::string& observer) {
  auto it = txns_.find({epoch_, xid});
  if (it == txns_.end() || it->second.observed) return;
  it->second.observed = true;
  it->second.observer = observer;
}

void Model::BeginStatement(env::TaskId task, const StatementId& id) {
  TaskState& state = tasks_[task];
  state.in_statement = true;
  state.statement = id;
  changes_.erase(id.Packed());
}

void Model::EndStatement(env::TaskId task) {
  auto it = tasks_.find(task);
  if (it != tasks_.end()) it->second.in_statement = false;
}

void Model::OnEvent(const env::Event& e) {
  last_seq_ = e.seq;
  switch (e.kind) {
    case EventKind::kPlan:
      if (e.a[1] == 0) {
        BeginStatement(e.task, StatementId::FromPacked(e.a[0]));
      } else {
        EndStatement(e.task);
      }
      break;
    case EventKind::kXidAssigned:
      tasks_[e.task].xid = Low32(e.a[0]);
      Touch(Low32(e.a[0]), e.task);
      break;
    case EventKind::kTupleInsert:
    case EventKind::kTupleUpdate:
    case EventKind::kTupleDelete:
      OnTupleChange(e);
      break;
    case EventKind::kTupleRead:
      OnTupleRead(e);
      break;
    case EventKind::kWalInsert:
      OnWalInsert(e);
      break;
    case EventKind::kCommitRecord: {
      Txn& txn = Touch(Low32(e.a[0]), e.task);
      txn.commit_end = e.a[1];
      txn.synchronous = e.a[2] != 0;
      break;
    }
    case EventKind::kAbort:
      Touch(Low32(e.a[0]), e.task).fate = TxnFate::kAborted;
      break;
    case EventKind::kVisible:
      Touch(Low32(e.a[0]), e.task).visible = true;
      break;
    case EventKind::kAcked:
      if (e.a[0] == 0) break;
      Touch(Low32(e.a[0]), e.task).acked = true;
      ++stats_.acked_commits;
      break;
    case EventKind::kCrash:
      // After a task kill the others go on until the postmaster stops them.
      if (e.a[0] != static_cast<uint64_t>(sim::CrashKind::kTaskKill)) {
        EndEpochOnCrash();
      }
      break;
    case EventKind::kRecoveryStart:
      EndEpochOnCrash();
      break;
    case EventKind::kRecoveryEnd:
      pending_cut_ = std::min(pending_cut_, e.a[0]);
      break;
    case EventKind::kReady:
      ApplyPendingCut();
      break;
    default:
      break;
  }
}

// The tasks are gone; counts what nobody was told, once per crash.
void Model::EndEpochOnCrash() {
  tasks_.clear();
  if (crashed_) return;
  crashed_ = true;
  for (auto it = txns_.lower_bound({epoch_, 0}); it != txns_.end(); ++it) {
    if (it->second.commit_end != 0 && !it->second.acked) ++stats_.in_doubt;
  }
}

void Model::ApplyPendingCut() {
  if (pending_cut_ != UINT64_MAX) ApplyCut(pending_cut_);
}

void Model::ApplyCut(uint64_t cut) {
  std::vector<Txn*> committed;
  decided_.clear();
  for (auto it = txns_.lower_bound({epoch_, 0}); it != txns_.end(); ++it) {
    Txn& txn = it->second;
    decided_.push_back(txn.key);
    if (txn.commit_end == 0) {
      txn.fate = TxnFate::kAborted;
    } else if (txn.commit_end > cut) {
      txn.fate = TxnFate::kLost;
    } else {
      txn.fate = TxnFate::kCommitted;
      committed.push_back(&txn);
    }
    if (txn.fate != TxnFate::kLost) survivors_[txn.key.xid] = txn.key;
  }
  std::sort(committed.begin(), committed.end(), [](const Txn* a, const Txn* b) {
    return a->commit_end < b->commit_end;
  });
  for (const Txn* txn : committed) {
    for (const TupleOp& op : txn->ops) Apply(*txn, op);
  }
  for (const TxnKey& key : decided_) {
    txns_[key].ops.clear();
    txns_[key].ops.shrink_to_fit();
  }
  last_cut_ = cut;
  pending_cut_ = UINT64_MAX;
  crashed_ = false;
  tasks_.clear();
  ++epoch_;
}

void Model::Apply(const Txn& txn, const TupleOp& op) {
  if (IsCatalog(op.rel)) catalog_ = nullptr;
  RelationRows& rows = rows_[op.rel];
  auto it = rows.find(op.tid);
  if (op.kind == TupleOp::Kind::kDelete) {
    if (it == rows.end()) {
      Conflict(txn, op,
               "deleted or replaced a version that another committed "
               "transaction had already removed");
      return;
    }
    rows.erase(it);
    return;
  }
  if (it != rows.end()) {
    Conflict(txn, op, "was given a slot that holds a live version");
  }
  rows[op.tid] = {op.body, txn.key};
}

void Model::Conflict(const Txn& txn, const TupleOp& op,
                     const std::string& what) {
  Verdict v;
  v.promise = op.kind == TupleOp::Kind::kDelete ? "VIS" : "EXT";
  v.oracle = "content";
  v.subject = txn.ToString();
  v.message = fmt::format("{}: {}", DescribeTid(op.rel, op.tid), what);
  v.event_seq = last_seq_;
  conflicts_.push_back(std::move(v));
}

const RelationRows& Model::Rows(uint32_t rel) const {
  static const RelationRows kNone;
  auto it = rows_.find(rel);
  return it == rows_.end() ? kNone : it->second;
}

const env::Result<Catalog>& Model::catalog() const {
  if (catalog_ == nullptr) {
    catalog_ = std::make_shared<const env::Result<Catalog>>(DecodeCatalog(
        Bodies(Rows(kPgClassRel)), Bodies(Rows(kPgAttributeRel))));
  }
  return *catalog_;
}

const Txn* Model::Find(TxnKey key) const {
  auto it = txns_.find(key);
  return it == txns_.end() ? nullptr : &it->second;
}

const Txn* Model::FindByXid(uint32_t xid) const {
  if (const Txn* txn = Find({epoch_, xid}); txn != nullptr) return txn;
  auto it = survivors_.find(xid);
  return it == survivors_.end() ? nullptr : Find(it->second);
}

std::string Model::Describe(uint32_t xid) const {
  const Txn* txn = FindByXid(xid);
  return txn != nullptr ? txn->ToString() : fmt::format("transaction {}", xid);
}

uint32_t Model::XidOfTask(env::TaskId task) const {
  auto it = tasks_.find(task);
  return it == tasks_.end() ? 0 : it->second.xid;
}

uint64_t Model::TupleChanges(const StatementId& id) const {
  auto it = changes_.find(id.Packed());
  return it == changes_.end() ? 0 : it->second;
}

std::vector<Verdict> Model::TakeConflicts() {
  return std::exchange(conflicts_, {});
}

}  // namespace properties
