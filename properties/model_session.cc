#include "properties/model_session.h"

#include <utility>
#include <variant>

namespace properties {
namespace {

using engine::IsolationName;
using engine::Statement;

template <typename T>
const T* As(const Statement& s) {
  return std::get_if<T>(&s.body);
}

bool WritesRows(const Statement& s) {
  return As<engine::InsertStmt>(s) != nullptr ||
         As<engine::UpdateStmt>(s) != nullptr ||
         As<engine::DeleteStmt>(s) != nullptr ||
         As<engine::CreateTableStmt>(s) != nullptr ||
         As<engine::DropTableStmt>(s) != nullptr;
}

}  // namespace

uint32_t ModelSession::BeginStatement(const Statement& statement, bool several,
                                      const std::string& transaction_name,
                                      ModelStore* store) {
  bool ends = As<engine::CommitStmt>(statement) != nullptr ||
              As<engine::RollbackStmt>(statement) != nullptr;
  if (block_ == Block::kFailed) return ends ? 0 : kFailedTransaction;
  if (block_ == Block::kIdle) {
    block_ = Block::kStarted;
    txn_ = store->Begin(transaction_name);
    command_ = 0;
    repeatable_read_ = default_repeatable_read_;
    read_only_ = default_read_only_;
    kept_snapshot_.reset();
  }
  if (several && block_ == Block::kStarted) block_ = Block::kImplicit;
  ++command_;
  return read_only_ && WritesRows(statement) ? kReadOnlyTransaction : 0;
}

void ModelSession::EndStatement(const Statement& statement, bool ok,
                                bool last) {
  if (!ok) {
    bool stays = block_ == Block::kInBlock || block_ == Block::kFailed;
    block_ = stays ? Block::kFailed : Block::kIdle;
    return;
  }
  if (As<engine::CommitStmt>(statement) != nullptr ||
      As<engine::RollbackStmt>(statement) != nullptr) {
    block_ = Block::kIdle;
    return;
  }
  if (const auto* begin = As<engine::BeginStmt>(statement)) {
    block_ = Block::kInBlock;
    ApplyModes(begin->modes);
  } else if (const auto* set = As<engine::SetTransactionStmt>(statement)) {
    if (set->session) {
      if (set->modes.isolation.has_value()) {
        default_repeatable_read_ =
            *set->modes.isolation == IsolationName::kRepeatableRead;
      }
      default_read_only_ = set->modes.read_only.value_or(default_read_only_);
    } else {
      ApplyModes(set->modes);
    }
  } else if (const auto* variable = As<engine::SetVariableStmt>(statement)) {
    ApplySetting(*variable);
  }
  if (block_ == Block::kStarted || (block_ == Block::kImplicit && last)) {
    block_ = Block::kIdle;
  }
}

void ModelSession::ApplyModes(const engine::TransactionModes& modes) {
  if (modes.isolation.has_value()) {
    repeatable_read_ = *modes.isolation == IsolationName::kRepeatableRead;
  }
  read_only_ = modes.read_only.value_or(read_only_);
}

void ModelSession::ApplySetting(const engine::SetVariableStmt& set) {
  bool repeatable_read = set.value == "repeatable read";
  bool on = set.value == "on" || set.value == "true" || set.value == "1";
  if (set.name == "transaction_isolation") {
    repeatable_read_ = repeatable_read;
  } else if (set.name == "default_transaction_isolation") {
    default_repeatable_read_ = repeatable_read;
  } else if (set.name == "transaction_read_only") {
    read_only_ = on;
  } else if (set.name == "default_transaction_read_only") {
    default_read_only_ = on;
  }
}

std::optional<std::string> ModelSession::Tag(const Statement& statement) const {
  if (const auto* begin = As<engine::BeginStmt>(statement)) {
    return begin->start_transaction ? "START TRANSACTION" : "BEGIN";
  }
  if (As<engine::CommitStmt>(statement) != nullptr) {
    return block_ == Block::kFailed ? "ROLLBACK" : "COMMIT";
  }
  if (As<engine::RollbackStmt>(statement) != nullptr) return "ROLLBACK";
  if (As<engine::CreateTableStmt>(statement) != nullptr) return "CREATE TABLE";
  if (As<engine::CheckpointStmt>(statement) != nullptr) return "CHECKPOINT";
  return std::nullopt;
}

}  // namespace properties
