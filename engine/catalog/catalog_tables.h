// Row layouts of pg_class and pg_attribute, and building and reading rows.
//
// All columns of PostgreSQL 15, in its order. reltype is 0 (tables have no row
// type yet); pg_class and pg_attribute are mapped relations: relfilenode 0
// means the file named by the relation's own OID.
// Source: src/include/catalog/{pg_class,pg_attribute}.h.
#ifndef MUSTH_ENGINE_CATALOG_CATALOG_TABLES_H_
#define MUSTH_ENGINE_CATALOG_CATALOG_TABLES_H_

#include <span>
#include <string>
#include <vector>

#include "engine/catalog/pg_type.h"
#include "engine/heap/htup.h"
#include "engine/heap/relation.h"

namespace engine {

inline constexpr Oid kAttributeRelationId = 1249;
inline constexpr Oid kRelationRelationId = 1259;
inline constexpr Oid PG_CATALOG_NAMESPACE = 11;
inline constexpr Oid PG_PUBLIC_NAMESPACE = 2200;
inline constexpr Oid kBootstrapSuperuserId = 10;
inline constexpr Oid HEAP_TABLE_AM_OID = 2;

// The relations themselves, as the relation cache hands them out.
Relation PgClassRelation();
Relation PgAttributeRelation();

// What a pg_class row says, as far as anyone here asks.
struct PgClassRow {
  Oid oid = 0;
  std::string relname;
  Oid relnamespace = PG_PUBLIC_NAMESPACE;
  Oid relfilenode = 0;
  char relreplident = 'd';
  int16_t relnatts = 0;
  TransactionId relfrozenxid = kFirstNormalTransactionId;
  int fillfactor = 100;
};

// In the following, desc is the catalog's rd_att: making one is not for free.

// Forms the row. The tuple's header is as HeapFormTuple leaves it.
Result<HeapTuple> FormPgClassTuple(const TupleDesc& desc,
                                   const PgClassRow& row);
// Errors: ERRCODE_DATA_CORRUPTED.
Result<PgClassRow> DeformPgClassTuple(const TupleDesc& desc,
                                      std::string_view tuple);

// Forms the row of column attnum (from 1) of relation relid.
Result<HeapTuple> FormPgAttributeTuple(const TupleDesc& desc, Oid relid,
                                       int16_t attnum, const Attribute& att);
// The rows of the system columns (attnum -1 to -6), which every table has.
Result<std::vector<HeapTuple>> FormSystemAttributeTuples(const TupleDesc& desc,
                                                         Oid relid);

struct PgAttributeRow {
  Oid attrelid = 0;
  int16_t attnum = 0;
  Attribute att;
};
// Errors: ERRCODE_DATA_CORRUPTED, also for a type nobody knows.
Result<PgAttributeRow> DeformPgAttributeTuple(const TupleDesc& desc,
                                              std::string_view tuple);

}  // namespace engine

#endif  // MUSTH_ENGINE_CATALOG_CATALOG_TABLES_H_
