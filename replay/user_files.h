// Files of the person at the terminal.
#ifndef MUSTH_REPLAY_USER_FILES_H_
#define MUSTH_REPLAY_USER_FILES_H_

#include <string>
#include <string_view>

#include "sim/env/status.h"

namespace replay {

// Relative paths start where the command was typed, which `bazel run` leaves
// in BUILD_WORKING_DIRECTORY.
std::string UserPath(std::string_view path);

// The whole file. Errors: kNotFound, kIo: the path and the reason.
env::Result<std::string> ReadFile(const std::string& path);

// Replaces the file; makes the directories above it.
// Errors: kIo: the path and the reason.
env::Status WriteFile(const std::string& path, std::string_view text);

// The same, such that a reader finds the old text or the new one whole, also
// if this process dies.
env::Status ReplaceFile(const std::string& path, std::string_view text);

}  // namespace replay

#endif  // MUSTH_REPLAY_USER_FILES_H_
