#include "properties/shadow_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "properties/decoders/bytes.h"
#include "properties/decoders/page_decoder.h"
#include "properties/decoders/tuple_decoder.h"
#include "properties/page_mask.h"

namespace properties {
namespace {

using env::EventKind;

constexpr uint8_t kRmSmgr = 2;
constexpr uint8_t kInfoSmgrCreate = 0x10;
constexpr uint32_t kDatabase = 5;
constexpr uint64_t kMainFork = 0;
// Phase of kCheckpoint at which pg_control durably names the new one.
constexpr uint64_t kPhaseControlFile = 5;
// A page with more changes than this is folded at the next checkpoint.
constexpr size_t kManyChanges = 64;

std::string PageName(uint64_t page) {
  return fmt::format("page {}:{}", HeapPath(static_cast<uint32_t>(page >> 32)),
                     page & 0xFFFFFFFF);
}

}  // namespace

void ShadowOracle::Report(const char* promise, std::string subject,
                          std::string message) {
  sink_->Report(promise, "shadow", std::move(subject), std::move(message),
                seq_);
}

void ShadowOracle::LoadTemplate(const sim::Disk& disk) {
  if (disk_ != nullptr) template_ = disk.Clone();
}

void ShadowOracle::OnEvent(const env::Event& e) {
  if (disk_ == nullptr) return;
  seq_ = e.seq;
  switch (e.kind) {
    case EventKind::kXidAssigned:
      if (first_xid_ == 0) first_xid_ = static_cast<uint32_t>(e.a[0]);
      break;
    case EventKind::kWalInsert:
      OnInsert(e);
      break;
    case EventKind::kWalFlush:
      flushed_ = std::max(flushed_, e.a[0]);
      break;
    case EventKind::kFileOpen:
      files_.OnOpen(e);
      break;
    case EventKind::kPageWrite:
      if (e.a[1] == kMainFork) writes_[e.task] = {e.a[0], e.a[2]};
      break;
    case EventKind::kFileWrite:
      if (!writes_.empty()) OnFileWrite(e);
      break;
    case EventKind::kPageRead:
      if (e.a[1] == kMainFork) OnPageRead(e);
      break;
    case EventKind::kCheckpoint:
      if (e.a[0] == kPhaseControlFile) FoldAll(e.a[1]);
      break;
    case EventKind::kFault:
      sync_failed_ |=
          e.a[0] == static_cast<uint64_t>(sim::DiskFaultFamily::kSyncFailure);
      break;
    case EventKind::kRecoveryStart:
      recovering_ = true;
      replaying_ = 0;
      writes_.clear();
      break;
    case EventKind::kRedo:
      replaying_ = e.a[0];
      break;
    case EventKind::kRecoveryEnd:
      OnRecoveryEnd(e.a[0]);
      break;
    default:
      break;
  }
}

void ShadowOracle::OnInsert(const env::Event& e) {
  env::Result<WalRecord> record = DecodeWalRecord(e.bytes);
  std::string subject = fmt::format("WAL record at {}", LsnToText(e.a[0]));
  if (!record.ok()) {
    Report("WAL", subject, std::string(record.status().message()));
    return;
  }
  record->start = e.a[0];
  record->end = e.a[1];
  if (record->rmid == kRmXact) OnXactEnd(*record);
  if (record->rmid == kRmSmgr) OnCreate(*record);
  if (record->blocks.empty()) return;
  env::Result<std::vector<TouchedBlock>> blocks = DecodeBlockChanges(*record);
  if (!blocks.ok()) {
    Report("REDO", subject, std::string(blocks.status().message()));
    return;
  }
  for (TouchedBlock& touched : *blocks) {
    bool ours = touched.fork == kMainFork && touched.db_node == kDatabase;
    if (ours && !IsGone(touched.rel_node)) OnBlock(std::move(touched));
  }
}

void ShadowOracle::OnXactEnd(const WalRecord& record) {
  std::optional<WalXactEnd> end = DecodeXactEnd(record);
  if (!end.has_value()) return;
  if (end->commit) commits_[end->xid] = record.end;
  for (uint32_t rel : end->dropped_rels) {
    Relation& relation = relations_[rel];
    if (end->commit) {
      relation.dropped_at = record.end;
    } else {
      relation.rolled_back = true;
    }
  }
}

void ShadowOracle::OnCreate(const WalRecord& record) {
  if ((record.info & 0xF0) != kInfoSmgrCreate) return;
  if (record.main_data.size() < 12) return;
  // A file of this name begins anew.
  auto rel = LoadField<uint32_t>(record.main_data, 8);
  relations_.erase(rel);
  pages_.erase(pages_.lower_bound(uint64_t{rel} << 32),
               pages_.lower_bound((uint64_t{rel} + 1) << 32));
}

ShadowPage& ShadowOracle::Page(uint64_t page) {
  auto it = pages_.find(page);
  if (it != pages_.end()) return it->second;
  std::string base;
  if (template_ != nullptr) {
    base.resize(kPageBytes);
    std::string path = HeapPath(static_cast<uint32_t>(page >> 32));
    auto offset = static_cast<int64_t>((page & 0xFFFFFFFF) * kPageBytes);
    if (!template_->PeekRange(path, offset, base)) base.clear();
  }
  return pages_.emplace(page, ShadowPage(std::move(base))).first->second;
}

ShadowPage* ShadowOracle::Known(uint64_t page) {
  auto it = pages_.find(page);
  if (it == pages_.end() || !it->second.known()) return nullptr;
  if (IsGone(static_cast<uint32_t>(page >> 32))) return nullptr;
  return &it->second;
}

bool ShadowOracle::IsGone(uint32_t rel) const {
  auto it = relations_.find(rel);
  if (it == relations_.end()) return false;
  return it->second.rolled_back || it->second.dropped_at != 0;
}

void ShadowOracle::OnBlock(TouchedBlock touched) {
  uint64_t key = uint64_t{touched.rel_node} << 32 | touched.change.block;
  ShadowPage& page = Page(key);
  std::string subject = PageName(key);
  std::string image = std::move(touched.image);
  bool replaces = touched.change.kind == ChangeKind::kImage;
  page.Add(touched.change);
  if (image.empty() || replaces || !page.known()) return;
  touched.image = std::move(image);
  CheckImage(touched, &page, subject);
}

// The image shows the page as the node left it, with its LSN of before.
void ShadowOracle::CheckImage(const TouchedBlock& touched, ShadowPage* page,
                              const std::string& subject) {
  ++images_compared_;
  const BlockChange& change = touched.change;
  bool hint = change.kind == ChangeKind::kHintImage;
  size_t last = page->last();
  std::optional<size_t> before = page->StateAt(PageLsn(touched.image));
  if (!change.init && (!before.has_value() || *before >= last ||
                       *before < page->Settled(last - 1))) {
    Report("CKPT", subject,
           fmt::format("has LSN {} in the image of {}, the last record before "
                       "ends at {}",
                       LsnToText(PageLsn(touched.image)), change.ToString(),
                       LsnToText(page->LsnOf(last - 1))));
  }
  env::Result<std::string_view> redone = page->Bytes(hint ? last - 1 : last);
  std::string difference = redone.ok() ? ComparePages(*redone, touched.image)
                                       : std::string(redone.status().message());
  if (difference.empty()) return;
  Report("REDO", subject,
         fmt::format("the image of {} and redo of it differ: {}",
                     change.ToString(), difference));
  page->Reset(touched.image);
}

void ShadowOracle::OnFileWrite(const env::Event& e) {
  auto it = writes_.find(e.task);
  if (it == writes_.end()) return;
  std::optional<uint64_t> page = files_.PageAt(e.a[0], e.a[1]);
  if (!page.has_value()) return;
  WriteUnderWay write = it->second;
  writes_.erase(it);
  // Not the page, or not all of it: the node will try again or give up.
  if (*page != write.page || e.a[2] != kPageBytes) return;
  std::string bytes(kPageBytes, '\0');
  if (!disk_->PeekRange(e.a[0], static_cast<int64_t>(e.a[1]), bytes)) return;
  CheckHints(write.page, bytes);
  ShadowPage* shadow = Known(write.page);
  if (shadow == nullptr) return;
  size_t least = shadow->last();
  if (recovering_) least = shadow->StateUpTo(replaying_);
  CheckPage(write.page, shadow, bytes, least, "is written");
}

void ShadowOracle::OnPageRead(const env::Event& e) {
  if (!check_reads_ || recovering_ || sync_failed_) return;
  ShadowPage* shadow = Known(e.a[0]);
  if (shadow == nullptr || shadow->last() == 0) return;
  size_t last = shadow->last();
  std::optional<size_t> state = shadow->StateAt(e.a[2]);
  if (state.has_value() && *state >= shadow->Settled(last)) return;
  Report("CKPT", PageName(e.a[0]),
         fmt::format("is read with LSN {}, the last record that touched it "
                     "ends at {}",
                     LsnToText(e.a[2]), LsnToText(shadow->LsnOf(last))));
}

void ShadowOracle::CheckPage(uint64_t page, ShadowPage* shadow,
                             std::string_view bytes, size_t least,
                             const char* where) {
  ++pages_compared_;
  uint64_t lsn = PageLsn(bytes);
  std::optional<size_t> state = shadow->StateAt(lsn);
  if (!state.has_value()) {
    Report("REDO", PageName(page),
           fmt::format("{} with LSN {}, where no record that touches it ends "
                       "(the last one before ends at {})",
                       where, LsnToText(lsn),
                       LsnToText(shadow->LsnOf(shadow->StateUpTo(lsn)))));
    return;
  }
  if (*state < shadow->Settled(least)) {
    Report("CKPT", PageName(page),
           fmt::format("{} with LSN {}; the change of {}, which ends at {}, is "
                       "lost",
                       where, LsnToText(lsn),
                       shadow->change(*state + 1).ToString(),
                       LsnToText(shadow->LsnOf(*state + 1))));
    return;
  }
  env::Result<std::string_view> redone = shadow->Bytes(*state);
  std::string difference = redone.ok() ? ComparePages(*redone, bytes)
                                       : std::string(redone.status().message());
  if (difference.empty()) return;
  Report("REDO", PageName(page),
         fmt::format("{} with LSN {}: {}", where, LsnToText(lsn), difference));
  shadow->Forget();
}

void ShadowOracle::CheckHints(uint64_t page, std::string_view bytes) {
  env::Result<DecodedPage> decoded = DecodePage(bytes);
  if (!decoded.ok()) return;  // CheckPage or StructureOracle tells
  for (size_t n = 1; n <= decoded->items.size(); ++n) {
    if (decoded->items[n - 1].kind != LinePointerKind::kNormal) continue;
    std::string_view tuple = PageItem(bytes, *decoded, n);
    if (tuple.size() < kTupleHeaderBytes) continue;
    auto infomask = LoadField<uint16_t>(tuple, 20);
    uint16_t xmin_hint = infomask & kHeapXminFrozen;
    if (xmin_hint == kHeapXminCommitted || xmin_hint == kHeapXminInvalid) {
      CheckHint(page, n, "xmin", LoadField<uint32_t>(tuple, 0),
                xmin_hint == kHeapXminCommitted);
    }
    constexpr uint16_t kNoDeleter = kHeapXmaxIsMulti | kHeapXmaxLockOnly;
    auto xmax = LoadField<uint32_t>(tuple, 4);
    uint16_t xmax_hint = infomask & (kHeapXmaxCommitted | kHeapXmaxInvalid);
    if (xmax != 0 && (infomask & kNoDeleter) == 0 && xmax_hint != 0) {
      CheckHint(page, n, "xmax", xmax, xmax_hint == kHeapXmaxCommitted);
    }
  }
}

void ShadowOracle::CheckHint(uint64_t page, size_t line, const char* whose,
                             uint32_t xid, bool committed) {
  if (first_xid_ == 0 || static_cast<int32_t>(xid - first_xid_) < 0) return;
  auto it = commits_.find(xid);
  auto subject = [&] {
    return fmt::format("{}, line pointer {}", PageName(page), line);
  };
  if (committed && it == commits_.end()) {
    Report("WAL", subject(),
           fmt::format("written with a hint that {} {} committed; it has no "
                       "commit record",
                       whose, xid));
  } else if (committed && it->second > flushed_ && !recovering_) {
    Report("WAL", subject(),
           fmt::format("written with a hint that {} {} committed; WAL is "
                       "flushed up to {}, its record ends at {}",
                       whose, xid, LsnToText(flushed_), LsnToText(it->second)));
  } else if (!committed && it != commits_.end()) {
    Report("WAL", subject(),
           fmt::format("written with a hint that {} {} aborted; its commit "
                       "record ends at {}",
                       whose, xid, LsnToText(it->second)));
  }
}

void ShadowOracle::OnRecoveryEnd(uint64_t cut) {
  recovering_ = false;
  sync_failed_ = false;
  flushed_ = cut;
  cut_ = cut;
  for (auto& [key, page] : pages_) page.Rewind(cut);
  std::erase_if(commits_, [&](const auto& c) { return c.second > cut; });
  for (auto& [rel, relation] : relations_) {
    if (relation.dropped_at > cut) relation.dropped_at = 0;
  }
}

void ShadowOracle::FoldAll(uint64_t redo) {
  for (auto& [key, page] : pages_) {
    if (page.last() > kManyChanges) page.Fold(redo);
  }
}

void ShadowOracle::CheckAtRest(const ClusterImage& image, bool shut_down) {
  for (auto& [key, page] : pages_) {
    auto rel = static_cast<uint32_t>(key >> 32);
    uint64_t block = key & 0xFFFFFFFF;
    if (!page.known() || IsGone(rel) || block >= kBlocksPerSegment) continue;
    size_t least = shut_down ? page.last() : page.StateUpTo(cut_);
    std::string path = HeapPath(rel);
    bool untouched = page.last() == 0;
    if (untouched && image.Excuses(path, static_cast<uint32_t>(block))) {
      continue;
    }
    const std::string* file = image.files().Read(path);
    if (file == nullptr || file->size() < (block + 1) * kPageBytes) {
      if (page.Settled(least) == 0) continue;
      Report("REDO", PageName(key),
             fmt::format("is not there; {} touched it",
                         page.change(least).ToString()));
      continue;
    }
    CheckPage(key, &page,
              std::string_view(*file).substr(block * kPageBytes, kPageBytes),
              least, "is on disk");
  }
}

void ShadowOracle::OnRecovered(const ClusterImage& image, uint64_t seq) {
  if (disk_ == nullptr) return;
  seq_ = seq;
  CheckAtRest(image, false);
}

void ShadowOracle::OnShutdown(const ClusterImage& image, uint64_t seq) {
  if (disk_ == nullptr) return;
  seq_ = seq;
  CheckAtRest(image, true);
}

}  // namespace properties
