// A real PostgreSQL 15 server that recovers Musth's data directories.
//
// The server needs catalogs that Musth does not have, and must replay Musth's
// log byte for byte. So every relation of a fresh cluster is rewritten into
// files with numbers from 1000000 on (VACUUM FULL), mapped catalogs included.
// Then the numbers below are free, and Musth's files (relations, pg_wal,
// pg_xact, pg_control) are laid over: the server starts from Musth's
// checkpoint, replays Musth's log into Musth's files, catalogs and user tables
// alike, and its own catalogs, frozen, are out of reach. A table becomes
// visible to SQL when a fresh table's pg_class row is pointed to its file.
#ifndef MUSTH_REPLAY_INTEROP_REAL_SERVER_H_
#define MUSTH_REPLAY_INTEROP_REAL_SERVER_H_

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "replay/interop/outside_program.h"
#include "sim/env/status.h"

namespace replay {

// A stopped cluster with pageinspect and amcheck, made once per test.
class FreshCluster {
 public:
  // Makes it below scratch, which outlives the cluster.
  explicit FreshCluster(const ScratchDir* scratch) : scratch_(scratch) {}
  // Errors: the output of the program that failed.
  env::Status Make();
  std::string path() const { return scratch_->Path("fresh"); }

 private:
  const ScratchDir* scratch_;
};

class RealServer {
 public:
  // The data directory and the socket are in scratch. All outlive the server.
  RealServer(const FreshCluster* fresh, const ScratchDir* scratch)
      : fresh_(fresh), scratch_(scratch) {}
  ~RealServer() { Stop(); }
  RealServer(const RealServer&) = delete;
  RealServer& operator=(const RealServer&) = delete;

  // Lays Musth's directory over a copy of the fresh cluster and starts, which
  // recovers it. settings: "full_page_writes=off".
  // Errors: what the server logged if it does not come up.
  env::Status Recover(const std::string& musth_directory,
                      const std::vector<std::string>& settings);
  // Ends the server at once, as a crash does.
  void Stop();

  std::string path() const { return scratch_->Path("real"); }
  // What the server logged since its start.
  std::string Log() const;
  // psql's unaligned output, columns parted by '|', for a script; stops at the
  // first error, which is then in the output and in the exit code.
  ProgramResult Psql(const std::string& script) const;

 private:
  env::Status LayOver(const std::string& musth_directory);
  env::Status WaitUntilReady();

  const FreshCluster* fresh_;
  const ScratchDir* scratch_;
  pid_t pid_ = 0;
};

}  // namespace replay

#endif  // MUSTH_REPLAY_INTEROP_REAL_SERVER_H_
