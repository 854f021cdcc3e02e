#include "replay/sql_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/common/errcodes.h"
#include "replay/psql_print.h"
#include "replay/psql_scan.h"

namespace replay {
namespace {

// Variables that change what psql does.
constexpr std::string_view kSpecialVariables[] = {
    "AUTOCOMMIT",   "ECHO",         "ECHO_HIDDEN",       "FETCH_COUNT",
    "HIDE_TABLEAM", "HISTCONTROL",  "ON_ERROR_ROLLBACK", "ON_ERROR_STOP",
    "QUIET",        "SHOW_CONTEXT", "SHOW_ALL_RESULTS",  "SINGLELINE",
    "SINGLESTEP",   "VERBOSITY"};

bool IsUnreadable(const env::Status& status) {
  uint32_t code = status.sqlstate();
  return code == engine::ERRCODE_SYNTAX_ERROR ||
         code == engine::ERRCODE_FEATURE_NOT_SUPPORTED ||
         code == engine::ERRCODE_STATEMENT_TOO_COMPLEX;
}

// Tags of statements whose rows are an extra (RETURNING).
bool ShowsTagAfterRows(std::string_view tag) {
  return tag.starts_with("INSERT") || tag.starts_with("UPDATE") ||
         tag.starts_with("DELETE");
}

class Script {
 public:
  Script(std::string_view file_name, const ExecuteQuery& execute,
         std::string* out)
      : file_name_(file_name),
        execute_(execute),
        out_(out),
        scanner_(&variables_) {}

  int Run(std::string_view text) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text.starts_with(kByteOrderMark)) {
      text.remove_prefix(kByteOrderMark.size());
    }
    while (!text.empty() && !quit_) {
      size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      ++line_number_;
      if (line.empty() && !scanner_.InQuote()) continue;
      *out_ += fmt::format("{}\n", line);
      RunLine(line);
    }
    if (scanner_.HasQuery() && !quit_) Send(scanner_.TakeQuery());
    return exit_code_;
  }

 private:
  std::string Prefix() const {
    return fmt::format("psql:{}:{}: ", file_name_, line_number_);
  }

  void RunLine(std::string_view line) {
    scanner_.StartLine(line);
    while (!quit_) {
      switch (scanner_.Scan()) {
        case PsqlScanner::Outcome::kNeedLine:
          return;
        case PsqlScanner::Outcome::kStatement:
          Send(scanner_.TakeQuery());
          break;
        case PsqlScanner::Outcome::kBackslash:
          RunBackslash();
          break;
      }
    }
  }

  void Send(const std::string& query) {
    std::vector<engine::StatementResult> results = execute_(query);
    // psql reads one result ahead before it prints one, and notices are
    // printed as they are read.
    if (!results.empty()) PrintNotices(results[0]);
    for (size_t i = 0; i < results.size(); ++i) {
      if (i + 1 < results.size()) PrintNotices(results[i + 1]);
      PrintResult(results[i], query);
    }
  }

  void PrintNotices(const engine::StatementResult& result) {
    for (const std::string& notice : result.notices) {
      *out_ += fmt::format("{}{}\n", Prefix(), notice);
    }
  }

  void PrintResult(const engine::StatementResult& result,
                   const std::string& query) {
    if (!result.status.ok()) {
      if (IsUnreadable(result.status)) exit_code_ = 2;
      PrintError(Prefix(), result.status, query, out_);
      return;
    }
    if (result.has_rows) PrintTable(result, out_);
    if (!result.has_rows || ShowsTagAfterRows(result.command_tag)) {
      *out_ += result.command_tag + "\n";
    }
  }

  void Refuse(std::string_view what) {
    *out_ += fmt::format("{}error: {} is not supported\n", Prefix(), what);
    exit_code_ = 2;
    scanner_.SkipTo(scanner_.rest().size());
  }

  void RunBackslash() {
    std::string_view rest = scanner_.rest().substr(1);
    size_t length = 0;
    while (length < rest.size() && rest[length] != '\\' &&
           !IsBlank(rest[length])) {
      ++length;
    }
    std::string command(rest.substr(0, length));
    if (command != "echo" && command != "q" && command != "set") {
      Refuse("\\" + command);
      return;
    }
    scanner_.SkipTo(1 + length);
    std::vector<std::string> args;
    std::vector<bool> quoted;
    if (!ReadArgs(&args, &quoted)) {
      Refuse("this argument of \\" + command);
      return;
    }
    if (command == "q") quit_ = true;
    if (command == "echo") Echo(args, quoted);
    if (command == "set") Set(args);
  }

  static bool IsBlank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
  }

  // The arguments up to the end of the line, "\\" or another command. False
  // for `command` arguments.
  bool ReadArgs(std::vector<std::string>* args, std::vector<bool>* quoted) {
    for (;;) {
      std::string_view rest = scanner_.rest();
      size_t blanks = 0;
      while (blanks < rest.size() && IsBlank(rest[blanks])) ++blanks;
      rest.remove_prefix(blanks);
      scanner_.SkipTo(blanks);
      if (rest.empty()) return true;
      if (rest[0] == '\\') {
        if (rest.substr(0, 2) == "\\\\") scanner_.SkipTo(2);
        return true;
      }
      std::string arg;
      size_t used = 0;
      bool was_quoted = false;
      while (used < rest.size() && !IsBlank(rest[used]) && rest[used] != '\\') {
        if (rest[used] == '`') return false;
        was_quoted = was_quoted || rest[used] == '\'';
        used += ReadArgPart(rest.substr(used), &arg);
      }
      scanner_.SkipTo(used);
      args->push_back(std::move(arg));
      quoted->push_back(was_quoted);
    }
  }

  // One quoted string, variable or character of an argument; how many bytes.
  size_t ReadArgPart(std::string_view text, std::string* arg) {
    if (text[0] == '\'') return ReadQuotedPart(text, arg);
    if (text[0] == ':') return ReadVariablePart(text, arg);
    *arg += text[0];
    return 1;
  }

  static size_t ReadQuotedPart(std::string_view text, std::string* arg) {
    size_t i = 1;
    for (; i < text.size() && (text[i] != '\'' || text.substr(i, 2) == "''");
         ++i) {
      if (text[i] == '\'') {
        ++i;
      } else if (text[i] == '\\' && i + 1 < text.size()) {
        ++i;
        *arg += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
        continue;
      }
      *arg += text[i];
    }
    return std::min(i + 1, text.size());
  }

  size_t ReadVariablePart(std::string_view text, std::string* arg) const {
    char quote =
        text.size() > 1 && (text[1] == '\'' || text[1] == '"') ? text[1] : '\0';
    size_t begin = quote != '\0' ? 2 : 1;
    size_t end = begin;
    while (end < text.size() && IsNameChar(text[end])) ++end;
    bool closed = quote == '\0' || (end < text.size() && text[end] == quote);
    auto it = variables_.find(text.substr(begin, end - begin));
    if (end == begin || !closed || it == variables_.end()) {
      *arg += ':';
      return 1;
    }
    *arg += quote == '\''  ? QuoteAsLiteral(it->second)
            : quote == '"' ? QuoteAsIdentifier(it->second)
                           : it->second;
    return quote != '\0' ? end + 1 : end;
  }

  static bool IsNameChar(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
  }

  void Echo(const std::vector<std::string>& args,
            const std::vector<bool>& quoted) {
    bool newline = true;
    bool first = true;
    for (size_t i = 0; i < args.size(); ++i) {
      if (i == 0 && args[i] == "-n" && !quoted[i]) {
        newline = false;
        continue;
      }
      if (!first) *out_ += ' ';
      first = false;
      *out_ += args[i];
    }
    if (newline) *out_ += '\n';
  }

  void Set(const std::vector<std::string>& args) {
    if (args.empty()) {
      Refuse("\\set without a name");
      return;
    }
    const std::string& name = args[0];
    bool special =
        std::find(std::begin(kSpecialVariables), std::end(kSpecialVariables),
                  name) != std::end(kSpecialVariables);
    if (special) {
      Refuse("\\set " + name);
      return;
    }
    if (name.empty() || !std::all_of(name.begin(), name.end(), IsNameChar)) {
      *out_ += fmt::format("{}error: invalid variable name: \"{}\"\n", Prefix(),
                           name);
      return;
    }
    std::string value;
    for (size_t i = 1; i < args.size(); ++i) value += args[i];
    variables_[name] = std::move(value);
  }

  const std::string file_name_;
  const ExecuteQuery& execute_;
  std::string* out_;
  PsqlScanner::Variables variables_;
  PsqlScanner scanner_;
  int line_number_ = 0;
  int exit_code_ = 0;
  bool quit_ = false;
};

}  // namespace

int RunSqlScript(std::string_view file_name, std::string_view text,
                 const ExecuteQuery& execute, std::string* out) {
  return Script(file_name, execute, out).Run(text);
}

}  // namespace replay
