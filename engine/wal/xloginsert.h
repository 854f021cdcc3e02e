// Building one WAL record.
//
//   {
//     CriticalSection crit(be);
//     ... change pages, MarkBufferDirty ...
//     XLogInsertion record(be);
//     record.RegisterData(&xlrec, sizeof(xlrec));
//     record.RegisterBuffer(0, buffer, REGBUF_STANDARD);
//     record.RegisterBufData(0, tuple, len);
//     XLogRecPtr lsn = record.Insert(RM_HEAP_ID, XLOG_HEAP_INSERT);
//     PageSetLSN(page, lsn);
//   }
//
// A page that was not changed since the redo point is logged as a full image
// instead of its data (full_page_writes). Source:
// src/backend/access/transam/xloginsert.c.
#ifndef MUSTH_ENGINE_WAL_XLOGINSERT_H_
#define MUSTH_ENGINE_WAL_XLOGINSERT_H_

#include <memory>
#include <string_view>

#include "engine/buffer/bufmgr.h"
#include "engine/common/backend.h"

namespace engine {

// Flags of RegisterBuffer. Source: src/include/access/xloginsert.h.
inline constexpr uint8_t REGBUF_FORCE_IMAGE = 0x01;
inline constexpr uint8_t REGBUF_NO_IMAGE = 0x02;
inline constexpr uint8_t REGBUF_WILL_INIT = 0x04 | 0x02;
inline constexpr uint8_t REGBUF_STANDARD = 0x08;
inline constexpr uint8_t REGBUF_KEEP_DATA = 0x10;

// Low bits of a record's info that callers may pass.
inline constexpr uint8_t XLR_SPECIAL_REL_UPDATE = 0x01;

// Flags of SetRecordFlags. A record that is unimportant does not make the next
// checkpoint necessary.
inline constexpr uint8_t XLOG_MARK_UNIMPORTANT = 0x02;

class XLogInsertion {
 public:
  explicit XLogInsertion(Backend& be);
  ~XLogInsertion();
  XLogInsertion(const XLogInsertion&) = delete;
  XLogInsertion& operator=(const XLogInsertion&) = delete;

  // Appends to the record's main data. The bytes are copied.
  void RegisterData(const void* data, size_t size_bytes);
  // Requires: exclusive lock on buffer (share suffices for hint images).
  void RegisterBuffer(uint8_t block_id, Buffer buffer, uint8_t flags);
  // Registers a page that lies outside the buffer pool, as an image.
  void RegisterBlock(uint8_t block_id, const BufferTag& tag, const char* page,
                     uint8_t flags);
  void RegisterBufData(uint8_t block_id, const void* data, size_t size_bytes);
  void SetRecordFlags(uint8_t flags);

  // Inserts the record and returns its end. xid of the record is the current
  // transaction's (set by the txn layer through SetXLogXid) or 0.
  // Suspends: yes. Failures are PANICs. Call once.
  XLogRecPtr Insert(RmgrId rmid, uint8_t info);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The xid that goes into this backend's records from now on; 0 for none.
void SetXLogXid(Backend& be, TransactionId xid);
TransactionId GetXLogXid(Backend& be);

// True if the buffer's next logged change needs a full-page image.
bool XLogCheckBufferNeedsBackup(Backend& be, Buffer buffer);

// Logs a full image of a page (XLOG_FPI) and sets its LSN.
// Requires: exclusive lock; the page is marked dirty. Suspends: yes.
XLogRecPtr LogNewPageBuffer(Backend& be, Buffer buffer, bool page_std);

// Logs XLOG_NOOP records until at most room_bytes of a segment are left, in the
// segment behind the current one: short records everywhere in its first half,
// so that one begins at each sector, and long ones behind. A log that begins
// there soon needs another segment.
// Requires: nobody else inserts. Suspends: yes.
void LogFillSegment(Backend& be, uint32_t room_bytes);

// Logs XLOG_FPI_FOR_HINT, with an image if full_page_writes asks for one.
// Requires: share lock. Suspends: yes.
XLogRecPtr LogHintImage(Backend& be, Buffer buffer, bool page_std);

}  // namespace engine

#endif  // MUSTH_ENGINE_WAL_XLOGINSERT_H_
