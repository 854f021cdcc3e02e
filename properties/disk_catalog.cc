#include "properties/disk_catalog.h"

#include <string_view>
#include <vector>

namespace properties {

env::Result<std::map<uint32_t, DecodedRelation>> CatalogOnDisk(
    const ClusterImage& image) {
  auto visible = [&image](uint32_t filenode) {
    std::vector<std::string_view> bodies;
    for (const HeapTupleRef& tuple : image.Heap(filenode).tuples) {
      if (IsVisibleAtRest(tuple.header, image.clog())) {
        bodies.push_back(tuple.body);
      }
    }
    return bodies;
  };
  return DecodeCatalog(visible(kPgClassRel), visible(kPgAttributeRel));
}

}  // namespace properties
