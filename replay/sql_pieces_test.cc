#include "replay/sql_pieces.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace replay {
namespace {

// The pieces in brackets: [word] '..' as <..>, hidden as {..}.
std::string Shown(const std::string& sql) {
  std::string out;
  for (const SqlPiece& piece : SqlPieces(sql)) {
    std::string text = sql.substr(piece.from, piece.to - piece.from);
    switch (piece.kind) {
      case SqlPiece::Kind::kWord:
        out += "[" + text + "]";
        break;
      case SqlPiece::Kind::kLiteral:
        out += "<" + text + ">";
        break;
      case SqlPiece::Kind::kHidden:
        out += "{" + text + "}";
        break;
      case SqlPiece::Kind::kMark:
        out += text;
        break;
    }
  }
  return out;
}

TEST(SqlPieces, TellWhatIsQuotedFromWhatIsNot) {
  EXPECT_EQ(Shown("insert Into t VALUES (1, 'it''s')"),
            "[insert][Into][t][VALUES]([1],<'it''s'>)");
  EXPECT_EQ(Shown("SELECT \"o'clock\" FROM t"),
            "[SELECT]{\"o'clock\"}[FROM][t]");
  EXPECT_EQ(Shown("SELECT E'a\\'b', x'1F', u&'\\0041' u&\"d\""),
            "[SELECT]{E'a\\'b'},{x'1F'},{u&'\\0041'}{u&\"d\"}");
  EXPECT_EQ(Shown("a $$it's$$ $x$ $$ $x$ $1"), "[a]{$$it's$$}{$x$ $$ $x$}[$1]");
  EXPECT_EQ(Shown("a -- it's\nb /* /* ' */ ' */ c"),
            "[a]{-- it's}[b]{/* /* ' */ ' */}[c]");
  EXPECT_EQ(Shown("a 'open"), "[a]<'open>");
}

TEST(SqlPieces, KeywordsAreAsciiLettersOfAnyCase) {
  EXPECT_TRUE(
      BeginsWith("  set\n Local synchronous_commit = off", "SET LOCAL"));
  EXPECT_FALSE(BeginsWith("BEGINNING", "BEGIN"));
  EXPECT_FALSE(BeginsWith("\"begin\"", "BEGIN"));
  EXPECT_FALSE(BeginsWith("SET", "SET LOCAL"));
  // A name in another alphabet stays one word.
  EXPECT_EQ(Shown("\xc3\xa9"
                  "END"),
            "[\xc3\xa9"
            "END]");
  EXPECT_FALSE(IsKeyword("\xc3\x89", "\xc3\xa9"));
}

RC_GTEST_PROP(SqlPieces, CoverAnyTextInOrderButForItsBlanks,
              (const std::string& raw)) {
  std::string text;
  // What matters often.
  for (char c : raw) text += "'\"$-/*E& \n\\"[static_cast<uint8_t>(c) % 11];
  for (const std::string& sql : {raw, text}) {
    size_t at = 0;
    for (const SqlPiece& piece : SqlPieces(sql)) {
      RC_ASSERT(piece.from >= at);
      RC_ASSERT(piece.to > piece.from);
      RC_ASSERT(sql.find_first_not_of(" \t\n\r\f\v", at) == piece.from);
      at = piece.to;
    }
    RC_ASSERT(sql.find_first_not_of(" \t\n\r\f\v", at) == std::string::npos);
  }
}

}  // namespace
}  // namespace replay
