#include "sim/crash_image.h"

#include <algorithm>
#include <array>

#include "sim/env/check.h"
#include "sim/env/site.h"

namespace sim {
namespace {

// Shares in percent, by ImageStyle (FAULT_MODEL 5.2).
constexpr std::array<uint64_t, 8> kStyleShares = {10, 10, 15, 15,
                                                  10, 10, 20, 10};

// A draw's index names the power loss, a level and the sector.
uint64_t DrawIndex(uint64_t ordinal, uint64_t level, uint64_t sector) {
  return ordinal << 48 | level << 40 | sector;
}

// How many of seqs were issued up to `seq`.
size_t CountUpTo(std::span<const uint64_t> seqs, uint64_t seq) {
  return std::upper_bound(seqs.begin(), seqs.end(), seq) - seqs.begin();
}

bool Contains(std::span<const uint64_t> seqs, uint64_t seq) {
  return std::binary_search(seqs.begin(), seqs.end(), seq);
}

}  // namespace

bool CrashRecord::LosesSector(std::string_view path, uint64_t sector) const {
  bool lose = false;
  for (const ImageRule& rule : *rules) {
    bool fits = rule.what == ImageRule::What::kAll ||
                (rule.what == ImageRule::What::kFile && rule.path == path &&
                 rule.first_sector <= sector && sector <= rule.last_sector);
    if (fits) lose = rule.lose;
  }
  return lose;
}

bool CrashRecord::LosesSize(std::string_view path) const {
  bool lose = false;
  for (const ImageRule& rule : *rules) {
    bool fits = rule.what == ImageRule::What::kAll ||
                (rule.what == ImageRule::What::kFile && rule.path == path &&
                 rule.first_sector == 0 && rule.last_sector == UINT64_MAX);
    if (fits) lose = rule.lose;
  }
  return lose;
}

bool CrashRecord::LosesNames() const {
  bool lose = false;
  for (const ImageRule& rule : *rules) {
    if (rule.what != ImageRule::What::kFile) lose = rule.lose;
  }
  return lose;
}

uint64_t PathKey(uint64_t scope_key, std::string_view path) {
  while (!path.empty()) {
    size_t slash = path.find('/');
    scope_key = Mix(scope_key, env::SiteHash(path.substr(0, slash)));
    path.remove_prefix(slash == std::string_view::npos ? path.size()
                                                       : slash + 1);
  }
  return scope_key;
}

uint64_t ImageDraws::Below(Stream stream, uint64_t scope_key,
                           std::string_view site, uint64_t n,
                           uint64_t bound) const {
  if (choices_ == nullptr || bound <= 1) return 0;
  return choices_->DrawKey(stream, scope_key, env::SiteHash(site), n, bound);
}

void ImageDraws::ChooseStyle(CrashRecord* record) const {
  const std::vector<uint64_t>& pending = *record->pending;
  record->target = 0;
  record->style = ImageStyle::kEverything;
  if (pending.empty()) return;
  if (record->rules != nullptr) {
    record->style = ImageStyle::kRules;
    return;
  }
  if (options_.mix == ImageMix::kPrefix) {
    record->style = ImageStyle::kPrefix;
  } else if (!options_.biased_images) {
    record->style = ImageStyle::kUniform;
    return;
  } else {
    uint64_t at = Below(Stream::kCrashImage, record->scope_key, "image-style",
                        record->ordinal, 100);
    size_t style = 0;
    while (at >= kStyleShares[style]) at -= kStyleShares[style++];
    record->style = static_cast<ImageStyle>(style);
  }
  uint64_t back = Below(
      Stream::kCrashImage, record->scope_key, "image-target", record->ordinal,
      pending.size() + (record->style == ImageStyle::kPrefix ? 1 : 0));
  // A prefix may be empty; the other styles turn on an operation.
  record->target =
      back == pending.size() ? 0 : pending[pending.size() - 1 - back];
}

size_t ImageDraws::PickCell(const CrashRecord& record, uint64_t file_key,
                            std::string_view site, uint64_t index,
                            std::span<const uint64_t> seqs) const {
  size_t all = seqs.size();
  auto draw = [&](uint64_t level, std::string_view at, uint64_t bound) {
    return Below(Stream::kCrashImage, file_key, at,
                 DrawIndex(record.ordinal, level, index), bound);
  };
  switch (record.style) {
    case ImageStyle::kEverything:
      return all;
    case ImageStyle::kNothing:
      return 0;
    case ImageStyle::kPrefix:
      return CountUpTo(seqs, record.target);
    case ImageStyle::kAllButOne:
      return seqs.back() == record.target ? all - 1 : all;
    case ImageStyle::kOnlyOne:
      return Contains(seqs, record.target) ? CountUpTo(seqs, record.target) : 0;
    case ImageStyle::kTornPrefix: {
      size_t count = CountUpTo(seqs, record.target);
      if (!Contains(seqs, record.target)) return count;
      return count - draw(0, site, 2);
    }
    case ImageStyle::kIndependent: {
      // Twentieths of the versions that are lost.
      static constexpr std::array<uint64_t, 3> kLost = {1, 10, 19};
      uint64_t share = Below(Stream::kCrashImage, file_key, "image-share",
                             record.ordinal, kLost.size());
      size_t count = all;
      while (count > 0 && draw(all - count, site, 20) >= 20 - kLost[share]) {
        --count;
      }
      return count;
    }
    case ImageStyle::kPerFile:
      return Below(Stream::kCrashImage, file_key, "image-file", record.ordinal,
                   2) == 0
                 ? all
                 : 0;
    case ImageStyle::kUniform:
      return all - draw(0, site, all + 1);
    case ImageStyle::kRules:
      break;
  }
  SIM_UNREACHABLE();
}

size_t ImageDraws::PickPrefix(const CrashRecord& record,
                              std::span<const uint64_t> seqs) const {
  if (seqs.empty()) return 0;
  size_t all = seqs.size();
  switch (record.style) {
    case ImageStyle::kRules:
      return record.LosesNames() ? 0 : all;
    case ImageStyle::kAllButOne:
      // What comes after the lost operation is lost with it.
      return Contains(seqs, record.target) ? CountUpTo(seqs, record.target - 1)
                                           : all;
    case ImageStyle::kOnlyOne:
      return seqs.front() == record.target ? 1 : 0;
    case ImageStyle::kIndependent:
    case ImageStyle::kPerFile:
    case ImageStyle::kUniform:
      return all - Below(Stream::kCrashImage, record.scope_key, "log-prefix",
                         record.ordinal, all + 1);
    default:
      return PickCell(record, record.scope_key, "log-prefix", 0, seqs);
  }
}

bool ImageDraws::PickEntry(const CrashRecord& record, uint64_t seq,
                           uint64_t index) const {
  if (record.style == ImageStyle::kRules) return !record.LosesNames();
  return PickCell(record, record.scope_key, "entry", index,
                  std::span(&seq, 1)) == 1;
}

size_t ImageWatch::OnCell(const ImageCell& cell, size_t drawn,
                          std::span<const uint64_t> contents) const {
  size_t newest = contents.size() - 1;
  size_t picked = source != nullptr ? source->Pick(cell, newest) : drawn;
  SIM_CHECK(picked <= newest);
  if (tap != nullptr) tap->OnCell(cell, picked, contents);
  return picked;
}

size_t ImagePicker::PickSnapshot(const CrashRecord& record, uint64_t sector,
                                 std::span<const uint64_t> seqs,
                                 std::span<const uint64_t> block_seqs) const {
  uint64_t block =
      sector * static_cast<uint64_t>(UnitBytes(draws_.options_)) / kBlockBytes;
  uint64_t key = FileKey(record);
  uint64_t n = DrawIndex(record.ordinal, 0, block);
  uint64_t all = block_seqs.size();
  uint64_t instant =
      all - draws_.Below(Stream::kCrashImage, key, "page-instant", n, all + 1);
  // Half of the pages show two adjacent instants.
  if (instant > 0 &&
      draws_.Below(Stream::kCrashImage, key, "page-torn", n, 2) == 1) {
    instant -= draws_.Below(Stream::kCrashImage, key, "sector",
                            DrawIndex(record.ordinal, 0, sector), 2);
  }
  return instant == 0 ? 0 : CountUpTo(seqs, block_seqs[instant - 1]);
}

size_t ImagePicker::PickVersion(size_t crash, uint64_t sector,
                                std::span<const uint64_t> seqs,
                                std::span<const uint64_t> block_seqs) {
  const CrashRecord& record = records_[crash];
  if (record.style == ImageStyle::kRules) {
    return record.LosesSector(path_, sector) ? 0 : seqs.size();
  }
  if (draws_.options_.mix == ImageMix::kPageSnapshot &&
      (record.style == ImageStyle::kIndependent ||
       record.style == ImageStyle::kUniform)) {
    return PickSnapshot(record, sector, seqs, block_seqs);
  }
  return draws_.PickCell(record, FileKey(record), "sector", sector, seqs);
}

size_t ImagePicker::PickSize(size_t crash, std::span<const uint64_t> seqs) {
  const CrashRecord& record = records_[crash];
  if (record.style == ImageStyle::kRules) {
    return record.LosesSize(path_) ? 0 : seqs.size();
  }
  return draws_.PickCell(record, FileKey(record), "size", 0, seqs);
}

void ImagePicker::FillSlot(size_t crash, uint64_t slot, char* out) {
  std::memset(out, 0, kSlotBytes);
  if (crash >= records_.size()) return;
  const CrashRecord& record = records_[crash];
  uint64_t key = FileKey(record);
  // A sector is one sector's bytes, however large it is.
  uint64_t sector =
      slot * kSlotBytes / static_cast<uint64_t>(draws_.options_.sector_bytes);
  uint64_t n = DrawIndex(record.ordinal, 0, sector);
  if (draws_.options_.fill == Fill::kStale && record.freed != nullptr) {
    const std::vector<BlockRef>& freed = *record.freed;
    uint64_t pick =
        draws_.Below(Stream::kCrashImage, key, "fill", n, freed.size() + 1);
    if (pick == 0) return;
    const BlockRef& block = freed[freed.size() - pick];
    CopyBytes(block, static_cast<int>(slot % kSlotsPerBlock) * kSlotBytes,
              kSlotBytes, out);
  } else if (draws_.options_.fill == Fill::kGarbage) {
    uint64_t word = draws_.Below(Stream::kCrashImage, key, "fill", n, 1u << 16);
    if (word == 0) return;
    for (int i = 0; i < kSlotBytes; i += 8) {
      uint64_t bytes =
          Mix(Mix(key, slot), word + (static_cast<uint64_t>(i) << 32));
      std::memcpy(out + i, &bytes, sizeof bytes);
    }
  }
}

void ImagePicker::Filled(uint64_t slot, const char* bytes) {
  Damage damage = draws_.options_.fill == Fill::kStale ? Damage::kStaleFill
                                                       : Damage::kGarbageFill;
  uint64_t hash = HashSector(bytes);
  faults_->Add(damage, inode_, path_, static_cast<int64_t>(slot) * kSlotBytes,
               kSlotBytes, std::span(&hash, 1));
}

}  // namespace sim
