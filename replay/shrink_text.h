// The shrinker's passes over the text of statements: rows, values, spelling.
#ifndef MUSTH_REPLAY_SHRINK_TEXT_H_
#define MUSTH_REPLAY_SHRINK_TEXT_H_

#include <string>
#include <vector>

#include "replay/minimize.h"
#include "replay/shrink_state.h"

namespace replay {

// In the order in which they are tried.
std::vector<MinimizePass<ShrinkState>> ShrinkTextPasses();

// The rows of "INSERT INTO t ... VALUES (..), (..)": text up to the first row,
// the rows with their parentheses, what follows. Empty rows: no such statement.
struct InsertText {
  std::string head;
  std::vector<std::string> rows;
  std::string tail;
};
InsertText SplitInsert(const std::string& sql);

}  // namespace replay

#endif  // MUSTH_REPLAY_SHRINK_TEXT_H_
