// XLogReader: decoding WAL pages into records, with every check that ends the
// log. Bytes are input: nothing here trusts them.
// Source: src/backend/access/transam/xlogreader.c.
#ifndef MUSTH_ENGINE_WAL_XLOGREADER_H_
#define MUSTH_ENGINE_WAL_XLOGREADER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "engine/common/types.h"

namespace engine {

inline constexpr int XLR_MAX_BLOCK_ID = 32;

struct DecodedBkpBlock {
  bool in_use = false;
  BufferTag tag;
  uint8_t flags = 0;  // BKPBLOCK_*: fork in the low bits, WILL_INIT 0x40 ...
  bool has_image = false;
  bool apply_image = false;
  std::string_view image;  // as stored: without hole, maybe compressed
  uint16_t hole_offset = 0;
  uint16_t hole_length = 0;
  uint8_t bimg_info = 0;
  bool has_data = false;
  std::string_view data;

  bool will_init() const { return (flags & 0x40) != 0; }
};

// Reads one WAL page (XLOG_BLCKSZ bytes at a page-aligned position). Errors
// mean that the page does not exist or cannot be read: end of log.
using XLogPageRead =
    std::function<Status(XLogRecPtr page, std::span<char, XLOG_BLCKSZ> out)>;

class XLogReaderState {
 public:
  XLogReaderState(uint32_t wal_segment_size, uint64_t system_identifier,
                  XLogPageRead read_page);
  XLogReaderState(const XLogReaderState&) = delete;
  XLogReaderState& operator=(const XLogReaderState&) = delete;

  // Next ReadRecord starts at lsn, which must be the start of a record.
  // (Or of a page: the record right behind its header.) It may follow any
  // record; later ones must name their predecessor as xl_prev.
  void BeginRead(XLogRecPtr lsn);
  // Decodes the next record. False at the end of valid WAL; error_message()
  // then says why in PostgreSQL's words. Suspends: as read_page does.
  bool ReadRecord();
  const std::string& error_message() const { return error_message_; }
  // After false: what read_page said, OK if it was the bytes that were wrong.
  const Status& page_status() const { return page_status_; }
  // After false, if the log ends amid a record that began on an earlier page:
  // that record's start and the page that should continue it; else 0.
  XLogRecPtr abortedRecPtr() const { return aborted_rec_ptr_; }
  XLogRecPtr missingContrecPtr() const { return missing_contrec_ptr_; }
  // Start of the unfinished record that was skipped before the current one,
  // because a page says that it will never be completed; else 0.
  XLogRecPtr overwrittenRecPtr() const { return overwritten_rec_ptr_; }

  // The current record. Views are valid until the next ReadRecord.
  XLogRecPtr ReadRecPtr() const { return read_rec_ptr_; }  // its start
  XLogRecPtr EndRecPtr() const { return end_rec_ptr_; }    // its end
  RmgrId rmid() const { return rmid_; }
  uint8_t info() const { return info_; }  // all eight bits
  TransactionId xid() const { return xid_; }
  XLogRecPtr prev() const { return prev_; }
  uint32_t total_length() const { return total_length_; }
  std::string_view main_data() const { return main_data_; }
  int max_block_id() const { return max_block_id_; }
  bool HasBlock(uint8_t id) const {
    return id <= XLR_MAX_BLOCK_ID && blocks_[id].in_use;
  }
  const DecodedBkpBlock& block(uint8_t id) const { return blocks_[id]; }
  // Rebuilds the full page of block id into page.
  // Errors: kCorrupted, with the record's LSN.
  Status RestoreBlockImage(uint8_t id, std::span<char, BLCKSZ> page) const;

 private:
  struct Assembly;

  bool Fail(std::string message);
  bool ReadPage(XLogRecPtr page);
  bool CheckPageHeader(XLogRecPtr page, const char* bytes);
  bool CheckLongHeader(const char* bytes);
  bool CheckRecordHeader(const struct XLogRecord& header, XLogRecPtr lsn);
  bool CheckRecordCrc(std::string_view record, XLogRecPtr lsn);
  // Finds the record at *lsn (which it moves over headers and overwritten
  // records); false ends the log.
  bool AssembleRecord(Assembly* a);
  bool AssembleFirstPage(Assembly* a);
  bool AssembleContinuation(Assembly* a, bool* restart);
  bool DecodeRecord(std::string_view record, XLogRecPtr lsn);
  bool DecodeBlockHeader(class ByteCursor* in, uint8_t id, XLogRecPtr lsn,
                         const BufferTag** last_rel, uint64_t* payload);
  bool DecodeImageHeader(class ByteCursor* in, DecodedBkpBlock* block,
                         uint16_t* image_length, XLogRecPtr lsn);
  bool DecodePayload(class ByteCursor* in, uint32_t main_data_length,
                     XLogRecPtr lsn);
  std::string Where(XLogRecPtr page) const;

  const uint32_t wal_segment_size_;
  const uint64_t system_identifier_;
  const XLogPageRead read_page_;
  XLogRecPtr next_ = 0;
  bool random_access_ = true;  // the next record's xl_prev is not known
  std::string error_message_;
  Status page_status_;
  XLogRecPtr aborted_rec_ptr_ = 0;
  XLogRecPtr missing_contrec_ptr_ = 0;
  XLogRecPtr overwritten_rec_ptr_ = 0;
  std::string record_;  // the bytes of a record that spans pages

  // The current record.
  XLogRecPtr read_rec_ptr_ = 0;
  XLogRecPtr end_rec_ptr_ = 0;
  RmgrId rmid_ = 0;
  uint8_t info_ = 0;
  TransactionId xid_ = 0;
  XLogRecPtr prev_ = 0;
  uint32_t total_length_ = 0;
  std::string_view main_data_;
  int max_block_id_ = -1;
  std::array<DecodedBkpBlock, XLR_MAX_BLOCK_ID + 1> blocks_;

  // Page cache of one, and the newest page seen, whose timeline later ones
  // may not precede.
  static constexpr XLogRecPtr kNoPage = ~XLogRecPtr{0};
  XLogRecPtr page_ptr_ = kNoPage;
  XLogRecPtr latest_page_ptr_ = 0;
  TimeLineID latest_page_tli_ = 0;
  alignas(8) std::array<char, XLOG_BLCKSZ> page_;
};

}  // namespace engine

#endif  // MUSTH_ENGINE_WAL_XLOGREADER_H_
