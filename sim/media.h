// Media faults: what a device does to bytes at rest (FAULT_MODEL layer L4,
// SFM-19, SFM-25 to SFM-29 and SFM-31).
//
// A fault strikes sectors that have no pending version; the file then shows the
// damaged bytes until somebody writes there. The overlay keeps what they hid,
// so that damage can be listed (FaultLog), attributed and removed.
//
// Faults of writes strike after the fact: the disk remembers the pages that the
// latest flushes wrote and what they replaced. A lost write gives a page its
// former bytes back, a misdirected one puts its new bytes elsewhere as well.
#ifndef MUSTH_SIM_MEDIA_H_
#define MUSTH_SIM_MEDIA_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/block_store.h"
#include "sim/fault_log.h"
#include "sim/meta_log.h"

namespace sim {

struct MediaFault {
  // kReadError, kBitRot, kGarbage, kZeroed; of a write: kLostWrite,
  // kMissedWrite (its own place) or kMisdirected (the place that gets it).
  Damage damage = Damage::kBitRot;
  std::string path;
  int64_t offset = 0;  // a multiple of 512, as is bytes
  int64_t bytes = kSlotBytes;
  // Which bits rot, what the garbage is.
  uint64_t noise = 0;
  // An id of RecentWrites; path, offset and bytes say which part of it is lost,
  // or where its bytes [0, bytes) land.
  uint64_t write = 0;
};

// A page that a completed flush wrote and nobody has written since.
struct RecentWrite {
  uint64_t id = 0;  // ascending
  std::string path;
  int64_t offset = 0;  // of the page
};

// A named file that media faults can strike.
struct MediaTarget {
  std::string path;
  int64_t size_bytes = 0;
};

class MediaOverlay {
 public:
  // A sector's bytes under and with the damage.
  struct Hidden {
    InodeNo inode = 0;
    int64_t offset = 0;
    std::array<char, kSlotBytes> before;
    std::array<char, kSlotBytes> after;
  };
  // A range that cannot be read; the log's record ends with it.
  struct Unreadable {
    uint64_t id = 0;
    InodeNo inode = 0;
    int64_t from = 0;
    int64_t to = 0;
  };

  // A remembered write: the slots it wrote, and what was there before.
  struct Write {
    uint64_t id = 0;
    InodeNo inode = 0;
    int64_t offset = 0;
    SlotMask slots = 0;
    std::shared_ptr<const std::array<char, kPageBytes>> before;
  };
  static constexpr size_t kMaxWrites = 16;

  // The bytes that a fault that is not one of writes makes of those of one
  // sector. Differs from before, or the fault does not show in this sector.
  static std::array<char, kSlotBytes> Damaged(
      const MediaFault& fault, int64_t offset,
      const std::array<char, kSlotBytes>& before);

  void Hide(const Hidden& hidden) { hidden_.push_back(hidden); }
  void AddUnreadable(const Unreadable& range) { unreadable_.push_back(range); }
  // True if a read of these bytes fails.
  bool Fails(InodeNo inode, int64_t offset, int64_t bytes) const;
  // The latest kMaxWrites writes are kept, if any are.
  void RememberWrites() { remembers_ = true; }
  bool remembers() const { return remembers_; }
  void AddWrite(Write write);
  const std::vector<Write>& writes() const { return writes_; }
  const Write* FindWrite(uint64_t id) const;
  // Bytes [from, to) were rewritten, or cut off. Returns the records that end.
  std::vector<uint64_t> Rewritten(InodeNo inode, int64_t from, int64_t to);
  // Everything, oldest first; the overlay is empty afterwards.
  std::vector<Hidden> TakeHidden();
  // Those of which it holds count as what the file is meant to show.
  template <typename Predicate>
  void AcceptHidden(Predicate meant) {
    std::erase_if(hidden_, meant);
  }
  std::vector<uint64_t> TakeUnreadable();

 private:
  std::vector<Hidden> hidden_;
  std::vector<Unreadable> unreadable_;
  bool remembers_ = false;
  uint64_t writes_seen_ = 0;
  std::vector<Write> writes_;  // oldest first
};

}  // namespace sim

#endif  // MUSTH_SIM_MEDIA_H_
