// HeapCheck: one heap file at rest.
//
// Pages: header, line pointers, checksum (ClusterImage found them). Tuples:
// transactions within bounds and known to the commit log, hint bits that agree
// with it, combinations of infomask bits that PostgreSQL never writes, columns
// that fit the relation, a ctid inside the file. Update chains within a page:
//
//   line pointers   1 redirect ──► 3      2 normal      3 normal   4 normal
//   tuples                                root          heap-only  heap-only
//                                         HOT_UPDATED ──────────►  xmin =
//                                         xmax, ctid               root's xmax
//
// a successor (same page, xmin equal to xmax) is heap-only exactly if the
// predecessor is HOT_UPDATED; a redirect leads to a heap-only tuple; a
// committed heap-only tuple has somebody who leads to it. Does not check:
// chains over pages, multixacts, toasted values, whether the free space of a
// page is zero. Source: contrib/amcheck/verify_heapam.c (the chain rules are
// release 16's).
#ifndef MUSTH_PROPERTIES_HEAP_CHECK_H_
#define MUSTH_PROPERTIES_HEAP_CHECK_H_

#include <cstdint>

#include "properties/cluster_image.h"
#include "properties/decoders/catalog_decoder.h"
#include "properties/problem.h"

namespace properties {

// What holds for a whole cluster.
struct XidBounds {
  uint32_t oldest = 3;  // of the checkpoint
  uint32_t next = 3;    // the first xid that nobody has
  // The commit log knows how every xid below next ended. Before a recovery it
  // may not.
  bool clog_is_current = true;
};

// Requires: no transaction runs. shape is null if the relation's columns are
// unknown. Blocks that skip names are not looked at; null skips none.
void CheckHeap(const ClusterImage& image, uint32_t filenode,
               const RelationShape* shape, const XidBounds& xids,
               const BlockFilter& skip, Problems* problems);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_HEAP_CHECK_H_
