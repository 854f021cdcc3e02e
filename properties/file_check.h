// FileCheck: the files of a data directory by name and size.
//
//   base/5/16384  16384.1  16384_fsm  16384_vm    whole pages, full segments
//   pg_xact/0000                                  whole pages, no gap
//   pg_wal/000000010000000000000001               one size
// A relation needs its file; a file needs its relation.
#ifndef MUSTH_PROPERTIES_FILE_CHECK_H_
#define MUSTH_PROPERTIES_FILE_CHECK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/cluster_image.h"
#include "properties/decoders/catalog_decoder.h"
#include "properties/heap_check.h"
#include "properties/problem.h"

namespace properties {

// "16384_vm.1", taken apart.
struct RelationFileName {
  uint32_t filenode = 0;
  std::string fork;  // "", "fsm", "vm", "init"
  uint32_t segment = 0;
};
// Nothing for names that no relation's file has.
std::optional<RelationFileName> ParseRelationFileName(std::string_view name);

// Sizes, segments and headers of pages of every relation file; of main forks
// whose pages HeapCheck reads (is_heap says which), sizes only. Blocks that
// skip names may be anything. newest sees the pages of the others.
void CheckRelationFiles(const ClusterImage& image,
                        const std::function<bool(uint32_t)>& is_heap,
                        const BlockFilter& skip, NewestPage* newest,
                        Problems* problems);

// Relations without a file are problems; files without a relation are added to
// orphans.
void CheckOwners(const ClusterImage& image,
                 const std::map<uint32_t, DecodedRelation>& catalog,
                 Problems* problems, std::vector<std::string>* orphans);

// The commit log has a place for every xid that may still be asked for, and
// nothing about later ones.
void CheckClogFiles(const ClusterImage& image, const XidBounds& xids,
                    Problems* problems);

// Names and sizes in pg_wal.
void CheckWalFiles(const ClusterImage& image, uint32_t segment_bytes,
                   Problems* problems);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_FILE_CHECK_H_
