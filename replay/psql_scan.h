// Splitting a psql script: finds where statements end and where backslash
// commands start, and puts variables in.
//
// A statement reaches the server as psql sends it: without blank lines,
// without what stands before its first word except /* comments */, with its
// semicolon. "\;" separates statements that are sent together.
// Source: src/fe_utils/psqlscan.l.
#ifndef MUSTH_REPLAY_PSQL_SCAN_H_
#define MUSTH_REPLAY_PSQL_SCAN_H_

#include <map>
#include <string>
#include <string_view>

namespace replay {

class PsqlScanner {
 public:
  using Variables = std::map<std::string, std::string, std::less<>>;
  explicit PsqlScanner(const Variables* variables) : variables_(variables) {}

  enum class Outcome {
    kNeedLine,   // the line is used up
    kStatement,  // query() is complete; call TakeQuery()
    kBackslash,  // rest() starts with a backslash command
  };

  // Starts on a line (without its end). Requires: the one before is used up.
  void StartLine(std::string_view line);
  Outcome Scan();

  // True inside quotes and comments, where even blank lines count.
  bool InQuote() const { return state_ != State::kNormal; }
  bool HasQuery() const { return !query_.empty(); }
  // The query so far; the scanner starts on the next.
  std::string TakeQuery();

  // For backslash commands, which take the rest of the line.
  std::string_view rest() const { return std::string_view(line_).substr(at_); }
  void SkipTo(size_t bytes_of_rest) { at_ += bytes_of_rest; }

 private:
  enum class State {
    kNormal,
    kSingleQuote,
    kEscapeQuote,  // E'...'
    kDoubleQuote,
    kDollarQuote,
    kBlockComment,
  };

  char Peek(size_t n = 0) const {
    return at_ + n < line_.size() ? line_[at_ + n] : '\0';
  }
  void Emit(size_t bytes);
  void ScanNormal();
  void ScanWord();
  void ScanQuoted(char quote);
  void ScanBlockComment();
  void ScanVariable();
  bool StartDollarQuote();

  const Variables* variables_;
  std::string line_;
  size_t at_ = 0;
  std::string query_;
  State state_ = State::kNormal;
  int paren_depth_ = 0;
  int comment_depth_ = 0;
  std::string dollar_tag_;
};

// 'text' and "text" as psql quotes them for the server.
std::string QuoteAsLiteral(std::string_view text);
std::string QuoteAsIdentifier(std::string_view text);

}  // namespace replay

#endif  // MUSTH_REPLAY_PSQL_SCAN_H_
