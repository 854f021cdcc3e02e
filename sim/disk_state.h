// DiskState: what a Disk is made of. Internal to the disk's own files.
//
// Inodes are numbered in order of creation and never reused. All of an inode
// is shared between clones until one side changes it; what belongs to running
// programs (open handles, flushes under way) is not part of the clone.
#ifndef MUSTH_SIM_DISK_STATE_H_
#define MUSTH_SIM_DISK_STATE_H_

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/crash_image.h"
#include "sim/disk.h"
#include "sim/fault_log.h"
#include "sim/file_data.h"
#include "sim/media.h"
#include "sim/meta_log.h"

namespace sim {

struct Inode {
  mutable uint32_t refs = 0;
  bool is_directory = false;
  std::map<std::string, InodeNo, std::less<>> entries;
  FileData data;
  // Where it was last linked; the name its draws go by.
  std::string path;
  // The path at the last power loss that left something undetermined.
  std::string image_path;
  int links = 0;     // visible directory entries
  int log_refs = 0;  // pending operations that may bring it back
  uint64_t syncs = 0;
  // SFM-22: failed flushes. A handle is told once of those since it was opened.
  uint64_t errors = 0;
  // Those among them that the next fsync is to find (ext4 data=journal).
  uint64_t late_errors = 0;
  env::Code error_code = env::Code::kIo;
};
using InodeRef = Ref<Inode>;

struct DiskState;

// What a handle holds of its disk; `state` becomes null when the handle dies.
struct Lease {
  DiskState* state = nullptr;
};

// A flush between its first and last scheduling point.
struct ActiveFlush {
  InodeNo inode = 0;
  FileData::Flush flush;
};

struct DiskState {
  explicit DiskState(const DiskOptions& disk_options);
  ~DiskState();
  std::unique_ptr<DiskState> Clone() const;

  // Inodes.
  const Inode& Get(InodeNo inode) const { return *inodes[inode]; }
  Inode& Mut(InodeNo inode) { return inodes[inode].Mutable(); }
  InodeNo NewInode(bool is_directory);
  void FreeIfUnused(InodeNo inode);
  void AddOpen(InodeNo inode);
  void DropOpen(InodeNo inode);
  // Forgets every handle and flush; the programs that held them are gone.
  void DropHandles();
  // Notes that the inode has something pending or undetermined.
  void Touch(InodeNo inode);

  // Names. The inode at a path, or 0; "" and "." are the root.
  InodeNo Lookup(std::string_view path) const;
  // Splits a path into its parent's inode and the last name. Errors: kNotFound.
  env::Result<InodeNo> Parent(std::string_view path,
                              std::string_view* name) const;
  // Points the entry at inode (0 removes it).
  void SetEntry(InodeNo directory, const std::string& name, InodeNo inode);
  // Carries the operation out and logs it.
  void Apply(LogOp op);
  void ApplyRename(EntryEdit removed, EntryEdit added);
  void Commit(std::vector<LogOp> ops);
  // The part of the log that a flush of the inode, begun at seq, commits.
  void CommitLogFor(InodeNo inode, uint64_t seq);

  // Space (SFM-21). What of `more` bytes, or more, is still free.
  int64_t UsedBytes() const;
  int64_t FreeBytes(std::string_view path, int64_t more);
  // The call on the inode (0: none yet) finds no space. Suspends: yes.
  env::Status RefuseSpace(InodeNo inode, int64_t offset, std::string_view path);

  uint64_t HashTree(InodeNo directory) const;

  // Draws and files.
  DataTraits Traits() const;
  ImageDraws Draws() const { return ImageDraws(options, choices()); }
  ImagePicker Picker(InodeNo inode) {
    return ImagePicker(options, choices(), records, crash_seqs,
                       Get(inode).image_path, inode, &fault_log, watch);
  }
  Choices* choices() const {
    return host == nullptr ? nullptr : &host->choices();
  }
  uint64_t ScopeKey() const {
    return host == nullptr ? Scope().key() : host->scope().key();
  }
  std::vector<BlockRef>* FreedPool() {
    return options.fill == Fill::kStale ? &freed : nullptr;
  }
  void BoundFreedPool();
  // Another disk image like this one lived on the device before: its blocks are
  // the first freed ones (SFM-11). Once, when the disk is first attached.
  void RememberFormerLife();
  // Media faults (disk_media.cc). Strike: see Disk::Strike.
  bool Strike(const MediaFault& fault);
  bool Shear(uint64_t noise);
  // The sector shows these bytes from now on.
  void ShowDamage(Damage damage, InodeNo inode, int64_t offset,
                  const std::array<char, kSlotBytes>& after);
  // The flush of the inode is about to make its writes durable.
  void NoteWrites(InodeNo inode, const FileData::Flush& flush);
  void HealRewritten(InodeNo inode, int64_t from, int64_t to);
  // A program read bytes of the damaged sector.
  bool DamageSeen(const MediaOverlay::Hidden& hidden) const;
  void RepairMedia();
  void ListTargets(InodeNo directory, const std::string& prefix,
                   std::vector<MediaTarget>* out) const;
  // Logs a fault of this call alone; EIO.
  env::Status FailTransiently(Damage damage, InodeNo inode,
                              std::string_view path, int64_t offset,
                              int64_t length);
  // SFM-32: a flush of the inode did nothing and says that it did.
  void NoteLie(InodeNo inode, std::string_view path);
  // SFM-23. Suspends: if it fails. Errors: kReadOnly, kIo.
  env::Status CheckHealth(bool changes, std::string_view path);

  // A program read these bytes.
  void CountRead(InodeNo inode, int64_t offset, std::span<const char> shown,
                 const FileData::ReadResult& found);
  void CountWrite(const FileData::WriteResult& result);

  // Announces the damage that was logged since the last time.
  void TellDamage();

  // The world.
  void Step(DeviceStep step, InodeNo inode, std::string_view path);
  void Emit(env::EventKind kind, uint64_t a0, uint64_t a1 = 0, uint64_t a2 = 0,
            uint64_t a3 = 0);
  void EmitPath(env::EventKind kind, uint64_t a0, uint64_t a1,
                std::string_view path);

  // Crashes (disk_crash.cc).
  void PowerLoss(const ImageRules& rules);
  CrashRecord MakeRecord(const ImageRules& rules) const;
  void RebuildNames(const CrashRecord& record);
  void Freeze();
  void SpontaneousWriteback();
  void WriteBackFile(InodeNo inode, uint64_t key, uint64_t n);
  void EvictClean();
  void MakeDurable();
  void RebindRecords();

  DiskOptions options;
  DeviceHost* host = nullptr;
  DiskFaultHooks* faults = nullptr;
  DiskStats stats;

  uint64_t seq = 0;  // operations issued so far
  std::vector<InodeRef> inodes;
  std::vector<InodeNo> touched;  // ascending
  std::vector<InodeNo> orphans;  // without a name, held by handles
  MetaLog log;
  std::vector<CrashRecord> records;
  std::vector<uint64_t> crash_seqs;  // records[i].seq
  std::vector<BlockRef> freed;       // the latest freed blocks, newest last
  bool former_life_known = false;
  FaultLog fault_log;
  ImageWatch watch;        // clones keep the source alone
  size_t damage_told = 0;  // records of the log that were announced
  MediaOverlay media;
  uint64_t writebacks = 0;

  // Of the running programs.
  std::vector<uint32_t> open_counts;  // by inode
  std::vector<ActiveFlush*> flushes;
  std::shared_ptr<Lease> lease;
};

}  // namespace sim

#endif  // MUSTH_SIM_DISK_STATE_H_
