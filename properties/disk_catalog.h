// The catalog as the data directory itself tells it.
#ifndef MUSTH_PROPERTIES_DISK_CATALOG_H_
#define MUSTH_PROPERTIES_DISK_CATALOG_H_

#include <cstdint>
#include <map>

#include "properties/cluster_image.h"
#include "properties/decoders/catalog_decoder.h"

namespace properties {

// Relations by relfilenode, from those rows of pg_class and pg_attribute that
// the commit log makes visible. Requires: no transaction runs.
// Errors: as DecodeCatalog.
env::Result<std::map<uint32_t, DecodedRelation>> CatalogOnDisk(
    const ClusterImage& image);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_DISK_CATALOG_H_
