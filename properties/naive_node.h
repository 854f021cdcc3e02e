// NaiveNode: a database of one table t(id int4, val int4) that executes
// statements one row at a time and tells of them as the node does, for tests
// of StatementOracle.
//
// Its rows are maps, its snapshots are copies of them, its isolation is
// written down without versions or visibility rules. A test then lets it do
// one thing wrong (Mistake) and expects the oracle to say so.
#ifndef MUSTH_PROPERTIES_NAIVE_NODE_H_
#define MUSTH_PROPERTIES_NAIVE_NODE_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/sql/ast.h"
#include "properties/decoders/catalog_decoder.h"
#include "properties/decoders/test_cluster.h"
#include "properties/model.h"
#include "properties/statement_oracle.h"

namespace properties {

enum class Mistake : uint8_t {
  kNone,
  kValueFromSnapshot,  // a re-checked row gets its old version's value
  kConditionNotRechecked,
  kRowLeftOut,  // the last row of an UPDATE or DELETE is skipped
  kRowTwice,    // the first row of an UPDATE is changed twice
  kWrongTag,
  kWrongRow,        // a SELECT's first row is off by one
  kRowMissing,      // a SELECT drops its last row
  kSnapshotTooOld,  // it misses the last transaction that committed
  kSnapshotTooNew,  // it takes a running transaction for finished
  kNoSerializationFailure,
  kNeedlessSerializationFailure,
  kNeedlessDeadlock,
  kUnorderedRows,
};

class NaiveNode {
 public:
  static constexpr uint32_t kRel = 16384;
  struct Cell {
    int val = 0;
    int version = 0;
    uint64_t tid = 0;
  };
  using Rows = std::map<int, Cell>;  // by id

  struct Op {
    enum class Kind : uint8_t { kSelect, kSum, kUpdate, kDelete, kInsert };
    Kind kind = Kind::kSelect;
    int step = 1;     // added by UPDATE, inserted by INSERT
    int modulus = 1;  // rows with val % modulus = remainder
    int remainder = 0;
    bool Holds(int val) const { return val % modulus == remainder; }
  };

  NaiveNode() {
    Session& setup = sessions_[0];
    Send(&setup, CreateTable());
    Row row(PgClassShape().size());
    for (size_t i = 0; i + 3 < row.size(); ++i) row[i] = NumberValue(0);
    row[1] = BytesValue("t");
    row[7] = NumberValue(kRel);
    row[16] = NumberValue('r');
    row[17] = NumberValue(2);
    AssignXid(&setup);
    Emit(setup, env::EventKind::kTupleInsert, {setup.xid, kPgClassRel, 1, 0},
         EncodeBody(PgClassShape(), row));
    Publish(&setup);
    Answer(&setup, "CREATE TABLE");
  }

  // What goes wrong from now on, once.
  void set_mistake(Mistake mistake) { mistake_ = mistake; }
  // True if the mistake has had its chance.
  bool mistake_made() const { return made_; }

  void Begin(int session, bool repeatable_read) {
    Session& s = sessions_[session];
    engine::BeginStmt begin;
    if (repeatable_read) {
      begin.modes.isolation = engine::IsolationName::kRepeatableRead;
    }
    Send(&s, begin);
    s.block = true;
    s.repeatable_read = repeatable_read;
    Answer(&s, "BEGIN");
  }
  void Commit(int session) {
    Session& s = sessions_[session];
    Send(&s, engine::CommitStmt{});
    bool failed = s.failed;
    if (!failed) Publish(&s);
    Clear(&s);
    Answer(&s, failed ? "ROLLBACK" : "COMMIT");
  }
  void Rollback(int session) {
    Session& s = sessions_[session];
    Send(&s, engine::RollbackStmt{});
    if (s.xid != 0) Emit(s, env::EventKind::kAbort, {s.xid});
    Clear(&s);
    Answer(&s, "ROLLBACK");
  }

  // Takes the statement's snapshot; Continue() does the rest.
  void Start(int session, const Op& op);
  // False if it waits for another session. A wait that closes a circle fails.
  bool Continue(int session);
  bool InBlock(int session) { return sessions_[session].block; }
  bool Busy(int session) { return sessions_[session].op.has_value(); }
  bool Failed(int session) { return sessions_[session].failed; }

  // Loses the newest `lost` commits.
  void Crash(size_t lost);
  // Hands the committed rows to the oracle as a scan.
  void Scan() {
    std::vector<TextRow> rows;
    for (const auto& [id, cell] : committed_) {
      rows.push_back({std::to_string(id), std::to_string(cell.val)});
    }
    oracle_.CompareScan("t", rows, seq_);
  }
  const std::vector<Verdict>& verdicts() const { return sink_.verdicts(); }
  const StatementOracle& oracle() const { return oracle_; }

 private:
  struct Session {
    env::TaskId task = 0;
    PlanStatement sent;
    bool block = false;
    bool failed = false;
    bool repeatable_read = false;
    uint32_t xid = 0;
    std::optional<Rows> kept;  // repeatable read's snapshot
    std::map<int, std::optional<Cell>> own;
    std::optional<Op> op;
    Rows snapshot;         // of the statement, own changes included
    std::vector<int> ids;  // still to do
    int64_t changed = 0;
    int insert_id = 0;
    bool ignores_conflicts = false;
    uint32_t waits_for = 0;
    uint32_t number = 0;
  };

  static engine::CreateTableStmt CreateTable() {
    engine::CreateTableStmt create;
    create.table = "t";
    for (const char* name : {"id", "val"}) {
      engine::ColumnDef def;
      def.name = name;
      def.type.name = "int4";
      create.columns.push_back(def);
    }
    return create;
  }
  static engine::StatementBody ToStatement(const Op& op, int id);

  void Emit(const Session& s, env::EventKind kind, std::vector<uint64_t> a,
            std::string_view bytes = {}) {
    env::Event e;
    e.kind = kind;
    for (size_t i = 0; i < a.size(); ++i) e.a[i] = a[i];
    e.bytes = bytes;
    e.task = s.task;
    e.seq = ++seq_;
    model_.OnEvent(e);
    oracle_.OnEvent(e);
  }
  void Send(Session* s, engine::StatementBody body) {
    s->task = static_cast<env::TaskId>(s - sessions_) + 1;
    s->sent = PlanStatement();
    s->sent.id = {static_cast<uint32_t>(s->task), 1, ++s->number};
    s->sent.statement = engine::Statement{std::move(body)};
    oracle_.OnStatementSent(s->task, s->sent);
    Emit(*s, env::EventKind::kCommand, {s->xid, 0, 1});
  }
  void Answer(Session* s, std::string tag, std::vector<TextRow> rows = {}) {
    engine::StatementResult result;
    result.command_tag = std::move(tag);
    result.rows = std::move(rows);
    oracle_.OnStatementResult(s->task, {result});
  }
  void Fail(Session* s, uint32_t state, const char* message) {
    if (s->xid != 0) Emit(*s, env::EventKind::kAbort, {s->xid});
    bool block = s->block;
    Clear(s);
    s->block = s->failed = block;
    engine::StatementResult result;
    result.status = env::Status::Sql(state, message);
    oracle_.OnStatementResult(s->task, {result});
  }
  void Clear(Session* s) {
    uint32_t number = s->number;
    env::TaskId task = s->task;
    PlanStatement sent = std::move(s->sent);
    *s = Session();
    s->number = number;
    s->task = task;
    s->sent = std::move(sent);
  }
  void AssignXid(Session* s) {
    if (s->xid != 0) return;
    s->xid = next_xid_++;
    Emit(*s, env::EventKind::kXidAssigned, {s->xid, s->xid});
  }
  // Commits what the session did.
  void Publish(Session* s) {
    if (s->xid == 0) return;
    lsn_ += 100;
    Emit(*s, env::EventKind::kCommitRecord, {s->xid, lsn_, 0});
    Emit(*s, env::EventKind::kVisible, {s->xid});
    for (const auto& [id, cell] : s->own) {
      bool had = committed_.count(id) != 0;
      if (had) {
        fates_[{id, committed_[id].version}] = cell ? "update" : "delete";
      }
      if (cell) {
        committed_[id] = *cell;
      } else {
        committed_.erase(id);
      }
    }
    last_visible_ = s->xid;
    history_.emplace_back(lsn_, committed_);
    s->xid = 0;
    s->own.clear();
  }
  bool Make(Mistake mistake) {
    if (mistake_ != mistake || made_) return false;
    made_ = true;
    return true;
  }
  void EmitSnapshot(Session* s);
  void FinishSelect(Session* s);
  // What changing the row meets.
  enum class Meeting : uint8_t { kChange, kSkip, kWait, kFailed };
  Meeting Meet(Session* s, int id, int* base);
  bool WaitsInACircle(const Session& s) const;
  // The committed rows are still those of the snapshot.
  bool NothingChanged(const Session& s) const;
  void ChangeRow(Session* s, int id, int base);
  void Finish(Session* s, std::string tag, std::vector<TextRow> rows = {}) {
    bool alone = !s->block;
    if (alone) Publish(s);
    s->op.reset();
    Answer(s, std::move(tag), std::move(rows));
    if (alone) Clear(s);
  }

  Model model_;
  VerdictSink sink_;
  StatementOracle oracle_{&model_, &sink_};
  Mistake mistake_ = Mistake::kNone;
  bool made_ = false;
  uint64_t seq_ = 0;
  uint64_t lsn_ = 1000;
  uint32_t next_xid_ = 700;
  uint32_t last_visible_ = 0;
  uint64_t next_tid_ = 1;
  int next_id_ = 1;
  int next_version_ = 1;
  Session sessions_[4];
  Rows committed_;
  std::map<std::pair<int, int>, const char*> fates_;  // of id and version
  std::vector<std::pair<uint64_t, Rows>> history_;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_NAIVE_NODE_H_
