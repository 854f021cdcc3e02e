// Session: one client's conversation with the node, the only way statements
// enter, whether as text or as statement structures.
// Source: src/backend/tcop/postgres.c.
#ifndef MUSTH_ENGINE_SQL_SESSION_H_
#define MUSTH_ENGINE_SQL_SESSION_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/common/backend.h"
#include "engine/sql/ast.h"
#include "engine/sql/result.h"

namespace engine {

enum class TransactionStatus : char {
  kIdle = 'I',
  kInBlock = 'T',
  kFailed = 'E'
};

class Session {
 public:
  explicit Session(Backend& be);
  // A transaction that is still open must have been ended: see Close().
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Executes one statement as PostgreSQL's simple protocol would: outside a
  // block it is its own transaction. An ERROR aborts the transaction and is in
  // the result. On return of a successful commit the client counts as told
  // (kAcked is emitted). params are the values of $1, $2, ...: constants.
  // Suspends: yes.
  StatementResult Execute(const Statement& statement,
                          std::span<const Expr> params = {});

  // Parses text (one or more statements) and executes each; several
  // statements in one string are one implicit transaction. Stops at the first
  // error. A syntax error is one result with its status.
  // Suspends: yes.
  std::vector<StatementResult> ExecuteText(std::string_view sql);

  // The client goes away: rolls back what is still open. Suspends: yes.
  void Close();
  // The node ended this session (a fast shutdown): its last statement said so
  // with ERRCODE_ADMIN_SHUTDOWN, and so will any other.
  bool terminated() const;

  TransactionStatus transaction_status() const;
  // xid and commit LSN of the last transaction that this session committed
  // with an xid; 0 if none.
  TransactionId last_commit_xid() const;
  XLogRecPtr last_commit_lsn() const;
  Backend& backend() { return be_; }

 private:
  struct Impl;
  Backend& be_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace engine

#endif  // MUSTH_ENGINE_SQL_SESSION_H_
