// ModelStore: the reference model's own rows, as a multi-version store.
//
//   table ──► rows, each a chain of versions, oldest first
//             version: values | who wrote it, by which command, when
//                             | who removed or replaced it, when
//
// "When" is a position: a counter that grows with every event that matters.
// A transaction has a position from the event that makes it visible to others;
// a snapshot is a position. Nothing else decides what a snapshot sees, so the
// model does not share the engine's xmin, xmax and xip.
//
// Addresses of tuples serve as handles only: the engine says which row it
// writes, the model knows what the row holds.
#ifndef MUSTH_PROPERTIES_MODEL_STORE_H_
#define MUSTH_PROPERTIES_MODEL_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/model_eval.h"
#include "sim/env/lookup_map.h"

namespace properties {

using ModelTxnId = uint32_t;
// Writer of what was there at the last recovery; visible to everybody.
inline constexpr ModelTxnId kBaseTxn = 0;
inline constexpr ModelTxnId kNoTxn = UINT32_MAX;

struct ModelTxn {
  enum class State : uint8_t { kActive, kCommitted, kAborted };
  State state = State::kActive;
  uint64_t visible_at = 0;  // kCommitted: from this position on
  uint32_t xid = 0;         // 0: none yet
  std::string name;         // "s2.t4"
};

struct ModelVersion {
  Row values;
  ModelTxnId creator = kBaseTxn;
  uint32_t created_by = 0;  // command of the creator
  uint64_t created_at = 0;
  uint64_t tid = 0;
  ModelTxnId remover = kNoTxn;
  uint32_t removed_by = 0;
  bool deleted = false;  // removed without a successor
};

struct ModelRow {
  std::vector<ModelVersion> versions;
};

struct ModelTable {
  TableShape shape;
  uint32_t filenode = 0;  // 0: not known yet
  ModelTxnId creator = kBaseTxn;
  ModelTxnId dropper = kNoTxn;
  // The model cannot follow its contents (a column type that it does not
  // know, values stored out of line): statements on it are not predicted.
  bool opaque = false;
  std::vector<ModelRow> rows;
  // Transactions of this epoch that changed rows.
  std::vector<ModelTxnId> writers;
};

struct ModelSnapshot {
  uint64_t at = 0;
  ModelTxnId self = kNoTxn;
  uint32_t command = 0;  // own changes of earlier commands show
};

class ModelStore {
 public:
  // The position grows by one.
  uint64_t Tick() { return ++now_; }
  uint64_t now() const { return now_; }

  ModelTxnId Begin(std::string name);
  ModelTxn& txn(ModelTxnId id) { return txns_[id]; }
  const ModelTxn& txn(ModelTxnId id) const { return txns_[id]; }
  // From now on everybody sees what the transaction did.
  void Commit(ModelTxnId id);
  // Takes back what it did.
  void Abort(ModelTxnId id);

  // Null if the transaction sees no table of that name now.
  std::shared_ptr<ModelTable> FindTable(std::string_view name, ModelTxnId by);
  ModelTable* TableOfFile(uint32_t filenode);
  std::shared_ptr<ModelTable> CreateTable(TableShape shape, bool opaque,
                                          ModelTxnId by);
  void DropTable(ModelTable* table, ModelTxnId by);
  const std::vector<std::shared_ptr<ModelTable>>& tables() const {
    return tables_;
  }

  // The row whose version is at the address; null if none is.
  struct Place {
    size_t row = 0;
    size_t version = 0;
  };
  std::optional<Place> Find(const ModelTable& table, uint64_t tid) const;

  void Insert(ModelTable* table, ModelTxnId by, uint32_t command, Row values,
              uint64_t tid);
  // Replaces the row's newest version.
  void Update(ModelTable* table, size_t row, ModelTxnId by, uint32_t command,
              Row values, uint64_t tid);
  void Delete(ModelTable* table, size_t row, ModelTxnId by, uint32_t command);

  bool Sees(const ModelSnapshot& snapshot, ModelTxnId who,
            uint32_t command) const;
  // The version of the row that the snapshot sees, by index.
  std::optional<size_t> Visible(const ModelRow& row,
                                const ModelSnapshot& snapshot) const;
  // All rows that the snapshot sees.
  std::vector<const Row*> VisibleRows(const ModelTable& table,
                                      const ModelSnapshot& snapshot) const;

  // A restart: keeps what transactions did for which survived says so, as if
  // it had always been there, and forgets all transactions.
  void Decide(const std::function<bool(const ModelTxn&)>& survived);

 private:
  static uint64_t TidKey(uint32_t filenode, uint64_t tid) {
    // Files of more than 2^24 blocks would collide.
    return (static_cast<uint64_t>(filenode) << 40) ^ tid;
  }
  void Undo(ModelTable* table, ModelTxnId id);
  ModelVersion NewVersion(ModelTxnId by, uint32_t command, Row values,
                          uint64_t tid);
  void Wrote(ModelTable* table, ModelTxnId id);
  void Settle(ModelTable* table);

  uint64_t now_ = 0;
  std::vector<ModelTxn> txns_ = {BaseTxn()};
  std::vector<std::shared_ptr<ModelTable>> tables_;
  // Row index by address.
  env::LookupMap<uint64_t, size_t> places_;

  static ModelTxn BaseTxn() {
    ModelTxn base;
    base.state = ModelTxn::State::kCommitted;
    return base;
  }
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_MODEL_STORE_H_
