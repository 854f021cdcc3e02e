#include "properties/model_store.h"

#include <algorithm>
#include <utility>

#include "sim/env/check.h"

namespace properties {

using State = ModelTxn::State;

ModelTxnId ModelStore::Begin(std::string name) {
  ModelTxn txn;
  txn.name = std::move(name);
  txns_.push_back(std::move(txn));
  return static_cast<ModelTxnId>(txns_.size() - 1);
}

void ModelStore::Commit(ModelTxnId id) {
  if (txns_[id].state != State::kActive) return;
  txns_[id].state = State::kCommitted;
  txns_[id].visible_at = Tick();
}

void ModelStore::Abort(ModelTxnId id) {
  if (txns_[id].state != State::kActive) return;
  txns_[id].state = State::kAborted;
  Tick();
  for (const auto& table : tables_) {
    auto& writers = table->writers;
    auto it = std::find(writers.begin(), writers.end(), id);
    if (it == writers.end()) continue;
    writers.erase(it);
    Undo(table.get(), id);
  }
  tables_.erase(
      std::remove_if(tables_.begin(), tables_.end(),
                     [id](const auto& t) { return t->creator == id; }),
      tables_.end());
  for (const auto& table : tables_) {
    if (table->dropper == id) table->dropper = kNoTxn;
  }
}

// Versions that the transaction wrote are the last ones of their chains: others
// wait until it has ended.
void ModelStore::Undo(ModelTable* table, ModelTxnId id) {
  for (ModelRow& row : table->rows) {
    std::vector<ModelVersion>& v = row.versions;
    v.erase(
        std::remove_if(v.begin(), v.end(),
                       [id](const ModelVersion& x) { return x.creator == id; }),
        v.end());
    for (ModelVersion& version : v) {
      if (version.remover == id) {
        version.remover = kNoTxn;
        version.deleted = false;
      }
    }
  }
}

std::shared_ptr<ModelTable> ModelStore::FindTable(std::string_view name,
                                                  ModelTxnId by) {
  auto done = [&](ModelTxnId id) {
    return id != kNoTxn && (id == by || txns_[id].state == State::kCommitted);
  };
  for (const auto& table : tables_) {
    if (table->shape.name != name) continue;
    if (done(table->creator) && !done(table->dropper)) return table;
  }
  return nullptr;
}

ModelTable* ModelStore::TableOfFile(uint32_t filenode) {
  for (const auto& table : tables_) {
    if (table->filenode == filenode) return table.get();
  }
  return nullptr;
}

std::shared_ptr<ModelTable> ModelStore::CreateTable(TableShape shape,
                                                    bool opaque,
                                                    ModelTxnId by) {
  auto table = std::make_shared<ModelTable>();
  table->shape = std::move(shape);
  table->opaque = opaque;
  table->creator = by;
  tables_.push_back(table);
  return table;
}

void ModelStore::DropTable(ModelTable* table, ModelTxnId by) {
  table->dropper = by;
}

std::optional<ModelStore::Place> ModelStore::Find(const ModelTable& table,
                                                  uint64_t tid) const {
  const size_t* at = places_.Find(TidKey(table.filenode, tid));
  if (at == nullptr || *at >= table.rows.size()) return std::nullopt;
  const std::vector<ModelVersion>& versions = table.rows[*at].versions;
  for (size_t i = versions.size(); i-- > 0;) {
    if (versions[i].tid == tid) return Place{*at, i};
  }
  return std::nullopt;
}

void ModelStore::Wrote(ModelTable* table, ModelTxnId id) {
  if (std::find(table->writers.begin(), table->writers.end(), id) ==
      table->writers.end()) {
    table->writers.push_back(id);
  }
}

ModelVersion ModelStore::NewVersion(ModelTxnId by, uint32_t command, Row values,
                                    uint64_t tid) {
  ModelVersion version;
  version.values = std::move(values);
  version.creator = by;
  version.created_by = command;
  version.created_at = Tick();
  version.tid = tid;
  return version;
}

void ModelStore::Insert(ModelTable* table, ModelTxnId by, uint32_t command,
                        Row values, uint64_t tid) {
  table->rows.emplace_back();
  table->rows.back().versions.push_back(
      NewVersion(by, command, std::move(values), tid));
  places_[TidKey(table->filenode, tid)] = table->rows.size() - 1;
  Wrote(table, by);
}

void ModelStore::Update(ModelTable* table, size_t row, ModelTxnId by,
                        uint32_t command, Row values, uint64_t tid) {
  std::vector<ModelVersion>& versions = table->rows[row].versions;
  SIM_CHECK(!versions.empty());
  versions.back().remover = by;
  versions.back().removed_by = command;
  versions.push_back(NewVersion(by, command, std::move(values), tid));
  places_[TidKey(table->filenode, tid)] = row;
  Wrote(table, by);
}

void ModelStore::Delete(ModelTable* table, size_t row, ModelTxnId by,
                        uint32_t command) {
  std::vector<ModelVersion>& versions = table->rows[row].versions;
  SIM_CHECK(!versions.empty());
  Tick();
  versions.back().remover = by;
  versions.back().removed_by = command;
  versions.back().deleted = true;
  Wrote(table, by);
}

bool ModelStore::Sees(const ModelSnapshot& snapshot, ModelTxnId who,
                      uint32_t command) const {
  if (who == kNoTxn) return false;
  if (who == snapshot.self) return command < snapshot.command;
  const ModelTxn& txn = txns_[who];
  return txn.state == State::kCommitted && txn.visible_at <= snapshot.at;
}

std::optional<size_t> ModelStore::Visible(const ModelRow& row,
                                          const ModelSnapshot& snapshot) const {
  for (size_t i = row.versions.size(); i-- > 0;) {
    const ModelVersion& v = row.versions[i];
    if (!Sees(snapshot, v.creator, v.created_by)) continue;
    if (Sees(snapshot, v.remover, v.removed_by)) return std::nullopt;
    return i;
  }
  return std::nullopt;
}

std::vector<const Row*> ModelStore::VisibleRows(
    const ModelTable& table, const ModelSnapshot& snapshot) const {
  std::vector<const Row*> rows;
  for (const ModelRow& row : table.rows) {
    std::optional<size_t> at = Visible(row, snapshot);
    if (at) rows.push_back(&row.versions[*at].values);
  }
  return rows;
}

void ModelStore::Decide(const std::function<bool(const ModelTxn&)>& survived) {
  std::vector<ModelTxnId> lost;
  for (ModelTxnId id = 1; id < txns_.size(); ++id) {
    if (txns_[id].state == State::kAborted) continue;
    if (!survived(txns_[id])) {
      // Whatever it was for its clients, it never was.
      txns_[id].state = State::kActive;
      lost.push_back(id);
    }
  }
  for (ModelTxnId id : lost) Abort(id);
  tables_.erase(
      std::remove_if(tables_.begin(), tables_.end(),
                     [](const auto& t) { return t->dropper != kNoTxn; }),
      tables_.end());
  places_.Clear();
  for (const auto& table : tables_) Settle(table.get());
  txns_.resize(1);
}

// Only the rows that are left, one version each.
void ModelStore::Settle(ModelTable* table) {
  std::vector<ModelRow> rows;
  for (ModelRow& row : table->rows) {
    if (row.versions.empty() || row.versions.back().remover != kNoTxn) continue;
    ModelVersion& newest = row.versions.back();
    newest.creator = kBaseTxn;
    newest.created_by = 0;
    places_[TidKey(table->filenode, newest.tid)] = rows.size();
    ModelRow kept;
    kept.versions.push_back(std::move(newest));
    rows.push_back(std::move(kept));
  }
  table->rows = std::move(rows);
  table->creator = kBaseTxn;
  table->writers.clear();
}

}  // namespace properties
