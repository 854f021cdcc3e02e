// Disk: the simulated file system of one host.
//
// Three layers (FAULT_MODEL SFM-1). What programs see is the page cache: 4 KiB
// blocks, shared copy-on-write between a disk and its clones. Below it, every
// sector with writes that no completed flush covers has a version chain; sizes
// and directory entries have logs of their own. A power loss keeps the chains
// as sets of candidates and opens a lazy crash image: the first read of an
// undetermined sector draws its version, an overwrite closes it, and what
// nobody looks at is never drawn. sim/README.md draws the structures.
//
// A disk and its clones belong to one OS thread.
#ifndef MUSTH_SIM_DISK_H_
#define MUSTH_SIM_DISK_H_

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/device_host.h"
#include "sim/env/files.h"
#include "sim/env/status.h"
#include "sim/fault_hooks.h"
#include "sim/fault_log.h"
#include "sim/image_tap.h"
#include "sim/media.h"

namespace sim {

// SFM-9: which directory operations a power loss may take back.
enum class MetaMode : uint8_t {
  kOrdered,  // one log, a prefix survives (ext4, XFS)
  kWeak,     // any subset consistent per name and per inode in its directory
};

// SFM-11: what an allocated sector holds that was never written.
enum class Fill : uint8_t {
  kZero,
  kGarbage,
  kStale,  // bytes of a freed sector
};

// SFM-16: how the sectors of an independent image hang together.
enum class ImageMix : uint8_t {
  kIndependent,
  kPageSnapshot,  // a 4 KiB page shows one or two adjacent write-back instants
  kPrefix,        // issue order
};

struct DiskOptions {
  int sector_bytes = 512;  // 512, 4096 or 8192: what one write cannot tear
  MetaMode meta = MetaMode::kOrdered;
  Fill fill = Fill::kZero;
  ImageMix mix = ImageMix::kIndependent;
  // Writes to an aligned 8 KiB page are atomic. Only here may
  // full_page_writes be off.
  bool atomic8k = false;
  // Space is found when data is flushed, not when it is written (SFM-21).
  bool delayed_allocation = false;
  // A rename inside one directory is two entries that may part (ALICE).
  bool rename_split = false;
  // Crash images come from the mixture of FAULT_MODEL 5.2. Otherwise each
  // sector, size and entry is drawn evenly over its legal versions, which
  // exhaustive search wants.
  bool biased_images = true;

  auto operator<=>(const DiskOptions&) const = default;
};

// One sentence of a crash image written by hand: these sectors survive, or
// show what the last completed flush left. The last rule that fits decides;
// what none fits survives.
struct ImageRule {
  enum class What : uint8_t { kAll, kNames, kFile };
  bool lose = true;
  What what = What::kAll;
  std::string path;  // kFile
  // kFile: in units that a write cannot tear. A rule for all of them covers
  // the file's size, too.
  uint64_t first_sector = 0;
  uint64_t last_sector = UINT64_MAX;

  bool operator==(const ImageRule&) const = default;
};
using ImageRules = std::vector<ImageRule>;

struct DiskStats {
  uint64_t writes = 0;
  uint64_t bytes_written = 0;
  uint64_t reads = 0;
  uint64_t syncs = 0;
  uint64_t sync_failures = 0;
  uint64_t late_failures = 0;  // those that the failing call did not report
  uint64_t short_transfers = 0;
  uint64_t full_refusals = 0;  // calls that found no space
  uint64_t power_losses = 0;
  uint64_t process_crashes = 0;
  uint64_t sectors_opened = 0;  // became undetermined in a power loss
  uint64_t sectors_drawn = 0;   // were read or frozen while undetermined
  uint64_t sectors_closed = 0;  // were overwritten while undetermined
  uint64_t sizes_drawn = 0;
  uint64_t entries_lost = 0;  // directory operations taken back
  uint64_t writebacks = 0;    // sectors that spontaneously became durable
};

// a[0] of the kFault events that a disk emits.
enum class DiskFaultFamily : uint64_t {
  kSyncFailure = 1,       // inode, SyncFailure
  kCrashImage = 2,        // ImageStyle, crash ordinal
  kUndeterminedRead = 3,  // inode, from, to, how many older
  kShortTransfer = 4,     // inode, offset, bytes transferred; 0: interrupted
  kDiskFull = 5,          // inode, offset, bytes transferred
  kDamage = 6,            // Damage, inode, offset: see fault_log.h
};

// a[0] of the kDirOp events.
enum class DirOp : uint64_t { kCreate, kUnlink, kRename, kMkdir, kRmdir };

struct DiskState;

class Disk : public env::Files {
 public:
  explicit Disk(const DiskOptions& options);
  ~Disk() override;
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  // A copy that shares all content until either side writes. Open handles
  // stay with the original; the copy is detached and its statistics are 0.
  std::unique_ptr<Disk> Clone() const;

  // SFM-14d: the visible state as a disk on which everything is durable.
  // Draws nothing; sectors still undetermined stay so.
  std::unique_ptr<Disk> ImageCopy() const;

  // Binds the disk to the world. With a null host, calls neither schedule nor
  // emit, and every draw is 0. faults may be null. Undetermined sectors are
  // drawn under the host's scope at the power loss or, if later, at Attach:
  // a clone attached under another scope resolves to another image.
  void Attach(DeviceHost* host, DiskFaultHooks* faults);

  // SFM-14b: handles and error marks vanish, the page cache survives. Handles
  // that tasks still hold may only be destroyed from here on.
  void ProcessCrash();

  // SFM-14c, SFM-15: the page cache is lost. Sizes and directory entries are
  // drawn at once, sectors when somebody looks.
  // Rules, if there are any, take the place of the draws.
  void PowerLoss(const ImageRules& rules = {});

  // Draws every undetermined sector, by inode and offset. Idempotent.
  void Freeze();

  // Who is told of each cell of a crash image that is determined, and who says
  // how, in place of the draws; null: nobody. Both outlive their use. Clones
  // keep the source, which is a function of the cell, and not the tap.
  void SetImageTap(ImageTap* tap);
  void SetImageSource(const ImageSource* source);
  // DiskOptions::biased_images of the power losses to come.
  void SetBiasedImages(bool biased);
  // What a look at an undetermined sector would show, as the contents that a
  // tap is told; nothing if the cell is no undetermined sector.
  std::optional<uint64_t> Foresee(const ImageCell& cell) const;

  // SFM-5: some pending data, size or directory operation becomes durable now.
  // Draws only if something is pending.
  void SpontaneousWriteback();

  // SFM-22: clean cached pages are dropped; what a failed fsync left in the
  // cache alone reads as the media's old version from now on.
  void EvictClean();

  // Media faults (media.h). Strike damages those sectors of the range that are
  // at rest, and returns false if there is none. The damage is in fault_log().
  bool Strike(const MediaFault& fault);
  // Named files with content, by path.
  std::vector<MediaTarget> MediaTargets() const;
  // From now on RecentWrites are kept, for the faults of writes.
  void RememberWrites();
  // Oldest first. Those of files that have lost their name are left out.
  std::vector<RecentWrite> RecentWrites() const;
  // SFM-31, when the power is about to fail: one pending sector is written out
  // in part, which one and how far says the noise. False if none is pending.
  bool Shear(uint64_t noise);
  // Removes all damage that nobody overwrote: files show what was written.
  void RepairMedia();

  // env::Files.
  env::Result<std::unique_ptr<env::File>> Open(std::string_view path,
                                               uint32_t flags) override;
  env::Status Unlink(std::string_view path) override;
  env::Status Rename(std::string_view from, std::string_view to) override;
  env::Status Mkdir(std::string_view path) override;
  env::Status Rmdir(std::string_view path) override;
  env::Status FsyncDir(std::string_view path) override;
  env::Result<std::vector<std::string>> List(std::string_view path) override;
  env::Result<env::FileInfo> Stat(std::string_view path) override;

  // Oracles look at the visible content without scheduling points, draws or
  // events. Peek functions require that nothing they look at is undetermined
  // (call Freeze first); false means that there is no such file.
  bool PeekExists(std::string_view path) const;
  bool PeekFile(std::string_view path, std::string* out) const;
  // Fills out with the visible bytes from offset on. False if the file is
  // missing or too short. Of the range alone nothing may be undetermined.
  bool PeekRange(std::string_view path, int64_t offset,
                 std::span<char> out) const;
  bool PeekRange(uint64_t inode, int64_t offset, std::span<char> out) const;
  // Names in the directory, sorted; empty if there is no such directory.
  std::vector<std::string> PeekList(std::string_view dir) const;
  // The visible content, "" if there is no such file. Requires as PeekFile.
  std::string VisibleFile(std::string_view path) const;

  // SFM-21: bytes that files take, in blocks of 4 KiB. Holes count; a file
  // without a name counts while it is open.
  int64_t UsedBytes() const;

  // Sectors (of the device's sector size) with writes that no flush covers.
  uint64_t PendingSectors() const;
  // What fsyncs of all files that have a name would write. A failed fsync
  // leaves pages clean that are pending all the same.
  uint64_t DirtySectors() const;
  // Directory operations that no flush covers.
  uint64_t PendingEntries() const;
  // Sectors whose version is not drawn yet.
  uint64_t OpenSectors() const;
  bool AnythingPending() const {
    return PendingSectors() + PendingEntries() > 0;
  }

  // All damage so far: what the disk showed without anybody having written it.
  const FaultLog& fault_log() const;
  // Copies of the faults that these bytes of the file suffer from now.
  std::vector<FaultRecord> FaultsIn(std::string_view path, int64_t offset,
                                    int64_t bytes) const;

  // A hash of names, sizes and visible content. Requires as PeekFile.
  uint64_t ContentHash() const;

  const DiskStats& stats() const;
  const DiskOptions& options() const;

 private:
  struct OfState {};
  Disk(OfState tag, std::unique_ptr<DiskState> state);

  std::unique_ptr<DiskState> state_;
};

}  // namespace sim

#endif  // MUSTH_SIM_DISK_H_
