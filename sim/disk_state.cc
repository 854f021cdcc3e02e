#include "sim/disk_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/env/check.h"

namespace sim {
namespace {

constexpr size_t kFreedBlocks = 32;

}  // namespace

DiskState::DiskState(const DiskOptions& disk_options) : options(disk_options) {
  SIM_CHECK(options.sector_bytes == 512 || options.sector_bytes == 4096 ||
            options.sector_bytes == 8192);
  lease = std::make_shared<Lease>();
  lease->state = this;
  inodes.resize(kRootInode);
  open_counts.resize(kRootInode);
  InodeNo root = NewInode(/*is_directory=*/true);
  SIM_CHECK(root == kRootInode);
  Mut(root).links = 1;
}

DiskState::~DiskState() { lease->state = nullptr; }

std::unique_ptr<DiskState> DiskState::Clone() const {
  auto copy = std::make_unique<DiskState>(options);
  copy->seq = seq;
  copy->inodes = inodes;
  copy->touched = touched;
  copy->orphans = orphans;
  copy->log = log;
  copy->records = records;
  copy->crash_seqs = crash_seqs;
  copy->freed = freed;
  copy->former_life_known = former_life_known;
  copy->fault_log = fault_log;
  copy->damage_told = damage_told;
  copy->media = media;
  copy->watch.source = watch.source;
  copy->writebacks = writebacks;
  copy->open_counts.assign(inodes.size(), 0);
  return copy;
}

InodeNo DiskState::NewInode(bool is_directory) {
  InodeNo inode = static_cast<InodeNo>(inodes.size());
  inodes.push_back(InodeRef::Make());
  open_counts.push_back(0);
  Mut(inode).is_directory = is_directory;
  return inode;
}

void DiskState::FreeIfUnused(InodeNo inode) {
  if (inode == 0 || !inodes[inode]) return;
  const Inode& node = Get(inode);
  if (node.links > 0 || node.log_refs > 0) return;
  if (open_counts[inode] > 0) {
    if (std::find(orphans.begin(), orphans.end(), inode) == orphans.end()) {
      orphans.push_back(inode);
    }
    return;
  }
  // What the directory still lists dies with it.
  std::vector<InodeNo> children;
  for (const auto& [name, child] : node.entries) children.push_back(child);
  if (FreedPool() != nullptr) {
    node.data.CollectBlocks(&freed);
    BoundFreedPool();
  }
  inodes[inode] = nullptr;
  std::erase(touched, inode);
  for (InodeNo child : children) {
    --Mut(child).links;
    FreeIfUnused(child);
  }
}

void DiskState::BoundFreedPool() {
  if (freed.size() <= kFreedBlocks) return;
  freed.erase(freed.begin(),
              freed.end() - static_cast<ptrdiff_t>(kFreedBlocks));
}

void DiskState::RememberFormerLife() {
  if (former_life_known) return;
  former_life_known = true;
  if (options.fill != Fill::kStale) return;
  std::vector<BlockRef> blocks;
  for (const InodeRef& node : inodes) {
    if (node) node->data.CollectBlocks(&blocks);
  }
  size_t count = std::min(blocks.size(), kFreedBlocks);
  for (size_t i = 0; i < count; ++i) {
    freed.push_back(blocks[i * blocks.size() / count]);
  }
  BoundFreedPool();
}

void DiskState::AddOpen(InodeNo inode) { ++open_counts[inode]; }

void DiskState::DropOpen(InodeNo inode) {
  SIM_CHECK(open_counts[inode] > 0);
  if (--open_counts[inode] == 0) {
    std::erase(orphans, inode);
    FreeIfUnused(inode);
  }
}

void DiskState::DropHandles() {
  lease->state = nullptr;
  lease = std::make_shared<Lease>();
  lease->state = this;
  flushes.clear();
  std::fill(open_counts.begin(), open_counts.end(), 0);
  std::vector<InodeNo> unused = std::exchange(orphans, {});
  std::sort(unused.begin(), unused.end());
  for (InodeNo inode : unused) FreeIfUnused(inode);
}

void DiskState::Touch(InodeNo inode) {
  auto at = std::lower_bound(touched.begin(), touched.end(), inode);
  if (at == touched.end() || *at != inode) touched.insert(at, inode);
}

InodeNo DiskState::Lookup(std::string_view path) const {
  InodeNo at = kRootInode;
  if (path == ".") return at;
  while (!path.empty()) {
    size_t slash = path.find('/');
    std::string_view name = path.substr(0, slash);
    path.remove_prefix(slash == std::string_view::npos ? path.size()
                                                       : slash + 1);
    if (name.empty()) continue;
    const Inode& node = Get(at);
    auto entry = node.entries.find(name);
    if (entry == node.entries.end()) return 0;
    at = entry->second;
  }
  return at;
}

env::Result<InodeNo> DiskState::Parent(std::string_view path,
                                       std::string_view* name) const {
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  size_t slash = path.rfind('/');
  *name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  InodeNo parent = slash == std::string_view::npos
                       ? kRootInode
                       : Lookup(path.substr(0, slash));
  if (name->empty() || *name == ".") {
    return env::Status(env::Code::kInvalid, "a path must name something");
  }
  if (parent == 0 || !Get(parent).is_directory) {
    return env::Status(env::Code::kNotFound, std::string(path));
  }
  return parent;
}

void DiskState::SetEntry(InodeNo directory, const std::string& name,
                         InodeNo inode) {
  Inode& parent = Mut(directory);
  auto entry = parent.entries.find(name);
  InodeNo before = entry == parent.entries.end() ? 0 : entry->second;
  if (inode != 0) {
    Inode& node = Mut(inode);
    ++node.links;
    node.path =
        parent.path.empty() ? name : fmt::format("{}/{}", parent.path, name);
    parent.entries[name] = inode;
  } else if (before != 0) {
    parent.entries.erase(entry);
  }
  if (before != 0) {
    --Mut(before).links;
    FreeIfUnused(before);
  }
}

void DiskState::Apply(LogOp op) {
  // References first: what an operation can bring back must not be freed.
  for (const EntryEdit& edit : op.edits) {
    for (InodeNo inode : {edit.directory, edit.before, edit.after}) {
      if (inode != 0) ++Mut(inode).log_refs;
    }
  }
  for (const EntryEdit& edit : op.edits) {
    SetEntry(edit.directory, edit.name, edit.after);
  }
  log.Append(std::move(op));
}

void DiskState::ApplyRename(EntryEdit removed, EntryEdit added) {
  uint64_t number = ++seq;
  bool parts =
      removed.directory == added.directory
          ? options.rename_split
          : options.meta == MetaMode::kWeak && !Get(added.after).is_directory;
  if (!parts) {
    // The new name first: at no time is the inode without one.
    Apply({number, {std::move(added), std::move(removed)}});
    return;
  }
  Apply({number, {std::move(added)}});
  Apply({number, {std::move(removed)}});
}

void DiskState::Commit(std::vector<LogOp> ops) {
  for (const LogOp& op : ops) {
    for (const EntryEdit& edit : op.edits) {
      for (InodeNo inode : {edit.directory, edit.before, edit.after}) {
        if (inode == 0) continue;
        --Mut(inode).log_refs;
        FreeIfUnused(inode);
      }
    }
  }
}

void DiskState::CommitLogFor(InodeNo inode, uint64_t begun) {
  Inode& node = Mut(inode);
  uint64_t n = node.syncs++;
  if (options.meta == MetaMode::kWeak) {
    if (node.is_directory) Commit(log.TakeDirectory(inode, begun));
    return;
  }
  size_t reach = log.ReachOf(inode, begun);
  uint64_t beyond = log.ops().size() - reach;
  if (beyond > 0) {
    // XFS and ext4 fast commits stop here; a full journal commit goes on.
    uint64_t key = PathKey(ScopeKey(), node.path);
    ImageDraws draws = Draws();
    if (draws.Below(Stream::kCrashImage, key, "commit-more", n, 4) == 3) {
      reach +=
          1 + draws.Below(Stream::kCrashImage, key, "commit-reach", n, beyond);
    }
  }
  Commit(log.TakePrefix(reach));
}

DataTraits DiskState::Traits() const {
  DataTraits traits;
  traits.unit_slots = UnitBytes(options) / kSlotBytes;
  traits.track_fill = options.fill != Fill::kZero;
  traits.track_instants = options.mix == ImageMix::kPageSnapshot;
  traits.last_crash_seq = crash_seqs.empty() ? 0 : crash_seqs.back();
  return traits;
}

int64_t DiskState::UsedBytes() const {
  int64_t used = 0;
  for (InodeNo inode = kRootInode; inode < inodes.size(); ++inode) {
    if (!inodes[inode]) continue;
    const Inode& node = Get(inode);
    if (node.links == 0 && open_counts[inode] == 0) continue;
    used += BlocksUp(node.data.size());
  }
  return used;
}

int64_t DiskState::FreeBytes(std::string_view path, int64_t more) {
  if (faults == nullptr) return INT64_MAX;
  int64_t used = UsedBytes();
  int64_t capacity = faults->Capacity(path, used, more);
  return std::max<int64_t>(capacity - used, 0);
}

env::Status DiskState::RefuseSpace(InodeNo inode, int64_t offset,
                                   std::string_view path) {
  ++stats.full_refusals;
  Emit(env::EventKind::kFault,
       static_cast<uint64_t>(DiskFaultFamily::kDiskFull), inode,
       static_cast<uint64_t>(offset));
  Step(DeviceStep::kPlain, inode, path);
  return env::Status(env::Code::kNoSpace, std::string(path));
}

uint64_t DiskState::HashTree(InodeNo directory) const {
  uint64_t h = 0;
  for (const auto& [name, child] : Get(directory).entries) {
    const Inode& node = Get(child);
    h = HashBytes(name.data(), name.size(), h);
    h = Mix(h, node.is_directory ? HashTree(child) : node.data.Hash());
  }
  return h;
}

void DiskState::TellDamage() {
  for (; damage_told < fault_log.records().size(); ++damage_told) {
    const FaultRecord& record = fault_log.records()[damage_told];
    Emit(env::EventKind::kFault,
         static_cast<uint64_t>(DiskFaultFamily::kDamage),
         static_cast<uint64_t>(record.damage), record.inode,
         static_cast<uint64_t>(record.offset));
  }
}

void DiskState::CountRead(InodeNo inode, int64_t offset,
                          std::span<const char> shown,
                          const FileData::ReadResult& found) {
  ++stats.reads;
  TellDamage();
  if (!fault_log.empty()) {
    bool zeros = std::all_of(shown.begin(), shown.end(),
                             [](char byte) { return byte == 0; });
    fault_log.NoteRead(inode, offset, static_cast<int64_t>(shown.size()),
                       zeros);
  }
  stats.sectors_drawn += found.drawn;
  if (found.ambiguous == 0 || host == nullptr) return;
  env::Event event;
  event.kind = env::EventKind::kFault;
  event.a[0] = static_cast<uint64_t>(DiskFaultFamily::kUndeterminedRead);
  event.a[1] = inode;
  event.a[2] = static_cast<uint64_t>(found.from);
  event.a[3] = static_cast<uint64_t>(found.to);
  event.a[4] = found.older;
  host->events().Emit(event);
}

void DiskState::CountWrite(const FileData::WriteResult& result) {
  stats.sectors_drawn += result.drawn;
  stats.sectors_closed += result.closed;
  TellDamage();
}

void DiskState::Step(DeviceStep step, InodeNo inode, std::string_view path) {
  if (host == nullptr) return;
  if (faults != nullptr) {
    env::TimeNs latency_ns = faults->Latency(step, path);
    if (latency_ns > 0) host->DeviceDelay(latency_ns);
  }
  host->DevicePoint(step, inode);
}

void DiskState::Emit(env::EventKind kind, uint64_t a0, uint64_t a1, uint64_t a2,
                     uint64_t a3) {
  if (host != nullptr) host->events().Emit(kind, a0, a1, a2, a3);
}

void DiskState::EmitPath(env::EventKind kind, uint64_t a0, uint64_t a1,
                         std::string_view path) {
  if (host == nullptr) return;
  env::Event event;
  event.kind = kind;
  event.a[0] = a0;
  event.a[1] = a1;
  event.bytes = path;
  host->events().Emit(event);
}

}  // namespace sim
