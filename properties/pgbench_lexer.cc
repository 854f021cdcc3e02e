#include "properties/pgbench_lexer.h"

#include <fmt/format.h>

#include <cctype>
#include <utility>

namespace properties {
namespace {

bool IsSpace(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}
bool IsNameChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// True if `sql` ends in a lone e or E: the prefix of an escape string.
bool EndsInEscapePrefix(const std::string& sql) {
  if (sql.empty() || (sql.back() != 'e' && sql.back() != 'E')) return false;
  return sql.size() == 1 || !IsNameChar(sql[sql.size() - 2]);
}

void TrimRight(std::string* text) {
  while (!text->empty() && IsSpace(text->back())) text->pop_back();
}

}  // namespace

env::Status PgbenchLexer::Unterminated(const char* what, int line) {
  error_line_ = line;
  return env::Status(env::Code::kInvalid, fmt::format("unterminated {}", what));
}

env::Status PgbenchLexer::CopyQuoted(char quote, bool backslash_escapes,
                                     std::string* out) {
  int line = line_;
  *out += Take();
  while (at_ < text_.size()) {
    char c = Take();
    *out += c;
    if (c == quote) return {};
    if (c == '\\' && backslash_escapes && at_ < text_.size()) *out += Take();
  }
  return Unterminated(quote == '"' ? "quoted identifier" : "quoted string",
                      line);
}

env::Status PgbenchLexer::SkipBlockComment() {
  int line = line_;
  int depth = 0;
  while (at_ < text_.size()) {
    if (At() == '/' && At(1) == '*') {
      ++depth;
      Take();
    } else if (At() == '*' && At(1) == '/') {
      --depth;
      Take();
    }
    Take();
    if (depth == 0) return {};
  }
  return Unterminated("/* comment", line);
}

env::Result<bool> PgbenchLexer::CopyDollarQuoted(std::string* out) {
  size_t end = at_ + 1;
  while (end < text_.size() && IsNameChar(text_[end])) ++end;
  bool digit_first =
      std::isdigit(static_cast<unsigned char>(At(1))) != 0;  // $1: a parameter
  if (end >= text_.size() || text_[end] != '$' || digit_first) return false;
  std::string_view tag = text_.substr(at_, end + 1 - at_);
  size_t close = text_.find(tag, end + 1);
  if (close == std::string_view::npos) {
    return Unterminated("dollar-quoted string", line_);
  }
  while (at_ < close + tag.size()) *out += Take();
  return true;
}

// Fills the token until a ';' (*ended) or in front of a backslash command.
env::Status PgbenchLexer::ScanSql(PgbenchToken* token, bool* ended) {
  std::string& sql = token->text;
  while (at_ < text_.size()) {
    char c = At();
    if (sql.empty()) {
      if (IsSpace(c)) {
        Take();
        continue;
      }
      token->line = line_;
    }
    if (c == '-' && At(1) == '-') {
      while (at_ < text_.size() && At() != '\n') Take();
    } else if (c == '/' && At(1) == '*') {
      RETURN_IF_ERROR(SkipBlockComment());
      if (!sql.empty()) sql += ' ';
    } else if (c == '\'' || c == '"') {
      bool escapes = c == '\'' && EndsInEscapePrefix(sql);
      RETURN_IF_ERROR(CopyQuoted(c, escapes, &sql));
    } else if (c == '$' && (sql.empty() || !IsNameChar(sql.back()))) {
      ASSIGN_OR_RETURN(bool copied, CopyDollarQuoted(&sql));
      if (!copied) sql += Take();
    } else if (c == '\\' && (At(1) == ';' || At(1) == ':')) {
      Take();
      sql += Take();
    } else if (c == '\\') {
      return {};
    } else if (c == ';' && paren_depth_ == 0) {
      Take();
      *ended = true;
      return {};
    } else {
      if (c == '(') ++paren_depth_;
      if (c == ')' && paren_depth_ > 0) --paren_depth_;
      sql += Take();
    }
  }
  return {};
}

// The rest of the line; a backslash at its end joins the next line.
std::string PgbenchLexer::TakeCommandLine() {
  std::string command;
  while (at_ < text_.size()) {
    if (At() == '\\' && At(1) == '\n') {
      Take();
      Take();
      command += ' ';
      continue;
    }
    if (At() == '\\' && At(1) == '\r' && At(2) == '\n') {
      Take();
      Take();
      Take();
      command += ' ';
      continue;
    }
    char c = Take();
    if (c == '\n') break;
    command += c;
  }
  TrimRight(&command);
  return command;
}

env::Result<PgbenchToken> PgbenchLexer::Next() {
  PgbenchToken token;
  for (;;) {
    bool ended = false;
    RETURN_IF_ERROR(ScanSql(&token, &ended));
    TrimRight(&token.text);
    if (!token.text.empty()) {
      token.kind = PgbenchToken::Kind::kSql;
      paren_depth_ = 0;
      return token;
    }
    if (!ended) break;  // a lone ';' is nothing
  }
  if (at_ >= text_.size()) {
    token.kind = PgbenchToken::Kind::kEnd;
    return token;
  }
  token.line = line_;
  Take();  // the backslash
  token.kind = PgbenchToken::Kind::kBackslash;
  token.text = TakeCommandLine();
  return token;
}

}  // namespace properties
