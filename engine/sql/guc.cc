#include "engine/sql/guc.h"

#include <algorithm>
#include <cctype>

#include "engine/common/errcodes.h"

namespace engine {
namespace {

enum class Kind : uint8_t {
  kBool,
  kEnum,        // one of allowed
  kInteger,     // any integer
  kString,      // anything
  kOnly,        // one of allowed; other values would need a feature
  kInternal,    // fixed at build time
  kPostmaster,  // fixed while the server runs
  kSighup,      // set by the server's configuration
};

struct Setting {
  const char* name;
  Kind kind;
  const char* initial;
  const char* allowed;  // separated by '|', as SHOW prints them
};

constexpr Setting kSettings[] = {
    {"application_name", Kind::kString, "", ""},
    {"block_size", Kind::kInternal, "8192", ""},
    {"bytea_output", Kind::kEnum, "hex", "escape|hex"},
    {"check_function_bodies", Kind::kBool, "on", ""},
    {"client_encoding", Kind::kOnly, "UTF8", "UTF8|UTF-8|UNICODE"},
    {"client_min_messages", Kind::kOnly, "notice", "notice"},
    {"DateStyle", Kind::kOnly, "ISO, MDY", "ISO, MDY|ISO"},
    {"default_transaction_deferrable", Kind::kOnly, "off", "off"},
    {"default_transaction_isolation", Kind::kEnum, "read committed",
     "serializable|repeatable read|read committed|read uncommitted"},
    {"default_transaction_read_only", Kind::kBool, "off", ""},
    {"enable_bitmapscan", Kind::kBool, "on", ""},
    {"enable_hashagg", Kind::kBool, "on", ""},
    {"enable_indexonlyscan", Kind::kBool, "on", ""},
    {"enable_indexscan", Kind::kBool, "on", ""},
    {"enable_seqscan", Kind::kBool, "on", ""},
    {"enable_sort", Kind::kBool, "on", ""},
    {"extra_float_digits", Kind::kInteger, "1", ""},
    {"fsync", Kind::kSighup, "on", ""},
    {"full_page_writes", Kind::kSighup, "on", ""},
    {"idle_in_transaction_session_timeout", Kind::kOnly, "0", "0"},
    {"integer_datetimes", Kind::kInternal, "on", ""},
    {"IntervalStyle", Kind::kOnly, "postgres", "postgres"},
    {"jit", Kind::kBool, "off", ""},
    {"lc_collate", Kind::kInternal, "C", ""},
    {"lc_ctype", Kind::kInternal, "C", ""},
    {"lock_timeout", Kind::kOnly, "0", "0"},
    {"maintenance_work_mem", Kind::kString, "64MB", ""},
    {"max_connections", Kind::kPostmaster, "16", ""},
    {"max_parallel_workers_per_gather", Kind::kInteger, "0", ""},
    {"row_security", Kind::kBool, "on", ""},
    {"search_path", Kind::kOnly, "\"$user\", public",
     "\"$user\", public|public|$user, public|public, pg_catalog"},
    {"server_encoding", Kind::kInternal, "UTF8", ""},
    {"server_version", Kind::kInternal, "15.0 (Musth)", ""},
    {"server_version_num", Kind::kInternal, "150000", ""},
    {"shared_buffers", Kind::kPostmaster, "", ""},
    {"standard_conforming_strings", Kind::kOnly, "on", "on"},
    {"statement_timeout", Kind::kOnly, "0", "0"},
    {"synchronous_commit", Kind::kEnum, "on",
     "local|remote_write|remote_apply|on|off"},
    {"TimeZone", Kind::kOnly, "UTC", "UTC|GMT|Etc/UTC"},
    {"wal_block_size", Kind::kInternal, "8192", ""},
    {"wal_level", Kind::kPostmaster, "replica", ""},
    {"wal_segment_size", Kind::kInternal, "", ""},
    {"work_mem", Kind::kString, "4MB", ""},
};

std::string Lower(std::string_view text) {
  std::string out;
  for (char c : text) {
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

bool EqualNoCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

const Setting* FindSetting(std::string_view name) {
  for (const Setting& s : kSettings) {
    if (EqualNoCase(s.name, name)) return &s;
  }
  return nullptr;
}

// "a.b": a parameter of an extension nobody loaded; a placeholder.
bool IsCustomName(std::string_view name) {
  size_t dot = name.find('.');
  return dot != std::string_view::npos && dot > 0 && dot + 1 < name.size();
}

Status Unrecognized(std::string_view name) {
  return SqlError(ERRCODE_UNDEFINED_OBJECT,
                  "unrecognized configuration parameter \"{}\"", name);
}

std::string OnOff(bool value) { return value ? "on" : "off"; }

// What a setting is until somebody sets it.
std::string DefaultOf(const Setting& s, const Config& config) {
  std::string_view name = s.name;
  if (name == "synchronous_commit") return OnOff(config.synchronous_commit);
  if (name == "full_page_writes") return OnOff(config.full_page_writes);
  if (name == "max_connections") return std::to_string(config.max_connections);
  if (name == "shared_buffers") {
    return fmt::format("{}kB", config.shared_buffers * (BLCKSZ / 1024));
  }
  if (name == "wal_segment_size") {
    return fmt::format("{}MB", config.wal_segment_size >> 20);
  }
  return s.initial;
}

// The allowed value that text means, or nothing.
std::optional<std::string> MatchAllowed(const Setting& s,
                                        std::string_view text) {
  std::string wanted = Lower(text);
  // on and off have synonyms here too.
  std::optional<bool> truth = ParseBoolSetting(text);
  std::string_view rest = s.allowed;
  while (!rest.empty()) {
    size_t bar = std::min(rest.find('|'), rest.size());
    std::string option(rest.substr(0, bar));
    rest.remove_prefix(std::min(bar + 1, rest.size()));
    if (Lower(option) == wanted) return option;
    if (truth.has_value() && option == OnOff(*truth)) return option;
  }
  return std::nullopt;
}

Status InvalidValue(const Setting& s, std::string_view value) {
  return SqlError(ERRCODE_INVALID_PARAMETER_VALUE,
                  "invalid value for parameter \"{}\": \"{}\"", s.name, value);
}

Result<std::string> CheckEnum(const Setting& s, std::string_view value) {
  std::optional<std::string> match = MatchAllowed(s, value);
  if (match.has_value()) return *match;
  std::string options = s.allowed;
  size_t at = 0;
  while ((at = options.find('|', at)) != std::string::npos) {
    options.replace(at, 1, ", ");
  }
  return InvalidValue(s, value).WithHint(
      fmt::format("Available values: {}.", options));
}

Result<std::string> CheckInteger(const Setting& s, std::string_view value) {
  size_t first = !value.empty() && value[0] == '-' ? 1 : 0;
  bool digits =
      value.size() > first && value.size() < 10 &&
      std::all_of(value.begin() + static_cast<ptrdiff_t>(first), value.end(),
                  [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) return InvalidValue(s, value);
  return std::string(value);
}

// The value to store, in the form that SHOW prints.
Result<std::string> CheckValue(const Setting& s, std::string_view value) {
  switch (s.kind) {
    case Kind::kBool: {
      std::optional<bool> truth = ParseBoolSetting(value);
      if (truth.has_value()) return OnOff(*truth);
      return SqlError(ERRCODE_INVALID_PARAMETER_VALUE,
                      "parameter \"{}\" requires a Boolean value", s.name);
    }
    case Kind::kEnum:
      return CheckEnum(s, value);
    case Kind::kInteger:
      return CheckInteger(s, value);
    case Kind::kOnly: {
      std::optional<std::string> match = MatchAllowed(s, value);
      if (match.has_value()) return *match;
      return SqlError(ERRCODE_FEATURE_NOT_SUPPORTED,
                      "value \"{}\" of parameter \"{}\" is not supported",
                      value, s.name);
    }
    case Kind::kInternal:
      return SqlError(ERRCODE_CANT_CHANGE_RUNTIME_PARAM,
                      "parameter \"{}\" cannot be changed", s.name);
    case Kind::kPostmaster:
      return SqlError(ERRCODE_CANT_CHANGE_RUNTIME_PARAM,
                      "parameter \"{}\" cannot be changed without restarting "
                      "the server",
                      s.name);
    case Kind::kSighup:
      return SqlError(ERRCODE_CANT_CHANGE_RUNTIME_PARAM,
                      "parameter \"{}\" cannot be changed now", s.name);
    case Kind::kString:
      break;
  }
  return std::string(value);
}

}  // namespace

std::optional<bool> ParseBoolSetting(std::string_view text) {
  std::string s = Lower(text);
  auto prefix_of = [&s](std::string_view word, size_t least) {
    return s.size() >= least && word.substr(0, s.size()) == s;
  };
  if (prefix_of("true", 1) || prefix_of("yes", 1) || s == "on" || s == "1") {
    return true;
  }
  if (prefix_of("false", 1) || prefix_of("no", 1) || prefix_of("off", 2) ||
      s == "0") {
    return false;
  }
  return std::nullopt;
}

SessionSettings::SessionSettings(const Config& config) : config_(config) {
  Refresh();
}

void SessionSettings::Refresh() {
  auto value = [this](const char* name) {
    auto it = current_.find(name);
    return it != current_.end() ? it->second
                                : DefaultOf(*FindSetting(name), config_);
  };
  synchronous_commit_ = value("synchronous_commit") != "off";
  default_transaction_isolation_ = value("default_transaction_isolation");
  default_transaction_read_only_ =
      value("default_transaction_read_only") == "on";
}

Status SessionSettings::Store(std::string_view name, std::string value,
                              bool local) {
  if (!after_abort_.has_value()) after_abort_ = after_commit_;
  std::string key = Lower(name);
  if (!local) after_commit_[key] = value;
  current_[key] = std::move(value);
  Refresh();
  return {};
}

Status SessionSettings::Set(std::string_view name, std::string_view value,
                            bool local) {
  const Setting* setting = FindSetting(name);
  if (setting == nullptr) {
    if (!IsCustomName(name)) return Unrecognized(name);
    return Store(name, std::string(value), local);
  }
  ASSIGN_OR_RETURN(std::string checked, CheckValue(*setting, value));
  return Store(name, std::move(checked), local);
}

Status SessionSettings::Reset(std::string_view name, bool local) {
  const Setting* setting = FindSetting(name);
  if (setting == nullptr) {
    if (!IsCustomName(name)) return Unrecognized(name);
    return Store(name, "", local);
  }
  std::string initial = DefaultOf(*setting, config_);
  // Fixed ones may not even be reset.
  if (setting->kind >= Kind::kInternal) {
    return CheckValue(*setting, initial).status();
  }
  return Store(name, std::move(initial), local);
}

Result<std::string> SessionSettings::Get(std::string_view name) const {
  auto it = current_.find(Lower(name));
  if (it != current_.end()) return it->second;
  const Setting* setting = FindSetting(name);
  if (setting == nullptr) return Unrecognized(name);
  return DefaultOf(*setting, config_);
}

std::string SessionSettings::CanonicalName(std::string_view name) const {
  const Setting* setting = FindSetting(name);
  return setting == nullptr ? std::string(name) : setting->name;
}

void SessionSettings::AtTransactionEnd(bool committed) {
  if (!after_abort_.has_value()) return;
  if (!committed) after_commit_ = std::move(*after_abort_);
  current_ = after_commit_;
  after_abort_.reset();
  Refresh();
}

}  // namespace engine
