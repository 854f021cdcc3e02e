// Relation cache: descriptors built from pg_class and pg_attribute.
// Source: src/backend/utils/cache/relcache.c.
#ifndef MUSTH_ENGINE_CATALOG_RELCACHE_H_
#define MUSTH_ENGINE_CATALOG_RELCACHE_H_

#include <string_view>
#include <vector>

#include "engine/common/backend.h"
#include "engine/heap/relation.h"

namespace engine {

void CatalogShmemInit(SharedMemory& shared);
void CatalogInit(Backend& be);

// Creates pg_class and pg_attribute with their own rows. Requires: a running
// bootstrap transaction on an empty data directory.
Status BootStrapCatalog(Backend& be);

// The relation of that name, as the latest committed (and own) catalog rows
// have it. Suspends: yes. Errors: 42P01.
Result<Relation> RelationByName(Backend& be, std::string_view name);
Result<Relation> RelationById(Backend& be, Oid relid);
// All user relations, by OID.
Result<std::vector<Relation>> ListUserRelations(Backend& be);

// Creates a table: storage, pg_class and pg_attribute rows.
// Errors: 42P07 "relation \"%s\" already exists".
Result<Relation> CreateTable(Backend& be, std::string_view name,
                             const TupleDesc& desc, int fillfactor);

}  // namespace engine

#endif  // MUSTH_ENGINE_CATALOG_RELCACHE_H_
