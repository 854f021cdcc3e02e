// File data: the bytes of one inode with everything a power loss may do to
// them.
//
// Content is a table of chunks of pages; a page is two blocks, a version chain
// where something is pending or undetermined, and a durability stamp. The size
// is a cell of its own: the durable value and the pending operations after it
// (FAULT_MODEL SFM-4, SFM-10). Copying a FileData shares all chunks.
//
// A shrink is an undo of kind kTruncate on every slot beyond the new size. If
// the power loss takes the size operation back, the bytes come back with it
// and what was written there afterwards is gone; if it keeps it, the slots
// start over as never written.
#ifndef MUSTH_SIM_FILE_DATA_H_
#define MUSTH_SIM_FILE_DATA_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/durability_stamps.h"
#include "sim/image_tap.h"
#include "sim/version_chain.h"

namespace sim {

// Decides what a crash image shows. Implemented by crash_image.
class VersionPicker {
 public:
  virtual ~VersionPicker() = default;

  // The version of a sector that the power loss `crash` (0 = first) left, of
  // those issued since the one before: 0 is the state before all writes in
  // seqs, i the state after the i-th. block_seqs are the writes to the 4 KiB
  // block that the sector lies in, if the traits track them.
  virtual size_t PickVersion(size_t crash, uint64_t sector,
                             std::span<const uint64_t> seqs,
                             std::span<const uint64_t> block_seqs) = 0;
  // As PickVersion for the inode's size.
  virtual size_t PickSize(size_t crash, std::span<const uint64_t> seqs) = 0;
  // kSlotBytes bytes of a slot (512-byte index in the file) never written.
  virtual void FillSlot(size_t crash, uint64_t slot, char* out) = 0;
  // The slot shows these bytes, which are not zeros and which nobody wrote.
  virtual void Filled(uint64_t slot, const char* bytes) = 0;
  // Issue number of the last operation before each power loss, ascending.
  virtual std::span<const uint64_t> CrashSeqs() const = 0;
  // Whether OnCell is to be called: contents cost time.
  virtual bool Watched() const { return false; }
  // A cell that was drawn as state `drawn` gets the returned one.
  virtual size_t OnCell(ImageCell::Kind /*kind*/, uint64_t /*index*/,
                        size_t drawn, std::span<const uint64_t> /*contents*/) {
    return drawn;
  }
};

struct PageSlot {
  PageBlocks block;
  ChainRef chain;
  StampRef stamp;
};

inline constexpr int kPagesPerChunk = 8;
struct Chunk {
  mutable uint32_t refs = 0;
  std::array<PageSlot, kPagesPerChunk> pages;
};

struct SizeOp {
  uint64_t seq = 0;
  int64_t size = 0;
  bool shrink = false;
};

// What the file is stored on; the same for all files of a disk.
struct DataTraits {
  int unit_slots = 1;           // slots that cannot part: 1, 8 or 16
  bool track_fill = false;      // never-written sectors differ from zeros
  bool track_instants = false;  // images are made of page snapshots
  uint64_t last_crash_seq = 0;
};

class FileData {
 public:
  int64_t size() const { return size_; }
  int64_t durable_size() const { return durable_size_; }

  // What a read found undetermined.
  struct ReadResult {
    uint64_t drawn = 0;  // units that it determined
    // Of these, units whose versions were not all the same bytes, and units
    // that got another version than the newest one.
    uint64_t ambiguous = 0;
    uint64_t older = 0;
    // Bytes [from, to) of the file hold the ambiguous units.
    int64_t from = 0;
    int64_t to = 0;
  };
  // Bytes [offset, offset + out.size()), which lie below size(). Draws the
  // undetermined sectors among them.
  ReadResult Read(int64_t offset, std::span<char> out, const DataTraits& traits,
                  VersionPicker* picker);
  // As Read where nothing is undetermined.
  void Peek(int64_t offset, std::span<char> out) const;
  // The kSlotBytes bytes of the slot at an offset; false if it begins beyond
  // the file's end or is undetermined.
  bool PeekSlot(int64_t offset, char* out) const;

  // True if the sector at an offset has one version alone, which is durable.
  bool AtRest(int64_t offset) const;
  // A media fault, or its removal: the sector's slot at the offset now holds
  // these kSlotBytes bytes. Requires: AtRest.
  void ReplaceAtRest(int64_t offset, const char* bytes);

  // A hash of visible bytes, which uses the blocks' cached hashes.
  uint64_t HashRange(int64_t offset, int64_t length) const;

  struct WriteResult {
    uint64_t drawn = 0;   // sectors that had to be determined first
    uint64_t closed = 0;  // undetermined sectors that were overwritten
  };
  WriteResult Write(uint64_t seq, int64_t offset, std::span<const char> data,
                    const DataTraits& traits, VersionPicker* picker);
  WriteResult Truncate(uint64_t seq, int64_t size, const DataTraits& traits,
                       VersionPicker* picker);

  // True if a flush would have something to do.
  bool Dirty(const DataTraits& traits) const;
  // True if a power loss could change something.
  bool Pending() const { return !dirty_.empty() || !size_ops_.empty(); }
  bool HasOpen() const;
  // Units with pending versions; units still undetermined.
  uint64_t CountPending(const DataTraits& traits) const;
  // As CountPending, without what a failed flush left clean (SFM-22): what the
  // next flush would write.
  uint64_t CountDirty(const DataTraits& traits) const;
  uint64_t CountOpen(const DataTraits& traits) const;
  // Appends the issue numbers of all pending writes and size operations.
  void PendingSeqs(std::vector<uint64_t>* seqs) const;

  // A flush of the bytes [from, to) as issued up to seq (an O_DSYNC write
  // flushes its own range, fsync all). Its stamps are taken of what is visible
  // when it begins; until it ends the writes it covers keep their undos.
  struct Flush {
    uint64_t seq = 0;
    int64_t from = 0;
    int64_t to = INT64_MAX;
    std::vector<std::pair<uint32_t, StampRef>> stamps;
  };
  Flush BeginFlush(uint64_t seq, int64_t from, int64_t to);
  void EndFlush(Flush flush, const DataTraits& traits,
                std::vector<BlockRef>* freed);
  // Bytes [from, to) are overwritten while the flush is under way.
  static void StrikeOutOf(Flush* flush, int64_t from, int64_t to);

  // Pages with undos of writes or failed flushes, ascending.
  std::vector<uint32_t> DirtyPages() const;
  // Slots of a page that the flush would write.
  SlotMask FlushableSlots(uint32_t page, const Flush& flush,
                          const DataTraits& traits) const;
  // What the flush is about to replace for good: slots of a page that it covers
  // wholly, and the bytes before the writes.
  struct Replaced {
    uint32_t page = 0;
    SlotMask slots = 0;
    std::array<char, kPageBytes> before = {};
  };
  std::vector<Replaced> ReplacedBy(const Flush& flush,
                                   const DataTraits& traits) const;
  // SFM-31: the newest write of a slot and the bytes before it, if it is the
  // slot's only pending one; then that write is durable.
  bool SettleSlot(uint32_t page, int slot, const DataTraits& traits,
                  char* before, char* after);
  // SFM-22: the flush up to seq failed in these slots of the page.
  void FailSlots(uint32_t page, uint64_t seq, SlotMask slots,
                 const DataTraits& traits);
  // SFM-22, btrfs: what the flush covered shows the bytes before it again and
  // is clean. Slots with a pending truncation are left alone.
  void Revert(const Flush& flush, const DataTraits& traits);
  // SFM-5: the newest version of these slots becomes durable. Slots with a
  // pending truncation or a failed flush are left alone.
  SlotMask WriteBackSlots(uint32_t page, SlotMask slots,
                          const DataTraits& traits);
  // SFM-5 for the size; no-op if a shrink is pending. Returns true if done.
  bool WriteBackSize();
  // SFM-22: clean pages leave the cache.
  void Evict(const DataTraits& traits);

  struct CrashResult {
    uint64_t opened = 0;  // units that became undetermined
    bool size_drawn = false;
  };
  // The power fails; crash is the index of this power loss.
  CrashResult PowerLoss(size_t crash, const DataTraits& traits,
                        VersionPicker* picker);
  // What a look at an undetermined sector would show, as a number: see
  // ImageTap. Nothing if the sector is not undetermined.
  std::optional<uint64_t> ForeseeSector(uint64_t sector,
                                        const DataTraits& traits,
                                        VersionPicker* picker) const;
  // Draws everything undetermined; returns the number of units.
  uint64_t Freeze(const DataTraits& traits, VersionPicker* picker);
  // Everything visible becomes durable, as on a copied disk.
  void MakeDurable();

  // Blocks that hold bytes, for the pool of stale sectors.
  void CollectBlocks(std::vector<BlockRef>* out) const;
  uint64_t Hash() const;

 private:
  const PageSlot* Find(uint32_t page) const;
  PageSlot& MutablePage(uint32_t page);
  void ListDirty(PageSlot* slot, uint32_t page);
  // Drops the chain if it says nothing any more.
  static void Tidy(PageSlot* slot);
  // Determines what is open among the slots; returns the number of units.
  uint64_t Resolve(uint32_t page, SlotMask slots, const DataTraits& traits,
                   VersionPicker* picker, ReadResult* note = nullptr);
  // The versions of one unit, and the one that is drawn.
  struct UnitVersions;
  UnitVersions DrawUnit(const PageSlot& slot, uint32_t page, int first,
                        const DataTraits& traits, VersionPicker* picker) const;
  static void CopyOlder(const Undo& undo, uint32_t page, int slot, size_t crash,
                        VersionPicker* picker, char* out);
  static std::vector<uint64_t> ContentsOf(const UnitVersions& versions,
                                          const PageSlot& slot, uint32_t page,
                                          int first, const DataTraits& traits,
                                          VersionPicker* picker);
  // Returns true if the unit got another version than the newest one.
  bool ResolveUnit(PageSlot* slot, uint32_t page, int first,
                   const DataTraits& traits, VersionPicker* picker);
  // Makes room for a write to bytes [from, to) of the page.
  void BeforeWrite(uint32_t page, int from, int to, uint64_t seq,
                   int64_t old_size, const DataTraits& traits,
                   VersionPicker* picker, WriteResult* result);
  void ExposeZeros(uint64_t seq, int64_t from, int64_t to,
                   const DataTraits& traits);
  void TruncatePage(uint32_t page, int keep, uint64_t seq,
                    const DataTraits& traits, VersionPicker* picker,
                    WriteResult* result);
  void PushSizeOp(uint64_t seq, int64_t size, bool shrink,
                  const DataTraits& traits);
  void CoverSizes(uint64_t seq);
  void PruneLists();
  static void DropFailed(PageSlot* slot);
  void ReopenUncovered(PageSlot* slot, uint32_t page, const DataTraits& traits);
  static void SettleTruncations(PageSlot* slot, uint64_t size_seq);
  void TrimBeyond(int64_t known_end, const DataTraits& traits);
  static void TrimPage(PageSlot* slot, int keep, const DataTraits& traits);
  static void CheckStamps(const PageSlot& slot, SlotMask slots);
  void OpenPage(PageSlot* slot, uint32_t page, const DataTraits& traits,
                CrashResult* result);

  int64_t size_ = 0;
  int64_t durable_size_ = 0;
  uint64_t durable_size_seq_ = 0;
  // Bytes below this are promised to lie inside the file.
  int64_t stamped_size_ = 0;
  uint64_t flush_floor_ = 0;
  std::vector<SizeOp> size_ops_;
  std::vector<Ref<Chunk>> chunks_;
  std::vector<uint32_t> dirty_;  // pages with undos a flush may cover
  std::vector<uint32_t> open_;   // pages with undetermined slots
};

}  // namespace sim

#endif  // MUSTH_SIM_FILE_DATA_H_
