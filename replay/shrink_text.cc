#include "replay/shrink_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "replay/shrink_parts.h"
#include "replay/sql_pieces.h"

namespace replay {
namespace {

constexpr uint64_t kRowBits = 16;

// A literal's character at `at`: a doubled quote, or all bytes of one code
// point of UTF-8.
std::string FirstCharacter(const std::string& sql, size_t at) {
  size_t end = at + 1;
  if (sql[at] == '\'') {
    end = at + 2;
  } else if (static_cast<unsigned char>(sql[at]) >= 0xc0) {
    while (end < sql.size() && (sql[end] & 0xc0) == 0x80) ++end;
  }
  return sql.substr(at, end - at);
}

Parts RowParts(const ShrinkState& state) {
  Parts parts;
  if (state.WholeTransactions()) return parts;
  for (const ShrinkStatement& s : state.statements) {
    size_t rows = SplitInsert(s.sql).rows.size();
    for (size_t i = 0; rows > 1 && i < rows; ++i) {
      parts.push_back(s.part << kRowBits | i);
    }
  }
  return parts;
}

States WithoutRows(const ShrinkState& state, const Parts& parts) {
  PartSet set(parts);
  ShrinkState next = state;
  for (ShrinkStatement& s : next.statements) {
    InsertText insert = SplitInsert(s.sql);
    std::string rows;
    size_t left = 0;
    for (size_t i = 0; i < insert.rows.size(); ++i) {
      bool last_hope = i + 1 == insert.rows.size() && left == 0;
      if (set.Has(s.part << kRowBits | i) && !last_hope) continue;
      if (left++ > 0) rows += ", ";
      rows += insert.rows[i];
    }
    if (left < insert.rows.size()) s.sql = insert.head + rows + insert.tail;
  }
  return {std::move(next)};
}

// Where the text's literals of more than one character are, quotes included.
std::vector<std::pair<size_t, size_t>> LongLiterals(const std::string& sql) {
  std::vector<std::pair<size_t, size_t>> out;
  for (const SqlPiece& piece : SqlPieces(sql)) {
    if (piece.kind != SqlPiece::Kind::kLiteral) continue;
    size_t inside = piece.from + 1;
    if (inside + FirstCharacter(sql, inside).size() + 1 < piece.to) {
      out.emplace_back(piece.from, piece.to);
    }
  }
  return out;
}

Parts ValueParts(const ShrinkState& state) {
  Parts parts;
  if (state.WholeTransactions()) return parts;
  for (const ShrinkStatement& s : state.statements) {
    size_t literals = LongLiterals(s.sql).size();
    for (size_t i = 0; i < literals; ++i) {
      parts.push_back(s.part << kRowBits | i);
    }
  }
  return parts;
}

States SimplerValues(const ShrinkState& state, const Parts& parts) {
  PartSet set(parts);
  ShrinkState next = state;
  for (ShrinkStatement& s : next.statements) {
    auto literals = LongLiterals(s.sql);
    for (size_t i = literals.size(); i-- > 0;) {
      if (!set.Has(s.part << kRowBits | i)) continue;
      auto [from, to] = literals[i];
      s.sql.replace(from, to - from,
                    "'" + FirstCharacter(s.sql, from + 1) + "'");
    }
  }
  return {std::move(next)};
}

// Literals of one character over and over, which a reader would rather see as a
// call of repeat().
constexpr size_t kRepeated = 24;

bool Repeats(const std::string& sql, std::pair<size_t, size_t> literal) {
  auto [from, to] = literal;
  return to - from - 2 >= kRepeated &&
         sql.find_first_not_of(sql[from + 1], from + 1) == to - 1;
}

Parts SpellingParts(const ShrinkState& state) {
  Parts parts;
  if (state.WholeTransactions()) return parts;
  for (const ShrinkStatement& s : state.statements) {
    auto literals = LongLiterals(s.sql);
    for (size_t i = 0; i < literals.size(); ++i) {
      if (Repeats(s.sql, literals[i])) parts.push_back(s.part << kRowBits | i);
    }
  }
  return parts;
}

States ShorterSpelling(const ShrinkState& state, const Parts& parts) {
  PartSet set(parts);
  ShrinkState next = state;
  for (ShrinkStatement& s : next.statements) {
    auto literals = LongLiterals(s.sql);
    for (size_t i = literals.size(); i-- > 0;) {
      if (!set.Has(s.part << kRowBits | i)) continue;
      auto [from, to] = literals[i];
      s.sql.replace(
          from, to - from,
          fmt::format("repeat('{}', {})", s.sql[from + 1], to - from - 2));
    }
  }
  return {std::move(next)};
}

}  // namespace

InsertText SplitInsert(const std::string& sql) {
  InsertText out;
  if (!BeginsWith(sql, "INSERT")) return out;
  bool listed = false;  // behind VALUES
  int depth = 0;
  size_t from = 0;
  size_t end = 0;  // of the last row
  for (const SqlPiece& piece : SqlPieces(sql)) {
    std::string_view text =
        std::string_view(sql).substr(piece.from, piece.to - piece.from);
    bool opens = text == "(";
    if (listed && depth == 0 && !opens && text != ",") break;
    if (opens && depth++ == 0) from = piece.from;
    if (text == ")" && --depth == 0 && listed) {
      if (out.rows.empty()) out.head = sql.substr(0, from);
      end = piece.to;
      out.rows.push_back(sql.substr(from, end - from));
    }
    listed |= depth == 0 && piece.kind == SqlPiece::Kind::kWord &&
              IsKeyword(text, "VALUES");
  }
  if (depth != 0) return InsertText();
  out.tail = sql.substr(end);
  return out;
}

std::vector<MinimizePass<ShrinkState>> ShrinkTextPasses() {
  return {
      {"rows", RowParts, WithoutRows},
      {"values", ValueParts, SimplerValues},
      {"spelling", SpellingParts, ShorterSpelling},
  };
}

}  // namespace replay
