// SqlPieces: a statement's text as the shrinker reads it.
//
// Words, plain literals and single marks; all that hides its content (quoted
// names, literals with a prefix or in dollars, comments) is one piece that
// nobody looks into. Keywords are told by ASCII letters, as PostgreSQL's are:
// bytes beyond ASCII belong to names and keep their case.
#ifndef MUSTH_REPLAY_SQL_PIECES_H_
#define MUSTH_REPLAY_SQL_PIECES_H_

#include <cstddef>
#include <string_view>
#include <vector>

namespace replay {

struct SqlPiece {
  enum class Kind {
    kWord,     // SELECT, t1, 17
    kLiteral,  // 'it''s'
    kHidden,   // "t", E'\n', $$x$$, -- x, /* x */
    kMark,     // one character of anything else but blanks
  };
  Kind kind = Kind::kMark;
  size_t from = 0;
  size_t to = 0;
};

// Of any text, also of one that does not parse: what is not closed goes to the
// end. Blanks between pieces belong to none.
std::vector<SqlPiece> SqlPieces(std::string_view sql);

// Whether the word is this keyword (given in capitals), in letters of any case.
bool IsKeyword(std::string_view word, std::string_view keyword);

// Whether the statement's first words are these ("SET LOCAL").
bool BeginsWith(std::string_view sql, std::string_view keywords);

}  // namespace replay

#endif  // MUSTH_REPLAY_SQL_PIECES_H_
