// CatalogDecoder: relations and their columns from pg_class and pg_attribute
// rows.
// Source: src/include/catalog/pg_class.h, pg_attribute.h.
#ifndef MUSTH_PROPERTIES_DECODERS_CATALOG_DECODER_H_
#define MUSTH_PROPERTIES_DECODERS_CATALOG_DECODER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/decoders/tuple_decoder.h"
#include "sim/env/status.h"

namespace properties {

inline constexpr uint32_t kPgClassRel = 1259;
inline constexpr uint32_t kPgAttributeRel = 1249;
inline constexpr uint32_t kFirstUserOid = 16384;

// The two catalogs' own layouts, which no row has to tell.
const RelationShape& PgClassShape();
const RelationShape& PgAttributeShape();

struct DecodedRelation {
  uint32_t oid = 0;
  std::string name;
  uint32_t filenode = 0;
  char kind = 'r';
  RelationShape shape;
};

// What a row of pg_class says of a table's file, with nothing else looked at.
struct TableFile {
  std::string name;
  uint32_t filenode = 0;
};
// Nothing if the body (from t_infomask2 on) is no row of pg_class.
std::optional<TableFile> DecodeTableFile(std::string_view pg_class_body);

// Relations by relfilenode, the two catalogs among them. Bodies start at
// t_infomask2. Errors: kCorrupted if a row cannot be decoded, two relations
// share a file, or a relation lacks one of its columns.
env::Result<std::map<uint32_t, DecodedRelation>> DecodeCatalog(
    const std::vector<std::string_view>& pg_class,
    const std::vector<std::string_view>& pg_attribute);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_DECODERS_CATALOG_DECODER_H_
