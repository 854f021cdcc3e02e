// What the engine knows of pg_type: the types that columns and expressions may
// have. A table in the code until pg_type is a catalog.
// Source: src/include/catalog/pg_type.dat.
#ifndef MUSTH_ENGINE_CATALOG_PG_TYPE_H_
#define MUSTH_ENGINE_CATALOG_PG_TYPE_H_

#include <string_view>

#include "engine/common/types.h"
#include "engine/heap/tupdesc.h"

namespace engine {

inline constexpr Oid TEXTARRAYOID = 1009;
inline constexpr Oid ACLITEMARRAYOID = 1034;
inline constexpr Oid PG_NODE_TREEOID = 194;
inline constexpr Oid ANYARRAYOID = 2277;
inline constexpr Oid ANYNONARRAYOID = 2776;
inline constexpr Oid ANYOID = 2276;

inline constexpr size_t NAMEDATALEN = 64;

// A row of pg_type, as far as it matters here.
struct TypeInfo {
  Oid oid;
  const char* typname;
  const char* sql_name;  // what format_type() calls it
  int16_t typlen;
  bool typbyval;
  char typalign;
  char typstorage;
  char typcategory;
  bool typispreferred;
  bool storable;  // tables may have columns of it
};

// Null if there is no such type.
const TypeInfo* FindType(Oid oid);
const TypeInfo* FindTypeByName(std::string_view typname);

// Source: src/include/catalog/pg_collation.dat.
inline constexpr Oid DEFAULT_COLLATION_OID = 100;
inline constexpr Oid C_COLLATION_OID = 950;
// The collation of a column of the type; 0 if it has none.
Oid TypeCollation(Oid type);

// A column of the type, as tuples store it. Requires: FindType(type).
Attribute MakeAttribute(std::string_view name, Oid type, int32_t typmod,
                        bool not_null);

}  // namespace engine

#endif  // MUSTH_ENGINE_CATALOG_PG_TYPE_H_
