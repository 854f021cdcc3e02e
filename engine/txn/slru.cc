#include "engine/txn/slru.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/common/errcodes.h"
#include "engine/common/file_error.h"
#include "engine/common/sites.h"
#include "engine/smgr/sync.h"
#include "engine/txn/slru_seal.h"
#include "engine/wal/xlog.h"
#include "sim/env/race.h"

namespace engine {

Status SlruReportIOError(const Status& cause, TransactionId xid) {
  if (!cause.detail().empty()) return cause;  // a victim's write, told already
  std::string detail = std::string(cause.message()) + ".";
  if (detail.starts_with("could")) detail[0] = 'C';
  return SqlError(cause.sqlstate(), "could not access status of transaction {}",
                  xid)
      .WithDetail(std::move(detail));
}

Slru::Slru(std::string dir, int buffers, int groups, bool sealed)
    : dir_(std::move(dir)),
      sealed_(sealed),
      slots_(static_cast<size_t>(buffers)) {
  SIM_CHECK(buffers >= 1);
  for (Slot& slot : slots_) {
    slot.group_lsn.assign(static_cast<size_t>(groups), kInvalidXLogRecPtr);
  }
}

std::string Slru::SegmentPath(int64_t pageno) const {
  return fmt::format("{}/{:04X}", dir_, pageno / SLRU_PAGES_PER_SEGMENT);
}

int64_t Slru::PageOffset(int64_t pageno) const {
  int64_t page_bytes =
      sealed_ ? static_cast<int64_t>(kSealedPageBytes) : int64_t{BLCKSZ};
  return (pageno % SLRU_PAGES_PER_SEGMENT) * page_bytes;
}

int Slru::Find(int64_t pageno) const {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].state != State::kEmpty && slots_[i].pageno == pageno) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

int64_t Slru::PageNumberOf(int slot) const {
  env::AtomicSection control_lock(this);
  return slots_[Index(slot)].pageno;
}

bool Slru::InIo(int slot, int64_t pageno) const {
  env::AtomicSection control_lock(this);
  const Slot& s = slots_[Index(slot)];
  return (s.state == State::kReading || s.state == State::kWriting) &&
         s.pageno == pageno;
}

void Slru::WaitIo(Backend& be, int slot) {
  Slot& s = slots_[Index(slot)];
  int64_t pageno = PageNumberOf(slot);
  while (InIo(slot, pageno)) ConditionVariableSleep(be, s.io_done);
  ConditionVariableCancelSleep(be, s.io_done);
}

int Slru::Victim() const {
  int best = -1;
  int latest = -1;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& s = slots_[i];
    if (s.state == State::kEmpty) return static_cast<int>(i);
    if (s.state != State::kValid) continue;
    if (s.pageno == latest_page_) {
      latest = static_cast<int>(i);
    } else if (best < 0 || s.last_used < slots_[Index(best)].last_used) {
      best = static_cast<int>(i);
    }
  }
  return best >= 0 ? best : latest;
}

Slru::Candidate Slru::FindOrVictim(int64_t pageno) const {
  env::AtomicSection control_lock(this);
  int found = Find(pageno);
  if (found >= 0) return {found, false, false};
  int victim = Victim();
  // Every slot is in I/O; any of them may become free first.
  if (victim < 0)
    return {static_cast<int>(clock_ % slots_.size()), true, false};
  const Slot& s = slots_[Index(victim)];
  return {victim, false, s.state != State::kEmpty && s.dirty};
}

Result<int> Slru::SelectSlot(Backend& be, int64_t pageno) {
  for (;;) {
    Candidate slot = FindOrVictim(pageno);
    if (!slot.in_io && !slot.dirty) return slot.index;
    if (slot.in_io) {
      WaitIo(be, slot.index);
    } else {
      RETURN_IF_ERROR(WritePage(be, slot.index));
    }
    // The world may have changed meanwhile: look again.
  }
}

Result<int> Slru::ReadPage(Backend& be, int64_t pageno, bool missing_is_zero) {
  for (;;) {
    ASSIGN_OR_RETURN(int slot, SelectSlot(be, pageno));
    Claim claim = BeginRead(slot, pageno);
    if (claim == Claim::kReady) return slot;
    if (claim == Claim::kWait) {
      WaitIo(be, slot);
      continue;
    }
    Slot& s = slots_[Index(slot)];
    Status read = PhysicalRead(be, pageno, missing_is_zero, &s.bytes);
    {
      env::AtomicSection control_lock(this);
      s.state = read.ok() ? State::kValid : State::kEmpty;
      if (read.ok()) Touch(&s);
    }
    ConditionVariableBroadcast(be, s.io_done);
    RETURN_IF_ERROR(read);
    return slot;
  }
}

Slru::Claim Slru::BeginRead(int slot, int64_t pageno) {
  env::AtomicSection control_lock(this);
  Slot& s = slots_[Index(slot)];
  if (s.state != State::kEmpty && s.pageno == pageno) {
    if (s.state == State::kReading) return Claim::kWait;
    Touch(&s);
    return Claim::kReady;
  }
  s.state = State::kReading;
  s.pageno = pageno;
  s.dirty = false;
  std::fill(s.group_lsn.begin(), s.group_lsn.end(), kInvalidXLogRecPtr);
  return Claim::kMine;
}

Result<int> Slru::ZeroPage(Backend& be, int64_t pageno) {
  for (;;) {
    ASSIGN_OR_RETURN(int slot, SelectSlot(be, pageno));
    if (ZeroSlot(slot, pageno)) return slot;
    WaitIo(be, slot);
  }
}

bool Slru::ZeroSlot(int slot, int64_t pageno) {
  env::AtomicSection control_lock(this);
  Slot& s = slots_[Index(slot)];
  if (s.state == State::kReading) return false;
  // A write in progress goes on with its copy and leaves the slot dirty.
  if (s.state != State::kWriting) s.state = State::kValid;
  s.pageno = pageno;
  s.dirty = true;
  s.bytes.fill(0);
  std::fill(s.group_lsn.begin(), s.group_lsn.end(), kInvalidXLogRecPtr);
  latest_page_ = std::max(latest_page_, pageno);
  Touch(&s);
  return true;
}

bool Slru::IsWriting(int slot, int64_t pageno) const {
  env::AtomicSection control_lock(this);
  const Slot& s = slots_[Index(slot)];
  return s.state == State::kWriting && s.pageno == pageno;
}

bool Slru::BeginWrite(int slot, int64_t pageno, std::array<char, BLCKSZ>* copy,
                      XLogRecPtr* flush_lsn) {
  env::AtomicSection control_lock(this);
  Slot& s = slots_[Index(slot)];
  if (s.state != State::kValid || s.pageno != pageno || !s.dirty) return false;
  s.state = State::kWriting;
  s.dirty = false;
  *copy = s.bytes;
  *flush_lsn = *std::max_element(s.group_lsn.begin(), s.group_lsn.end());
  return true;
}

Status Slru::WritePage(Backend& be, int slot) {
  Slot& s = slots_[Index(slot)];
  int64_t pageno = PageNumberOf(slot);
  while (IsWriting(slot, pageno)) WaitIo(be, slot);
  std::array<char, BLCKSZ> copy;
  XLogRecPtr flush_lsn = kInvalidXLogRecPtr;
  if (!BeginWrite(slot, pageno, &copy, &flush_lsn)) return {};
  if (flush_lsn != kInvalidXLogRecPtr) XLogFlush(be, flush_lsn);
  Status written = PhysicalWrite(be, pageno, copy);
  {
    env::AtomicSection control_lock(this);
    SIM_CHECK(s.state == State::kWriting && s.pageno == pageno);
    if (!written.ok()) s.dirty = true;
    s.state = State::kValid;
  }
  ConditionVariableBroadcast(be, s.io_done);
  if (!written.ok()) return SlruReportIOError(written, kInvalidTransactionId);
  return {};
}

Status Slru::WriteAll(Backend& be) {
  Status first;
  for (size_t i = 0; i < slots_.size(); ++i) {
    Status written = WritePage(be, static_cast<int>(i));
    if (first.ok()) first = std::move(written);
  }
  RETURN_IF_ERROR(first);
  Status synced = be.env->files->FsyncDir(dir_);
  if (!synced.ok()) {
    // As for data files: what a failed fsync left behind is unknown.
    Panic(be, fmt::format("could not fsync file \"{}\": {}", dir_,
                          ErrnoText(synced.code())));
  }
  return {};
}

void Slru::MarkAllClean() {
  for (Slot& slot : slots_) slot.dirty = false;
}

void Slru::RaiseGroupLsn(int slot, int group, XLogRecPtr lsn) {
  XLogRecPtr& current = slots_[Index(slot)].group_lsn[Index(group)];
  current = std::max(current, lsn);
}

Status Slru::PhysicalRead(Backend& be, int64_t pageno, bool missing_is_zero,
                          std::array<char, BLCKSZ>* bytes) {
  std::string path = SegmentPath(pageno);
  bytes->fill(0);
  auto file = be.env->files->Open(path, env::kOpenRead);
  if (!file.ok()) {
    if (missing_is_zero && file.status().code() == env::Code::kNotFound) {
      return {};
    }
    return FileAccessError(file.status(),
                           fmt::format("could not open file \"{}\"", path));
  }
  std::array<char, kSealedPageBytes> raw = {};
  std::span<char> wanted = sealed_ ? std::span<char>(raw) : *bytes;
  auto got = (*file)->Pread(PageOffset(pageno), wanted);
  if (!got.ok()) {
    return FileAccessError(
        got.status(),
        fmt::format("could not read from file \"{}\" at offset {}", path,
                    PageOffset(pageno)));
  }
  if (*got == 0 && missing_is_zero) return {};
  if (*got == static_cast<int64_t>(wanted.size())) {
    if (!sealed_ || UnsealPage(raw, pageno, *bytes)) return {};
    return SqlError(ERRCODE_DATA_CORRUPTED,
                    "incorrect checksum in file \"{}\" at offset {}", path,
                    PageOffset(pageno));
  }
  return SqlError(ERRCODE_INTERNAL_ERROR,
                  "could not read from file \"{}\" at offset {}: read too few "
                  "bytes",
                  path, PageOffset(pageno));
}

Status Slru::PhysicalWrite(Backend& be, int64_t pageno,
                           const std::array<char, BLCKSZ>& bytes) {
  std::string path = SegmentPath(pageno);
  INJECTION_POINT(clog_write);
  auto file = be.env->files->Open(path, env::kOpenWrite | env::kOpenCreate);
  if (!file.ok()) {
    return FileAccessError(file.status(),
                           fmt::format("could not open file \"{}\"", path));
  }
  std::string what = fmt::format("could not write to file \"{}\" at offset {}",
                                 path, PageOffset(pageno));
  std::array<char, kSealedPageBytes> raw;
  std::span<const char> all = bytes;
  if (sealed_) {
    SealPage(bytes, pageno, raw);
    all = raw;
  }
  auto wrote = (*file)->Pwrite(PageOffset(pageno), all);
  if (!wrote.ok()) return FileAccessError(wrote.status(), what);
  if (*wrote != static_cast<int64_t>(all.size())) {
    return FileAccessError(Status(env::Code::kNoSpace, ""), what);
  }
  if (!PLANTED(clog_not_synced)) RegisterSyncRequest(be, path);
  return {};
}

}  // namespace engine
