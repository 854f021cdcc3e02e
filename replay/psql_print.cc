#include "replay/psql_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

namespace replay {
namespace {

// Bytes of the UTF-8 character that starts with c.
size_t CharBytes(char c) {
  unsigned char u = static_cast<unsigned char>(c);
  return u < 0xC0 ? 1 : u < 0xE0 ? 2 : u < 0xF0 ? 3 : 4;
}

uint32_t Decode(std::string_view text) {
  unsigned char first = static_cast<unsigned char>(text[0]);
  if (text.size() == 1) return first;
  uint32_t code = first & (0xFFU >> (text.size() + 1));
  for (char c : text.substr(1)) {
    code = (code << 6) | (static_cast<unsigned char>(c) & 0x3F);
  }
  return code;
}

struct Range {
  uint32_t first;
  uint32_t last;
};
// East Asian wide characters and characters that combine with the one before,
// by the larger blocks.
constexpr Range kWide[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
    {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
    {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
};
constexpr Range kCombining[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x064B, 0x065F},
    {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x20D0, 0x20FF},
    {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
};

template <size_t N>
bool InRanges(const Range (&ranges)[N], uint32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges), [code](Range r) {
    return code >= r.first && code <= r.last;
  });
}

int CharWidth(std::string_view character) {
  uint32_t code = Decode(character);
  if (InRanges(kCombining, code)) return 0;
  return InRanges(kWide, code) ? 2 : 1;
}

// One line of a cell, as it stands on the screen.
struct CellLine {
  std::string text;
  int width = 0;
};

void AppendControl(unsigned char c, CellLine* line) {
  if (c == '\t') {
    do {
      line->text += ' ';
      ++line->width;
    } while (line->width % 8 != 0);
    return;
  }
  std::string shown = c == '\r' ? "\\r" : fmt::format("\\x{:02X}", c);
  line->width += static_cast<int>(shown.size());
  line->text += shown;
}

std::vector<CellLine> SplitCell(std::string_view text) {
  std::vector<CellLine> lines(1);
  for (size_t i = 0; i < text.size();) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    size_t bytes = std::min(CharBytes(text[i]), text.size() - i);
    if (c == '\n') {
      lines.emplace_back();
    } else if (c < 0x20 || c == 0x7F) {
      AppendControl(c, &lines.back());
    } else {
      lines.back().text += text.substr(i, bytes);
      lines.back().width += CharWidth(text.substr(i, bytes));
    }
    i += bytes;
  }
  return lines;
}

bool IsRightAligned(engine::Oid type) {
  switch (type) {
    case engine::INT2OID:
    case engine::INT4OID:
    case engine::INT8OID:
    case engine::FLOAT4OID:
    case engine::FLOAT8OID:
    case engine::NUMERICOID:
    case engine::OIDOID:
    case engine::XIDOID:
    case engine::CIDOID:
      return true;
    default:
      return false;
  }
}

using Cell = std::vector<CellLine>;

class TablePrinter {
 public:
  TablePrinter(const engine::StatementResult& result, std::string* out)
      : result_(result), out_(out) {
    for (const engine::ResultColumn& column : result.columns) {
      header_.push_back(SplitCell(column.name));
      widths_.push_back(WidthOf(header_.back()));
    }
    for (const auto& row : result.rows) {
      std::vector<Cell> cells;
      for (size_t i = 0; i < row.size(); ++i) {
        cells.push_back(SplitCell(row[i].value_or("")));
        widths_[i] = std::max(widths_[i], WidthOf(cells[i]));
      }
      rows_.push_back(std::move(cells));
    }
  }

  void Print() {
    if (widths_.empty()) {
      *out_ += "--\n";
    } else {
      PrintCells(header_, true);
      PrintRule();
      for (const std::vector<Cell>& row : rows_) PrintCells(row, false);
    }
    *out_ += fmt::format("({} row{})\n\n", result_.rows.size(),
                         result_.rows.size() == 1 ? "" : "s");
  }

 private:
  static int WidthOf(const Cell& cell) {
    int width = 0;
    for (const CellLine& line : cell) width = std::max(width, line.width);
    return width;
  }

  void PrintRule() {
    for (size_t i = 0; i < widths_.size(); ++i) {
      if (i > 0) *out_ += '+';
      out_->append(static_cast<size_t>(widths_[i]) + 2, '-');
    }
    *out_ += '\n';
  }

  void PrintCells(const std::vector<Cell>& cells, bool is_header) {
    size_t height = 1;
    for (const Cell& cell : cells) height = std::max(height, cell.size());
    for (size_t line = 0; line < height; ++line) {
      for (size_t i = 0; i < cells.size(); ++i) {
        if (i > 0) *out_ += '|';
        PrintCellLine(cells[i], line, i, is_header);
      }
      *out_ += '\n';
    }
  }

  void PrintCellLine(const Cell& cell, size_t line, size_t column,
                     bool is_header) {
    const CellLine empty;
    const CellLine& shown = line < cell.size() ? cell[line] : empty;
    bool continues = line + 1 < cell.size();
    size_t missing = static_cast<size_t>(widths_[column] - shown.width);
    size_t left = 0;
    if (is_header) {
      left = missing / 2;
    } else if (line < cell.size() &&
               IsRightAligned(result_.columns[column].type)) {
      left = missing;
    }
    *out_ += ' ';
    out_->append(left, ' ');
    *out_ += shown.text;
    // The last column of a row is not padded, unless a mark follows.
    bool last = column + 1 == widths_.size();
    if (is_header || !last || continues) out_->append(missing - left, ' ');
    if (continues) {
      *out_ += '+';
    } else if (is_header || !last) {
      *out_ += ' ';
    }
  }

  const engine::StatementResult& result_;
  std::string* out_;
  std::vector<Cell> header_;
  std::vector<std::vector<Cell>> rows_;
  std::vector<int> widths_;
};

// A query's characters: where each starts, in bytes and on the screen.
struct CharMap {
  std::string text;  // tabs as blanks
  std::vector<size_t> byte;
  std::vector<int> column;
};

CharMap MapChars(std::string_view query) {
  CharMap map;
  map.text = query;
  int column = 0;
  for (size_t at = 0; at < query.size();) {
    map.byte.push_back(at);
    map.column.push_back(column);
    size_t bytes = std::min(CharBytes(query[at]), query.size() - at);
    if (query[at] == '\t') map.text[at] = ' ';
    column += std::max(1, CharWidth(query.substr(at, bytes)));
    at += bytes;
  }
  map.byte.push_back(query.size());
  map.column.push_back(column);
  return map;
}

// The line around one character: [begin, end) in characters.
struct QueryLine {
  int number = 1;
  size_t begin = 0;
  size_t end = 0;
};

QueryLine FindLine(const CharMap& map, size_t at) {
  QueryLine line;
  size_t count = map.byte.size() - 1;
  line.end = count;
  for (size_t i = 0; i < count; ++i) {
    char c = map.text[map.byte[i]];
    if (c != '\n' && c != '\r') continue;
    if (i >= at) {
      line.end = i;
      break;
    }
    bool second_of_crlf =
        c == '\n' && i > 0 && map.text[map.byte[i - 1]] == '\r';
    if (!second_of_crlf) ++line.number;
    line.begin = i + 1;
  }
  return line;
}

}  // namespace

int DisplayWidth(std::string_view text) {
  int width = 0;
  for (const CellLine& line : SplitCell(text)) {
    width = std::max(width, line.width);
  }
  return width;
}

void PrintTable(const engine::StatementResult& result, std::string* out) {
  TablePrinter(result, out).Print();
}

void PrintErrorPosition(std::string_view query, int position,
                        std::string* out) {
  constexpr int kDisplaySize = 60;  // columns of the query that are shown
  constexpr int kMinRightCut = 10;  // stay this far from the right edge
  if (position < 1) return;
  CharMap map = MapChars(query);
  size_t at = static_cast<size_t>(position - 1);
  if (at >= map.byte.size()) return;
  QueryLine line = FindLine(map, at);
  auto too_long = [&] {
    return map.column[line.end] - map.column[line.begin] > kDisplaySize;
  };
  bool cut_left = false;
  bool cut_right = false;
  if (too_long()) {
    bool right_is_enough =
        map.column[line.begin] + kDisplaySize >= map.column[at] + kMinRightCut;
    if (right_is_enough) {
      cut_right = true;
      while (too_long()) --line.end;
    } else {
      while (map.column[at] + kMinRightCut < map.column[line.end]) {
        --line.end;
        cut_right = true;
      }
      while (too_long()) {
        ++line.begin;
        cut_left = true;
      }
    }
  }
  std::string head =
      fmt::format("LINE {}: {}", line.number, cut_left ? "..." : "");
  int caret =
      static_cast<int>(head.size()) + map.column[at] - map.column[line.begin];
  *out += head;
  *out += map.text.substr(map.byte[line.begin],
                          map.byte[line.end] - map.byte[line.begin]);
  if (cut_right) *out += "...";
  *out += '\n';
  out->append(static_cast<size_t>(caret), ' ');
  *out += "^\n";
}

void PrintError(std::string_view prefix, const env::Status& status,
                std::string_view query, std::string* out) {
  bool sql = status.code() == env::Code::kSql;
  *out += fmt::format("{}ERROR:  {}\n", prefix,
                      sql ? std::string(status.message()) : status.ToString());
  PrintErrorPosition(query, status.cursor_position(), out);
  if (!status.detail().empty()) {
    *out += fmt::format("DETAIL:  {}\n", status.detail());
  }
  if (!status.hint().empty()) {
    *out += fmt::format("HINT:  {}\n", status.hint());
  }
}

}  // namespace replay
