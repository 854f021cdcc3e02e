// What a statement returns to its client.
#ifndef MUSTH_ENGINE_SQL_RESULT_H_
#define MUSTH_ENGINE_SQL_RESULT_H_

#include <optional>
#include <string>
#include <vector>

#include "engine/common/types.h"

namespace engine {

struct ResultColumn {
  std::string name;
  Oid type = 0;
};

// What one statement returned.
struct StatementResult {
  Status status;            // the ERROR, if any
  std::string command_tag;  // "INSERT 0 3"; empty after an ERROR
  // True if there is a row set, even one without columns or rows.
  bool has_rows = false;
  std::vector<ResultColumn> columns;  // empty: no row set
  // Text form of each value, nothing for NULL.
  std::vector<std::vector<std::optional<std::string>>> rows;
  int64_t rows_affected = 0;
  // "NOTICE:  text" and the like, in order.
  std::vector<std::string> notices;
};

}  // namespace engine

#endif  // MUSTH_ENGINE_SQL_RESULT_H_
