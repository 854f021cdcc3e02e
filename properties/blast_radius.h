// BlastRadius: which injected faults a page or a stretch of the log suffers
// from, asked of the disk's fault log.
#ifndef MUSTH_PROPERTIES_BLAST_RADIUS_H_
#define MUSTH_PROPERTIES_BLAST_RADIUS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/decoders/wal_decoder.h"
#include "sim/disk.h"
#include "sim/fault_log.h"

namespace properties {

// A block of a relation's fork. path is that of the fork, "base/5/16384_fsm",
// without the segment's number.
struct PageRef {
  std::string path;
  uint32_t block = 0;

  // "page base/5/16384:3"
  std::string ToString() const;
  // The relation's file number and the fork; false if the path is no
  // relation's.
  bool Relation(uint32_t* rel_node, uint32_t* fork) const;
};

// The page that a message of PostgreSQL's names: "invalid page in block 3 of
// relation base/5/16384", "could not read block 3 in file "base/5/16384.1":
// ..."; nothing for others.
std::optional<PageRef> PageInMessage(std::string_view message);

class BlastRadius {
 public:
  // The disk outlives this. Null: nothing was ever injected.
  explicit BlastRadius(const sim::Disk* disk) : disk_(disk) {}

  // Faults that the bytes suffer from now.
  std::vector<sim::FaultRecord> OfRange(std::string_view path, int64_t offset,
                                        int64_t bytes) const;
  std::vector<sim::FaultRecord> OfPage(const PageRef& page) const;
  // Of what a refusal or PANIC speaks of: a page of a relation, a segment of
  // the log, a file of the commit log, the control file. Nothing if the message
  // names no place. With the faults that ended, among those after the since-th:
  // reads that failed or went astray once.
  std::vector<sim::FaultRecord> OfMessage(std::string_view message,
                                          uint64_t since) const;
  // Of the log's bytes [from, to). Segments that are gone suffer from nothing.
  std::vector<sim::FaultRecord> OfWal(const WalLayout& layout, uint64_t from,
                                      uint64_t to) const;

 private:
  const sim::Disk* disk_;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_BLAST_RADIUS_H_
