#include "engine/sql/session.h"

#include <utility>

#include "engine/buffer/bufmgr.h"
#include "engine/commands/tablecmds.h"
#include "engine/common/errcodes.h"
#include "engine/ipc/lwlock.h"
#include "engine/ipc/proc.h"
#include "engine/sql/analyze.h"
#include "engine/sql/executor.h"
#include "engine/sql/guc.h"
#include "engine/sql/parse.h"
#include "engine/txn/procarray.h"
#include "engine/txn/xact.h"
#include "engine/wal/checkpoint.h"
#include "sim/env/lookup_map.h"

namespace engine {
namespace {

// Where the transaction stands. Source: xact.c TBlockState.
enum class BlockState : uint8_t {
  kIdle,      // no transaction
  kStarted,   // one statement's own transaction
  kImplicit,  // that of several statements in one string
  kInBlock,   // after BEGIN
  kFailed,    // after BEGIN and an error: nothing runs any more
};

// Parsed texts are kept per session, up to this many.
constexpr size_t kMaxCachedTexts = 256;

template <typename T>
bool Is(const Statement& s) {
  return std::holds_alternative<T>(s.body);
}

const char* IsolationText(IsolationName name) {
  switch (name) {
    case IsolationName::kReadUncommitted:
      return "read uncommitted";
    case IsolationName::kReadCommitted:
      return "read committed";
    case IsolationName::kRepeatableRead:
      return "repeatable read";
    default:
      return "serializable";
  }
}

Result<IsolationName> IsolationFromText(std::string_view text) {
  for (IsolationName name :
       {IsolationName::kReadUncommitted, IsolationName::kReadCommitted,
        IsolationName::kRepeatableRead, IsolationName::kSerializable}) {
    if (text == IsolationText(name)) return name;
  }
  return SqlError(ERRCODE_INVALID_PARAMETER_VALUE,
                  "invalid value for parameter \"transaction_isolation\": "
                  "\"{}\"",
                  text)
      .WithHint(
          "Available values: serializable, repeatable read, read "
          "committed, read uncommitted.");
}

IsolationLevel LevelOf(IsolationName name) {
  return name == IsolationName::kRepeatableRead
             ? IsolationLevel::kRepeatableRead
             : IsolationLevel::kReadCommitted;
}

}  // namespace

struct Session::Impl {
  explicit Impl(Backend& backend) : be(backend), settings(backend.config()) {}

  using ParsedText = std::shared_ptr<const std::vector<Statement>>;

  Backend& be;
  SessionSettings settings;
  BlockState state = BlockState::kIdle;
  IsolationName isolation = IsolationName::kReadCommitted;
  bool read_only = false;
  bool snapshot_taken = false;  // isolation and the like are fixed then
  bool terminated = false;
  TransactionId last_xid = kInvalidTransactionId;
  XLogRecPtr last_lsn = kInvalidXLogRecPtr;
  env::LookupMap<std::string, ParsedText> parsed;
  Arena arena;  // of the running statement

  // The index-th of count statements of one query.
  StatementResult Run(const Statement& s, std::span<const Expr> params,
                      size_t index, size_t count);
  Result<ParsedText> Parse(std::string_view sql);
  void HandleError();

 private:
  Status RunStatement(const Statement& s, std::span<const Expr> params,
                      bool several, bool last, StatementResult* result);
  Status Dispatch(const Statement& s, std::span<const Expr> params,
                  StatementResult* result);
  Status Start();
  Status Commit();
  void Abort();
  void ReleaseResources();

  // One per kind of statement. They set the command tag.
  Status Do(const SelectStmt& s, std::span<const Expr> params,
            StatementResult* result);
  Status Do(const InsertStmt& s, std::span<const Expr> params,
            StatementResult* result);
  Status Do(const UpdateStmt& s, std::span<const Expr> params,
            StatementResult* result);
  Status Do(const DeleteStmt& s, std::span<const Expr> params,
            StatementResult* result);
  Status Do(const BeginStmt& s, StatementResult* result);
  Status Do(const CommitStmt&, StatementResult* result);
  Status Do(const RollbackStmt&, StatementResult* result);
  Status Do(const CreateTableStmt& s, StatementResult* result);
  Status Do(const DropTableStmt& s, StatementResult* result);
  Status Do(const SetVariableStmt& s, StatementResult* result);
  Status Do(const SetTransactionStmt& s, StatementResult* result);
  Status Do(const ShowStmt& s, StatementResult* result);
  Status Do(const CheckpointStmt&, StatementResult* result);

  Status SetModes(const TransactionModes& modes);
  Status SetIsolation(IsolationName name);
  Status SetReadOnly(bool on);
  Status PreventCommandIfReadOnly(const char* command) const;
  AnalyzeContext Analyzing(std::span<const Expr> params) {
    arena.Reset();
    return {&be, &arena, params};
  }
  SnapshotData TakeSnapshot() {
    snapshot_taken = true;
    return GetTransactionSnapshot(be);
  }
};

// ------------------------------------------------------------- transactions

Status Session::Impl::Start() {
  ASSIGN_OR_RETURN(isolation,
                   IsolationFromText(settings.default_transaction_isolation()));
  read_only = settings.default_transaction_read_only();
  snapshot_taken = false;
  StartTransaction(be, LevelOf(isolation));
  SetSynchronousCommit(be, settings.synchronous_commit());
  state = BlockState::kStarted;
  return {};
}

Status Session::Impl::Commit() {
  TransactionId xid = GetCurrentTransactionIdIfAny(be);
  RETURN_IF_ERROR(CommitTransaction(be));
  state = BlockState::kIdle;
  settings.AtTransactionEnd(true);
  if (TransactionIdIsValid(xid)) {
    last_xid = xid;
    last_lsn = LastCommitLSN(be);
    be.env->events->Emit(env::EventKind::kAcked, xid, last_lsn);
  }
  return {};
}

void Session::Impl::Abort() {
  AbortTransaction(be);
  state = BlockState::kIdle;
  settings.AtTransactionEnd(false);
}

void Session::Impl::HandleError() {
  if (!InTransaction(be)) return;
  bool in_block = state == BlockState::kInBlock;
  Abort();
  if (in_block) state = BlockState::kFailed;
}

// Pins and locks end with their statement. What is left is a leak: it is told,
// and given up.
void Session::Impl::ReleaseResources() {
  be.env->events->Emit(env::EventKind::kResourcesHeld, 0,
                       static_cast<uint64_t>(BuffersPinned(be)),
                       static_cast<uint64_t>(LWLocksHeld(be)));
  LWLockReleaseAll(be);
  ReleaseAllBuffers(be);
}

StatementResult Session::Impl::Run(const Statement& s,
                                   std::span<const Expr> params, size_t index,
                                   size_t count) {
  be.env->events->Emit(env::EventKind::kCommand,
                       GetCurrentTransactionIdIfAny(be),
                       GetCurrentCommandId(be, false), index + 1);
  StatementResult result;
  Status status =
      RunStatement(s, params, count > 1, index + 1 == count, &result);
  if (!status.ok()) {
    terminated |= status.sqlstate() == ERRCODE_ADMIN_SHUTDOWN;
    HandleError();
    StatementResult failed;
    failed.notices = std::move(result.notices);
    failed.status = std::move(status);
    result = std::move(failed);
  }
  ReleaseResources();
  return result;
}

Status Session::Impl::RunStatement(const Statement& s,
                                   std::span<const Expr> params, bool several,
                                   bool last, StatementResult* result) {
  RETURN_IF_ERROR(CheckForInterrupts(be));
  bool ends_block = Is<CommitStmt>(s) || Is<RollbackStmt>(s);
  if (state == BlockState::kFailed && !ends_block) {
    return SqlError(ERRCODE_IN_FAILED_SQL_TRANSACTION,
                    "current transaction is aborted, commands ignored until "
                    "end of transaction block");
  }
  if (state == BlockState::kIdle) RETURN_IF_ERROR(Start());
  if (several && state == BlockState::kStarted) state = BlockState::kImplicit;
  RETURN_IF_ERROR(Dispatch(s, params, result));
  if (!InTransaction(be)) return {};  // COMMIT or ROLLBACK
  bool own_transaction =
      state == BlockState::kStarted || (state == BlockState::kImplicit && last);
  if (own_transaction) return Commit();
  ReleaseStatementSnapshot(be);
  CommandCounterIncrement(be);
  return {};
}

Status Session::Impl::Dispatch(const Statement& s, std::span<const Expr> params,
                               StatementResult* result) {
  return std::visit(
      [&](const auto& body) {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (std::is_same_v<Body, SelectStmt> ||
                      std::is_same_v<Body, InsertStmt> ||
                      std::is_same_v<Body, UpdateStmt> ||
                      std::is_same_v<Body, DeleteStmt>) {
          return Do(body, params, result);
        } else {
          return Do(body, result);
        }
      },
      s.body);
}

Result<Session::Impl::ParsedText> Session::Impl::Parse(std::string_view sql) {
  std::string key(sql);
  if (const ParsedText* cached = parsed.Find(key)) return *cached;
  ASSIGN_OR_RETURN(std::vector<Statement> statements, ParseSql(sql));
  ParsedText text =
      std::make_shared<const std::vector<Statement>>(std::move(statements));
  if (parsed.size() >= kMaxCachedTexts) parsed.Clear();
  parsed[key] = text;
  return text;
}

// --------------------------------------------------------------- statements

Status Session::Impl::PreventCommandIfReadOnly(const char* command) const {
  if (!read_only) return {};
  return SqlError(ERRCODE_READ_ONLY_SQL_TRANSACTION,
                  "cannot execute {} in a read-only transaction", command);
}

Status Session::Impl::Do(const SelectStmt& s, std::span<const Expr> params,
                         StatementResult* result) {
  ASSIGN_OR_RETURN(SelectPlan plan, AnalyzeSelect(Analyzing(params), s));
  SnapshotData snapshot = TakeSnapshot();
  RETURN_IF_ERROR(ExecuteSelect({&be, &arena, &snapshot}, plan, result));
  result->command_tag = fmt::format("SELECT {}", result->rows_affected);
  return {};
}

Status Session::Impl::Do(const InsertStmt& s, std::span<const Expr> params,
                         StatementResult* result) {
  ASSIGN_OR_RETURN(InsertPlan plan, AnalyzeInsert(Analyzing(params), s));
  RETURN_IF_ERROR(PreventCommandIfReadOnly("INSERT"));
  SnapshotData snapshot = TakeSnapshot();
  RETURN_IF_ERROR(ExecuteInsert({&be, &arena, &snapshot}, plan, result));
  result->command_tag = fmt::format("INSERT 0 {}", result->rows_affected);
  return {};
}

Status Session::Impl::Do(const UpdateStmt& s, std::span<const Expr> params,
                         StatementResult* result) {
  ASSIGN_OR_RETURN(UpdatePlan plan, AnalyzeUpdate(Analyzing(params), s));
  RETURN_IF_ERROR(PreventCommandIfReadOnly("UPDATE"));
  SnapshotData snapshot = TakeSnapshot();
  RETURN_IF_ERROR(ExecuteUpdate({&be, &arena, &snapshot}, plan, result));
  result->command_tag = fmt::format("UPDATE {}", result->rows_affected);
  return {};
}

Status Session::Impl::Do(const DeleteStmt& s, std::span<const Expr> params,
                         StatementResult* result) {
  ASSIGN_OR_RETURN(DeletePlan plan, AnalyzeDelete(Analyzing(params), s));
  RETURN_IF_ERROR(PreventCommandIfReadOnly("DELETE"));
  SnapshotData snapshot = TakeSnapshot();
  RETURN_IF_ERROR(ExecuteDelete({&be, &arena, &snapshot}, plan, result));
  result->command_tag = fmt::format("DELETE {}", result->rows_affected);
  return {};
}

Status Session::Impl::Do(const BeginStmt& s, StatementResult* result) {
  result->command_tag = s.start_transaction ? "START TRANSACTION" : "BEGIN";
  if (state == BlockState::kInBlock) {
    result->notices.push_back(
        "WARNING:  there is already a transaction in progress");
  }
  state = BlockState::kInBlock;
  return SetModes(s.modes);
}

Status Session::Impl::Do(const CommitStmt&, StatementResult* result) {
  if (state == BlockState::kFailed) {
    state = BlockState::kIdle;
    result->command_tag = "ROLLBACK";
    return {};
  }
  result->command_tag = "COMMIT";
  if (state != BlockState::kInBlock) {
    result->notices.push_back("WARNING:  there is no transaction in progress");
  }
  return Commit();
}

Status Session::Impl::Do(const RollbackStmt&, StatementResult* result) {
  result->command_tag = "ROLLBACK";
  if (state == BlockState::kFailed) {
    state = BlockState::kIdle;
    return {};
  }
  if (state != BlockState::kInBlock) {
    result->notices.push_back("WARNING:  there is no transaction in progress");
  }
  Abort();
  return {};
}

Status Session::Impl::Do(const CreateTableStmt& s, StatementResult* result) {
  result->command_tag = "CREATE TABLE";
  RETURN_IF_ERROR(PreventCommandIfReadOnly("CREATE TABLE"));
  return DefineRelation(be, s, &result->notices);
}

Status Session::Impl::Do(const DropTableStmt& s, StatementResult* result) {
  result->command_tag = "DROP TABLE";
  RETURN_IF_ERROR(PreventCommandIfReadOnly("DROP TABLE"));
  return RemoveRelations(be, s, &result->notices);
}

Status Session::Impl::SetIsolation(IsolationName name) {
  if (name == IsolationName::kSerializable) {
    return SqlError(ERRCODE_FEATURE_NOT_SUPPORTED,
                    "isolation level SERIALIZABLE is not supported");
  }
  if (name != isolation && snapshot_taken) {
    return SqlError(ERRCODE_ACTIVE_SQL_TRANSACTION,
                    "SET TRANSACTION ISOLATION LEVEL must be called before "
                    "any query");
  }
  isolation = name;
  SetCurrentIsolationLevel(be, LevelOf(name));
  return {};
}

Status Session::Impl::SetReadOnly(bool on) {
  if (!on && read_only && snapshot_taken) {
    return SqlError(ERRCODE_ACTIVE_SQL_TRANSACTION,
                    "transaction read-write mode must be set before any "
                    "query");
  }
  read_only = on;
  return {};
}

Status Session::Impl::SetModes(const TransactionModes& modes) {
  if (modes.isolation.has_value()) {
    RETURN_IF_ERROR(SetIsolation(*modes.isolation));
  }
  return modes.read_only.has_value() ? SetReadOnly(*modes.read_only) : Status();
}

Status Session::Impl::Do(const SetVariableStmt& s, StatementResult* result) {
  result->command_tag = s.reset ? "RESET" : "SET";
  if (s.local && state == BlockState::kStarted) {
    result->notices.push_back(
        "WARNING:  SET LOCAL can only be used in transaction blocks");
  }
  if (s.name == "transaction_isolation" && s.value.has_value()) {
    ASSIGN_OR_RETURN(IsolationName name, IsolationFromText(*s.value));
    return SetIsolation(name);
  }
  if (s.name == "transaction_read_only" && s.value.has_value()) {
    std::optional<bool> on = ParseBoolSetting(*s.value);
    if (on.has_value()) return SetReadOnly(*on);
  }
  if (s.name == "default_transaction_isolation" && s.value.has_value() &&
      *s.value == "serializable") {
    return SetIsolation(IsolationName::kSerializable);
  }
  if (s.value.has_value()) {
    RETURN_IF_ERROR(settings.Set(s.name, *s.value, s.local));
  } else {
    RETURN_IF_ERROR(settings.Reset(s.name, s.local));
  }
  SetSynchronousCommit(be, settings.synchronous_commit());
  return {};
}

Status Session::Impl::Do(const SetTransactionStmt& s, StatementResult* result) {
  result->command_tag = "SET";
  if (!s.session) {
    if (state == BlockState::kStarted) {
      result->notices.push_back(
          "WARNING:  SET TRANSACTION can only be used in transaction blocks");
    }
    return SetModes(s.modes);
  }
  if (s.modes.isolation == IsolationName::kSerializable) {
    return SetIsolation(IsolationName::kSerializable);
  }
  if (s.modes.isolation.has_value()) {
    RETURN_IF_ERROR(settings.Set("default_transaction_isolation",
                                 IsolationText(*s.modes.isolation), false));
  }
  if (s.modes.read_only.has_value()) {
    RETURN_IF_ERROR(settings.Set("default_transaction_read_only",
                                 *s.modes.read_only ? "on" : "off", false));
  }
  return {};
}

Status Session::Impl::Do(const ShowStmt& s, StatementResult* result) {
  result->command_tag = "SHOW";
  std::string value;
  std::string name = s.name;
  if (name == "transaction_isolation") {
    value = IsolationText(isolation);
  } else if (name == "transaction_read_only") {
    value = read_only ? "on" : "off";
  } else if (name == "all") {
    return SqlError(ERRCODE_FEATURE_NOT_SUPPORTED, "SHOW ALL is not supported");
  } else {
    ASSIGN_OR_RETURN(value, settings.Get(name));
    name = settings.CanonicalName(name);
  }
  result->has_rows = true;
  result->columns.push_back({name, TEXTOID});
  result->rows.push_back({value});
  return {};
}

Status Session::Impl::Do(const CheckpointStmt&, StatementResult* result) {
  result->command_tag = "CHECKPOINT";
  return RequestCheckpoint(
      be, CHECKPOINT_IMMEDIATE | CHECKPOINT_FORCE | CHECKPOINT_WAIT);
}

// ------------------------------------------------------------------ Session

Session::Session(Backend& be) : be_(be), impl_(std::make_unique<Impl>(be)) {}

Session::~Session() { SIM_CHECK(be_.Killed() || !InTransaction(be_)); }

void Session::Close() {
  if (InTransaction(be_)) impl_->HandleError();
  impl_->state = BlockState::kIdle;
}

StatementResult Session::Execute(const Statement& statement,
                                 std::span<const Expr> params) {
  return impl_->Run(statement, params, 0, 1);
}

std::vector<StatementResult> Session::ExecuteText(std::string_view sql) {
  std::vector<StatementResult> results;
  Result<Impl::ParsedText> text = impl_->Parse(sql);
  if (!text.ok()) {
    impl_->HandleError();
    results.emplace_back();
    results.back().status = std::move(text).status();
    return results;
  }
  const std::vector<Statement>& statements = **text;
  for (size_t i = 0; i < statements.size(); ++i) {
    results.push_back(impl_->Run(statements[i], {}, i, statements.size()));
    if (!results.back().status.ok()) break;
  }
  return results;
}

bool Session::terminated() const { return impl_->terminated; }

TransactionStatus Session::transaction_status() const {
  switch (impl_->state) {
    case BlockState::kIdle:
      return TransactionStatus::kIdle;
    case BlockState::kFailed:
      return TransactionStatus::kFailed;
    default:
      return TransactionStatus::kInBlock;
  }
}

TransactionId Session::last_commit_xid() const { return impl_->last_xid; }
XLogRecPtr Session::last_commit_lsn() const { return impl_->last_lsn; }

}  // namespace engine
