#include "sim/env/status.h"

namespace env {
namespace {

const char* CodeName(Code code) {
  switch (code) {
    case Code::kOk:
      return "OK";
    case Code::kIo:
      return "Input/output error";
    case Code::kNoSpace:
      return "No space left on device";
    case Code::kNotFound:
      return "No such file or directory";
    case Code::kExists:
      return "File exists";
    case Code::kReadOnly:
      return "Read-only file system";
    case Code::kInterrupted:
      return "Interrupted";
    case Code::kCorrupted:
      return "Corrupted";
    case Code::kInvalid:
      return "Invalid argument";
    case Code::kSql:
      return "SQL error";
  }
  SIM_UNREACHABLE();
}

}  // namespace

Status::Status(Code code, std::string message) : rep_(new Rep{}) {
  SIM_CHECK(code != Code::kOk);
  rep_->code = code;
  rep_->message = std::move(message);
}

Status Status::Sql(uint32_t sqlstate, std::string message) {
  Status s(Code::kSql, std::move(message));
  s.rep_->sqlstate = sqlstate;
  return s;
}

Status::Status(const Status& other)
    : rep_(other.rep_ ? new Rep(*other.rep_) : nullptr) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) rep_.reset(other.rep_ ? new Rep(*other.rep_) : nullptr);
  return *this;
}

std::string_view Status::message() const {
  return ok() ? std::string_view() : std::string_view(rep_->message);
}
std::string_view Status::detail() const {
  return ok() ? std::string_view() : std::string_view(rep_->detail);
}
std::string_view Status::hint() const {
  return ok() ? std::string_view() : std::string_view(rep_->hint);
}

Status&& Status::WithDetail(std::string detail) && {
  SIM_CHECK(!ok());
  rep_->detail = std::move(detail);
  return std::move(*this);
}
Status&& Status::WithHint(std::string hint) && {
  SIM_CHECK(!ok());
  rep_->hint = std::move(hint);
  return std::move(*this);
}
Status&& Status::WithCursor(int position) && {
  SIM_CHECK(!ok());
  rep_->cursor_position = position;
  return std::move(*this);
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  std::string out = rep_->code == Code::kSql ? SqlStateToString(rep_->sqlstate)
                                             : CodeName(rep_->code);
  out += ": ";
  out += rep_->message;
  return out;
}

std::string SqlStateToString(uint32_t packed) {
  std::string out(5, '0');
  for (char& c : out) {
    c = static_cast<char>('0' + (packed & 0x3F));
    packed >>= 6;
  }
  return out;
}

}  // namespace env
