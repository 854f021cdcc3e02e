// Settings of one session (PostgreSQL's configuration parameters).
//
// SET takes effect at once and is undone if the transaction aborts; SET LOCAL
// is undone at its end in any case. Only settings that change what Musth does,
// or whose one possible value is the one it has, can be set.
// Source: src/backend/utils/misc/guc.c.
#ifndef MUSTH_ENGINE_SQL_GUC_H_
#define MUSTH_ENGINE_SQL_GUC_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "engine/common/config.h"
#include "engine/common/types.h"

namespace engine {

class SessionSettings {
 public:
  // config must outlive this.
  explicit SessionSettings(const Config& config);

  // Errors: 42704 (unknown), 22023 (bad value), 55P02 (fixed), 0A000.
  Status Set(std::string_view name, std::string_view value, bool local);
  // SET name TO DEFAULT, RESET name.
  Status Reset(std::string_view name, bool local);

  // Errors: 42704.
  Result<std::string> Get(std::string_view name) const;
  // As SHOW titles its column. Requires: Get() works.
  std::string CanonicalName(std::string_view name) const;

  // The ones that every transaction asks for.
  bool synchronous_commit() const { return synchronous_commit_; }
  const std::string& default_transaction_isolation() const {
    return default_transaction_isolation_;
  }
  bool default_transaction_read_only() const {
    return default_transaction_read_only_;
  }

  // The end of a transaction.
  void AtTransactionEnd(bool committed);

 private:
  using Values = std::map<std::string, std::string, std::less<>>;
  Status Store(std::string_view name, std::string value, bool local);
  void Refresh();

  const Config& config_;
  // Values that were set, by lower-case name; others have their defaults.
  Values current_;
  Values after_commit_;
  // What an abort goes back to; set by the first change in a transaction.
  std::optional<Values> after_abort_;
  bool synchronous_commit_ = true;
  std::string default_transaction_isolation_;
  bool default_transaction_read_only_ = false;
};

// The value of a Boolean setting: on, true, yes, 1 and their prefixes.
std::optional<bool> ParseBoolSetting(std::string_view text);

}  // namespace engine

#endif  // MUSTH_ENGINE_SQL_GUC_H_
