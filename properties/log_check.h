// LogCheck: pg_control against the log, the log from its checkpoint on.
//
//   pg_control ──► checkpoint ──► redo ≤ checkpoint
//                                  │
//   pg_wal   .....[ page | page ]──┴──records──► checkpoint ──► end
//                                                    newest page LSN ≤ end
// Does not check: segments before the redo pointer and behind the end, which
// may hold anything.
#ifndef MUSTH_PROPERTIES_LOG_CHECK_H_
#define MUSTH_PROPERTIES_LOG_CHECK_H_

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "properties/cluster_image.h"
#include "properties/problem.h"

namespace properties {

// What the log from the redo pointer on says.
struct LogSummary {
  uint64_t records = 0;
  uint64_t end = 0;
  std::string reason;           // why it ends there
  bool has_checkpoint = false;  // the one of pg_control, with the same content
  uint64_t last_record = 0;
  uint32_t next_xid = 0;  // behind every xid of pg_control and the log
  // Main-fork blocks of database 5 that its records change.
  std::set<std::pair<uint32_t, uint32_t>> blocks;
};

// Requires: image.control().ok(). with_blocks: fill `blocks`.
LogSummary ReadLog(const ClusterImage& image, bool with_blocks);

// What pg_control says by itself.
void CheckControl(const ControlFile& control, Problems* problems);

// newest: of the pages on disk.
void CheckLog(const ControlFile& control, const LogSummary& log, bool shut_down,
              const NewestPage& newest, Problems* problems);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_LOG_CHECK_H_
