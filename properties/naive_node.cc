#include "properties/naive_node.h"

namespace properties {

engine::StatementBody NaiveNode::ToStatement(const Op& op, int id) {
  using engine::Binary;
  using engine::Column;
  using engine::IntConst;
  engine::Expr where =
      Binary("=", Binary("%", Column("val"), IntConst(op.modulus)),
             IntConst(op.remainder));
  switch (op.kind) {
    case Op::Kind::kSelect:
    case Op::Kind::kSum: {
      engine::SelectStmt select;
      select.from = engine::FromItem{};
      select.from->table = "t";
      select.where = where;
      engine::TargetItem item;
      if (op.kind == Op::Kind::kSum) {
        item.expr = engine::Call("sum", {Column("val")});
        select.targets.push_back(item);
        item.expr = engine::Call("count", {engine::Star()});
        select.targets.push_back(item);
        return select;
      }
      item.expr = engine::Star();
      select.targets.push_back(item);
      engine::SortItem sort;
      sort.expr = Column("id");
      select.order_by.push_back(sort);
      return select;
    }
    case Op::Kind::kUpdate: {
      engine::UpdateStmt update;
      update.table = "t";
      engine::SetClause set;
      set.column = "val";
      set.value = Binary("+", Column("val"), IntConst(op.step));
      update.sets.push_back(set);
      update.where = where;
      return update;
    }
    case Op::Kind::kDelete: {
      engine::DeleteStmt del;
      del.table = "t";
      del.where = where;
      return del;
    }
    case Op::Kind::kInsert: {
      engine::InsertStmt insert;
      insert.table = "t";
      insert.rows.push_back({IntConst(id), IntConst(op.step)});
      return insert;
    }
  }
  return engine::CheckpointStmt{};
}

void NaiveNode::EmitSnapshot(Session* s) {
  std::vector<uint32_t> running;
  for (const Session& other : sessions_) {
    if (&other != s && other.xid != 0) running.push_back(other.xid);
  }
  uint32_t xmax = next_xid_;
  if (!running.empty() && Make(Mistake::kSnapshotTooNew)) running.pop_back();
  if (last_visible_ != 0 && Make(Mistake::kSnapshotTooOld)) {
    running.push_back(last_visible_);
  }
  Emit(*s, env::EventKind::kSnapshot, {700, xmax, 0, running.size(), 1},
       {reinterpret_cast<const char*>(running.data()), running.size() * 4});
}

void NaiveNode::Start(int session, const Op& op) {
  Session& s = sessions_[session];
  s.op = op;
  s.changed = 0;
  s.ignores_conflicts = false;
  if (op.kind == Op::Kind::kInsert) s.insert_id = next_id_++;
  Send(&s, ToStatement(op, s.insert_id));
  if (!s.repeatable_read || !s.kept) EmitSnapshot(&s);
  if (s.repeatable_read && !s.kept) s.kept = committed_;
  s.snapshot = s.repeatable_read ? *s.kept : committed_;
  for (const auto& [id, cell] : s.own) {
    if (cell) {
      s.snapshot[id] = *cell;
    } else {
      s.snapshot.erase(id);
    }
  }
  s.ids.clear();
  for (const auto& [id, cell] : s.snapshot) {
    if (op.Holds(cell.val)) s.ids.push_back(id);
  }
}

void NaiveNode::FinishSelect(Session* s) {
  std::vector<TextRow> rows;
  int sum = 0;
  for (int id : s->ids) {
    sum += s->snapshot[id].val;
    rows.push_back({std::to_string(id), std::to_string(s->snapshot[id].val)});
  }
  if (s->op->kind == Op::Kind::kSum) {
    std::optional<std::string> text;
    if (!s->ids.empty()) text = std::to_string(sum);
    rows = {{text, std::to_string(s->ids.size())}};
  }
  if (!rows.empty() && Make(Mistake::kWrongRow)) {
    rows[0].back() = std::to_string(std::stoi(*rows[0].back()) + 1);
  }
  if (!rows.empty() && Make(Mistake::kRowMissing)) rows.pop_back();
  if (rows.size() > 1 && Make(Mistake::kUnorderedRows)) {
    std::swap(rows[0], rows[1]);
  }
  size_t count = rows.size() + (Make(Mistake::kWrongTag) ? 1 : 0);
  Finish(s, "SELECT " + std::to_string(count), std::move(rows));
}

bool NaiveNode::NothingChanged(const Session& s) const {
  for (const auto& [id, cell] : s.snapshot) {
    if (s.own.count(id) != 0) continue;
    auto now = committed_.find(id);
    if (now == committed_.end() || now->second.version != cell.version) {
      return false;
    }
  }
  return true;
}

bool NaiveNode::WaitsInACircle(const Session& s) const {
  uint32_t next = s.waits_for;
  for (int steps = 0; steps < 8 && next != 0; ++steps) {
    if (next == s.xid) return true;
    uint32_t after = 0;
    for (const Session& other : sessions_) {
      if (other.xid == next) after = other.waits_for;
    }
    next = after;
  }
  return false;
}

NaiveNode::Meeting NaiveNode::Meet(Session* s, int id, int* base) {
  *base = s->snapshot[id].val;
  if (auto mine = s->own.find(id); mine != s->own.end()) {
    *base = mine->second ? mine->second->val : 0;
    return Meeting::kChange;
  }
  for (const Session& other : sessions_) {
    if (&other == s || other.own.count(id) == 0) continue;
    bool begins = s->waits_for != other.xid;
    s->waits_for = other.xid;
    if (begins) {
      Emit(*s, env::EventKind::kXactWait, {s->xid, other.xid, 0});
    }
    if (!WaitsInACircle(*s) && !Make(Mistake::kNeedlessDeadlock)) {
      return Meeting::kWait;
    }
    Emit(*s, env::EventKind::kXactWait, {s->xid, other.xid, 2});
    Fail(s, kDeadlockDetected, "deadlock detected");
    return Meeting::kFailed;
  }
  if (s->waits_for != 0) {
    Emit(*s, env::EventKind::kXactWait, {s->xid, s->waits_for, 1});
    s->waits_for = 0;
  }
  auto now = committed_.find(id);
  int seen = s->snapshot[id].version;
  if (now != committed_.end() && now->second.version == seen) {
    if (s->repeatable_read && NothingChanged(*s) &&
        Make(Mistake::kNeedlessSerializationFailure)) {
      Fail(s, kSerializationFailure,
           "could not serialize access due to concurrent update");
      return Meeting::kFailed;
    }
    // If this is the last row, nothing can explain later why it was left out.
    return s->ids.size() == 1 && Make(Mistake::kRowLeftOut) ? Meeting::kSkip
                                                            : Meeting::kChange;
  }
  if (s->repeatable_read) {
    bool deleted = std::string(fates_[{id, seen}]) == "delete";
    if (now != committed_.end() && Make(Mistake::kNoSerializationFailure)) {
      s->ignores_conflicts = true;
    }
    if (!s->ignores_conflicts) {
      Fail(s, kSerializationFailure,
           deleted ? "could not serialize access due to concurrent delete"
                   : "could not serialize access due to concurrent update");
      return Meeting::kFailed;
    }
  }
  if (now == committed_.end()) return Meeting::kSkip;
  if (s->op->kind == Op::Kind::kUpdate && now->second.val != *base &&
      s->op->Holds(now->second.val) && Make(Mistake::kValueFromSnapshot)) {
    return Meeting::kChange;
  }
  *base = now->second.val;
  if (s->op->Holds(*base)) return Meeting::kChange;
  return Make(Mistake::kConditionNotRechecked) ? Meeting::kChange
                                               : Meeting::kSkip;
}

void NaiveNode::ChangeRow(Session* s, int id, int base) {
  auto mine = s->own.find(id);
  uint64_t old_tid = mine != s->own.end() && mine->second ? mine->second->tid
                                                          : committed_[id].tid;
  ++s->changed;
  if (s->op->kind == Op::Kind::kDelete) {
    Emit(*s, env::EventKind::kTupleDelete, {s->xid, kRel, old_tid, 0});
    s->own[id] = std::nullopt;
    return;
  }
  Cell cell{base + s->op->step, next_version_++, next_tid_++};
  Emit(*s, env::EventKind::kTupleUpdate, {s->xid, kRel, old_tid, cell.tid, 0},
       Int4Body({id, cell.val}));
  s->own[id] = cell;
}

bool NaiveNode::Continue(int session) {
  Session& s = sessions_[session];
  if (s.op->kind == Op::Kind::kSelect || s.op->kind == Op::Kind::kSum) {
    FinishSelect(&s);
    return true;
  }
  AssignXid(&s);
  if (s.op->kind == Op::Kind::kInsert) {
    Cell cell{s.op->step, next_version_++, next_tid_++};
    Emit(s, env::EventKind::kTupleInsert, {s.xid, kRel, cell.tid, 0},
         Int4Body({s.insert_id, cell.val}));
    s.own[s.insert_id] = cell;
    Finish(&s, Make(Mistake::kWrongTag) ? "INSERT 0 2" : "INSERT 0 1");
    return true;
  }
  while (!s.ids.empty()) {
    int base = 0;
    switch (Meet(&s, s.ids.front(), &base)) {
      case Meeting::kWait:
        return false;
      case Meeting::kFailed:
        return true;
      case Meeting::kChange:
        ChangeRow(&s, s.ids.front(), base);
        if (s.op->kind == Op::Kind::kUpdate && Make(Mistake::kRowTwice)) {
          ChangeRow(&s, s.ids.front(), base);
        }
        break;
      case Meeting::kSkip:
        break;
    }
    s.ids.erase(s.ids.begin());
  }
  std::string verb = s.op->kind == Op::Kind::kUpdate ? "UPDATE " : "DELETE ";
  Finish(&s,
         verb + std::to_string(s.changed + (Make(Mistake::kWrongTag) ? 1 : 0)));
  return true;
}

void NaiveNode::Crash(size_t lost) {
  // The table's creation stays.
  while (lost-- > 0 && history_.size() > 1) history_.pop_back();
  uint64_t cut = history_.back().first;
  committed_ = history_.back().second;
  Emit(sessions_[0], env::EventKind::kCrash, {2, 1});
  Emit(sessions_[0], env::EventKind::kRecoveryStart, {});
  Emit(sessions_[0], env::EventKind::kRecoveryEnd, {cut});
  Emit(sessions_[0], env::EventKind::kReady, {});
  for (Session& s : sessions_) Clear(&s);
  lsn_ += 100;
  last_visible_ = 0;
  // What was lost is lost for good, and before it nothing can be.
  history_.clear();
  history_.emplace_back(cut, committed_);
  Scan();
}

}  // namespace properties
