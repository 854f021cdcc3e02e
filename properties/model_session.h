// ModelSession: where one session's transaction stands, as its statements
// have it: blocks, implicit transactions, isolation, read-only.
// Source: PostgreSQL's documentation of transactions; xact.c TBlockState.
#ifndef MUSTH_PROPERTIES_MODEL_SESSION_H_
#define MUSTH_PROPERTIES_MODEL_SESSION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "engine/sql/ast.h"
#include "properties/model_store.h"

namespace properties {

class ModelSession {
 public:
  // The statement begins; it is the last of the several of its query. Starts a
  // transaction in the store if none is open. Returns the SQLSTATE with which
  // the statement must fail, or 0.
  uint32_t BeginStatement(const engine::Statement& statement, bool several,
                          const std::string& transaction_name,
                          ModelStore* store);
  // It has ended.
  void EndStatement(const engine::Statement& statement, bool ok, bool last);

  // The command tag of a statement that is neither a query nor a change of
  // rows; nothing if the model does not know it. Requires: between
  // BeginStatement and EndStatement.
  std::optional<std::string> Tag(const engine::Statement& statement) const;

  ModelTxnId txn() const { return txn_; }
  uint32_t command() const { return command_; }
  bool repeatable_read() const { return repeatable_read_; }
  // The snapshot that repeatable read keeps.
  const std::optional<uint64_t>& kept_snapshot() const {
    return kept_snapshot_;
  }
  void KeepSnapshot(uint64_t at) { kept_snapshot_ = at; }

 private:
  enum class Block : uint8_t { kIdle, kStarted, kImplicit, kInBlock, kFailed };
  void ApplyModes(const engine::TransactionModes& modes);
  void ApplySetting(const engine::SetVariableStmt& set);

  Block block_ = Block::kIdle;
  ModelTxnId txn_ = kNoTxn;
  uint32_t command_ = 0;
  bool repeatable_read_ = false;
  bool read_only_ = false;
  bool default_repeatable_read_ = false;
  bool default_read_only_ = false;
  std::optional<uint64_t> kept_snapshot_;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_MODEL_SESSION_H_
