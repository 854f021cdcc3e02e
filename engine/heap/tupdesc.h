// TupleDesc: the columns of a relation as tuples store them.
// Source: src/include/access/tupdesc.h, catalog/pg_attribute.h.
#ifndef MUSTH_ENGINE_HEAP_TUPDESC_H_
#define MUSTH_ENGINE_HEAP_TUPDESC_H_

#include <memory>
#include <string>
#include <vector>

#include "engine/common/types.h"

namespace engine {

struct Attribute {
  std::string attname;
  Oid atttypid = 0;
  int16_t attlen = 0;      // bytes; -1 varlena
  int32_t atttypmod = -1;  // varchar(n), char(n): n + 4
  char attalign = 'i';     // 'c' 1, 's' 2, 'i' 4, 'd' 8
  char attstorage = 'p';   // 'p' plain, 'x' extended, 'e', 'm'
  bool attbyval = true;
  bool attnotnull = false;
  bool attisdropped = false;
};

using TupleDesc = std::vector<Attribute>;

}  // namespace engine

#endif  // MUSTH_ENGINE_HEAP_TUPDESC_H_
