#include "replay/sql_pieces.h"

#include <algorithm>

namespace replay {
namespace {

bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' ||
         c == '\v';
}

bool IsWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

char Upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

// Behind the quotation that begins at `at`; a doubled quote does not end it.
size_t EndOfQuoted(std::string_view sql, size_t at, bool backslashes) {
  char quote = sql[at++];
  for (; at < sql.size(); ++at) {
    if (backslashes && sql[at] == '\\') {
      ++at;
    } else if (sql[at] == quote) {
      if (at + 1 == sql.size() || sql[at + 1] != quote) return at + 1;
      ++at;
    }
  }
  return sql.size();
}

// Behind a comment, which may hold others.
size_t EndOfComment(std::string_view sql, size_t at) {
  if (sql[at] == '-') return std::min(sql.find('\n', at), sql.size());
  int depth = 0;
  while (at < sql.size()) {
    std::string_view two = sql.substr(at, 2);
    if (two == "/*") ++depth;
    if (two == "*/") --depth;
    at += two == "/*" || two == "*/" ? 2 : 1;
    if (depth == 0) return at;
  }
  return sql.size();
}

// Behind "$tag$ ... $tag$"; `at` if none begins here.
size_t EndOfDollars(std::string_view sql, size_t at) {
  size_t close = at + 1;
  while (close < sql.size() && sql[close] != '$' && IsWordChar(sql[close])) {
    ++close;
  }
  bool number = at + 1 < sql.size() && sql[at + 1] >= '0' && sql[at + 1] <= '9';
  if (close >= sql.size() || sql[close] != '$' || number) return at;
  std::string_view tag = sql.substr(at, close + 1 - at);
  size_t end = sql.find(tag, close + 1);
  return end == std::string_view::npos ? sql.size() : end + tag.size();
}

SqlPiece WordAt(std::string_view sql, size_t at) {
  SqlPiece piece{SqlPiece::Kind::kWord, at, at};
  while (piece.to < sql.size() && IsWordChar(sql[piece.to])) ++piece.to;
  std::string_view word = sql.substr(at, piece.to - at);
  // E'..', B'..', X'..', N'..', U&'..', U&"..".
  bool prefix = word.size() == 1 && word.find_first_of("eEbBxXnN") == 0;
  size_t quote = piece.to;
  if (IsKeyword(word, "U") && sql.substr(quote, 1) == "&") ++quote;
  bool quoted = quote < sql.size() && (prefix || quote > piece.to) &&
                (sql[quote] == '\'' || (quote > piece.to && sql[quote] == '"'));
  if (!quoted) return piece;
  piece.kind = SqlPiece::Kind::kHidden;
  piece.to = EndOfQuoted(sql, quote, IsKeyword(word, "E"));
  return piece;
}

SqlPiece PieceAt(std::string_view sql, size_t at) {
  char c = sql[at];
  std::string_view two = sql.substr(at, 2);
  if (c == '\'') {
    return {SqlPiece::Kind::kLiteral, at, EndOfQuoted(sql, at, false)};
  }
  if (c == '"') {
    return {SqlPiece::Kind::kHidden, at, EndOfQuoted(sql, at, false)};
  }
  if (two == "--" || two == "/*") {
    return {SqlPiece::Kind::kHidden, at, EndOfComment(sql, at)};
  }
  if (c == '$') {
    size_t end = EndOfDollars(sql, at);
    if (end != at) return {SqlPiece::Kind::kHidden, at, end};
  }
  if (IsWordChar(c)) return WordAt(sql, at);
  return {SqlPiece::Kind::kMark, at, at + 1};
}

}  // namespace

std::vector<SqlPiece> SqlPieces(std::string_view sql) {
  std::vector<SqlPiece> pieces;
  size_t at = 0;
  while (at < sql.size()) {
    if (IsBlank(sql[at])) {
      ++at;
      continue;
    }
    pieces.push_back(PieceAt(sql, at));
    at = pieces.back().to;
  }
  return pieces;
}

bool IsKeyword(std::string_view word, std::string_view keyword) {
  return std::equal(word.begin(), word.end(), keyword.begin(), keyword.end(),
                    [](char a, char b) { return Upper(a) == b; });
}

bool BeginsWith(std::string_view sql, std::string_view keywords) {
  size_t at = 0;
  while (!keywords.empty()) {
    while (at < sql.size() && IsBlank(sql[at])) ++at;
    std::string_view keyword = keywords.substr(0, keywords.find(' '));
    keywords.remove_prefix(std::min(keyword.size() + 1, keywords.size()));
    if (at == sql.size()) return false;
    SqlPiece piece = PieceAt(sql, at);
    std::string_view word = sql.substr(at, piece.to - at);
    if (piece.kind != SqlPiece::Kind::kWord || !IsKeyword(word, keyword)) {
      return false;
    }
    at = piece.to;
  }
  return true;
}

}  // namespace replay
