#include "sim/disk_file.h"

#include <algorithm>
#include <utility>

#include "sim/env/check.h"

namespace sim {
namespace {

constexpr uint64_t kErrnoIo = 5;
constexpr int64_t kMaxBytes = int64_t{1} << 44;

enum SyncPhase : uint64_t { kStart, kMiddle, kDone };

// Registers a flush so that writes during it strike out its stamps. Survives
// the unwinding of its task after the disk has crashed.
class FlushGuard {
 public:
  FlushGuard(std::shared_ptr<Lease> lease, ActiveFlush* flush)
      : lease_(std::move(lease)), flush_(flush) {
    lease_->state->flushes.push_back(flush_);
  }
  ~FlushGuard() {
    if (lease_->state != nullptr) std::erase(lease_->state->flushes, flush_);
  }
  FlushGuard(const FlushGuard&) = delete;
  FlushGuard& operator=(const FlushGuard&) = delete;

 private:
  std::shared_ptr<Lease> lease_;
  ActiveFlush* flush_;
};

}  // namespace

DiskFile::DiskFile(DiskState* state, InodeNo inode, std::string_view path,
                   uint32_t flags)
    : lease_(state->lease),
      inode_(inode),
      path_(path),
      flags_(flags),
      errors_seen_(state->Get(inode).errors) {
  state->AddOpen(inode);
}

DiskFile::~DiskFile() {
  if (lease_->state != nullptr) lease_->state->DropOpen(inode_);
}

DiskState& DiskFile::State() const {
  SIM_CHECK(lease_->state != nullptr);
  return *lease_->state;
}

env::Result<int64_t> DiskFile::Pread(int64_t offset, std::span<char> out) {
  if (offset < 0) return env::Status(env::Code::kInvalid, "negative offset");
  DiskState& state = State();
  RETURN_IF_ERROR(state.CheckHealth(false, path_));
  state.Step(DeviceStep::kPlain, inode_, path_);
  int64_t length = std::clamp<int64_t>(state.Get(inode_).data.size() - offset,
                                       0, static_cast<int64_t>(out.size()));
  int64_t from = offset;
  ASSIGN_OR_RETURN(length,
                   LimitTransfer(Transfer::kRead, offset, length, &from));
  if (state.media.Fails(inode_, from, length)) {
    state.fault_log.NoteRead(inode_, from, length);
    return env::Status(env::Code::kIo, path_);
  }
  const Inode& node = state.Get(inode_);
  FileData::ReadResult found;
  if (length > 0) {
    std::span<char> wanted = out.first(static_cast<size_t>(length));
    if (node.data.HasOpen()) {
      Inode& mutable_node = state.Mut(inode_);
      ImagePicker picker = state.Picker(inode_);
      found = mutable_node.data.Read(from, wanted, state.Traits(), &picker);
    } else {
      node.data.Peek(from, wanted);
    }
  }
  // A device that answers with other bytes than were asked for tells nothing of
  // what its caller relies on.
  if (from != offset) found.ambiguous = 0;
  state.CountRead(inode_, offset, out.first(static_cast<size_t>(length)),
                  found);
  if (state.host != nullptr) {
    state.Emit(env::EventKind::kFileRead, inode_, static_cast<uint64_t>(offset),
               static_cast<uint64_t>(length),
               state.Get(inode_).data.HashRange(from, length));
  }
  return length;
}

env::Status DiskFile::RequireWritable(int64_t end) const {
  if ((flags_ & env::kOpenWrite) == 0) {
    return env::Status(env::Code::kInvalid, "not open for writing: " + path_);
  }
  if (end > kMaxBytes) {
    return env::Status(env::Code::kInvalid, "File too large: " + path_);
  }
  return env::Status();
}

env::Result<int64_t> DiskFile::LimitTransfer(Transfer transfer, int64_t offset,
                                             int64_t length, int64_t* from) {
  DiskState& state = State();
  if (state.faults == nullptr || length == 0) return length;
  if (transfer == Transfer::kWrite) {
    ASSIGN_OR_RETURN(length, LimitToSpace(offset, length));
  }
  TransferFault fault =
      state.faults->OnTransfer(transfer, path_, offset, length);
  if (fault.outcome == TransferOutcome::kWhole) return length;
  if (fault.outcome == TransferOutcome::kFails) {
    return state.FailTransiently(Damage::kReadError, inode_, path_, offset,
                                 length);
  }
  if (fault.outcome == TransferOutcome::kElsewhere) {
    *from = Elsewhere(offset, length, fault.page);
    return length;
  }
  ++state.stats.short_transfers;
  state.Emit(env::EventKind::kFault,
             static_cast<uint64_t>(DiskFaultFamily::kShortTransfer), inode_,
             static_cast<uint64_t>(offset), static_cast<uint64_t>(fault.bytes));
  if (fault.outcome == TransferOutcome::kInterrupted) {
    state.Step(DeviceStep::kPlain, inode_, path_);
    return env::Status(env::Code::kInterrupted, path_);
  }
  SIM_CHECK(fault.bytes > 0 && fault.bytes < length);
  return fault.bytes;
}

int64_t DiskFile::Elsewhere(int64_t offset, int64_t length, int64_t page) {
  DiskState& state = State();
  int64_t pages = state.Get(inode_).data.size() / kPageBytes;
  if (pages == 0) return offset;
  int64_t from =
      (offset / kPageBytes + page) % pages * kPageBytes + offset % kPageBytes;
  if (from == offset || from + length > state.Get(inode_).data.size()) {
    return offset;
  }
  static_cast<void>(
      state.FailTransiently(Damage::kMisread, inode_, path_, offset, length));
  return from;
}

env::Result<int64_t> DiskFile::LimitToSpace(int64_t offset, int64_t length) {
  DiskState& state = State();
  if (state.options.delayed_allocation) return length;
  int64_t used = BlocksUp(state.Get(inode_).data.size());
  int64_t more = BlocksUp(offset + length) - used;
  if (more <= 0) return length;
  int64_t room = state.FreeBytes(path_, more) / kBlockBytes * kBlockBytes;
  if (room >= more) return length;
  int64_t fits = used + room - offset;
  if (fits <= 0) return state.RefuseSpace(inode_, offset, path_);
  ++state.stats.full_refusals;
  state.Emit(env::EventKind::kFault,
             static_cast<uint64_t>(DiskFaultFamily::kDiskFull), inode_,
             static_cast<uint64_t>(offset), static_cast<uint64_t>(fits));
  return fits;
}

void DiskFile::WriteVisible(int64_t offset, std::span<const char> data) {
  DiskState& state = State();
  Inode& node = state.Mut(inode_);
  int64_t length = static_cast<int64_t>(data.size());
  ImagePicker picker = state.Picker(inode_);
  state.CountWrite(
      node.data.Write(++state.seq, offset, data, state.Traits(), &picker));
  state.Touch(inode_);
  state.HealRewritten(inode_, offset, offset + length);
  for (ActiveFlush* active : state.flushes) {
    if (active->inode == inode_) {
      FileData::StrikeOutOf(&active->flush, offset, offset + length);
    }
  }
  ++state.stats.writes;
  state.stats.bytes_written += data.size();
  if (state.host != nullptr) {
    state.Emit(env::EventKind::kFileWrite, inode_,
               static_cast<uint64_t>(offset), data.size(),
               node.data.HashRange(offset, length));
  }
}

env::Result<int64_t> DiskFile::Pwrite(int64_t offset,
                                      std::span<const char> data) {
  int64_t length = static_cast<int64_t>(data.size());
  if (offset < 0 || offset > kMaxBytes) {
    return env::Status(env::Code::kInvalid, "offset out of range");
  }
  RETURN_IF_ERROR(RequireWritable(offset + length));
  if (length == 0) return length;
  RETURN_IF_ERROR(State().CheckHealth(true, path_));
  ASSIGN_OR_RETURN(length,
                   LimitTransfer(Transfer::kWrite, offset, length, nullptr));
  data = data.first(static_cast<size_t>(length));
  if ((flags_ & env::kOpenDsync) != 0) return DsyncWrite(offset, data);
  WriteVisible(offset, data);
  State().Step(DeviceStep::kWrite, inode_, path_);
  return length;
}

env::Result<int64_t> DiskFile::DsyncWrite(int64_t offset,
                                          std::span<const char> data) {
  DiskState& state = State();
  ++state.stats.syncs;
  SyncFailure failure = state.faults == nullptr
                            ? SyncFailure::kNone
                            : state.faults->OnSync(path_, inode_);
  state.Emit(env::EventKind::kFileSync, inode_, kStart, 0);
  state.Step(DeviceStep::kSyncStart, inode_, path_);
  WriteVisible(offset, data);
  int64_t length = static_cast<int64_t>(data.size());
  RETURN_IF_ERROR(FinishFlush(
      state.Mut(inode_).data.BeginFlush(state.seq, offset, offset + length),
      failure));
  return length;
}

bool DiskFile::NoSpaceToFlush() const {
  DiskState& state = State();
  const FileData& data = state.Get(inode_).data;
  int64_t more = BlocksUp(data.size()) - BlocksUp(data.durable_size());
  if (!state.options.delayed_allocation || more <= 0) return false;
  // What is not allocated yet counts as used already.
  int64_t used = state.UsedBytes() - more;
  int64_t capacity = state.faults->Capacity(path_, used, more);
  return used + more > capacity;
}

SyncFailure DiskFile::AskFailure() {
  DiskState& state = State();
  // What the journal met since the last flush comes up now.
  Inode& node = state.Mut(inode_);
  node.errors += std::exchange(node.late_errors, 0);
  if (state.faults == nullptr) return SyncFailure::kNone;
  if (!node.data.Dirty(state.Traits())) return SyncFailure::kNone;
  if (NoSpaceToFlush()) {
    ++state.stats.full_refusals;
    return SyncFailure::kNoSpace;
  }
  return state.faults->OnSync(path_, inode_);
}

bool DiskFile::ErrorUnseen() const {
  return State().Get(inode_).errors > errors_seen_;
}

env::Status DiskFile::ReportError() {
  const Inode& node = State().Get(inode_);
  errors_seen_ = node.errors;
  return env::Status(node.error_code, path_);
}

env::Status DiskFile::Sync() {
  DiskState& state = State();
  RETURN_IF_ERROR(
      state.CheckHealth(state.Get(inode_).data.Dirty(state.Traits()), path_));
  ++state.stats.syncs;
  SyncFailure failure = AskFailure();
  state.Emit(env::EventKind::kFileSync, inode_, kStart, 0);
  // Taken before the first point: what is written while it waits stays
  // pending.
  ActiveFlush active{
      inode_, state.Mut(inode_).data.BeginFlush(state.seq, 0, INT64_MAX)};
  {
    FlushGuard guard(lease_, &active);
    state.Step(DeviceStep::kSyncStart, inode_, path_);
  }
  return FinishFlush(std::move(active.flush), failure);
}

env::Status DiskFile::FinishFlush(FileData::Flush flush, SyncFailure failure) {
  DiskState& state = State();
  ActiveFlush active{inode_, std::move(flush)};
  {
    FlushGuard guard(lease_, &active);
    state.Emit(env::EventKind::kFileSync, inode_, kMiddle, 0);
    state.Step(DeviceStep::kSyncMiddle, inode_, path_);
  }
  uint64_t begun = active.flush.seq;
  bool lies = failure == SyncFailure::kLying;
  bool failed = failure != SyncFailure::kNone && !lies;
  if (failed) FailFlush(&active.flush, failure);
  if (lies) state.NoteLie(inode_, path_);
  // A failure that is reported late leaves a flush that succeeds.
  if ((!failed || failure == SyncFailure::kExt4Data) && !lies &&
      !ErrorUnseen()) {
    state.NoteWrites(inode_, active.flush);
    state.Mut(inode_).data.EndFlush(std::move(active.flush), state.Traits(),
                                    state.FreedPool());
    state.BoundFreedPool();
    state.CommitLogFor(inode_, begun);
  }
  // The report is the call's: a task that dies here has had it.
  env::Status status = ErrorUnseen() ? ReportError() : env::Status();
  state.Emit(env::EventKind::kFileSync, inode_, kDone,
             status.ok() ? 0 : kErrnoIo);
  state.Step(DeviceStep::kSyncDone, inode_, path_);
  return status;
}

void DiskFile::FailFlush(FileData::Flush* flush, SyncFailure failure) {
  DiskState& state = State();
  Inode& node = state.Mut(inode_);
  ++state.stats.sync_failures;
  bool late = failure == SyncFailure::kExt4Data;
  ++(late ? node.late_errors : node.errors);
  node.error_code =
      failure == SyncFailure::kNoSpace ? env::Code::kNoSpace : env::Code::kIo;
  if (late) ++state.stats.late_failures;
  state.Emit(env::EventKind::kFault,
             static_cast<uint64_t>(DiskFaultFamily::kSyncFailure), inode_,
             static_cast<uint64_t>(failure));
  if (failure == SyncFailure::kBtrfs) {
    ++node.syncs;
    node.data.Revert(*flush, state.Traits());
  } else {
    LoseSectors(flush, failure);
  }
}

void DiskFile::LoseSectors(FileData::Flush* flush, SyncFailure failure) {
  DiskState& state = State();
  Inode& node = state.Mut(inode_);
  DataTraits traits = state.Traits();
  int64_t unit_bytes = int64_t{traits.unit_slots} * kSlotBytes;
  int64_t from =
      failure == SyncFailure::kNoSpace ? node.data.durable_size() : 0;
  uint64_t key = PathKey(state.ScopeKey(), node.path);
  uint64_t n = node.syncs++;
  bool any = false;
  std::vector<uint32_t> pages = node.data.DirtyPages();
  for (int pass = 0; pass < 2 && !any; ++pass) {
    for (uint32_t page : pages) {
      SlotMask dirty = node.data.FlushableSlots(page, *flush, traits);
      SlotMask lost = 0;
      for (int first = 0; first < kSlotsPerPage; first += traits.unit_slots) {
        SlotMask unit = SlotRange(first, first + traits.unit_slots);
        if ((dirty & unit) == 0) continue;
        uint64_t sector = (uint64_t{page} * kSlotsPerPage + first) /
                          static_cast<uint64_t>(traits.unit_slots);
        int64_t at = static_cast<int64_t>(sector) * unit_bytes;
        if (at < from) continue;
        // The second pass is for draws that lost nothing at all.
        if (pass == 1 ||
            state.Draws().Below(Stream::kDiskFault, key, "sync-fail",
                                n << 40 | sector, 2) == 0) {
          lost |= unit;
          FileData::StrikeOutOf(flush, at, at + unit_bytes);
          if (pass == 1) break;
        }
      }
      if (lost == 0) continue;
      any = true;
      node.data.FailSlots(page, flush->seq, lost, traits);
      if (pass == 1) break;
    }
  }
}

env::Status DiskFile::StartWriteback(int64_t, int64_t) {
  State().Step(DeviceStep::kPlain, inode_, path_);
  return env::Status();
}

env::Status DiskFile::Resize(int64_t size_bytes) {
  DiskState& state = State();
  Inode& node = state.Mut(inode_);
  ImagePicker picker = state.Picker(inode_);
  int64_t old_size = node.data.size();
  state.CountWrite(
      node.data.Truncate(++state.seq, size_bytes, state.Traits(), &picker));
  state.Touch(inode_);
  if (size_bytes < old_size) {
    state.HealRewritten(inode_, size_bytes, old_size);
    for (ActiveFlush* active : state.flushes) {
      if (active->inode == inode_) {
        FileData::StrikeOutOf(&active->flush, size_bytes, old_size);
      }
    }
  }
  state.Emit(env::EventKind::kFileSize, inode_,
             static_cast<uint64_t>(size_bytes));
  state.Step(DeviceStep::kMetadata, inode_, path_);
  return env::Status();
}

env::Status DiskFile::Truncate(int64_t size_bytes) {
  if (size_bytes < 0) return env::Status(env::Code::kInvalid, "negative size");
  RETURN_IF_ERROR(RequireWritable(size_bytes));
  RETURN_IF_ERROR(State().CheckHealth(true, path_));
  return Resize(size_bytes);
}

env::Status DiskFile::Allocate(int64_t offset, int64_t length) {
  if (offset < 0 || length <= 0 || offset > kMaxBytes || length > kMaxBytes) {
    return env::Status(env::Code::kInvalid, "range out of bounds");
  }
  RETURN_IF_ERROR(RequireWritable(offset + length));
  RETURN_IF_ERROR(State().CheckHealth(true, path_));
  DiskState& state = State();
  int64_t size = state.Get(inode_).data.size();
  if (offset + length <= size) {
    state.Step(DeviceStep::kPlain, inode_, path_);
    return env::Status();
  }
  int64_t more = BlocksUp(offset + length) - BlocksUp(size);
  if (more > 0 && state.FreeBytes(path_, more) < more) {
    return state.RefuseSpace(inode_, size, path_);
  }
  return Resize(offset + length);
}

env::Result<int64_t> DiskFile::Size() {
  return State().Get(inode_).data.size();
}

}  // namespace sim
