#include "engine/common/file_error.h"

#include "engine/common/errcodes.h"

namespace engine {
namespace {

uint32_t SqlStateFor(env::Code code) {
  switch (code) {
    case env::Code::kIo:
      return ERRCODE_IO_ERROR;
    case env::Code::kNoSpace:
      return ERRCODE_DISK_FULL;
    case env::Code::kNotFound:
      return ERRCODE_UNDEFINED_FILE;
    case env::Code::kExists:
      return ERRCODE_DUPLICATE_FILE;
    case env::Code::kReadOnly:
      return ERRCODE_INSUFFICIENT_PRIVILEGE;
    default:
      return ERRCODE_INTERNAL_ERROR;
  }
}

}  // namespace

std::string_view ErrnoText(env::Code code) {
  switch (code) {
    case env::Code::kIo:
      return "Input/output error";
    case env::Code::kNoSpace:
      return "No space left on device";
    case env::Code::kNotFound:
      return "No such file or directory";
    case env::Code::kExists:
      return "File exists";
    case env::Code::kReadOnly:
      return "Read-only file system";
    case env::Code::kInterrupted:
      return "Interrupted system call";
    default:
      return "Invalid argument";
  }
}

Status FileAccessError(const Status& cause, std::string_view what) {
  SIM_CHECK(!cause.ok());
  if (cause.code() == env::Code::kSql) return cause;
  return SqlError(SqlStateFor(cause.code()), "{}: {}", what,
                  ErrnoText(cause.code()));
}

}  // namespace engine
