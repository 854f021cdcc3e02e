// Programs that nobody here wrote, run by a user who is not root.
//
// PostgreSQL's server refuses to be root. A test that runs as root becomes
// `nobody` in the child process before the program starts; ScratchDir hands its
// files over.
#ifndef MUSTH_REPLAY_INTEROP_OUTSIDE_PROGRAM_H_
#define MUSTH_REPLAY_INTEROP_OUTSIDE_PROGRAM_H_

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace replay {

// "/usr/lib/postgresql/15/bin/pg_waldump"
std::string PostgresProgram(std::string_view name);
inline constexpr char kPgFiledump[] = "/usr/bin/pg_filedump";

// Empty if every program of the suite is installed, else what to install.
std::string MissingPrograms();

struct ProgramResult {
  int exit_code = 0;   // 128 + signal if it was killed
  std::string output;  // standard output and standard error
};

// Runs argv[0] with `input` as its standard input, waits for its end.
ProgramResult RunProgram(const std::vector<std::string>& argv,
                         const std::string& input = "");

// Starts argv[0] and returns its process id; it dies with this process.
// Standard output and error are appended to the file `log`.
pid_t StartProgram(const std::vector<std::string>& argv,
                   const std::string& log);

// A new directory with a short path (it holds Unix sockets), removed at the
// end.
class ScratchDir {
 public:
  ScratchDir();
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;

  const std::string& path() const { return path_; }
  std::string Path(std::string_view name) const;
  void Remove(std::string_view name);

 private:
  std::string path_;
};

// Makes everything below path belong to the user that programs run as.
void GiveAway(const std::string& path);

// The output's lines, line breaks removed.
std::vector<std::string> Lines(std::string_view text);

}  // namespace replay

#endif  // MUSTH_REPLAY_INTEROP_OUTSIDE_PROGRAM_H_
