#include "engine/catalog/catalog_tables.h"

#include <array>
#include <charconv>
#include <cstring>

#include "engine/common/errcodes.h"

namespace engine {
namespace {

struct Col {
  const char* name;
  Oid type;
};

// Column numbers (from 0) of what is read or written by name.
enum PgClassColumn {
  kClassOid = 0,
  kRelname = 1,
  kRelnamespace = 2,
  kRelowner = 5,
  kRelam = 6,
  kRelfilenode = 7,
  kReltuples = 10,
  kRelpersistence = 15,
  kRelkind = 16,
  kRelnatts = 17,
  kRelispopulated = 24,
  kRelreplident = 25,
  kRelfrozenxid = 28,
  kRelminmxid = 29,
  kRelacl = 30,
  kReloptions = 31,
};

constexpr Col kPgClassColumns[] = {
    {"oid", OIDOID},
    {"relname", NAMEOID},
    {"relnamespace", OIDOID},
    {"reltype", OIDOID},
    {"reloftype", OIDOID},
    {"relowner", OIDOID},
    {"relam", OIDOID},
    {"relfilenode", OIDOID},
    {"reltablespace", OIDOID},
    {"relpages", INT4OID},
    {"reltuples", FLOAT4OID},
    {"relallvisible", INT4OID},
    {"reltoastrelid", OIDOID},
    {"relhasindex", BOOLOID},
    {"relisshared", BOOLOID},
    {"relpersistence", CHAROID},
    {"relkind", CHAROID},
    {"relnatts", INT2OID},
    {"relchecks", INT2OID},
    {"relhasrules", BOOLOID},
    {"relhastriggers", BOOLOID},
    {"relhassubclass", BOOLOID},
    {"relrowsecurity", BOOLOID},
    {"relforcerowsecurity", BOOLOID},
    {"relispopulated", BOOLOID},
    {"relreplident", CHAROID},
    {"relispartition", BOOLOID},
    {"relrewrite", OIDOID},
    {"relfrozenxid", XIDOID},
    {"relminmxid", XIDOID},
    {"relacl", ACLITEMARRAYOID},
    {"reloptions", TEXTARRAYOID},
    {"relpartbound", PG_NODE_TREEOID},
};
constexpr size_t kPgClassNatts = std::size(kPgClassColumns);
static_assert(kPgClassNatts == 33);

enum PgAttributeColumn {
  kAttrelid = 0,
  kAttname = 1,
  kAtttypid = 2,
  kAttstattarget = 3,
  kAttlen = 4,
  kAttnum = 5,
  kAttndims = 6,
  kAttcacheoff = 7,
  kAtttypmod = 8,
  kAttbyval = 9,
  kAttalign = 10,
  kAttstorage = 11,
  kAttnotnull = 13,
  kAttisdropped = 18,
  kAttislocal = 19,
  kAttcollation = 21,
  kAttacl = 22,
};

constexpr Col kPgAttributeColumns[] = {
    {"attrelid", OIDOID},
    {"attname", NAMEOID},
    {"atttypid", OIDOID},
    {"attstattarget", INT4OID},
    {"attlen", INT2OID},
    {"attnum", INT2OID},
    {"attndims", INT4OID},
    {"attcacheoff", INT4OID},
    {"atttypmod", INT4OID},
    {"attbyval", BOOLOID},
    {"attalign", CHAROID},
    {"attstorage", CHAROID},
    {"attcompression", CHAROID},
    {"attnotnull", BOOLOID},
    {"atthasdef", BOOLOID},
    {"atthasmissing", BOOLOID},
    {"attidentity", CHAROID},
    {"attgenerated", CHAROID},
    {"attisdropped", BOOLOID},
    {"attislocal", BOOLOID},
    {"attinhcount", INT4OID},
    {"attcollation", OIDOID},
    {"attacl", ACLITEMARRAYOID},
    {"attoptions", TEXTARRAYOID},
    {"attfdwoptions", TEXTARRAYOID},
    {"attmissingval", ANYARRAYOID},
};
constexpr size_t kPgAttributeNatts = std::size(kPgAttributeColumns);
static_assert(kPgAttributeNatts == 26);

// Source: src/backend/catalog/heap.c, the SysAtt array.
constexpr Col kSystemColumns[] = {
    {"ctid", TIDOID}, {"xmin", XIDOID}, {"cmin", CIDOID},
    {"xmax", XIDOID}, {"cmax", CIDOID}, {"tableoid", OIDOID},
};

// The columns from first_nullable on may be null.
TupleDesc MakeDesc(std::span<const Col> columns, size_t first_nullable) {
  TupleDesc desc;
  for (size_t i = 0; i < columns.size(); ++i) {
    desc.push_back(MakeAttribute(columns[i].name, columns[i].type, -1,
                                 i < first_nullable));
  }
  return desc;
}

Relation MakeCatalog(Oid oid, const char* name, TupleDesc desc) {
  auto rel = std::make_shared<RelationData>();
  rel->rd_id = oid;
  rel->relname = name;
  rel->rd_node = {kDefaultTableSpaceOid, kDatabaseOid, oid};
  rel->rd_att = std::move(desc);
  return rel;
}

// A name, padded with zeros to its fixed length.
std::string PadName(std::string_view name) {
  std::string out(name.substr(0, 63));
  out.resize(64, '\0');
  return out;
}
std::string TrimName(std::string_view name) {
  return std::string(name.substr(0, name.find('\0')));
}

// {"fillfactor=70"} as a text[]: ndim, dataoffset, elemtype, length, lower
// bound, then one varlena. Source: src/include/utils/array.h.
std::string FormRelOptions(int fillfactor) {
  std::string option = "fillfactor=" + std::to_string(fillfactor);
  const int32_t header[] = {
      1, 0, static_cast<int32_t>(TEXTOID),
      1, 1, static_cast<int32_t>((option.size() + 4) << 2)};
  std::string out(reinterpret_cast<const char*>(header), sizeof(header));
  return out + option;
}

// The fillfactor in reloptions; 100 if it is not there.
int FillfactorOf(const Datum& reloptions) {
  constexpr std::string_view kKey = "fillfactor=";
  size_t at = reloptions.bytes.find(kKey);
  if (reloptions.isnull || at == std::string_view::npos) return 100;
  std::string_view text = reloptions.bytes.substr(at + kKey.size());
  int value = 100;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value >= 10 && value <= 100 ? value : 100;
}

}  // namespace

Relation PgClassRelation() {
  return MakeCatalog(kRelationRelationId, "pg_class",
                     MakeDesc(kPgClassColumns, kRelacl));
}

Relation PgAttributeRelation() {
  return MakeCatalog(kAttributeRelationId, "pg_attribute",
                     MakeDesc(kPgAttributeColumns, kAttacl));
}

Result<HeapTuple> FormPgClassTuple(const TupleDesc& desc,
                                   const PgClassRow& row) {
  std::array<Datum, kPgClassNatts> values;
  for (size_t i = 0; i < kRelacl; ++i) values[i] = Datum::Int(0);
  std::string name = PadName(row.relname);
  std::string options = FormRelOptions(row.fillfactor);
  constexpr int64_t kMinusOneAsFloat4 = 0xBF800000;
  values[kClassOid] = Datum::Int(row.oid);
  values[kRelname] = Datum::Bytes(name);
  values[kRelnamespace] = Datum::Int(row.relnamespace);
  values[kRelowner] = Datum::Int(kBootstrapSuperuserId);
  values[kRelam] = Datum::Int(HEAP_TABLE_AM_OID);
  values[kRelfilenode] = Datum::Int(row.relfilenode);
  values[kReltuples] = Datum::Int(kMinusOneAsFloat4);
  values[kRelpersistence] = Datum::Int('p');
  values[kRelkind] = Datum::Int('r');
  values[kRelnatts] = Datum::Int(row.relnatts);
  values[kRelispopulated] = Datum::Bool(true);
  values[kRelreplident] = Datum::Int(row.relreplident);
  values[kRelfrozenxid] = Datum::Int(row.relfrozenxid);
  values[kRelminmxid] = Datum::Int(1);
  if (row.fillfactor != 100) values[kReloptions] = Datum::Bytes(options);
  return HeapFormTuple(desc, values);
}

Result<PgClassRow> DeformPgClassTuple(const TupleDesc& desc,
                                      std::string_view tuple) {
  std::array<Datum, kPgClassNatts> values;
  RETURN_IF_ERROR(HeapDeformTuple(desc, tuple, values));
  for (size_t i = 0; i < kRelacl; ++i) {
    if (values[i].isnull) {
      return SqlError(ERRCODE_DATA_CORRUPTED, "null {} in pg_class",
                      kPgClassColumns[i].name);
    }
  }
  PgClassRow row;
  row.oid = static_cast<Oid>(values[kClassOid].num);
  row.relname = TrimName(values[kRelname].bytes);
  row.relnamespace = static_cast<Oid>(values[kRelnamespace].num);
  row.relfilenode = static_cast<Oid>(values[kRelfilenode].num);
  row.relnatts = static_cast<int16_t>(values[kRelnatts].num);
  row.relreplident = static_cast<char>(values[kRelreplident].num);
  row.relfrozenxid = static_cast<TransactionId>(values[kRelfrozenxid].num);
  row.fillfactor = FillfactorOf(values[kReloptions]);
  return row;
}

Result<HeapTuple> FormPgAttributeTuple(const TupleDesc& desc, Oid relid,
                                       int16_t attnum, const Attribute& att) {
  std::array<Datum, kPgAttributeNatts> values;
  for (size_t i = 0; i < kAttacl; ++i) values[i] = Datum::Int(0);
  std::string name = PadName(att.attname);
  values[kAttrelid] = Datum::Int(relid);
  values[kAttname] = Datum::Bytes(name);
  values[kAtttypid] = Datum::Int(att.atttypid);
  values[kAttstattarget] = Datum::Int(attnum > 0 ? -1 : 0);
  values[kAttlen] = Datum::Int(att.attlen);
  values[kAttnum] = Datum::Int(attnum);
  bool is_array = FindType(att.atttypid)->typcategory == 'A';
  values[kAttndims] = Datum::Int(is_array ? 1 : 0);
  values[kAttcacheoff] = Datum::Int(-1);
  values[kAtttypmod] = Datum::Int(att.atttypmod);
  values[kAttbyval] = Datum::Bool(att.attbyval);
  values[kAttalign] = Datum::Int(att.attalign);
  values[kAttstorage] = Datum::Int(att.attstorage);
  values[kAttnotnull] = Datum::Bool(att.attnotnull);
  values[kAttisdropped] = Datum::Bool(att.attisdropped);
  values[kAttislocal] = Datum::Bool(true);
  // Catalogs must sort alike in every database.
  Oid collation = TypeCollation(att.atttypid);
  if (collation != kInvalidOid && relid < kFirstNormalObjectId) {
    collation = C_COLLATION_OID;
  }
  values[kAttcollation] = Datum::Int(collation);
  return HeapFormTuple(desc, values);
}

Result<std::vector<HeapTuple>> FormSystemAttributeTuples(const TupleDesc& desc,
                                                         Oid relid) {
  std::vector<HeapTuple> out;
  int16_t attnum = 0;
  for (const Col& column : kSystemColumns) {
    --attnum;
    ASSIGN_OR_RETURN(HeapTuple tuple,
                     FormPgAttributeTuple(
                         desc, relid, attnum,
                         MakeAttribute(column.name, column.type, -1, true)));
    out.push_back(std::move(tuple));
  }
  return out;
}

Result<PgAttributeRow> DeformPgAttributeTuple(const TupleDesc& desc,
                                              std::string_view tuple) {
  std::array<Datum, kPgAttributeNatts> values;
  RETURN_IF_ERROR(HeapDeformTuple(desc, tuple, values));
  for (size_t i = 0; i < kAttacl; ++i) {
    if (values[i].isnull) {
      return SqlError(ERRCODE_DATA_CORRUPTED, "null {} in pg_attribute",
                      kPgAttributeColumns[i].name);
    }
  }
  PgAttributeRow row;
  row.attrelid = static_cast<Oid>(values[kAttrelid].num);
  row.attnum = static_cast<int16_t>(values[kAttnum].num);
  Oid type = static_cast<Oid>(values[kAtttypid].num);
  if (FindType(type) == nullptr) {
    return SqlError(ERRCODE_DATA_CORRUPTED, "cache lookup failed for type {}",
                    type);
  }
  row.att = MakeAttribute(TrimName(values[kAttname].bytes), type,
                          static_cast<int32_t>(values[kAtttypmod].num),
                          values[kAttnotnull].num != 0);
  row.att.attstorage = static_cast<char>(values[kAttstorage].num);
  row.att.attisdropped = values[kAttisdropped].num != 0;
  return row;
}

}  // namespace engine
