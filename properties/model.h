// Model: what the database must contain, told from events alone.
//
//   events ──► transactions of this epoch: operations in order, commit record,
//              told to the client, seen by others
//                     │  ApplyCut(L): commit record ends at or before L
//                     ▼
//              committed rows: relation -> tid -> tuple body
//
// An epoch lasts from one start of the node to the next: shared memory dies
// with it, and transaction ids above the cut may be given out again, so that
// every transaction is keyed by (epoch, xid). The model lives outside the
// simulated disk and never asks the engine.
//
// Rules
// 1. A crash is judged by one WAL position, the cut L. A transaction is
//    visible from then on if and only if its commit record ends at or before
//    L; synchronous, asynchronous and in-doubt ones alike.
// 2. Several recoveries may be attempted before the node is ready; nobody saw
//    what the earlier ones found, and what the first one cut off is written
//    over. The smallest of their cuts counts.
// 3. Committed transactions are applied in the order of their commit records.
// 4. A version is inserted into a free slot and deleted once; anything else is
//    a conflict, which is a broken promise (a lost update, a slot given twice).
#ifndef MUSTH_PROPERTIES_MODEL_H_
#define MUSTH_PROPERTIES_MODEL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "properties/decoders/catalog_decoder.h"
#include "properties/plan.h"
#include "properties/verdict.h"
#include "sim/env/event_sink.h"

namespace properties {

struct TxnKey {
  uint32_t epoch = 0;
  uint32_t xid = 0;
  auto operator<=>(const TxnKey&) const = default;
};

enum class TxnFate : uint8_t {
  kRunning,    // no end seen yet
  kCommitted,  // its commit record lies within the cut
  kAborted,    // rolled back, or the node died first
  kLost,       // its commit record lies above the cut
};

struct TupleOp {
  enum class Kind : uint8_t { kInsert, kDelete };
  Kind kind = Kind::kInsert;
  uint32_t rel = 0;  // relfilenode
  uint64_t tid = 0;  // block << 16 | offset
  std::string body;  // kInsert: the tuple from t_infomask2 on
};

struct Txn {
  TxnKey key;
  std::string name;  // "s2.t4", or "task 7" if no statement was announced
  TxnFate fate = TxnFate::kRunning;
  uint64_t commit_end = 0;  // end of the commit record; 0: none written
  bool synchronous = true;
  bool visible = false;      // removed from the running ones
  bool acked = false;        // the client was told
  bool observed = false;     // another transaction read a version of it
  std::string observer;      // which one
  std::vector<TupleOp> ops;  // empty once the fate is known
  // "transaction 731 (s2.t4)"
  std::string ToString() const;
};

struct RowVersion {
  std::string body;
  TxnKey inserted_by;
};
using RelationRows = std::map<uint64_t, RowVersion>;  // by tid
using Catalog = std::map<uint32_t, DecodedRelation>;  // by relfilenode

struct ModelStats {
  uint64_t acked_commits = 0;
  uint64_t in_doubt = 0;  // commit record written, client not told, at a crash
};

// Rows of this epoch belong to the template that the run started from.
inline constexpr uint32_t kTemplateEpoch = 0;

class Model {
 public:
  // A row that was there before the first event.
  void AddTemplateRow(uint32_t rel, uint64_t tid, std::string_view body);

  void OnEvent(const env::Event& event);
  // A client's statement starts or ends on the task: its changes are counted
  // and its transaction named. kPlan events do the same.
  void BeginStatement(env::TaskId task, const StatementId& id);
  void EndStatement(env::TaskId task);

  // Decides the fate of this epoch's transactions and begins the next epoch.
  // OnEvent calls it when the node becomes ready after a recovery; at a clean
  // shutdown the caller does, with UINT64_MAX.
  void ApplyCut(uint64_t cut);
  // The cut that waits for kReady; UINT64_MAX if no recovery has ended.
  uint64_t pending_cut() const { return pending_cut_; }
  // Applies the pending cut, if there is one, without waiting for kReady.
  void ApplyPendingCut();
  // A client was told rows that the transaction had a part in.
  void MarkObserved(uint32_t xid, const std::string& observer);
  // Incremented by every ApplyCut.
  uint32_t epoch() const { return epoch_; }
  uint64_t last_cut() const { return last_cut_; }
  // Transactions whose fate the last cut decided.
  const std::vector<TxnKey>& decided() const { return decided_; }

  const std::map<uint32_t, RelationRows>& relations() const { return rows_; }
  // Empty if the relation holds no rows.
  const RelationRows& Rows(uint32_t rel) const;
  // Relations as the committed rows of pg_class and pg_attribute have them.
  // Valid until the next change of the model. Errors: as DecodeCatalog.
  const env::Result<Catalog>& catalog() const;

  const std::map<TxnKey, Txn>& transactions() const { return txns_; }
  // Null if there is none.
  const Txn* Find(TxnKey key) const;
  // The running epoch's transaction of this xid, or the one of an earlier
  // epoch that was not lost; null if none is known.
  const Txn* FindByXid(uint32_t xid) const;
  // "transaction 731 (s2.t4)", or "transaction 731" if it is not known.
  std::string Describe(uint32_t xid) const;

  // The xid that the task runs under; 0 if it has none.
  uint32_t XidOfTask(env::TaskId task) const;

  // Tuple changes of user relations that the statement made; 0 if none.
  uint64_t TupleChanges(const StatementId& id) const;

  // Conflicts (rule 4) since the last call.
  std::vector<Verdict> TakeConflicts();
  const ModelStats& stats() const { return stats_; }

 private:
  struct TaskState {
    uint32_t xid = 0;
    bool in_statement = false;
    StatementId statement;
  };
  Txn& Touch(uint32_t xid, env::TaskId task);
  void OnWalInsert(const env::Event& event);
  void OnTupleChange(const env::Event& event);
  void OnTupleRead(const env::Event& event);
  void AddOp(uint32_t xid, env::TaskId task, TupleOp op);
  void Apply(const Txn& txn, const TupleOp& op);
  void Conflict(const Txn& txn, const TupleOp& op, const std::string& what);
  void EndEpochOnCrash();

  uint32_t epoch_ = kTemplateEpoch + 1;
  uint64_t pending_cut_ = UINT64_MAX;
  uint64_t last_cut_ = 0;
  uint64_t last_seq_ = 0;
  bool crashed_ = false;
  std::map<TxnKey, Txn> txns_;
  std::map<uint32_t, TxnKey> survivors_;  // of earlier epochs, by xid
  std::map<uint32_t, RelationRows> rows_;
  // Null: must be decoded again. Copies of the model share it.
  mutable std::shared_ptr<const env::Result<Catalog>> catalog_;
  std::map<env::TaskId, TaskState> tasks_;
  std::map<uint64_t, uint64_t> changes_;  // by StatementId::Packed()
  std::vector<TxnKey> decided_;
  std::vector<Verdict> conflicts_;
  ModelStats stats_;
};

// "base/5/16384 (2,3)": a tuple's address in reports.
std::string DescribeTid(uint32_t rel, uint64_t tid);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_MODEL_H_
