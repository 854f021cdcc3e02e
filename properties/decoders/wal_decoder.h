// WalDecoder: walks the write-ahead log from a record's start to its true end.
//
//   segment file = pages of 8192 bytes
//   page         = header (24 bytes, 40 on a segment's first page), records
//   record       = 24-byte header | block headers | data headers | payload,
//                  continued behind the next page's header if it is longer
//
// The log ends at the first record that fails any check: length, xl_prev,
// resource manager, page header, continuation length, CRC. Stale bytes of
// recycled segments fail xl_prev or the page address. A record that a crash
// cut off and that a later start marked as overwritten is skipped.
// Source: src/include/access/xlogrecord.h, xlog_internal.h.
#ifndef MUSTH_PROPERTIES_DECODERS_WAL_DECODER_H_
#define MUSTH_PROPERTIES_DECODERS_WAL_DECODER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/decoders/cluster_view.h"
#include "sim/env/status.h"

namespace properties {

// Resource managers that the judges look into.
inline constexpr uint8_t kRmXlog = 0;
inline constexpr uint8_t kRmXact = 1;
inline constexpr uint8_t kRmHeap2 = 9;
inline constexpr uint8_t kRmHeap = 10;

struct WalBlockRef {
  uint8_t id = 0;
  uint8_t fork = 0;
  uint32_t spc_node = 0;
  uint32_t db_node = 0;
  uint32_t rel_node = 0;
  uint32_t block = 0;
  bool will_init = false;
  bool has_image = false;
  bool apply_image = false;
  uint8_t image_info = 0;
  uint16_t hole_offset = 0;
  uint16_t hole_length = 0;
  std::string_view image;  // as stored: without hole, maybe compressed
  std::string_view data;
};

struct WalRecord {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t prev = 0;
  uint32_t xid = 0;
  uint8_t rmid = 0;
  uint8_t info = 0;
  uint32_t total_length = 0;
  std::string_view bytes;  // the whole record, page headers removed
  std::string_view main_data;
  std::vector<WalBlockRef> blocks;
};

// Takes a record's bytes (header first, page headers removed) apart; start and
// end are left 0. Views point into `bytes`. Errors: kCorrupted, saying what
// does not fit. Does not look at the CRC.
env::Result<WalRecord> DecodeWalRecord(std::string_view bytes);
// True if xl_crc matches.
bool WalRecordCrcMatches(std::string_view bytes);

// A transaction's end, decoded from an RM_XACT record.
struct WalXactEnd {
  bool commit = false;
  uint32_t xid = 0;
  std::vector<uint32_t> subxids;
  std::vector<uint32_t> dropped_rels;  // relNodes of files that go with it
};
// Nothing for records that end no transaction.
std::optional<WalXactEnd> DecodeXactEnd(const WalRecord& record);

struct WalLayout {
  uint32_t segment_bytes = 0;
  uint64_t system_identifier = 0;
  uint32_t timeline = 1;
};

// Name of the segment file that holds lsn: "000000010000000000000001".
std::string WalSegmentName(const WalLayout& layout, uint64_t lsn);
std::string LsnToText(uint64_t lsn);

class WalDecoder {
 public:
  // The view outlives the decoder.
  WalDecoder(const ClusterView* files, const WalLayout& layout);

  // The next record read is the one that starts at lsn.
  void BeginRead(uint64_t lsn);
  // Moves to the first record that begins at or after lsn's segment's start,
  // passing the rest of a record that began in an earlier segment. False if
  // the segment's first page is not valid.
  bool BeginAtSegment(uint64_t lsn);

  // Decodes the next record. False at the end of valid WAL; reason() says
  // why in PostgreSQL's words, end() where.
  bool Next();
  const WalRecord& record() const { return record_; }
  // End of the last valid record; the start position if there was none.
  uint64_t end() const { return end_; }
  const std::string& reason() const { return reason_; }
  // Where the log stops in the middle of a record: the page that should go on
  // with it, or the last page of one whose parts do not make a record; 0 if
  // it does not.
  uint64_t missing_continuation() const { return missing_continuation_; }

 private:
  const std::string* Segment(uint64_t lsn);
  // The page that holds lsn, its header checked. Empty: end of WAL.
  std::string_view Page(uint64_t lsn);
  bool Stop(std::string reason);
  std::string Where(uint64_t page_lsn) const;
  bool CheckPageHeader(std::string_view page, uint64_t page_lsn);
  bool CheckHeader(std::string_view head);
  bool CheckContinuation(std::string_view page, uint32_t rest);
  // Collects the record at start_ into buffer_; sets record_.end.
  bool Assemble(std::string_view page, size_t at, bool* restarted);

  const ClusterView* files_;
  WalLayout layout_;
  uint64_t segment_number_ = UINT64_MAX;
  const std::string* segment_ = nullptr;
  uint64_t latest_page_ = 0;
  uint32_t latest_timeline_ = 0;
  uint64_t next_ = 0;
  uint64_t start_ = 0;
  uint64_t end_ = 0;
  uint64_t last_start_ = 0;  // for xl_prev; 0 at a random start
  uint64_t last_page_ = 0;   // where the record over several pages ended
  uint64_t missing_continuation_ = 0;
  std::string buffer_;
  std::string reason_;
  WalRecord record_;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_DECODERS_WAL_DECODER_H_
