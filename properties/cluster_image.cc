#include "properties/cluster_image.h"

#include <fmt/format.h>

#include <utility>

#include "properties/decoders/bytes.h"
#include "properties/decoders/checksums.h"
#include "properties/decoders/page_decoder.h"
#include "sim/env/check.h"

namespace properties {
namespace {

constexpr uint32_t kDefaultTablespace = 1663;
constexpr uint32_t kDatabase = 5;

env::Result<ControlFile> ReadControl(const ClusterView& files) {
  const std::string* bytes = files.Read(kControlFilePath);
  if (bytes == nullptr) {
    return env::Status(env::Code::kNotFound, "there is no global/pg_control");
  }
  return DecodeControlFile(*bytes);
}

// What a reader of the page would object to; empty: nothing.
std::string DamageOf(const env::Result<DecodedPage>& decoded,
                     std::string_view page, uint32_t block, bool checksums) {
  if (!decoded.ok()) return std::string(decoded.status().message());
  if (decoded->is_new || !checksums) return "";
  uint16_t computed = ComputePageChecksum(page, block);
  if (decoded->checksum == computed) return "";
  return fmt::format(
      "page verification failed, calculated checksum {} but expected {}",
      computed, decoded->checksum);
}

void ReadTuples(std::string_view page, const DecodedPage& decoded,
                uint32_t filenode, uint32_t block, HeapFile* heap) {
  auto subject = [&] {
    return fmt::format("page {}:{}", HeapPath(filenode), block);
  };
  if (decoded.lsn >= heap->newest_lsn) {
    heap->newest_lsn = decoded.lsn;
    heap->newest_page = subject();
  }
  for (size_t n = 1; n <= decoded.items.size(); ++n) {
    if (decoded.items[n - 1].kind != LinePointerKind::kNormal) continue;
    std::string_view bytes = PageItem(page, decoded, n);
    env::Result<TupleHeader> header = DecodeTupleHeader(bytes);
    if (!header.ok()) {
      heap->findings.push_back(
          {subject(), fmt::format("tuple {}: {}", n, header.status().message()),
           block});
      continue;
    }
    heap->tuples.push_back({static_cast<uint64_t>(block) << 16 | n, *header,
                            bytes.substr(kTupleBodyOffset)});
  }
}

}  // namespace

const std::string* DiskView::Read(std::string_view path) const {
  auto it = files_.find(path);
  if (it == files_.end()) {
    auto content = std::make_unique<std::string>();
    if (!disk_.PeekFile(path, content.get())) content.reset();
    it = files_.emplace(std::string(path), std::move(content)).first;
  }
  return it->second.get();
}

std::string HeapPath(uint32_t filenode) {
  return fmt::format("base/5/{}", filenode);
}

ClusterImage::ClusterImage(const ClusterView* files, bool checksums,
                           PageExcuse excuse)
    : ClusterImage(files, ClusterFormat{checksums, false, false},
                   std::move(excuse)) {}

ClusterImage::ClusterImage(const ClusterView* files,
                           const ClusterFormat& format, PageExcuse excuse)
    : files_(files),
      format_(format),
      excuse_(std::move(excuse)),
      clog_(files, format.clog_checksums),
      control_(ReadControl(*files)) {}

WalLayout ClusterImage::wal_layout() const {
  SIM_CHECK(control_.ok());
  WalLayout layout;
  layout.segment_bytes = control_->wal_segment_bytes;
  layout.system_identifier = control_->system_identifier;
  layout.timeline = control_->checkpoint_copy.timeline;
  return layout;
}

uint32_t ClusterImage::ChecksumBlock(uint32_t filenode, uint32_t fork,
                                     uint32_t block) const {
  if (!format_.checksum_relation) return block;
  return block ^
         RelationChecksumSalt(kDefaultTablespace, kDatabase, filenode, fork);
}

const HeapFile& ClusterImage::Heap(uint32_t filenode) const {
  auto [it, is_new] = heaps_.try_emplace(filenode);
  HeapFile& heap = it->second;
  if (!is_new) return heap;
  const std::string* bytes = files_->Read(HeapPath(filenode));
  if (bytes == nullptr) return heap;
  heap.exists = true;
  heap.blocks = static_cast<uint32_t>(bytes->size() / kPageBytes);
  if (bytes->size() % kPageBytes != 0 && !partial_tails_) {
    heap.findings.push_back(
        {HeapPath(filenode),
         fmt::format("{} bytes are not a whole number of pages",
                     bytes->size())});
  }
  for (uint32_t block = 0; block < heap.blocks; ++block) {
    std::string_view page =
        std::string_view(*bytes).substr(block * kPageBytes, kPageBytes);
    env::Result<DecodedPage> decoded = DecodePage(page);
    std::string damage =
        DamageOf(decoded, page, ChecksumBlock(filenode, /*fork=*/0, block),
                 format_.checksums);
    if (!damage.empty()) {
      if (Excuses(HeapPath(filenode), block)) {
        heap.excused.push_back(block);
        continue;
      }
      heap.findings.push_back(
          {fmt::format("page {}:{}", HeapPath(filenode), block),
           fmt::format("invalid page in block {} of relation {}: {}", block,
                       HeapPath(filenode), damage),
           block});
    }
    if (!decoded.ok() || decoded->is_new) continue;
    ReadTuples(page, *decoded, filenode, block, &heap);
  }
  return heap;
}

}  // namespace properties
