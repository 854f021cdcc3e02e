#include "sim/disk.h"

#include <fmt/format.h>

#include <utility>

#include "sim/disk_file.h"
#include "sim/disk_state.h"
#include "sim/env/check.h"

namespace sim {
namespace {

env::Status NotFound(std::string_view path) {
  return env::Status(env::Code::kNotFound, std::string(path));
}
env::Status Invalid(std::string_view path, const char* why) {
  return env::Status(env::Code::kInvalid, fmt::format("{}: {}", path, why));
}

}  // namespace

Disk::Disk(const DiskOptions& options)
    : state_(std::make_unique<DiskState>(options)) {}
Disk::Disk(OfState, std::unique_ptr<DiskState> state)
    : state_(std::move(state)) {}
Disk::~Disk() = default;

std::unique_ptr<Disk> Disk::Clone() const {
  return std::unique_ptr<Disk>(new Disk(OfState{}, state_->Clone()));
}

std::unique_ptr<Disk> Disk::ImageCopy() const {
  std::unique_ptr<Disk> copy = Clone();
  copy->state_->DropHandles();
  copy->state_->MakeDurable();
  // Another device, on which such an image lay before.
  copy->state_->former_life_known = false;
  return copy;
}

void Disk::Attach(DeviceHost* host, DiskFaultHooks* faults) {
  state_->host = host;
  state_->faults = faults;
  if (host == nullptr) return;
  state_->RememberFormerLife();
  state_->RebindRecords();
}

void Disk::ProcessCrash() {
  ++state_->stats.process_crashes;
  state_->DropHandles();
  // The journal does not forget what the processes were not told yet.
  for (InodeNo inode : state_->touched) state_->Mut(inode).errors = 0;
}

void Disk::PowerLoss(const ImageRules& rules) { state_->PowerLoss(rules); }
void Disk::Freeze() { state_->Freeze(); }

void Disk::SetImageTap(ImageTap* tap) { state_->watch.tap = tap; }
void Disk::SetImageSource(const ImageSource* source) {
  state_->watch.source = source;
}
void Disk::SetBiasedImages(bool biased) {
  state_->options.biased_images = biased;
}

std::optional<uint64_t> Disk::Foresee(const ImageCell& cell) const {
  bool known = cell.kind == ImageCell::Kind::kSector &&
               cell.inode < state_->inodes.size() && state_->inodes[cell.inode];
  if (!known) return std::nullopt;
  auto inode = static_cast<InodeNo>(cell.inode);
  ImagePicker picker = state_->Picker(inode);
  return state_->Get(inode).data.ForeseeSector(cell.index, state_->Traits(),
                                               &picker);
}

void Disk::SpontaneousWriteback() { state_->SpontaneousWriteback(); }
void Disk::EvictClean() { state_->EvictClean(); }

bool Disk::Strike(const MediaFault& fault) { return state_->Strike(fault); }
void Disk::RepairMedia() { state_->RepairMedia(); }

void Disk::RememberWrites() { state_->media.RememberWrites(); }
bool Disk::Shear(uint64_t noise) { return state_->Shear(noise); }

std::vector<RecentWrite> Disk::RecentWrites() const {
  std::vector<RecentWrite> writes;
  for (const MediaOverlay::Write& write : state_->media.writes()) {
    if (!state_->inodes[write.inode]) continue;
    const Inode& node = state_->Get(write.inode);
    if (node.links > 0) writes.push_back({write.id, node.path, write.offset});
  }
  return writes;
}

std::vector<MediaTarget> Disk::MediaTargets() const {
  std::vector<MediaTarget> targets;
  state_->ListTargets(kRootInode, "", &targets);
  return targets;
}

env::Result<std::unique_ptr<env::File>> Disk::Open(std::string_view path,
                                                   uint32_t flags) {
  DiskState& state = *state_;
  RETURN_IF_ERROR(state.CheckHealth(false, path));
  if ((flags & env::kOpenCreate) == 0) {
    state.Step(DeviceStep::kPlain, 0, path);
  }
  std::string_view name;
  InodeNo inode = state.Lookup(path);
  bool changed = false;
  if (inode == 0) {
    if ((flags & env::kOpenCreate) == 0) return NotFound(path);
    RETURN_IF_ERROR(state.CheckHealth(true, path));
    ASSIGN_OR_RETURN(InodeNo parent, state.Parent(path, &name));
    if (state.FreeBytes(path, kBlockBytes) < kBlockBytes) {
      return state.RefuseSpace(0, 0, path);
    }
    inode = state.NewInode(/*is_directory=*/false);
    state.Apply({++state.seq, {{parent, std::string(name), 0, inode}}});
    state.EmitPath(env::EventKind::kDirOp,
                   static_cast<uint64_t>(DirOp::kCreate), inode, path);
    changed = true;
  } else if ((flags & env::kOpenExclusive) != 0 &&
             (flags & env::kOpenCreate) != 0) {
    return env::Status(env::Code::kExists, std::string(path));
  } else if (state.Get(inode).is_directory) {
    return Invalid(path, "Is a directory");
  }
  auto file = std::make_unique<DiskFile>(&state, inode, path, flags);
  state.EmitPath(env::EventKind::kFileOpen, inode, flags, path);
  if ((flags & env::kOpenTruncate) != 0 && state.Get(inode).data.size() > 0) {
    RETURN_IF_ERROR(file->Truncate(0));
  } else if (changed || (flags & env::kOpenCreate) != 0) {
    state.Step(DeviceStep::kMetadata, inode, path);
  }
  return std::unique_ptr<env::File>(std::move(file));
}

env::Status Disk::Unlink(std::string_view path) {
  DiskState& state = *state_;
  RETURN_IF_ERROR(state.CheckHealth(true, path));
  std::string_view name;
  ASSIGN_OR_RETURN(InodeNo parent, state.Parent(path, &name));
  InodeNo inode = state.Lookup(path);
  if (inode == 0) return NotFound(path);
  if (state.Get(inode).is_directory) return Invalid(path, "Is a directory");
  state.Apply({++state.seq, {{parent, std::string(name), inode, 0}}});
  state.EmitPath(env::EventKind::kDirOp, static_cast<uint64_t>(DirOp::kUnlink),
                 inode, path);
  state.Step(DeviceStep::kMetadata, inode, path);
  return env::Status();
}

env::Status Disk::Rename(std::string_view from, std::string_view to) {
  DiskState& state = *state_;
  RETURN_IF_ERROR(state.CheckHealth(true, from));
  std::string_view from_name;
  std::string_view to_name;
  ASSIGN_OR_RETURN(InodeNo from_dir, state.Parent(from, &from_name));
  ASSIGN_OR_RETURN(InodeNo to_dir, state.Parent(to, &to_name));
  InodeNo inode = state.Lookup(from);
  InodeNo replaced = state.Lookup(to);
  if (inode == 0) return NotFound(from);
  bool directory = state.Get(inode).is_directory;
  if (inode != replaced) {
    if (directory && to.size() > from.size() &&
        to.substr(0, from.size()) == from && to[from.size()] == '/') {
      return Invalid(to, "cannot move a directory into itself");
    }
    if (replaced != 0) {
      const Inode& old = state.Get(replaced);
      if (old.is_directory != directory) return Invalid(to, "Is a directory");
      if (!old.entries.empty()) return Invalid(to, "Directory not empty");
    }
    state.ApplyRename({from_dir, std::string(from_name), inode, 0},
                      {to_dir, std::string(to_name), replaced, inode});
  }
  state.EmitPath(env::EventKind::kDirOp, static_cast<uint64_t>(DirOp::kRename),
                 inode, fmt::format("{} {}", from, to));
  state.Step(DeviceStep::kMetadata, inode, to);
  return env::Status();
}

env::Status Disk::Mkdir(std::string_view path) {
  DiskState& state = *state_;
  RETURN_IF_ERROR(state.CheckHealth(true, path));
  std::string_view name;
  ASSIGN_OR_RETURN(InodeNo parent, state.Parent(path, &name));
  if (state.Lookup(path) != 0) {
    return env::Status(env::Code::kExists, std::string(path));
  }
  if (state.FreeBytes(path, kBlockBytes) < kBlockBytes) {
    return state.RefuseSpace(0, 0, path);
  }
  InodeNo inode = state.NewInode(/*is_directory=*/true);
  state.Apply({++state.seq, {{parent, std::string(name), 0, inode}}});
  state.EmitPath(env::EventKind::kDirOp, static_cast<uint64_t>(DirOp::kMkdir),
                 inode, path);
  state.Step(DeviceStep::kMetadata, inode, path);
  return env::Status();
}

env::Status Disk::Rmdir(std::string_view path) {
  DiskState& state = *state_;
  RETURN_IF_ERROR(state.CheckHealth(true, path));
  std::string_view name;
  ASSIGN_OR_RETURN(InodeNo parent, state.Parent(path, &name));
  InodeNo inode = state.Lookup(path);
  if (inode == 0) return NotFound(path);
  const Inode& node = state.Get(inode);
  if (!node.is_directory) return Invalid(path, "Not a directory");
  if (!node.entries.empty()) return Invalid(path, "Directory not empty");
  state.Apply({++state.seq, {{parent, std::string(name), inode, 0}}});
  state.EmitPath(env::EventKind::kDirOp, static_cast<uint64_t>(DirOp::kRmdir),
                 inode, path);
  state.Step(DeviceStep::kMetadata, inode, path);
  return env::Status();
}

env::Status Disk::FsyncDir(std::string_view path) {
  DiskState& state = *state_;
  RETURN_IF_ERROR(state.CheckHealth(!state.log.ops().empty(), path));
  InodeNo inode = state.Lookup(path);
  if (inode == 0) return NotFound(path);
  if (!state.Get(inode).is_directory) return Invalid(path, "Not a directory");
  ++state.stats.syncs;
  uint64_t begun = state.seq;
  state.Emit(env::EventKind::kFileSync, inode, 0, 0);
  state.Step(DeviceStep::kSyncStart, inode, path);
  state.Emit(env::EventKind::kFileSync, inode, 1, 0);
  state.Step(DeviceStep::kSyncMiddle, inode, path);
  // Another task may have removed the directory meanwhile.
  if (state.inodes[inode]) state.CommitLogFor(inode, begun);
  state.Emit(env::EventKind::kFileSync, inode, 2, 0);
  state.Step(DeviceStep::kSyncDone, inode, path);
  return env::Status();
}

env::Result<std::vector<std::string>> Disk::List(std::string_view path) {
  RETURN_IF_ERROR(state_->CheckHealth(false, path));
  state_->Step(DeviceStep::kPlain, 0, path);
  InodeNo inode = state_->Lookup(path);
  if (inode == 0) return NotFound(path);
  if (!state_->Get(inode).is_directory) {
    return Invalid(path, "Not a directory");
  }
  return PeekList(path);
}

env::Result<env::FileInfo> Disk::Stat(std::string_view path) {
  RETURN_IF_ERROR(state_->CheckHealth(false, path));
  state_->Step(DeviceStep::kPlain, 0, path);
  InodeNo inode = state_->Lookup(path);
  if (inode == 0) return NotFound(path);
  env::FileInfo info;
  info.is_directory = state_->Get(inode).is_directory;
  info.size_bytes = state_->Get(inode).data.size();
  return info;
}

bool Disk::PeekExists(std::string_view path) const {
  return state_->Lookup(path) != 0;
}

bool Disk::PeekFile(std::string_view path, std::string* out) const {
  InodeNo inode = state_->Lookup(path);
  if (inode == 0 || state_->Get(inode).is_directory) return false;
  const FileData& data = state_->Get(inode).data;
  out->resize(static_cast<size_t>(data.size()));
  data.Peek(0, std::span<char>(*out));
  return true;
}

bool Disk::PeekRange(std::string_view path, int64_t offset,
                     std::span<char> out) const {
  return PeekRange(state_->Lookup(path), offset, out);
}

bool Disk::PeekRange(uint64_t inode, int64_t offset,
                     std::span<char> out) const {
  if (inode == 0 || inode >= state_->inodes.size()) return false;
  if (!state_->inodes[inode] || state_->Get(inode).is_directory) return false;
  const FileData& data = state_->Get(inode).data;
  if (offset + static_cast<int64_t>(out.size()) > data.size()) return false;
  data.Peek(offset, out);
  return true;
}

std::vector<std::string> Disk::PeekList(std::string_view dir) const {
  std::vector<std::string> names;
  InodeNo inode = state_->Lookup(dir);
  if (inode == 0) return names;
  for (const auto& [name, child] : state_->Get(inode).entries) {
    names.push_back(name);
  }
  return names;
}

std::string Disk::VisibleFile(std::string_view path) const {
  std::string content;
  if (!PeekFile(path, &content)) content.clear();
  return content;
}

int64_t Disk::UsedBytes() const { return state_->UsedBytes(); }

uint64_t Disk::PendingSectors() const {
  uint64_t count = 0;
  for (InodeNo inode : state_->touched) {
    count += state_->Get(inode).data.CountPending(state_->Traits());
  }
  return count;
}

uint64_t Disk::DirtySectors() const {
  uint64_t count = 0;
  for (InodeNo inode : state_->touched) {
    const Inode& node = state_->Get(inode);
    if (node.links > 0) count += node.data.CountDirty(state_->Traits());
  }
  return count;
}

uint64_t Disk::PendingEntries() const { return state_->log.ops().size(); }

uint64_t Disk::OpenSectors() const {
  uint64_t count = 0;
  for (InodeNo inode : state_->touched) {
    count += state_->Get(inode).data.CountOpen(state_->Traits());
  }
  return count;
}

const FaultLog& Disk::fault_log() const { return state_->fault_log; }

std::vector<FaultRecord> Disk::FaultsIn(std::string_view path, int64_t offset,
                                        int64_t bytes) const {
  std::vector<FaultRecord> faults;
  if (state_->fault_log.empty()) return faults;
  InodeNo inode = state_->Lookup(path);
  if (inode == 0 || state_->Get(inode).is_directory) return faults;
  const FileData& data = state_->Get(inode).data;
  auto read = [&data](int64_t at, char* out) { return data.PeekSlot(at, out); };
  for (uint64_t id : state_->fault_log.LiveIn(inode, offset, bytes, read)) {
    faults.push_back(state_->fault_log.records()[id - 1]);
  }
  return faults;
}

uint64_t Disk::ContentHash() const { return state_->HashTree(kRootInode); }

const DiskStats& Disk::stats() const { return state_->stats; }
const DiskOptions& Disk::options() const { return state_->options; }

}  // namespace sim
