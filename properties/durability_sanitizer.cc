#include "properties/durability_sanitizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "properties/decoders/bytes.h"
#include "properties/decoders/control_file_decoder.h"
#include "properties/decoders/wal_decoder.h"
#include "sim/disk.h"

namespace properties {
namespace {

using env::EventKind;

constexpr uint64_t kPowerLoss = 3;  // a[0] of kCrash: sim::CrashKind
static_assert(static_cast<uint64_t>(sim::CrashKind::kPowerLoss) == kPowerLoss);
constexpr uint64_t kSyncStart = 0;
constexpr uint64_t kSyncDone = 2;
// The page was on the device when the run began.
constexpr uint64_t kUnknownLsn = UINT64_MAX;
constexpr std::string_view kWalDir = "pg_wal/";
constexpr std::string_view kClogDir = "pg_xact/";
constexpr std::string_view kFlushMarkPath = "global/pg_wal_flushmark";

constexpr AllowRow kTable[] = {
    {ReadPlace::kWalTail, "pg_wal/, behind the last flushed position",
     "recovery takes each record's CRC, length and prev-link for its end and "
     "rewrites what follows"},
    {ReadPlace::kControlFile, "global/pg_control",
     "its content lies in one sector, written over in place; the old version "
     "names a checkpoint whose log is still there, and what an unfinished "
     "update announces is durable already"},
    {ReadPlace::kCommitLog, "pg_xact/",
     "every status behind the redo pointer is set again by redo, every earlier "
     "one was synced by the checkpoint, and nothing is read before redo ends"},
    {ReadPlace::kHintOnlyPage, "a data page whose versions have the same LSN",
     "they differ in hint bits, which can be found out again"},
    {ReadPlace::kUnusedPage, "a data page that no record has touched",
     "the file was extended; all zeros are a new page, and no row is there"},
    {ReadPlace::kAtomicPage, "a data page where full_page_writes is off",
     "the disk writes 8 KiB at once: redo goes on from either version by the "
     "page's LSN"},
    {ReadPlace::kFlushMark, "global/pg_wal_flushmark",
     "its two sectors are written in turn: while one is not determined the "
     "other holds the mark before, and the log reaches as far as either"},
};

// Position of a byte in the log, from the segment file's name.
std::optional<uint64_t> LsnAt(std::string_view path, uint64_t offset,
                              uint64_t segment_bytes) {
  path.remove_prefix(kWalDir.size());
  if (path.size() != 24) return std::nullopt;
  uint64_t numbers[2] = {0, 0};
  for (size_t i = 8; i < path.size(); ++i) {
    char c = path[i];
    bool digit = c >= '0' && c <= '9';
    if (!digit && (c < 'A' || c > 'F')) return std::nullopt;
    uint64_t& number = numbers[(i - 8) / 8];
    number =
        number * 16 + static_cast<uint64_t>(digit ? c - '0' : c - 'A' + 10);
  }
  uint64_t segments_per_id = (uint64_t{1} << 32) / segment_bytes;
  return (numbers[0] * segments_per_id + numbers[1]) * segment_bytes + offset;
}

void AddOnce(std::vector<uint64_t>* lsns, uint64_t lsn) {
  if (std::find(lsns->begin(), lsns->end(), lsn) == lsns->end()) {
    lsns->push_back(lsn);
  }
}

}  // namespace

std::span<const AllowRow> AllowTable() { return kTable; }

void DurabilitySanitizer::Report(const char* promise, const std::string& path,
                                 const env::Event& event,
                                 const std::string& why) {
  sink_->Report(
      promise, "sanitizer",
      fmt::format("{}, bytes {} to {}", path, event.a[2], event.a[3]),
      fmt::format("read while a power loss has left them undetermined: {}",
                  why),
      event.seq);
}

void DurabilitySanitizer::OnEvent(const env::Event& e) {
  switch (e.kind) {
    case EventKind::kFileOpen:
      files_.OnOpen(e);
      break;
    case EventKind::kPageWrite:
      if (e.a[1] == 0) page_writes_[e.task] = {e.a[0], e.a[2]};
      break;
    case EventKind::kPageRead:
      if (e.a[1] == 0) OnPageRead(e);
      break;
    case EventKind::kFileWrite:
      OnWrite(e);
      break;
    case EventKind::kFileSync:
      OnSync(e);
      break;
    case EventKind::kWalFlush:
      flushed_ = std::max(flushed_, e.a[0]);
      break;
    case EventKind::kCrash:
      if (e.a[0] == kPowerLoss) OnPowerLoss();
      page_writes_.clear();
      syncs_.clear();
      break;
    case EventKind::kRecoveryStart:
      recovering_ = true;
      break;
    case EventKind::kRecoveryEnd:
      recovering_ = false;
      // What lay above was cut off and is written over.
      flushed_ = e.a[0];
      break;
    case EventKind::kFault:
      if (e.a[0] ==
          static_cast<uint64_t>(sim::DiskFaultFamily::kUndeterminedRead)) {
        OnUndeterminedRead(e);
      }
      break;
    default:
      break;
  }
}

void DurabilitySanitizer::OnWrite(const env::Event& e) {
  std::optional<uint64_t> first = files_.PageAt(e.a[0], e.a[1]);
  if (!first.has_value()) return;
  // A new file of an old name has no history.
  uint64_t begin = *files_.PageAt(e.a[0], 0);
  auto [inode, is_first] = inodes_.try_emplace(begin, e.a[0]);
  if (!is_first && inode->second != e.a[0]) {
    pages_.erase(pages_.lower_bound(begin),
                 pages_.lower_bound(begin + kBlocksPerSegment));
    inode->second = e.a[0];
  }
  auto write = page_writes_.find(e.task);
  uint64_t lsn = 0;  // an extension
  if (write != page_writes_.end()) {
    if (write->second.page == *first) lsn = write->second.lsn;
    page_writes_.erase(write);
  }
  uint64_t count = (e.a[1] % kPageBytes + e.a[2] + kPageBytes - 1) / kPageBytes;
  for (uint64_t page = *first; page < *first + count; ++page) {
    auto [it, is_new] = pages_.try_emplace(page);
    // An extension begins behind the end of the file.
    if (is_new && lsn != 0) it->second.device.push_back(kUnknownLsn);
    it->second.pending.push_back({lsn, e.seq});
  }
}

void DurabilitySanitizer::OnPageRead(const env::Event& e) {
  Versions& versions = pages_[e.a[0]];
  if (versions.pending.empty()) versions.device = {e.a[2]};
}

void DurabilitySanitizer::OnSync(const env::Event& e) {
  if (e.a[1] == kSyncStart) {
    syncs_[e.task] = {e.a[0], e.seq};
    return;
  }
  auto it = syncs_.find(e.task);
  if (e.a[1] != kSyncDone || it == syncs_.end()) return;
  Sync sync = it->second;
  syncs_.erase(it);
  if (sync.inode != e.a[0] || e.a[2] != 0) return;
  std::optional<uint64_t> first = files_.PageAt(sync.inode, 0);
  if (!first.has_value()) return;
  auto end = pages_.lower_bound(*first + kBlocksPerSegment);
  for (auto page = pages_.lower_bound(*first); page != end; ++page) {
    Versions& versions = page->second;
    size_t covered = 0;
    while (covered < versions.pending.size() &&
           versions.pending[covered].seq < sync.seq) {
      ++covered;
    }
    if (covered == 0) continue;
    versions.device = {versions.pending[covered - 1].lsn};
    versions.pending.erase(
        versions.pending.begin(),
        versions.pending.begin() + static_cast<std::ptrdiff_t>(covered));
  }
}

void DurabilitySanitizer::OnPowerLoss() {
  for (auto& [page, versions] : pages_) {
    for (const Write& write : versions.pending) {
      AddOnce(&versions.device, write.lsn);
    }
    versions.pending.clear();
  }
}

void DurabilitySanitizer::Allow(ReadPlace place, const env::Event& event) {
  ReadCount& count = counts_[static_cast<size_t>(place)];
  ++(event.a[4] == 0 ? count.newest : count.older);
}

void DurabilitySanitizer::OnUndeterminedRead(const env::Event& e) {
  std::string path = files_.PathOf(e.a[1]);
  if (path.rfind(kWalDir, 0) == 0) return CheckWal(path, e);
  if (path.rfind(kClogDir, 0) == 0) return Allow(ReadPlace::kCommitLog, e);
  if (path == kControlFilePath) return Allow(ReadPlace::kControlFile, e);
  if (path == kFlushMarkPath) return Allow(ReadPlace::kFlushMark, e);
  std::optional<uint64_t> page = PageAtPath(path, e.a[2]);
  if (page.has_value()) return CheckPage(*page, path, e);
  Report("REC", path, e, "no such file is on the allow-list");
}

void DurabilitySanitizer::CheckWal(const std::string& path,
                                   const env::Event& e) {
  std::optional<uint64_t> lsn = LsnAt(path, e.a[2], options_.wal_segment_bytes);
  if (!lsn.has_value()) {
    return Report("REC", path, e, "no such file is on the allow-list");
  }
  // The sector in which the flushed log ends holds what follows, too.
  if (*lsn + options_.sector_bytes > flushed_)
    return Allow(ReadPlace::kWalTail, e);
  Report("WAL", path, e,
         fmt::format("the log was flushed up to {}, these begin at {}",
                     LsnToText(flushed_), LsnToText(*lsn)));
}

void DurabilitySanitizer::CheckPage(uint64_t page, const std::string& path,
                                    const env::Event& e) {
  auto it = pages_.find(page);
  std::vector<uint64_t> lsns;
  if (it != pages_.end()) lsns = it->second.device;
  std::sort(lsns.begin(), lsns.end());
  bool same = !lsns.empty() && lsns.front() == lsns.back();
  if (lsns.empty() || (same && lsns.front() == 0)) {
    return Allow(ReadPlace::kUnusedPage, e);
  }
  if (same && lsns.front() != kUnknownLsn) {
    return Allow(ReadPlace::kHintOnlyPage, e);
  }
  if (!options_.full_page_writes) return Allow(ReadPlace::kAtomicPage, e);
  std::string versions;
  for (uint64_t lsn : lsns) {
    if (!versions.empty()) versions += ", ";
    versions += lsn == kUnknownLsn ? "the template's" : LsnToText(lsn);
  }
  Report(recovering_ ? "REDO" : "DUR", path, e,
         fmt::format("block {} may be any of its versions with LSN {}",
                     page & 0xFFFFFFFF, versions));
}

}  // namespace properties
