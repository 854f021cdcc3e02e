// RelationData: what the heap needs to know about one relation.
// Source: src/include/utils/rel.h.
#ifndef MUSTH_ENGINE_HEAP_RELATION_H_
#define MUSTH_ENGINE_HEAP_RELATION_H_

#include <memory>
#include <string>

#include "engine/heap/tupdesc.h"

namespace engine {

struct RelationData {
  Oid rd_id = 0;
  std::string relname;
  RelFileNode rd_node;
  TupleDesc rd_att;
  int fillfactor = 100;
  // The block that this backend inserted into last.
  mutable BlockNumber target_block = kInvalidBlockNumber;
};
using Relation = std::shared_ptr<const RelationData>;

}  // namespace engine

#endif  // MUSTH_ENGINE_HEAP_RELATION_H_
