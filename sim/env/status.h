// Status and Result<T>: how every fallible call reports.
//
// A Status is one pointer, null when OK, so that returning success costs
// nothing. SQL errors carry a SQLSTATE and PostgreSQL's texts beside the
// coarse code; I/O errors carry the code alone.
#ifndef MUSTH_SIM_ENV_STATUS_H_
#define MUSTH_SIM_ENV_STATUS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/env/check.h"

namespace env {

enum class Code : uint8_t {
  kOk,
  kIo,           // EIO: a device failed
  kNoSpace,      // ENOSPC
  kNotFound,     // ENOENT
  kExists,       // EEXIST
  kReadOnly,     // EROFS
  kInterrupted,  // EINTR, cancelled
  kCorrupted,    // bytes that cannot be what they claim to be
  kInvalid,      // a request that makes no sense
  kSql,          // see sqlstate()
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message);

  // A SQL error. sqlstate is the five characters packed by MakeSqlState().
  static Status Sql(uint32_t sqlstate, std::string message);

  Status(const Status& other);
  Status& operator=(const Status& other);
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  bool ok() const { return rep_ == nullptr; }
  Code code() const { return ok() ? Code::kOk : rep_->code; }
  // 0 unless code() is kSql.
  uint32_t sqlstate() const { return ok() ? 0 : rep_->sqlstate; }
  std::string_view message() const;
  std::string_view detail() const;
  std::string_view hint() const;
  // 1-based character position in the statement's text, 0 when unknown.
  int cursor_position() const { return ok() ? 0 : rep_->cursor_position; }

  // Setters for the rarer fields; the status must not be OK.
  Status&& WithDetail(std::string detail) &&;
  Status&& WithHint(std::string hint) &&;
  Status&& WithCursor(int position) &&;

  // "CODE: message", or "OK".
  std::string ToString() const;

 private:
  struct Rep {
    Code code;
    uint32_t sqlstate = 0;
    int cursor_position = 0;
    std::string message;
    std::string detail;
    std::string hint;
  };
  std::unique_ptr<Rep> rep_;
};

// Packs five SQLSTATE characters, six bits each, as PostgreSQL does.
// Source: src/include/utils/elog.h MAKE_SQLSTATE.
constexpr uint32_t MakeSqlState(const char (&s)[6]) {
  uint32_t packed = 0;
  for (int i = 4; i >= 0; --i) {
    packed = (packed << 6) | ((static_cast<uint32_t>(s[i]) - '0') & 0x3F);
  }
  return packed;
}
std::string SqlStateToString(uint32_t packed);

// A T or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  // Implicit by intent, so that `return value;` and `return status;` both read.
  Result(T value) : value_(std::move(value)) {}         // NOLINT
  Result(Status status) : status_(std::move(status)) {  // NOLINT
    SIM_CHECK(!status_.ok());
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const& { return status_; }
  Status status() && { return std::move(status_); }

  // Requires: ok().
  T& value() & {
    SIM_CHECK(ok());
    return *value_;
  }
  const T& value() const& {
    SIM_CHECK(ok());
    return *value_;
  }
  T value() && {
    SIM_CHECK(ok());
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace env

#define MUSTH_CONCAT_INNER(a, b) a##b
#define MUSTH_CONCAT(a, b) MUSTH_CONCAT_INNER(a, b)

// Returns the Status of expr from the enclosing function unless it is OK.
#define RETURN_IF_ERROR(expr)                    \
  do {                                           \
    ::env::Status musth_status = (expr);         \
    if (!musth_status.ok()) return musth_status; \
  } while (false)

// ASSIGN_OR_RETURN(auto x, F()): x gets the value, or the Status is returned.
#define ASSIGN_OR_RETURN(lhs, expr) \
  ASSIGN_OR_RETURN_INNER(MUSTH_CONCAT(musth_result_, __COUNTER__), lhs, expr)
#define ASSIGN_OR_RETURN_INNER(result, lhs, expr)      \
  auto result = (expr);                                \
  if (!result.ok()) return std::move(result).status(); \
  lhs = std::move(result).value()

#endif  // MUSTH_SIM_ENV_STATUS_H_
