// StructureOracle: every file at rest is what its format says.
//
// Checks after recovery and after a clean shutdown:
// 1. pg_control: CRC, version, state; the checkpoint that it names is in the
//    log and equals the copy (CKPT).
// 2. The log from that checkpoint's redo pointer decodes without a gap up to
//    the newest page LSN on disk; after a clean shutdown the checkpoint record
//    is the last one (WAL).
// 3. Heap files: whole pages, sane headers, line pointers and tuples, column
//    values that fit the relation, right checksums (REC, TORN).
// 4. Tuple headers: xids below nextXid, hint bits that agree with the commit
//    log (VIS), a ctid inside the file.
// 5. The commit log has a page for every xid below nextXid, and nothing above
//    (REC).
// 6. After a clean shutdown no sector of a file that has a name waits to
//    become durable (CKPT).
// Does not check: free space and visibility maps, files that belong to no
// committed relation, pending directory entries (removing WAL is not synced),
// segments behind the newest.
#ifndef MUSTH_PROPERTIES_STRUCTURE_ORACLE_H_
#define MUSTH_PROPERTIES_STRUCTURE_ORACLE_H_

#include <cstdint>
#include <string>

#include "properties/cluster_image.h"
#include "properties/content_oracle.h"
#include "properties/oracle.h"

namespace properties {

class StructureOracle {
 public:
  explicit StructureOracle(VerdictSink* sink) : sink_(sink) {}

  // catalog says which relations there are; see Model::catalog.
  void Check(const ClusterImage& image, const Catalog& catalog, bool shut_down,
             uint64_t seq);
  // Requires: after a clean shutdown.
  void CheckNothingPending(const sim::Disk& disk, uint64_t seq);

 private:
  void CheckControl(const ClusterImage& image, bool shut_down);
  void CheckLog(const ClusterImage& image, bool shut_down);
  void CheckHeap(const ClusterImage& image, const DecodedRelation& relation,
                 uint32_t next_xid);
  void CheckTuple(const ClusterImage& image, const DecodedRelation& relation,
                  const HeapTupleRef& tuple, uint32_t next_xid);
  void CheckClog(const ClusterImage& image, uint32_t next_xid);
  void Report(const char* promise, std::string subject, std::string message);

  VerdictSink* sink_;
  uint64_t seq_ = 0;
  uint64_t newest_lsn_ = 0;
  std::string newest_page_;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_STRUCTURE_ORACLE_H_
