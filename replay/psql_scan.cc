#include "replay/psql_scan.h"

#include <cctype>
#include <utility>

namespace replay {
namespace {

bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}
bool IsWordStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsWordChar(char c) {
  return IsWordStart(c) || c == '$' ||
         std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool IsVariableChar(char c) { return IsWordChar(c) && c != '$'; }

}  // namespace

std::string QuoteAsLiteral(std::string_view text) {
  bool backslash = text.find('\\') != std::string_view::npos;
  std::string out = backslash ? " E'" : "'";
  for (char c : text) {
    out += c;
    if (c == '\'' || c == '\\') out += c;
  }
  return out + "'";
}

std::string QuoteAsIdentifier(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    out += c;
    if (c == '"') out += c;
  }
  return out + "\"";
}

void PsqlScanner::StartLine(std::string_view line) {
  line_ = line;
  at_ = 0;
  if (!query_.empty()) query_ += '\n';
}

std::string PsqlScanner::TakeQuery() {
  paren_depth_ = 0;
  return std::exchange(query_, {});
}

void PsqlScanner::Emit(size_t bytes) {
  query_ += std::string_view(line_).substr(at_, bytes);
  at_ += bytes;
}

PsqlScanner::Outcome PsqlScanner::Scan() {
  size_t length_before = query_.size();
  while (at_ < line_.size()) {
    switch (state_) {
      case State::kNormal: {
        char c = Peek();
        if (c == '\\' && Peek(1) != ';' && Peek(1) != ':') {
          return Outcome::kBackslash;
        }
        if (c == ';' && paren_depth_ == 0) {
          Emit(1);
          return Outcome::kStatement;
        }
        ScanNormal();
        break;
      }
      case State::kBlockComment:
        ScanBlockComment();
        break;
      case State::kDoubleQuote:
        ScanQuoted('"');
        break;
      default:
        ScanQuoted('\'');
    }
  }
  // A line that added nothing leaves no newline either.
  if (query_.size() == length_before && !query_.empty() &&
      query_.back() == '\n' && state_ == State::kNormal) {
    query_.pop_back();
  }
  return Outcome::kNeedLine;
}

void PsqlScanner::ScanNormal() {
  char c = Peek();
  if (IsSpace(c)) {
    if (query_.empty()) {
      ++at_;
    } else {
      Emit(1);
    }
  } else if (c == '-' && Peek(1) == '-') {
    if (query_.empty()) {
      at_ = line_.size();
    } else {
      Emit(line_.size() - at_);
    }
  } else if (c == '/' && Peek(1) == '*') {
    state_ = State::kBlockComment;
    comment_depth_ = 0;
  } else if (c == '\'' || c == '"') {
    state_ = c == '"' ? State::kDoubleQuote : State::kSingleQuote;
    Emit(1);
  } else if (c == '\\') {  // \; and \: are the characters themselves
    ++at_;
    Emit(1);
  } else if (c == ':') {
    ScanVariable();
  } else if (IsWordStart(c)) {
    ScanWord();
  } else if (c != '$' || !StartDollarQuote()) {
    if (c == '(') ++paren_depth_;
    if (c == ')' && paren_depth_ > 0) --paren_depth_;
    Emit(1);
  }
}

void PsqlScanner::ScanWord() {
  size_t length = 1;
  while (IsWordChar(Peek(length))) ++length;
  bool escapes =
      length == 1 && (Peek() == 'E' || Peek() == 'e') && Peek(1) == '\'';
  Emit(length);
  if (escapes) {
    Emit(1);
    state_ = State::kEscapeQuote;
  }
}

void PsqlScanner::ScanQuoted(char quote) {
  if (state_ == State::kDollarQuote) {
    size_t end = line_.find(dollar_tag_, at_);
    if (end == std::string::npos) {
      Emit(line_.size() - at_);
      return;
    }
    Emit(end + dollar_tag_.size() - at_);
    state_ = State::kNormal;
    return;
  }
  if (Peek() == '\\' && state_ == State::kEscapeQuote) {
    Emit(at_ + 1 < line_.size() ? 2 : 1);
    return;
  }
  // A doubled quote stands for one.
  bool doubled = Peek() == quote && Peek(1) == quote;
  if (Peek() == quote && !doubled) state_ = State::kNormal;
  Emit(doubled ? 2 : 1);
}

void PsqlScanner::ScanBlockComment() {
  if (Peek() == '/' && Peek(1) == '*') {
    ++comment_depth_;
    Emit(2);
  } else if (Peek() == '*' && Peek(1) == '/') {
    if (--comment_depth_ == 0) state_ = State::kNormal;
    Emit(2);
  } else {
    Emit(1);
  }
}

bool PsqlScanner::StartDollarQuote() {
  size_t length = 1;
  if (IsWordStart(Peek(length))) {
    while (IsVariableChar(Peek(length))) ++length;
  }
  if (Peek(length) != '$') return false;
  dollar_tag_ = line_.substr(at_, length + 1);
  Emit(length + 1);
  state_ = State::kDollarQuote;
  return true;
}

// :name, :'name', :"name"; anything else stays as it is.
void PsqlScanner::ScanVariable() {
  char quote = Peek(1) == '\'' || Peek(1) == '"' ? Peek(1) : '\0';
  size_t begin = quote != '\0' ? 2 : 1;
  size_t end = begin;
  while (IsVariableChar(Peek(end))) ++end;
  bool closed = quote == '\0' || Peek(end) == quote;
  if (Peek(1) == ':' || Peek(1) == '=') {  // a cast or an assignment
    Emit(2);
    return;
  }
  auto it = end > begin && closed
                ? variables_->find(line_.substr(at_ + begin, end - begin))
                : variables_->end();
  if (it == variables_->end()) {
    Emit(1);
    return;
  }
  query_ += quote == '\''  ? QuoteAsLiteral(it->second)
            : quote == '"' ? QuoteAsIdentifier(it->second)
                           : it->second;
  at_ += quote != '\0' ? end + 1 : end;
}

}  // namespace replay
