#include "replay/shrink_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "replay/shrink_parts.h"

namespace replay {
namespace {

constexpr uint64_t kRowBits = 16;

Parts RowParts(const ShrinkState& state) {
  Parts parts;
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

// Where the text's long literals begin and end, quotes included.
std::vector<std::pair<size_t, size_t>> LongLiterals(const std::string& sql) {
  std::vector<std::pair<size_t, size_t>> out;
  size_t at = sql.find('\'');
  while (at != std::string::npos) {
    size_t end = sql.find('\'', at + 1);
    if (end == std::string::npos) break;
    if (end - at > 2) out.emplace_back(at, end + 1);
    at = sql.find('\'', end + 1);
  }
  return out;
}

Parts ValueParts(const ShrinkState& state) {
  Parts parts;
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
      std::string shorter = "'";
      shorter += s.sql[from + 1];
      s.sql.replace(from, to - from, shorter + "'");
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
  constexpr std::string_view kValues = " VALUES ";
  InsertText out;
  if (!StartsWith(sql, "INSERT ")) return out;
  size_t at = sql.find(kValues);
  if (at == std::string::npos) return out;
  at += kValues.size();
  out.head = sql.substr(0, at);
  bool quoted = false;
  int depth = 0;
  size_t from = at;
  for (; at < sql.size(); ++at) {
    char c = sql[at];
    if (c == '\'') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' && depth++ == 0) from = at;
    if (c == ')' && --depth == 0) {
      out.rows.push_back(sql.substr(from, at + 1 - from));
      from = at + 1;
    }
    if (depth == 0 && c != ')' && c != ',' && c != ' ') break;
  }
  out.tail = sql.substr(from);
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
