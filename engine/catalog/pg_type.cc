#include "engine/catalog/pg_type.h"

namespace engine {
namespace {

constexpr TypeInfo kTypes[] = {
    // oid, typname, sql_name, len, byval, align, storage, cat, preferred, col
    {BOOLOID, "bool", "boolean", 1, true, 'c', 'p', 'B', true, true},
    {BYTEAOID, "bytea", "bytea", -1, false, 'i', 'x', 'U', false, false},
    {CHAROID, "char", "\"char\"", 1, true, 'c', 'p', 'Z', false, true},
    {NAMEOID, "name", "name", 64, false, 'c', 'p', 'S', false, true},
    {INT8OID, "int8", "bigint", 8, true, 'd', 'p', 'N', false, true},
    {INT2OID, "int2", "smallint", 2, true, 's', 'p', 'N', false, true},
    {INT4OID, "int4", "integer", 4, true, 'i', 'p', 'N', false, true},
    {TEXTOID, "text", "text", -1, false, 'i', 'x', 'S', true, true},
    {OIDOID, "oid", "oid", 4, true, 'i', 'p', 'N', true, true},
    {TIDOID, "tid", "tid", 6, false, 's', 'p', 'U', false, false},
    {XIDOID, "xid", "xid", 4, true, 'i', 'p', 'U', false, false},
    {CIDOID, "cid", "cid", 4, true, 'i', 'p', 'U', false, false},
    {FLOAT4OID, "float4", "real", 4, true, 'i', 'p', 'N', false, false},
    {FLOAT8OID, "float8", "double precision", 8, true, 'd', 'p', 'N', true,
     false},
    {UNKNOWNOID, "unknown", "unknown", -2, false, 'c', 'p', 'X', false, false},
    {BPCHAROID, "bpchar", "character", -1, false, 'i', 'x', 'S', false, true},
    {VARCHAROID, "varchar", "character varying", -1, false, 'i', 'x', 'S',
     false, true},
    {DATEOID, "date", "date", 4, true, 'i', 'p', 'D', false, true},
    {TIMESTAMPOID, "timestamp", "timestamp without time zone", 8, true, 'd',
     'p', 'D', false, true},
    {TIMESTAMPTZOID, "timestamptz", "timestamp with time zone", 8, true, 'd',
     'p', 'D', true, true},
    {NUMERICOID, "numeric", "numeric", -1, false, 'i', 'm', 'N', false, false},
    {TEXTARRAYOID, "_text", "text[]", -1, false, 'i', 'x', 'A', false, false},
    {ACLITEMARRAYOID, "_aclitem", "aclitem[]", -1, false, 'i', 'x', 'A', false,
     false},
    {PG_NODE_TREEOID, "pg_node_tree", "pg_node_tree", -1, false, 'i', 'x', 'Z',
     false, false},
    {ANYARRAYOID, "anyarray", "anyarray", -1, false, 'd', 'x', 'P', false,
     false},
};

}  // namespace

const TypeInfo* FindType(Oid oid) {
  for (const TypeInfo& t : kTypes) {
    if (t.oid == oid) return &t;
  }
  return nullptr;
}

const TypeInfo* FindTypeByName(std::string_view typname) {
  for (const TypeInfo& t : kTypes) {
    if (typname == t.typname) return &t;
  }
  return nullptr;
}

Oid TypeCollation(Oid type) {
  switch (type) {
    case NAMEOID:
      return C_COLLATION_OID;
    case TEXTOID:
    case VARCHAROID:
    case BPCHAROID:
    case TEXTARRAYOID:
    case PG_NODE_TREEOID:
      return DEFAULT_COLLATION_OID;
    default:
      return kInvalidOid;
  }
}

Attribute MakeAttribute(std::string_view name, Oid type, int32_t typmod,
                        bool not_null) {
  const TypeInfo* info = FindType(type);
  SIM_CHECK(info != nullptr);
  Attribute att;
  att.attname = name;
  att.atttypid = type;
  att.attlen = info->typlen;
  att.atttypmod = typmod;
  att.attalign = info->typalign;
  att.attstorage = info->typstorage;
  att.attbyval = info->typbyval;
  att.attnotnull = not_null;
  return att;
}

}  // namespace engine
