// HeapRedo: the judges' own redo of records that change heap pages.
//
// A record is taken apart into one BlockChange per block that it touches. A
// change holds all that redo needs and nothing of the record's page images
// (unless the image is all that the record says), so that it can be applied
// again and again to whatever state a crash rewinds a page to.
//
//   INSERT            xl_heap_insert   blk 0: header, tuple from byte 23 on
//   DELETE            xl_heap_delete   blk 0
//   UPDATE            xl_heap_update   blk 0: new version, blk 1: old page
//   LOCK              xl_heap_lock     blk 0
//   INPLACE           xl_heap_inplace  blk 0: the new columns' bytes
//   FPI, FPI_FOR_HINT                  every block: an image
//
// Written from the record formats; shares no code with the engine's redo.
// Source: src/include/access/heapam_xlog.h; heap_xlog_insert() and its
// neighbours in src/backend/access/heap/heapam.c say what redo means.
#ifndef MUSTH_PROPERTIES_DECODERS_HEAP_REDO_H_
#define MUSTH_PROPERTIES_DECODERS_HEAP_REDO_H_

#include <cstdint>
#include <string>
#include <vector>

#include "properties/decoders/wal_decoder.h"
#include "sim/env/status.h"

namespace properties {

enum class ChangeKind : uint8_t {
  kInsert,
  kDelete,
  kUpdateOld,   // the old version, on its page
  kUpdateNew,   // the new version, on another page
  kUpdateBoth,  // both on one page
  kLock,
  kInplace,
  kImage,      // the page becomes the image
  kHintImage,  // the LSN moves; an image, if any, is new in hints only
};
const char* ChangeKindName(ChangeKind kind);

struct BlockChange {
  uint64_t start = 0;  // of the record
  uint64_t end = 0;
  ChangeKind kind = ChangeKind::kInsert;
  bool init = false;  // the page is made anew first
  bool hot = false;
  uint32_t xid = 0;
  uint32_t block = 0;
  uint32_t new_block = 0;  // where an update put the new version
  std::string main_data;
  std::string data;   // the block's
  std::string image;  // a whole page; kImage only
  // "record 0/153A8F8 (update, new page)"
  std::string ToString() const;
};

struct TouchedBlock {
  uint32_t rel_node = 0;
  uint32_t db_node = 0;
  uint8_t fork = 0;
  BlockChange change;
  // As the record's image has it, LSN and hole included; empty if it has none.
  std::string image;
};

// All blocks of a record, by their number in the record. Where an image made
// the writer leave out a tuple, the tuple is taken from the image; all else is
// still redo's to produce. Errors: kCorrupted; kInvalid if the record touches
// blocks and its kind is not known here.
env::Result<std::vector<TouchedBlock>> DecodeBlockChanges(
    const WalRecord& record);

// Applies a change to a page of 8192 bytes, and sets its LSN. Errors:
// kCorrupted if the change does not fit the page, which may then be half
// changed.
env::Status ApplyBlockChange(const BlockChange& change, std::string* page);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_DECODERS_HEAP_REDO_H_
