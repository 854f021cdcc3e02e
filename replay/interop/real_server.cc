#include "replay/interop/real_server.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "properties/decoders/bytes.h"
#include "properties/decoders/checksums.h"

namespace replay {
namespace {

namespace fs = std::filesystem;
using properties::AllZero;
using properties::ComputePageChecksum;
using properties::kPageBytes;

constexpr char kFirstOwnOid[] = "1000000";
constexpr int kPollUs = 5000;
constexpr int kMaxPolls = 60 * 200;

env::Status Failed(std::string message) {
  return env::Status(env::Code::kIo, std::move(message));
}

env::Status RunOrFail(const std::vector<std::string>& argv,
                      const std::string& input = "") {
  ProgramResult result = RunProgram(argv, input);
  if (result.exit_code == 0) return env::Status();
  return Failed(fmt::format("{} exited with {}:\n{}", argv[0], result.exit_code,
                            result.output));
}

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in),
                     std::istreambuf_iterator<char>());
}

// Sets the LSN of every page to 0: the server's log is Musth's, shorter than
// the one that these pages knew, and a page may not be newer than its log.
env::Status ForgetLsns(const std::string& directory) {
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    std::string name = entry.path().filename().string();
    if (!entry.is_regular_file() || name.find_first_of("0123456789") != 0) {
      continue;
    }
    std::string bytes = ReadAll(entry.path().string());
    for (size_t at = 0; at + kPageBytes <= bytes.size(); at += kPageBytes) {
      std::string_view page = std::string_view(bytes).substr(at, kPageBytes);
      if (AllZero(page)) continue;
      bytes.replace(at, 8, 8, '\0');
      uint16_t checksum =
          ComputePageChecksum(page, static_cast<uint32_t>(at / kPageBytes));
      std::memcpy(&bytes[at + 8], &checksum, sizeof checksum);
    }
    std::ofstream out(entry.path(), std::ios::binary);
    out << bytes;
    out.close();
    if (!out) return Failed("cannot write " + entry.path().string());
  }
  return env::Status();
}

}  // namespace

env::Status FreshCluster::Make() {
  RETURN_IF_ERROR(RunOrFail({PostgresProgram("initdb"), "-k", "-N", "-A",
                             "trust", "-U", "postgres", "-E", "UTF8",
                             "--locale=C", "--wal-segsize=1", "-D", path()}));
  RETURN_IF_ERROR(RunOrFail(
      {PostgresProgram("pg_resetwal"), "-o", kFirstOwnOid, "-D", path()}));
  // Rewritten rows are frozen: what Musth's commit log says about their
  // transactions does not matter.
  RETURN_IF_ERROR(
      RunOrFail({PostgresProgram("postgres"), "--single", "-c", "fsync=off",
                 "-D", path(), "postgres"},
                "CREATE EXTENSION pageinspect;\nCREATE EXTENSION amcheck;\n"
                "VACUUM FULL;\nVACUUM FREEZE;\n"));
  RETURN_IF_ERROR(ForgetLsns(path() + "/base/5"));
  RETURN_IF_ERROR(ForgetLsns(path() + "/global"));
  std::error_code error;
  // Copied for every seed and never used: the other databases, the log.
  for (const char* name : {"base/1", "base/4", "pg_wal", "pg_xact"}) {
    fs::remove_all(path() + "/" + name, error);
    if (error) return Failed(path() + "/" + name + ": " + error.message());
  }
  return env::Status();
}

env::Status RealServer::LayOver(const std::string& musth_directory) {
  std::error_code error;
  auto options =
      fs::copy_options::recursive | fs::copy_options::overwrite_existing;
  fs::remove_all(path(), error);
  fs::copy(fresh_->path(), path(), options, error);
  if (error) return Failed("copying the fresh cluster: " + error.message());
  fs::copy(musth_directory, path(), options, error);
  if (error) return Failed("copying Musth's files: " + error.message());
  fs::create_directories(path() + "/pg_wal/archive_status", error);
  fs::permissions(path(), fs::perms::owner_all, error);
  GiveAway(path());
  return env::Status();
}

env::Status RealServer::Recover(const std::string& musth_directory,
                                const std::vector<std::string>& settings) {
  Stop();
  RETURN_IF_ERROR(LayOver(musth_directory));
  std::vector<std::string> argv = {PostgresProgram("postgres"), "-D", path(),
                                   "-k", scratch_->path()};
  for (const char* setting :
       {"listen_addresses=", "fsync=off", "autovacuum=off",
        "shared_buffers=1MB", "max_logical_replication_workers=0",
        "log_line_prefix="}) {
    argv.insert(argv.end(), {"-c", setting});
  }
  for (const std::string& setting : settings) {
    argv.insert(argv.end(), {"-c", setting});
  }
  std::error_code ignored;
  fs::remove(scratch_->Path("log"), ignored);
  pid_ = StartProgram(argv, scratch_->Path("log"));
  return WaitUntilReady();
}

// The server says so in its pid file, as pg_ctl knows.
env::Status RealServer::WaitUntilReady() {
  for (int i = 0; i < kMaxPolls; ++i) {
    usleep(kPollUs);
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = 0;
      return Failed("the server did not start:\n" + Log());
    }
    std::vector<std::string> lines = Lines(ReadAll(path() + "/postmaster.pid"));
    if (lines.size() >= 8 && lines[7].rfind("ready", 0) == 0) {
      return env::Status();
    }
  }
  return Failed("the server did not become ready:\n" + Log());
}

void RealServer::Stop() {
  if (pid_ == 0) return;
  kill(pid_, SIGQUIT);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

std::string RealServer::Log() const { return ReadAll(scratch_->Path("log")); }

ProgramResult RealServer::Psql(const std::string& script) const {
  return RunProgram({PostgresProgram("psql"), "-h", scratch_->path(), "-U",
                     "postgres", "-d", "postgres", "-X", "-q", "-A", "-t", "-P",
                     "null=null", "-v", "ON_ERROR_STOP=1"},
                    script);
}

}  // namespace replay
