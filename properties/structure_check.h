// StructureCheck: every file of a data directory is what its format says.
//
// One implementation for StructureOracle, which judges simulated disks, and for
// `musth check`, which judges directories of anybody's. The parts: log_check
// (pg_control and the log), heap_check (pages, tuples, update chains),
// file_check (names, sizes, owners, commit log).
#ifndef MUSTH_PROPERTIES_STRUCTURE_CHECK_H_
#define MUSTH_PROPERTIES_STRUCTURE_CHECK_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "properties/cluster_image.h"
#include "properties/decoders/catalog_decoder.h"
#include "properties/log_check.h"
#include "properties/problem.h"

namespace properties {

// How the directory came to rest.
enum class Rest {
  kShutDown,   // by a shutdown checkpoint
  kRecovered,  // everything is written, nothing ran since the last checkpoint
  kCrashed,    // what the log covers is still to be rewritten
};

struct StructureReport {
  Rest rest = Rest::kShutDown;
  Problems problems;
  // Files that no committed pg_class row names. Crashes may leave such files.
  std::vector<std::string> orphans;
  LogSummary log;
  uint64_t pages = 0;
  uint64_t tuples = 0;
};

// catalog: the relations, null if they cannot be known. Requires:
// image.control().ok(), report->log is ReadLog's, with blocks for kCrashed.
void CheckStructure(const ClusterImage& image,
                    const std::map<uint32_t, DecodedRelation>* catalog,
                    Rest rest, StructureReport* report);

// A whole directory, about which nothing is known beforehand: its own
// pg_control and catalog say what to expect. Never fails on any bytes.
StructureReport CheckCluster(const ClusterView& files);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_STRUCTURE_CHECK_H_
