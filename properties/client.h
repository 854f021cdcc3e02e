// Client: executes one session of a plan through the node's Session interface.
//
// It stands outside the host: a crash takes its backend, not its memory of what
// it asked for and was told. After a crash it goes on with the transaction
// after the one that was under way.
#ifndef MUSTH_PROPERTIES_CLIENT_H_
#define MUSTH_PROPERTIES_CLIENT_H_

#include <memory>
#include <string>
#include <vector>

#include "engine/sql/session.h"
#include "properties/plan.h"

namespace properties {

// Hears what clients ask and are told.
class ClientObserver {
 public:
  virtual ~ClientObserver() = default;
  // The statement is about to be sent by the running task.
  virtual void OnStatementSent(const PlanStatement& statement) = 0;
  // Its answer has arrived. Several results for a script's text.
  virtual void OnStatementResult(
      const PlanStatement& statement,
      const std::vector<engine::StatementResult>& results) = 0;
};

class Client {
 public:
  // The session and observer outlive the client.
  Client(const PlanSession* session, ClientObserver* observer)
      : session_(session), observer_(observer) {}

  std::string name() const;
  // Every transaction was carried out or cut off by a crash.
  bool done() const { return next_ >= session_->transactions.size(); }
  // done(), and no backend is still at the last transaction.
  bool finished() const { return done() && !running_; }
  // The backend died with its host.
  void OnBackendLost() {
    running_ = false;
    commit_pending_ = false;
  }
  // A statement whose success would be a commit has no answer yet.
  bool CommitPending() const { return commit_pending_; }

  // Body of the client's backend: carries out what is left. Suspends: yes.
  void Run(engine::Session& session);

 private:
  void RunTransaction(engine::Session& session,
                      const PlanTransaction& transaction);
  bool Send(engine::Session& session, const PlanStatement& statement,
            bool may_commit);

  const PlanSession* session_;
  ClientObserver* observer_;
  size_t next_ = 0;
  bool running_ = false;
  bool commit_pending_ = false;
};

// Carries out the plan's setup. Errors: the first statement that failed.
env::Status RunSetup(const Plan& plan, ClientObserver* observer,
                     engine::Session& session);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_CLIENT_H_
