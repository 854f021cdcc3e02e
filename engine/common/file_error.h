// How a failed file operation is reported: PostgreSQL's "...: %m" messages and
// the SQLSTATE that errcode_for_file_access() chooses.
#ifndef MUSTH_ENGINE_COMMON_FILE_ERROR_H_
#define MUSTH_ENGINE_COMMON_FILE_ERROR_H_

#include <string>
#include <string_view>

#include "engine/common/types.h"

namespace engine {

// The operating system's text for the code ("No such file or directory").
std::string_view ErrnoText(env::Code code);

// A SQL error "WHAT: ERRNO TEXT". Requires: cause is not OK. A cause that is a
// SQL error already is returned as it is.
Status FileAccessError(const Status& cause, std::string_view what);

}  // namespace engine

#endif  // MUSTH_ENGINE_COMMON_FILE_ERROR_H_
