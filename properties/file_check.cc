#include "properties/file_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "properties/decoders/bytes.h"
#include "properties/decoders/checksums.h"
#include "properties/decoders/page_decoder.h"

namespace properties {
namespace {

constexpr char kDatabaseDir[] = "base/5";
constexpr uint64_t kRelationSegmentBytes = uint64_t{1} << 30;
constexpr uint32_t kXidsPerClogPage = 32768;
constexpr uint32_t kClogPagesPerFile = 32;
constexpr uint32_t kFirstNormalXid = 3;

bool AllOf(std::string_view text, std::string_view allowed) {
  return text.find_first_not_of(allowed) == std::string_view::npos;
}

constexpr char kHexDigits[] = "0123456789ABCDEF";

// Takes a number off the front; nothing if there is none or it is too large.
std::optional<uint32_t> TakeNumber(std::string_view* text) {
  uint64_t value = 0;
  size_t n = 0;
  while (n < text->size() && (*text)[n] >= '0' && (*text)[n] <= '9') {
    value = value * 10 + static_cast<uint64_t>((*text)[n] - '0');
    if (value > UINT32_MAX) return std::nullopt;
    ++n;
  }
  if (n == 0 || (n > 1 && (*text)[0] == '0')) return std::nullopt;
  text->remove_prefix(n);
  return static_cast<uint32_t>(value);
}

// What any page's header promises, whatever the page is for; empty if nothing
// is wrong. Source: PageIsVerifiedExtended().
std::string HeaderProblem(std::string_view page, uint32_t checksum_block,
                          bool checksums) {
  if (AllZero(page)) return "";
  auto lower = LoadField<uint16_t>(page, 12);
  auto upper = LoadField<uint16_t>(page, 14);
  auto special = LoadField<uint16_t>(page, 16);
  if ((LoadField<uint16_t>(page, 10) & ~7) != 0 || lower > upper ||
      upper > special || special > kPageBytes || special % 8 != 0) {
    return fmt::format("lower {}, upper {}, special {} out of order", lower,
                       upper, special);
  }
  if (!checksums) return "";
  auto stored = LoadField<uint16_t>(page, 8);
  uint16_t computed = ComputePageChecksum(page, checksum_block);
  if (stored == computed) return "";
  return fmt::format(
      "page verification failed, calculated checksum {} but expected {}",
      computed, stored);
}

// The fork's path, without the segment's number.
std::string ForkPath(const RelationFileName& parsed) {
  return fmt::format("{}/{}{}{}", kDatabaseDir, parsed.filenode,
                     parsed.fork.empty() ? "" : "_", parsed.fork);
}

uint32_t ForkNumber(std::string_view fork) {
  static constexpr std::string_view kForks[] = {"", "fsm", "vm", "init"};
  return static_cast<uint32_t>(
      std::find(std::begin(kForks), std::end(kForks), fork) -
      std::begin(kForks));
}

class RelationFileChecker {
 public:
  RelationFileChecker(const ClusterImage& image, const BlockFilter& skip,
                      NewestPage* newest, Problems* problems)
      : image_(image), skip_(skip), newest_(newest), problems_(problems) {}

  void Check(const std::string& name, const RelationFileName& parsed,
             bool heap) {
    std::string path = fmt::format("{}/{}", kDatabaseDir, name);
    const std::string* bytes = image_.files().Read(path);
    if (bytes == nullptr) return;
    if (bytes->size() > kRelationSegmentBytes) {
      problems_->Add("EXT", path,
                     fmt::format("has {} bytes, a segment has at most {}",
                                 bytes->size(), kRelationSegmentBytes));
    }
    CheckPredecessor(path, parsed);
    if (heap && parsed.fork.empty() && parsed.segment == 0) return;
    if (bytes->size() % kPageBytes != 0 && !image_.partial_tails()) {
      problems_->Add("EXT", path,
                     fmt::format("{} bytes are not a whole number of pages",
                                 bytes->size()));
    }
    CheckPages(path, parsed, *bytes);
  }

 private:
  // Segment n exists only behind a full segment n - 1.
  void CheckPredecessor(const std::string& path,
                        const RelationFileName& parsed) {
    if (parsed.segment == 0) return;
    std::string before = ForkPath(parsed);
    if (parsed.segment > 1) before += fmt::format(".{}", parsed.segment - 1);
    const std::string* bytes = image_.files().Read(before);
    if (bytes != nullptr && bytes->size() == kRelationSegmentBytes) return;
    problems_->Add("EXT", path,
                   fmt::format("follows \"{}\", which is {}", before,
                               bytes == nullptr ? "missing" : "not full"));
  }

  void CheckPages(const std::string& path, const RelationFileName& parsed,
                  std::string_view bytes) {
    constexpr uint32_t kBlocksPerSegment = kRelationSegmentBytes / kPageBytes;
    for (uint32_t i = 0; i < bytes.size() / kPageBytes; ++i) {
      uint32_t block = parsed.segment * kBlocksPerSegment + i;
      bool main = parsed.fork.empty();
      if (main && skip_ && skip_(parsed.filenode, block)) continue;
      std::string_view page = bytes.substr(size_t{i} * kPageBytes, kPageBytes);
      std::string why = HeaderProblem(
          page,
          image_.ChecksumBlock(parsed.filenode, ForkNumber(parsed.fork), block),
          image_.checksums());
      if (why.empty()) {
        if (main)
          newest_->See(PageLsn(page), fmt::format("page {}:{}", path, i));
        continue;
      }
      if (image_.Excuses(ForkPath(parsed), block)) continue;
      problems_->Add("REC", fmt::format("page {}:{}", path, i),
                     fmt::format("invalid page in block {} of relation {}: {}",
                                 block, path, why));
    }
  }

  const ClusterImage& image_;
  const BlockFilter& skip_;
  NewestPage* newest_;
  Problems* problems_;
};

// As for a commit log without checksums, status by status.
void CheckNothingBehind(const ClusterImage& image, uint32_t next_xid,
                        Problems* problems) {
  uint32_t end = (next_xid / kXidsPerClogPage + 1) * kXidsPerClogPage;
  for (uint32_t xid = (next_xid / 4 + 1) * 4; xid < end; ++xid) {
    std::optional<ClogStatus> status = image.clog().StatusOf(xid);
    if (status.value_or(ClogStatus::kInProgress) == ClogStatus::kInProgress) {
      continue;
    }
    problems->Add("REC", ClogPath(next_xid),
                  fmt::format("knows how transaction {} ended, the next xid is "
                              "{}",
                              xid, next_xid));
    return;
  }
}

}  // namespace

std::optional<RelationFileName> ParseRelationFileName(std::string_view name) {
  RelationFileName parsed;
  std::optional<uint32_t> number = TakeNumber(&name);
  if (!number || *number == 0) return std::nullopt;
  parsed.filenode = *number;
  for (const char* fork : {"_fsm", "_vm", "_init"}) {
    std::string_view suffix = fork;
    if (name.substr(0, suffix.size()) != suffix) continue;
    parsed.fork = suffix.substr(1);
    name.remove_prefix(suffix.size());
    break;
  }
  if (name.empty()) return parsed;
  if (name[0] != '.') return std::nullopt;
  name.remove_prefix(1);
  number = TakeNumber(&name);
  if (!number || *number == 0 || *number > UINT32_MAX / 131072 ||
      !name.empty()) {
    return std::nullopt;
  }
  parsed.segment = *number;
  return parsed;
}

void CheckRelationFiles(const ClusterImage& image,
                        const std::function<bool(uint32_t)>& is_heap,
                        const BlockFilter& skip, NewestPage* newest,
                        Problems* problems) {
  RelationFileChecker checker(image, skip, newest, problems);
  for (const std::string& name : image.files().List(kDatabaseDir)) {
    std::optional<RelationFileName> parsed = ParseRelationFileName(name);
    if (!parsed) continue;
    checker.Check(name, *parsed, is_heap(parsed->filenode));
  }
}

void CheckOwners(const ClusterImage& image,
                 const std::map<uint32_t, DecodedRelation>& catalog,
                 Problems* problems, std::vector<std::string>* orphans) {
  std::set<uint32_t> present;
  for (const std::string& name : image.files().List(kDatabaseDir)) {
    std::optional<RelationFileName> parsed = ParseRelationFileName(name);
    if (!parsed) continue;
    if (parsed->fork.empty()) present.insert(parsed->filenode);
    if (catalog.count(parsed->filenode) == 0) {
      orphans->push_back(fmt::format("{}/{}", kDatabaseDir, name));
    }
  }
  for (const auto& [filenode, relation] : catalog) {
    constexpr std::string_view kKindsWithFile = "rtmiS";
    if (kKindsWithFile.find(relation.kind) == std::string_view::npos) continue;
    if (present.count(filenode) != 0) continue;
    problems->Add("REDO", fmt::format("relation \"{}\"", relation.name),
                  fmt::format("could not open file \"{}\": No such file or "
                              "directory",
                              HeapPath(filenode)));
  }
}

void CheckClogFiles(const ClusterImage& image, const XidBounds& xids,
                    Problems* problems) {
  const ClusterView& files = image.files();
  for (const std::string& name : files.List("pg_xact")) {
    std::string path = "pg_xact/" + name;
    if (name.size() != 4 || !AllOf(name, kHexDigits)) continue;
    const std::string* bytes = files.Read(path);
    if (bytes == nullptr) continue;
    size_t page_bytes =
        image.format().clog_checksums ? kSealedClogPageBytes : kPageBytes;
    if (bytes->size() % page_bytes != 0 ||
        bytes->size() > kClogPagesPerFile * page_bytes) {
      problems->Add("REC", path,
                    fmt::format("{} bytes are not 1 to {} whole pages",
                                bytes->size(), kClogPagesPerFile));
    }
  }
  if (xids.next <= kFirstNormalXid || xids.oldest < kFirstNormalXid) return;
  // One xid stands for its page. A wrapped-around range is at most 2^31 long.
  uint32_t first = xids.oldest / kXidsPerClogPage;
  uint32_t pages = (xids.next - 1) / kXidsPerClogPage - first;
  constexpr uint32_t kAllPages = UINT32_MAX / kXidsPerClogPage;
  bool hole = false;  // told where it begins
  for (uint32_t i = 0; i <= (pages & kAllPages); ++i) {
    uint32_t xid = ((first + i) & kAllPages) * kXidsPerClogPage;
    bool missing = !image.clog().StatusOf(xid).has_value();
    if (missing && !hole) {
      problems->Add("REC", ClogPath(xid),
                    fmt::format("has no page for transactions {} to {}", xid,
                                xid + kXidsPerClogPage - 1));
    }
    hole = missing;
  }
  // Behind the next xid the page is zero: such an xid has never run.
  if (image.format().clog_checksums) {
    CheckNothingBehind(image, xids.next, problems);
    return;
  }
  const std::string* file = files.Read(ClogPath(xids.next));
  size_t in_page = xids.next % kXidsPerClogPage;
  size_t byte = xids.next % (kXidsPerClogPage * kClogPagesPerFile) / 4;
  if (file == nullptr || byte + 1 >= file->size()) return;
  std::string_view rest = std::string_view(*file).substr(
      byte + 1, (kXidsPerClogPage - in_page - 1) / 4);
  if (!AllZero(rest)) {
    problems->Add("REC", ClogPath(xids.next),
                  fmt::format("knows how transactions behind the next xid {} "
                              "ended",
                              xids.next));
  }
}

void CheckWalFiles(const ClusterImage& image, uint32_t segment_bytes,
                   Problems* problems) {
  constexpr size_t kSegmentNameLength = 24;
  for (const std::string& name : image.files().List("pg_wal")) {
    if (name.size() != kSegmentNameLength || !AllOf(name, kHexDigits)) continue;
    const std::string* bytes = image.files().Read("pg_wal/" + name);
    if (bytes == nullptr || bytes->size() == segment_bytes) continue;
    problems->Add("WAL", "pg_wal/" + name,
                  fmt::format("has {} bytes, a segment has {}", bytes->size(),
                              segment_bytes));
  }
}

}  // namespace properties
