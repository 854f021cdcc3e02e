// DurabilitySanitizer: whoever reads what a power loss left undetermined must
// be able to live with every value, whatever this run drew.
//
// The disk tells of each read that had to draw sectors whose versions differ
// (FAULT_MODEL 5.3). Such a read is a finding even if the drawn value did no
// harm, unless its place is in AllowTable(): there the node is built to
// tolerate each version. What a place is follows from the path, from the
// flushed end of the log, and for data pages from the LSNs of the versions
// that the device may hold:
//
//   page written at LSN 5, synced, written at 7 and 9, power loss
//     device may hold 5, 7 or 9: nobody may read it before redo restores it
//   page written at 5, synced, written at 5 again (hints), power loss
//     versions differ in hints only
//
// Tags: WAL flushed log, REDO a page read by redo, DUR one read later, REC
// other files.
// Does not check: names and sizes, which the disk draws at the power loss
// itself; parts of sectors that a write must read first.
#ifndef MUSTH_PROPERTIES_DURABILITY_SANITIZER_H_
#define MUSTH_PROPERTIES_DURABILITY_SANITIZER_H_

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/data_files.h"
#include "properties/oracle.h"
#include "sim/env/event_sink.h"

namespace properties {

// Where a node may read what is not determined.
enum class ReadPlace : uint8_t {
  kWalTail,
  kControlFile,
  kCommitLog,
  kHintOnlyPage,
  kUnusedPage,
  kAtomicPage,
  kFlushMark,
  kCount,
};

struct AllowRow {
  ReadPlace place;
  const char* what;
  const char* why;  // either value is tolerated because ...
};
std::span<const AllowRow> AllowTable();

// How often a place was read: with the newest version of every sector, and
// with an older one of some.
struct ReadCount {
  uint64_t newest = 0;
  uint64_t older = 0;
};
using ReadCounts =
    std::array<ReadCount, static_cast<size_t>(ReadPlace::kCount)>;

struct SanitizerOptions {
  uint32_t wal_segment_bytes = 1 << 20;
  uint32_t sector_bytes = 512;  // what one write cannot tear
  bool full_page_writes = true;
};

class DurabilitySanitizer {
 public:
  // The sink outlives the oracle.
  DurabilitySanitizer(VerdictSink* sink, const SanitizerOptions& options)
      : sink_(sink), options_(options) {}

  // A copy that reports elsewhere.
  DurabilitySanitizer(const DurabilitySanitizer& other, VerdictSink* sink)
      : DurabilitySanitizer(other) {
    sink_ = sink;
  }

  void OnEvent(const env::Event& event);

  const ReadCounts& counts() const { return counts_; }

 private:
  struct Write {
    uint64_t lsn = 0;
    uint64_t seq = 0;
  };
  // LSNs of a page's versions.
  struct Versions {
    std::vector<uint64_t> device;  // what the device may hold
    std::vector<Write> pending;    // written, not synced
  };
  struct Sync {
    uint64_t inode = 0;
    uint64_t seq = 0;
  };
  struct PageWrite {
    uint64_t page = 0;
    uint64_t lsn = 0;
  };

  void OnWrite(const env::Event& event);
  void OnSync(const env::Event& event);
  void OnPageRead(const env::Event& event);
  void OnPowerLoss();
  void OnUndeterminedRead(const env::Event& event);
  void CheckWal(const std::string& path, const env::Event& event);
  void CheckPage(uint64_t page, const std::string& path,
                 const env::Event& event);
  void Allow(ReadPlace place, const env::Event& event);
  void Report(const char* promise, const std::string& path,
              const env::Event& event, const std::string& why);

  VerdictSink* sink_;
  SanitizerOptions options_;
  DataFiles files_;
  std::map<uint64_t, uint64_t> inodes_;  // by the first page of the file
  std::map<uint64_t, Versions> pages_;   // relation << 32 | block
  std::map<env::TaskId, PageWrite> page_writes_;  // under way
  std::map<env::TaskId, Sync> syncs_;             // under way
  uint64_t flushed_ = 0;
  bool recovering_ = false;
  ReadCounts counts_;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_DURABILITY_SANITIZER_H_
