// SqlNesting: how deep the parse tree of a text can get, without parsing it.
//
// Scans tokens and keeps, for every open parenthesis, how many operators and
// prefix keywords the running expression has had. AND, OR and commas start a
// new subtree beside the previous one and reset the count; the lists that they
// form are flat. Set operations and joins lean left over the whole statement
// and are never reset.
#include <cctype>
#include <numeric>
#include <string>
#include <vector>

#include "engine/sql/parse.h"

namespace engine {
namespace {

bool IsIdentStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsIdentChar(char c) {
  return IsIdentStart(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 ||
         c == '$';
}

class NestingScanner {
 public:
  explicit NestingScanner(std::string_view text) : text_(text) {}

  int Run() {
    while (at_ < text_.size()) {
      Step();
      int depth = permanent_ + std::accumulate(open_.begin(), open_.end(), 0);
      if (depth > deepest_) deepest_ = depth;
    }
    return deepest_;
  }

 private:
  char Peek(size_t n = 0) const {
    return at_ + n < text_.size() ? text_[at_ + n] : '\0';
  }

  void Step() {
    char c = Peek();
    if (c == '\'') {
      SkipString(false);
    } else if (c == '"') {
      SkipQuoted('"');
    } else if (c == '$' && SkipDollarQuote()) {
      return;
    } else if (c == '-' && Peek(1) == '-') {
      while (at_ < text_.size() && Peek() != '\n' && Peek() != '\r') ++at_;
    } else if (c == '/' && Peek(1) == '*') {
      SkipBlockComment();
    } else if (IsIdentStart(c)) {
      Word();
    } else {
      Punctuation(c);
      ++at_;
    }
  }

  void Punctuation(char c) {
    switch (c) {
      case '(':
      case '[':
        open_.push_back(1);
        break;
      case ')':
      case ']':
        if (open_.size() > 1) open_.pop_back();
        break;
      case ',':
        open_.back() = open_.size() > 1 ? 1 : 0;
        break;
      case ';':
        open_.assign(1, 0);
        permanent_ = 0;
        break;
      default:
        if (std::string_view("+-*/<>=~!@#%^&|`?:").find(c) !=
                std::string_view::npos &&
            !last_was_operator_) {
          ++open_.back();
        }
    }
    // "<=" is one operator but "- -1" is two.
    last_was_operator_ =
        std::string_view("<>=!~|:").find(c) != std::string_view::npos;
  }

  void Word() {
    last_was_operator_ = false;
    size_t begin = at_;
    while (at_ < text_.size() && IsIdentChar(Peek())) ++at_;
    std::string word;
    for (char c : text_.substr(begin, at_ - begin)) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    if (Peek() == '\'' && word == "e") {
      SkipString(true);
      return;
    }
    Keyword(word);
  }

  void Keyword(const std::string& word) {
    static constexpr std::string_view kOneLevel[] = {
        "not",     "is",   "isnull", "notnull", "like",   "ilike",
        "similar", "in",   "at",     "collate", "escape", "between",
        "array",   "when", "over",   "operator"};
    static constexpr std::string_view kPermanent[] = {
        "union", "intersect", "except", "join", "select", "case"};
    if (word == "and" || word == "or") {
      open_.back() = open_.size() > 1 ? 1 : 0;
      return;
    }
    for (std::string_view k : kOneLevel) {
      if (word == k) ++open_.back();
    }
    for (std::string_view k : kPermanent) {
      // Inside parentheses the weight ends with them; CASE ends with END.
      if (word == k) Heavy(word == "select" ? 3 : word == "case" ? 2 : 1);
    }
  }

  // Survives commas, AND and OR. Counted for the whole statement: cheaper than
  // exact, and no statement that Musth executes nests these.
  void Heavy(int weight) { permanent_ += weight; }

  void SkipQuoted(char quote) {
    ++at_;
    while (at_ < text_.size() && Peek() != quote) ++at_;
    ++at_;
  }

  void SkipString(bool escapes) {
    last_was_operator_ = false;
    ++at_;
    while (at_ < text_.size() && Peek() != '\'') {
      at_ += escapes && Peek() == '\\' ? 2 : 1;
    }
    ++at_;
  }

  bool SkipDollarQuote() {
    size_t end = at_ + 1;
    if (end < text_.size() && IsIdentStart(text_[end])) {
      while (end < text_.size() && IsIdentChar(text_[end]) &&
             text_[end] != '$') {
        ++end;
      }
    }
    if (end >= text_.size() || text_[end] != '$') return false;
    std::string_view tag = text_.substr(at_, end + 1 - at_);
    size_t close = text_.find(tag, end + 1);
    at_ = close == std::string_view::npos ? text_.size() : close + tag.size();
    return true;
  }

  void SkipBlockComment() {
    int depth = 0;
    do {
      if (Peek() == '/' && Peek(1) == '*') {
        ++depth;
        at_ += 2;
      } else if (Peek() == '*' && Peek(1) == '/') {
        --depth;
        at_ += 2;
      } else {
        ++at_;
      }
    } while (depth > 0 && at_ < text_.size());
  }

  std::string_view text_;
  size_t at_ = 0;
  bool last_was_operator_ = false;
  std::vector<int> open_ = {0};
  int permanent_ = 0;
  int deepest_ = 0;
};

}  // namespace

int SqlNesting(std::string_view text) { return NestingScanner(text).Run(); }

}  // namespace engine
