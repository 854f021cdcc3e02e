#include "replay/interop/outside_program.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace replay {
namespace {

namespace fs = std::filesystem;

constexpr char kUser[] = "nobody";

// After fork: leaves root, ties the child's life to its parent's, runs argv.
// The directory of a test that root runs may be closed to others, of which
// PostgreSQL's programs complain; all paths are absolute.
[[noreturn]] void Become(const std::vector<std::string>& argv) {
  if (chdir("/") != 0) _exit(126);
  if (geteuid() == 0) {
    const passwd* user = getpwnam(kUser);
    if (user == nullptr || setgroups(0, nullptr) != 0 ||
        setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0) {
      std::perror("cannot become nobody");
      _exit(126);
    }
  }
  prctl(PR_SET_PDEATHSIG, SIGQUIT);
  setenv("LC_ALL", "C", 1);
  setenv("TZ", "UTC", 1);
  std::vector<char*> raw;
  for (const std::string& arg : argv) {
    raw.push_back(const_cast<char*>(arg.c_str()));
  }
  raw.push_back(nullptr);
  execv(raw[0], raw.data());
  std::perror(raw[0]);
  _exit(127);
}

int ExitCodeOf(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string PostgresProgram(std::string_view name) {
  return "/usr/lib/postgresql/15/bin/" + std::string(name);
}

std::string MissingPrograms() {
  std::string missing;
  auto need = [&missing](const std::string& program, const char* package) {
    if (access(program.c_str(), X_OK) == 0) return;
    missing += program + " is not there: install the package " + package +
               " (./bazelw does)\n";
  };
  for (const char* name : {"initdb", "pg_checksums", "pg_controldata",
                           "pg_resetwal", "pg_waldump", "postgres"}) {
    need(PostgresProgram(name), "postgresql-15");
  }
  need(PostgresProgram("psql"), "postgresql-client-15");
  need(kPgFiledump, "postgresql-filedump");
  return missing;
}

ProgramResult RunProgram(const std::vector<std::string>& argv,
                         const std::string& input) {
  ProgramResult result;
  std::FILE* in = std::tmpfile();
  std::array<int, 2> out;
  if (in == nullptr || pipe2(out.data(), O_CLOEXEC) != 0) {
    return {126, "no file or pipe for the program"};
  }
  std::fwrite(input.data(), 1, input.size(), in);
  std::fflush(in);
  std::rewind(in);
  pid_t pid = fork();
  if (pid == 0) {
    dup2(fileno(in), 0);
    dup2(out[1], 1);
    dup2(out[1], 2);
    Become(argv);
  }
  close(out[1]);
  std::array<char, 1 << 16> buffer;
  ssize_t n;
  while ((n = read(out[0], buffer.data(), buffer.size())) > 0) {
    result.output.append(buffer.data(), static_cast<size_t>(n));
  }
  close(out[0]);
  std::fclose(in);
  int status = 0;
  waitpid(pid, &status, 0);
  result.exit_code = ExitCodeOf(status);
  return result;
}

pid_t StartProgram(const std::vector<std::string>& argv,
                   const std::string& log) {
  pid_t pid = fork();
  if (pid != 0) return pid;
  int in = open("/dev/null", O_RDONLY);
  int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  dup2(in, 0);
  dup2(out, 1);
  dup2(out, 2);
  Become(argv);
}

ScratchDir::ScratchDir() {
  char name[] = "/tmp/musth-XXXXXX";
  path_ = mkdtemp(name) != nullptr ? name : "/nonexistent";
  GiveAway(path_);
}

ScratchDir::~ScratchDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string ScratchDir::Path(std::string_view name) const {
  return path_ + "/" + std::string(name);
}

void ScratchDir::Remove(std::string_view name) {
  std::error_code ignored;
  fs::remove_all(Path(name), ignored);
}

void GiveAway(const std::string& path) {
  if (geteuid() != 0) return;
  const passwd* user = getpwnam(kUser);
  if (user == nullptr) return;  // the program's start will tell
  auto give = [user](const fs::path& file) {
    static_cast<void>(lchown(file.c_str(), user->pw_uid, user->pw_gid) == 0);
  };
  give(path);
  std::error_code error;
  for (fs::recursive_directory_iterator at(path, error), end;
       !error && at != end; at.increment(error)) {
    give(at->path());
  }
}

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

}  // namespace replay
