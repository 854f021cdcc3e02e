#include "properties/decoders/catalog_decoder.h"

#include <fmt/format.h>

#include <utility>

namespace properties {
namespace {

using env::Code;
using env::Status;

// A column list in the order of the catalog's definition.
class ShapeBuilder {
 public:
  ShapeBuilder& Oid(const char* name) { return Add(name, 26, 4, 'i'); }
  ShapeBuilder& Xid(const char* name) { return Add(name, 28, 4, 'i'); }
  ShapeBuilder& Int4(const char* name) { return Add(name, 23, 4, 'i'); }
  ShapeBuilder& Int2(const char* name) { return Add(name, 21, 2, 's'); }
  ShapeBuilder& Float4(const char* name) { return Add(name, 700, 4, 'i'); }
  ShapeBuilder& Bool(const char* name) { return Add(name, 16, 1, 'c'); }
  ShapeBuilder& Char(const char* name) { return Add(name, 18, 1, 'c'); }
  ShapeBuilder& Name(const char* name) { return Add(name, 19, 64, 'c'); }
  ShapeBuilder& Varlena(const char* name, char align) {
    return Add(name, 17, -1, align);
  }
  RelationShape Take() { return std::move(shape_); }

 private:
  ShapeBuilder& Add(const char* name, uint32_t type, int16_t length,
                    char align) {
    ColumnShape column;
    column.name = name;
    column.type = type;
    column.length = length;
    column.align = align;
    shape_.push_back(std::move(column));
    return *this;
  }
  RelationShape shape_;
};

RelationShape MakePgClass() {
  ShapeBuilder b;
  b.Oid("oid").Name("relname");
  for (const char* name : {"relnamespace", "reltype", "reloftype", "relowner",
                           "relam", "relfilenode", "reltablespace"}) {
    b.Oid(name);
  }
  b.Int4("relpages").Float4("reltuples").Int4("relallvisible");
  b.Oid("reltoastrelid").Bool("relhasindex").Bool("relisshared");
  b.Char("relpersistence").Char("relkind").Int2("relnatts").Int2("relchecks");
  for (const char* name :
       {"relhasrules", "relhastriggers", "relhassubclass", "relrowsecurity",
        "relforcerowsecurity", "relispopulated"}) {
    b.Bool(name);
  }
  b.Char("relreplident").Bool("relispartition").Oid("relrewrite");
  b.Xid("relfrozenxid").Xid("relminmxid");
  b.Varlena("relacl", 'd').Varlena("reloptions", 'i');
  b.Varlena("relpartbound", 'i');
  return b.Take();
}

RelationShape MakePgAttribute() {
  ShapeBuilder b;
  b.Oid("attrelid").Name("attname").Oid("atttypid").Int4("attstattarget");
  b.Int2("attlen").Int2("attnum").Int4("attndims").Int4("attcacheoff");
  b.Int4("atttypmod").Bool("attbyval").Char("attalign").Char("attstorage");
  b.Char("attcompression").Bool("attnotnull").Bool("atthasdef");
  b.Bool("atthasmissing").Char("attidentity").Char("attgenerated");
  b.Bool("attisdropped").Bool("attislocal").Int4("attinhcount");
  b.Oid("attcollation").Varlena("attacl", 'd').Varlena("attoptions", 'i');
  b.Varlena("attfdwoptions", 'i').Varlena("attmissingval", 'd');
  return b.Take();
}

// Positions, from 0, of the columns that are looked at.
enum ClassColumn {
  kOid = 0,
  kRelname = 1,
  kRelfilenode = 7,
  kRelkind = 16,
  kRelnatts = 17
};
enum AttributeColumn {
  kAttrelid = 0,
  kAttname = 1,
  kAtttypid = 2,
  kAttlen = 4,
  kAttnum = 5,
  kAtttypmod = 8,
  kAttalign = 10,
  kAttisdropped = 18
};

uint32_t AsOid(const Value& v) { return static_cast<uint32_t>(v.number); }

}  // namespace

const RelationShape& PgClassShape() {
  static const RelationShape shape = MakePgClass();
  return shape;
}

const RelationShape& PgAttributeShape() {
  static const RelationShape shape = MakePgAttribute();
  return shape;
}

std::optional<TableFile> DecodeTableFile(std::string_view pg_class_body) {
  env::Result<Row> row = DecodeTupleBody(PgClassShape(), pg_class_body);
  if (!row.ok()) return std::nullopt;
  return TableFile{ValueToText(PgClassShape()[kRelname], (*row)[kRelname]),
                   AsOid((*row)[kRelfilenode])};
}

env::Result<std::map<uint32_t, DecodedRelation>> DecodeCatalog(
    const std::vector<std::string_view>& pg_class,
    const std::vector<std::string_view>& pg_attribute) {
  std::map<uint32_t, std::map<int64_t, ColumnShape>> columns;
  Row row;
  for (std::string_view body : pg_attribute) {
    RETURN_IF_ERROR(DecodeTupleBodyInto(PgAttributeShape(), body, &row));
    int64_t number = row[kAttnum].number;
    if (number < 1) continue;  // system columns
    ColumnShape c;
    c.name = ValueToText(PgAttributeShape()[kAttname], row[kAttname]);
    c.type = AsOid(row[kAtttypid]);
    c.length = static_cast<int16_t>(row[kAttlen].number);
    c.align = static_cast<char>(row[kAttalign].number);
    c.typmod = static_cast<int32_t>(row[kAtttypmod].number);
    c.dropped = row[kAttisdropped].number != 0;
    columns[AsOid(row[kAttrelid])][number] = std::move(c);
  }
  std::map<uint32_t, DecodedRelation> relations;
  for (std::string_view body : pg_class) {
    RETURN_IF_ERROR(DecodeTupleBodyInto(PgClassShape(), body, &row));
    DecodedRelation r;
    r.oid = AsOid(row[kOid]);
    r.name = ValueToText(PgClassShape()[kRelname], row[kRelname]);
    r.filenode = AsOid(row[kRelfilenode]);
    r.kind = static_cast<char>(row[kRelkind].number);
    // A mapped catalog has no relfilenode of its own in its row.
    if (r.filenode == 0) r.filenode = r.oid;
    int64_t natts = row[kRelnatts].number;
    for (int64_t n = 1; n <= natts; ++n) {
      auto it = columns[r.oid].find(n);
      if (it == columns[r.oid].end()) {
        return Status(Code::kCorrupted,
                      fmt::format("relation \"{}\" lacks column {} of {}",
                                  r.name, n, natts));
      }
      r.shape.push_back(it->second);
    }
    if (relations.count(r.filenode) != 0) {
      return Status(
          Code::kCorrupted,
          fmt::format("relations \"{}\" and \"{}\" share file {}",
                      relations[r.filenode].name, r.name, r.filenode));
    }
    relations[r.filenode] = std::move(r);
  }
  return relations;
}

}  // namespace properties
