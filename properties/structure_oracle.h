// StructureOracle: every file at rest is what its format says.
//
// Checks after recovery and after a clean shutdown what `musth check` checks,
// with the same verifiers (structure_check.h):
// 1. pg_control: CRC, version, state; the checkpoint that it names is in the
//    log and equals the copy (CKPT).
// 2. The log from that checkpoint's redo pointer decodes without a gap up to
//    the newest page LSN on disk; after a clean shutdown the checkpoint record
//    is the last one (WAL).
// 3. Relation files: whole pages, full segments (EXT), sane headers, right
//    checksums; heap pages: line pointers, tuples, column values that fit the
//    relation (REC); update chains within a page (HOT).
// 4. Tuple headers: xids within bounds, hint bits that agree with the commit
//    log (VIS), infomask bits that go together, a ctid inside the file.
// 5. The commit log has a page for every xid that may be asked for, and nothing
//    above the next one (REC).
// 6. Every relation has its file (REDO); after a clean shutdown of a node that
//    never recovered every file has its relation (RES).
// 7. After a clean shutdown no sector of a file that has a name waits to
//    become durable (CKPT).
// And by event: at the end of a statement and of a process no buffer is
// pinned and no LWLock held (RES).
// Does not check: what free space and visibility maps say, pending directory
// entries (removing WAL is not synced), segments behind the newest.
#ifndef MUSTH_PROPERTIES_STRUCTURE_ORACLE_H_
#define MUSTH_PROPERTIES_STRUCTURE_ORACLE_H_

#include <cstdint>
#include <string>

#include "properties/cluster_image.h"
#include "properties/content_oracle.h"
#include "properties/oracle.h"
#include "sim/env/event_sink.h"

namespace properties {

class StructureOracle {
 public:
  explicit StructureOracle(VerdictSink* sink) : sink_(sink) {}

  // A copy that reports elsewhere.
  StructureOracle(const StructureOracle& other, VerdictSink* sink)
      : StructureOracle(other) {
    sink_ = sink;
  }

  void OnEvent(const env::Event& event);
  // catalog says which relations there are; see Model::catalog.
  void Check(const ClusterImage& image, const Catalog& catalog, bool shut_down,
             uint64_t seq);
  // Requires: after a clean shutdown.
  void CheckNothingPending(const sim::Disk& disk, uint64_t seq);

 private:
  void Report(const char* promise, std::string subject, std::string message);

  VerdictSink* sink_;
  uint64_t seq_ = 0;
  // Files without a relation may be left from before a crash.
  bool recovered_ = false;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_STRUCTURE_ORACLE_H_
