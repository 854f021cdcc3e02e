#include "engine/catalog/relcache.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "engine/catalog/catalog_shared.h"
#include "engine/catalog/catalog_tables.h"
#include "engine/common/errcodes.h"
#include "engine/heap/heapam.h"
#include "engine/ipc/proc.h"
#include "engine/lock/lmgr.h"
#include "engine/txn/procarray.h"
#include "engine/txn/xact.h"
#include "sim/env/lookup_map.h"
#include "sim/env/race.h"

namespace engine {
namespace {

class CatalogLocal : public LayerState {
 public:
  const Relation pg_class = PgClassRelation();
  const Relation pg_attribute = PgAttributeRelation();
  uint64_t generation = 0;
  env::LookupMap<std::string, Relation> by_name;
  env::LookupMap<Oid, Relation> by_oid;
};

CatalogLocal& LocalCatalog(Backend& be) {
  return be.local.Get<CatalogLocal>(Layer::kCatalog);
}

// PostgreSQL's backends read invalidation messages instead.
uint64_t SharedGeneration(Backend& be) {
  CatalogShared& shared = SharedCatalog(be);
  env::AtomicSection sinval_read_lock(&shared.generation);
  return shared.generation;
}

// Forgets what is cached if any transaction that changed catalogs has ended
// since. Suspends: no.
void AcceptInvalidation(Backend& be) {
  CatalogLocal& local = LocalCatalog(be);
  uint64_t generation = SharedGeneration(be);
  if (local.generation == generation) return;
  local.generation = generation;
  local.by_name.Clear();
  local.by_oid.Clear();
}

void Remember(Backend& be, const Relation& rel) {
  CatalogLocal& local = LocalCatalog(be);
  local.by_name[rel->relname] = rel;
  local.by_oid[rel->rd_id] = rel;
}

// Rows of a catalog that the latest snapshot sees and wanted() accepts.
template <typename Row>
Result<std::vector<Row>> ScanCatalog(
    Backend& be, const RelationData& catalog,
    const std::function<Result<bool>(std::string_view)>& wanted,
    Result<Row> (*deform)(const TupleDesc&, std::string_view)) {
  SnapshotData snapshot = GetLatestSnapshot(be);
  HeapScan scan(be, catalog, snapshot);
  std::vector<Row> out;
  for (;;) {
    ASSIGN_OR_RETURN(const HeapScan::Row* row, scan.Next());
    if (row == nullptr) return out;
    ASSIGN_OR_RETURN(bool take, wanted(row->tuple));
    if (!take) continue;
    ASSIGN_OR_RETURN(Row value, deform(catalog.rd_att, row->tuple));
    out.push_back(std::move(value));
  }
}

Result<std::vector<PgClassRow>> ScanPgClass(Backend& be) {
  return ScanCatalog<PgClassRow>(
      be, *LocalCatalog(be).pg_class,
      [](std::string_view) -> Result<bool> { return true; },
      DeformPgClassTuple);
}

Result<Relation> BuildRelation(Backend& be, const PgClassRow& row) {
  const RelationData& catalog = *LocalCatalog(be).pg_attribute;
  // attrelid comes first, and most rows belong to other relations.
  const TupleDesc attrelid_only = {catalog.rd_att[0]};
  auto wanted = [&](std::string_view tuple) -> Result<bool> {
    Datum attrelid;
    RETURN_IF_ERROR(HeapDeformTuple(attrelid_only, tuple, {&attrelid, 1}));
    return static_cast<Oid>(attrelid.num) == row.oid;
  };
  ASSIGN_OR_RETURN(
      std::vector<PgAttributeRow> atts,
      ScanCatalog<PgAttributeRow>(be, catalog, wanted, DeformPgAttributeTuple));
  std::erase_if(atts, [](const PgAttributeRow& a) { return a.attnum <= 0; });
  std::sort(atts.begin(), atts.end(),
            [](const PgAttributeRow& a, const PgAttributeRow& b) {
              return a.attnum < b.attnum;
            });
  auto rel = std::make_shared<RelationData>();
  rel->rd_id = row.oid;
  rel->relname = row.relname;
  rel->fillfactor = row.fillfactor;
  rel->rd_node = {kDefaultTableSpaceOid, kDatabaseOid,
                  row.relfilenode == 0 ? row.oid : row.relfilenode};
  for (size_t i = 0; i < atts.size(); ++i) {
    if (atts[i].attnum != static_cast<int16_t>(i + 1)) break;
    rel->rd_att.push_back(std::move(atts[i].att));
  }
  if (rel->rd_att.size() != static_cast<size_t>(row.relnatts)) {
    return SqlError(ERRCODE_DATA_CORRUPTED,
                    "pg_attribute has {} of {} columns of relation \"{}\"",
                    rel->rd_att.size(), row.relnatts, row.relname);
  }
  return Relation(std::move(rel));
}

}  // namespace

CatalogShared& SharedCatalog(Backend& be) {
  return be.shared->slots.Get<CatalogShared>(Layer::kCatalog);
}

void CatalogShmemInit(SharedMemory& shared) {
  shared.slots.Set(Layer::kCatalog, std::make_unique<CatalogShared>());
}

void CatalogInit(Backend& be) {
  be.local.Set(Layer::kCatalog, std::make_unique<CatalogLocal>());
}

Result<Relation> RelationByName(Backend& be, std::string_view name) {
  AcceptInvalidation(be);
  CatalogLocal& local = LocalCatalog(be);
  if (name == local.pg_class->relname) return local.pg_class;
  if (name == local.pg_attribute->relname) return local.pg_attribute;
  if (const Relation* cached = local.by_name.Find(std::string(name))) {
    return *cached;
  }
  // A name that is not found is not remembered: it may exist the next moment.
  ASSIGN_OR_RETURN(std::vector<PgClassRow> rows, ScanPgClass(be));
  for (const PgClassRow& row : rows) {
    if (row.relname != name) continue;
    ASSIGN_OR_RETURN(Relation rel, BuildRelation(be, row));
    Remember(be, rel);
    return rel;
  }
  return SqlError(ERRCODE_UNDEFINED_TABLE, "relation \"{}\" does not exist",
                  name);
}

Result<Relation> RelationById(Backend& be, Oid relid) {
  AcceptInvalidation(be);
  CatalogLocal& local = LocalCatalog(be);
  if (relid == kRelationRelationId) return local.pg_class;
  if (relid == kAttributeRelationId) return local.pg_attribute;
  if (const Relation* cached = local.by_oid.Find(relid)) return *cached;
  ASSIGN_OR_RETURN(std::vector<PgClassRow> rows, ScanPgClass(be));
  for (const PgClassRow& row : rows) {
    if (row.oid != relid) continue;
    ASSIGN_OR_RETURN(Relation rel, BuildRelation(be, row));
    Remember(be, rel);
    return rel;
  }
  return SqlError(ERRCODE_UNDEFINED_TABLE,
                  "could not open relation with OID {}", relid);
}

Result<std::vector<Relation>> ListUserRelations(Backend& be) {
  ASSIGN_OR_RETURN(std::vector<PgClassRow> rows, ScanPgClass(be));
  std::erase_if(rows, [](const PgClassRow& row) {
    return row.oid < kFirstNormalObjectId;
  });
  std::sort(
      rows.begin(), rows.end(),
      [](const PgClassRow& a, const PgClassRow& b) { return a.oid < b.oid; });
  std::vector<Relation> out;
  for (const PgClassRow& row : rows) {
    ASSIGN_OR_RETURN(Relation rel, BuildRelation(be, row));
    out.push_back(std::move(rel));
  }
  return out;
}

}  // namespace engine
