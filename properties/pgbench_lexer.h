// PgbenchLexer: cuts a script into SQL statements and backslash commands.
//
// The rules are those of psql's lexer: a ';' ends a statement unless it stands
// in quotes, a comment or parentheses, or follows a backslash; a backslash
// elsewhere begins a command that lasts to the end of the line.
// Source: src/fe_utils/psqlscan.l.
#ifndef MUSTH_PROPERTIES_PGBENCH_LEXER_H_
#define MUSTH_PROPERTIES_PGBENCH_LEXER_H_

#include <string>
#include <string_view>

#include "sim/env/status.h"

namespace properties {

struct PgbenchToken {
  enum class Kind { kSql, kBackslash, kEnd };
  Kind kind = Kind::kEnd;
  int line = 0;      // where it begins
  std::string text;  // SQL without its ';', or the command behind the backslash
};

class PgbenchLexer {
 public:
  explicit PgbenchLexer(std::string_view text) : text_(text) {}

  // Errors: kInvalid for unterminated quotes and comments; error_line() says
  // where they begin.
  env::Result<PgbenchToken> Next();
  int error_line() const { return error_line_; }

 private:
  env::Status ScanSql(PgbenchToken* token, bool* ended);
  env::Status CopyQuoted(char quote, bool backslash_escapes, std::string* out);
  env::Status SkipBlockComment();
  // A $tag$ ... $tag$ literal, if one begins here.
  env::Result<bool> CopyDollarQuoted(std::string* out);
  std::string TakeCommandLine();
  env::Status Unterminated(const char* what, int line);
  char At(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  // Moves on by one character, counting lines.
  char Take() {
    char c = text_[at_++];
    if (c == '\n') ++line_;
    return c;
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  int paren_depth_ = 0;
  int error_line_ = 0;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_PGBENCH_LEXER_H_
