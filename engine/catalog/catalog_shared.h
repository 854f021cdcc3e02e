// The catalog layer's shared memory.
#ifndef MUSTH_ENGINE_CATALOG_CATALOG_SHARED_H_
#define MUSTH_ENGINE_CATALOG_CATALOG_SHARED_H_

#include <map>
#include <string>

#include "engine/common/backend.h"

namespace engine {

class CatalogShared : public LayerState {
 public:
  // Counts ends of transactions that changed catalogs.
  uint64_t generation = 0;
  // Who last set out to create a relation of that name. The entry holds as
  // long as the transaction runs: it stands in for the unique index on
  // pg_class.relname.
  std::map<std::string, TransactionId> names_in_creation;
};

CatalogShared& SharedCatalog(Backend& be);

}  // namespace engine

#endif  // MUSTH_ENGINE_CATALOG_CATALOG_SHARED_H_
