// Slru: a small buffer cache over numbered 8 KiB pages in segment files, for
// per-transaction status that is not a relation.
//
//   DIR/0000   pages 0..31      slot 0 | page 7, dirty  | group LSNs
//   DIR/0001   pages 32..63     slot 1 | page 8, reading|
//   ...                         ...
//
// Rules
// 1. A slot index is valid until the caller's next suspension: read the page
//    or change it (and mark it dirty) before anything that suspends.
// 2. A page is written from a copy. Copy and flush requirement are taken in
//    one step; WAL up to the requirement is flushed before the write.
// 3. A slot being read or written is never the victim of a replacement; it may
//    be changed while it is written and is then dirty again.
// 4. The segment file is registered for fsync before the write counts as done,
//    and a checkpoint waits for writes in progress.
// Differs: the control lock is not taken; between suspensions code is atomic,
// and the slots' I/O states guard what spans one. Whoever uses a slot index
// marks that as PostgreSQL's XactSLRULock (sim/env/race.h).
// Source: src/backend/access/transam/slru.c.
#ifndef MUSTH_ENGINE_TXN_SLRU_H_
#define MUSTH_ENGINE_TXN_SLRU_H_

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "engine/common/backend.h"
#include "engine/ipc/latch.h"

namespace engine {

inline constexpr int64_t SLRU_PAGES_PER_SEGMENT = 32;

// The error of a failed read or write of a page: which transaction's status
// was wanted (0: none in particular), and as DETAIL what the file did.
// Source: src/backend/access/transam/slru.c SlruReportIOError().
Status SlruReportIOError(const Status& cause, TransactionId xid);

class Slru {
 public:
  // dir is relative to the data directory. groups is how many flush
  // requirements (LSNs) each page keeps. sealed: pages lie on the device as
  // slru_seal.h says.
  Slru(std::string dir, int buffers, int groups, bool sealed = false);
  Slru(const Slru&) = delete;
  Slru& operator=(const Slru&) = delete;

  // Brings the page into a slot. missing_is_zero: a page beyond the files'
  // end reads as zeros (recovery).
  // Suspends: yes, unless cached. Errors: 58030, 58P01, XX000.
  Result<int> ReadPage(Backend& be, int64_t pageno, bool missing_is_zero);
  // Gives the page a slot without reading it: zeros, dirty.
  // Suspends: yes, if a slot must be freed. Errors: as WritePage.
  Result<int> ZeroPage(Backend& be, int64_t pageno);
  // Writes the slot's page if it is dirty, and waits for a write in progress.
  // Suspends: yes. Errors: I/O; the page stays dirty. WAL: flushed up to the
  // page's greatest group LSN.
  Status WritePage(Backend& be, int slot);
  // Writes every dirty page and makes the directory's entries durable. On
  // errors goes on with the other pages and returns the first.
  Status WriteAll(Backend& be);

  char* page(int slot) { return slots_[Index(slot)].bytes.data(); }
  void MarkDirty(int slot) { slots_[Index(slot)].dirty = true; }
  // Forgets what is unwritten. For planted bugs.
  void MarkAllClean();
  XLogRecPtr group_lsn(int slot, int group) const {
    return slots_[Index(slot)].group_lsn[Index(group)];
  }
  // Raises the flush requirement of a group to at least lsn.
  void RaiseGroupLsn(int slot, int group, XLogRecPtr lsn);

  std::string SegmentPath(int64_t pageno) const;
  // For tests: whether the page is cached now.
  bool IsCached(int64_t pageno) const { return Find(pageno) >= 0; }

 private:
  enum class State : uint8_t { kEmpty, kReading, kValid, kWriting };
  struct Slot {
    State state = State::kEmpty;
    bool dirty = false;
    int64_t pageno = -1;
    uint64_t last_used = 0;
    std::array<char, BLCKSZ> bytes = {};
    std::vector<XLogRecPtr> group_lsn;
    ConditionVariable io_done;
  };

  static size_t Index(int i) { return static_cast<size_t>(i); }
  // The slot that holds or is reading the page, or -1.
  int Find(int64_t pageno) const;
  // A slot that may be reused now, clean or dirty, or -1 if all are in I/O.
  int Victim() const;
  int64_t PageNumberOf(int slot) const;
  // Whether the slot's read or write of the page is under way.
  bool InIo(int slot, int64_t pageno) const;
  bool IsWriting(int slot, int64_t pageno) const;
  // The slot that has the page, or a victim. in_io: wait for it. dirty: write
  // it first.
  struct Candidate {
    int index;
    bool in_io;
    bool dirty;
  };
  Candidate FindOrVictim(int64_t pageno) const;
  // Who reads a page into its slot.
  enum class Claim : uint8_t { kMine, kWait, kReady };
  Claim BeginRead(int slot, int64_t pageno);
  // Returns false if somebody reads into the slot.
  bool ZeroSlot(int slot, int64_t pageno);
  // Returns false if there is nothing to write, else takes what is needed.
  bool BeginWrite(int slot, int64_t pageno, std::array<char, BLCKSZ>* copy,
                  XLogRecPtr* flush_lsn);
  // A free slot for pageno, or the slot that got the page meanwhile.
  Result<int> SelectSlot(Backend& be, int64_t pageno);
  void WaitIo(Backend& be, int slot);
  void Touch(Slot* slot) { slot->last_used = ++clock_; }
  Status PhysicalRead(Backend& be, int64_t pageno, bool missing_is_zero,
                      std::array<char, BLCKSZ>* bytes);
  Status PhysicalWrite(Backend& be, int64_t pageno,
                       const std::array<char, BLCKSZ>& bytes);

  int64_t PageOffset(int64_t pageno) const;

  const std::string dir_;
  const bool sealed_;
  std::vector<Slot> slots_;
  uint64_t clock_ = 0;
  int64_t latest_page_ = -1;  // never evicted while another page can be
};

}  // namespace engine

#endif  // MUSTH_ENGINE_TXN_SLRU_H_
