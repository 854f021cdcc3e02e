#include "engine/wal/xloginsert.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "engine/common/checksum.h"
#include "engine/common/sites.h"
#include "engine/wal/fpi_compression.h"
#include "engine/wal/rmgr.h"
#include "engine/wal/xlog.h"
#include "engine/wal/xlog_ctl.h"
#include "engine/wal/xlog_redo.h"
#include "engine/wal/xlogreader.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xlogrecord.h"
#include "engine/wal/xlogreserve.h"

namespace engine {
namespace {

constexpr int kNoChunk = -1;
// Of LogFillSegment: how much of a segment it fills with short records.
constexpr uint32_t kShortRecordBytes = 64 << 10;
constexpr size_t kMaxBlocks = XLR_MAX_BLOCK_ID + 1;
constexpr size_t kMaxHeaderBytes =
    kSizeOfXLogRecord + kSizeOfXLogRecordDataHeaderLong +
    kMaxBlocks *
        (kSizeOfXLogRecordBlockHeader + kSizeOfXLogRecordBlockImageHeader +
         kSizeOfXLogRecordBlockCompressHeader + sizeof(RelFileNode) +
         sizeof(BlockNumber));

// Registered bytes of one owner (a block, or the main data) in the order of
// registration: a list of stretches of the workspace's data.
struct ChunkList {
  int first = kNoChunk;
  int last = kNoChunk;
  uint32_t length = 0;
};

struct Chunk {
  uint32_t offset;
  uint32_t length;
  int next;
};

struct RegisteredBlock {
  bool in_use = false;
  uint8_t flags = 0;
  BufferTag tag;
  const char* page = nullptr;
  ChunkList data;
  // Set by assembly.
  bool include_image = false;
  bool include_data = false;
  PageHole hole;
  // Where the compressed image is in the workspace; length 0: not compressed.
  size_t compressed_offset = 0;
  uint16_t compressed_length = 0;

  bool compressed() const { return compressed_length > 0; }
  // Length of the image as it is logged.
  uint16_t image_length() const {
    return compressed() ? compressed_length
                        : static_cast<uint16_t>(BLCKSZ - hole.length);
  }
};

// Space that grows and keeps what it has; not initialised.
class Scratch {
 public:
  char* Reserve(size_t size_bytes) {
    if (size_bytes > capacity_) {
      size_t capacity = std::max(size_bytes, 2 * capacity_ + 512);
      std::unique_ptr<char[]> bytes(new char[capacity]);
      if (capacity_ > 0) std::memcpy(bytes.get(), bytes_.get(), capacity_);
      bytes_ = std::move(bytes);
      capacity_ = capacity;
    }
    return bytes_.get();
  }
  char* get() { return bytes_.get(); }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t capacity_ = 0;
};

class Writer {
 public:
  explicit Writer(char* at) : at_(at) {}
  template <typename T>
  void Put(T value) {
    std::memcpy(at_, &value, sizeof(T));
    at_ += sizeof(T);
  }
  void PutBytes(const char* bytes, size_t size_bytes) {
    if (size_bytes > 0) std::memcpy(at_, bytes, size_bytes);
    at_ += size_bytes;
  }
  char* at() const { return at_; }

 private:
  char* at_;
};

// The unused middle of a standard page need not be logged.
void FindHole(RegisteredBlock* block) {
  block->hole = {};
  if ((block->flags & REGBUF_STANDARD) == 0) return;
  const PageHeaderData* header = PageHeader(block->page);
  uint16_t lower = header->pd_lower;
  uint16_t upper = header->pd_upper;
  if (lower < kSizeOfPageHeaderData || upper <= lower || upper > BLCKSZ) return;
  block->hole = {lower, static_cast<uint16_t>(upper - lower)};
}

// Bytes of data with which a short record at `here` ends where one of 32 bytes
// can begin at the start of every sector.
size_t ShortLength(XLogRecPtr here, uint32_t segsize) {
  constexpr size_t kRecord = 32;
  XLogRecPtr start = here;
  if (start % XLOG_BLCKSZ == 0) start += XLogPageHeaderSizeAt(start, segsize);
  size_t gap = (kRecord - start % kRecord) % kRecord;
  return kRecord + gap - kSizeOfXLogRecord - kSizeOfXLogRecordDataHeaderShort;
}

}  // namespace

// A record in the making; reused from record to record.
struct XLogInsertion::Impl : public LayerState {
  Backend* be = nullptr;
  int max_block_id = -1;
  std::array<RegisteredBlock, kMaxBlocks> blocks;
  ChunkList main_data;
  std::vector<Chunk> chunks;
  Scratch data;
  uint32_t data_length = 0;
  Scratch compressed;  // images of this assembly
  size_t compressed_size = 0;
  Scratch record;
  char* payload = nullptr;  // in record, behind the headers
  uint8_t record_flags = 0;
  bool inserted = false;

  void Reset(Backend& backend);
  void Append(ChunkList* list, const void* bytes, size_t size_bytes);
  RegisteredBlock& NewBlock(uint8_t block_id, uint8_t flags);

  // Decides on images and data; returns the oldest LSN of a page that goes
  // without image because it is newer than the redo pointer, or 0.
  XLogRecPtr ChooseImages();
  void Compress(RegisteredBlock* block);
  size_t PayloadBytes() const;
  void PutImageHeader(Writer* out, const RegisteredBlock& block) const;
  char* PutHeaders(char* at) const;
  char* PutPayload(char* at) const;
  void PutImage(Writer* out, const RegisteredBlock& block);
  void PutChunks(Writer* out, const ChunkList& list);
  std::span<char> Assemble(RmgrId rmid, uint8_t info, XLogRecPtr* fpw_lsn);
  std::span<char> AssembleHint(uint8_t info, XLogRecPtr* fpw_lsn);
  void CopyPagesAgain();
};

void XLogInsertion::Impl::Reset(Backend& backend) {
  be = &backend;
  for (int i = 0; i <= max_block_id; ++i) blocks[static_cast<size_t>(i)] = {};
  max_block_id = -1;
  main_data = {};
  chunks.clear();
  data_length = 0;
  record_flags = 0;
  inserted = false;
}

void XLogInsertion::Impl::Append(ChunkList* list, const void* bytes,
                                 size_t size_bytes) {
  if (size_bytes == 0) return;
  char* at = data.Reserve(data_length + size_bytes) + data_length;
  std::memcpy(at, bytes, size_bytes);
  auto length = static_cast<uint32_t>(size_bytes);
  auto index = static_cast<int>(chunks.size());
  chunks.push_back({data_length, length, kNoChunk});
  if (list->last == kNoChunk) {
    list->first = index;
  } else {
    chunks[static_cast<size_t>(list->last)].next = index;
  }
  list->last = index;
  list->length += length;
  data_length += length;
}

RegisteredBlock& XLogInsertion::Impl::NewBlock(uint8_t block_id,
                                               uint8_t flags) {
  SIM_CHECK(block_id <= XLR_MAX_BLOCK_ID);
  // An image cannot be both forced and forbidden.
  SIM_CHECK((flags & REGBUF_FORCE_IMAGE) == 0 ||
            (flags & REGBUF_NO_IMAGE) == 0);
  RegisteredBlock& block = blocks[block_id];
  SIM_CHECK(!block.in_use);
  block.in_use = true;
  block.flags = flags;
  max_block_id = std::max<int>(max_block_id, block_id);
  return block;
}

XLogRecPtr XLogInsertion::Impl::ChooseImages() {
  const XLogLocalData& local = XLogLocal(*be);
  XLogRecPtr fpw_lsn = 0;
  compressed_size = 0;
  for (int i = 0; i <= max_block_id; ++i) {
    RegisteredBlock& block = blocks[static_cast<size_t>(i)];
    if (!block.in_use) continue;
    bool image = false;
    if ((block.flags & REGBUF_FORCE_IMAGE) != 0) {
      image = true;
    } else if ((block.flags & REGBUF_NO_IMAGE) == 0 && local.doPageWrites) {
      XLogRecPtr page_lsn = PageGetLSN(block.page);
      image = page_lsn <= local.RedoRecPtr;
      if (!image && (fpw_lsn == 0 || page_lsn < fpw_lsn)) fpw_lsn = page_lsn;
    }
    block.include_image = image;
    block.include_data = block.data.length > 0 &&
                         (!image || (block.flags & REGBUF_KEEP_DATA) != 0);
    if (!image) continue;
    FindHole(&block);
    Compress(&block);
  }
  return fpw_lsn;
}

void XLogInsertion::Impl::Compress(RegisteredBlock* block) {
  block->compressed_length = 0;
  WalCompression method = be->config().wal_compression;
  if (method == WalCompression::kOff) return;
  char* out = compressed.Reserve(compressed_size + kMaxCompressedImageBytes) +
              compressed_size;
  std::optional<uint16_t> length = CompressImage(
      method, block->page, block->hole,
      std::span<char, kMaxCompressedImageBytes>(out, kMaxCompressedImageBytes));
  if (!length.has_value()) return;
  block->compressed_offset = compressed_size;
  block->compressed_length = *length;
  compressed_size += *length;
}

size_t XLogInsertion::Impl::PayloadBytes() const {
  size_t size = main_data.length;
  for (int i = 0; i <= max_block_id; ++i) {
    const RegisteredBlock& block = blocks[static_cast<size_t>(i)];
    if (!block.in_use) continue;
    if (block.include_image) size += block.image_length();
    if (block.include_data) size += block.data.length;
  }
  return size;
}

void XLogInsertion::Impl::PutImageHeader(Writer* out,
                                         const RegisteredBlock& block) const {
  bool has_hole = block.hole.length > 0;
  uint8_t bimg_info = BKPIMAGE_APPLY;
  if (has_hole) bimg_info |= BKPIMAGE_HAS_HOLE;
  if (block.compressed()) {
    bimg_info |= CompressionBit(be->config().wal_compression);
  }
  out->Put(block.image_length());
  out->Put(block.hole.offset);
  out->Put(bimg_info);
  if (has_hole && block.compressed()) out->Put(block.hole.length);
}

char* XLogInsertion::Impl::PutHeaders(char* at) const {
  Writer out(at);
  const RelFileNode* last_rel = nullptr;
  for (int i = 0; i <= max_block_id; ++i) {
    const RegisteredBlock& block = blocks[static_cast<size_t>(i)];
    if (!block.in_use) continue;
    auto fork_flags = static_cast<uint8_t>(block.tag.forkNum);
    if ((block.flags & REGBUF_WILL_INIT) == REGBUF_WILL_INIT) {
      fork_flags |= BKPBLOCK_WILL_INIT;
    }
    if (block.include_image) fork_flags |= BKPBLOCK_HAS_IMAGE;
    if (block.include_data) fork_flags |= BKPBLOCK_HAS_DATA;
    bool same_rel = last_rel != nullptr && *last_rel == block.tag.rnode;
    if (same_rel) fork_flags |= BKPBLOCK_SAME_REL;
    last_rel = &block.tag.rnode;
    out.Put(static_cast<uint8_t>(i));
    out.Put(fork_flags);
    out.Put(static_cast<uint16_t>(block.include_data ? block.data.length : 0));
    if (block.include_image) PutImageHeader(&out, block);
    if (!same_rel) out.Put(block.tag.rnode);
    out.Put(block.tag.blockNum);
  }
  if (main_data.length > 255) {
    out.Put(XLR_BLOCK_ID_DATA_LONG);
    out.Put(main_data.length);
  } else if (main_data.length > 0) {
    out.Put(XLR_BLOCK_ID_DATA_SHORT);
    out.Put(static_cast<uint8_t>(main_data.length));
  }
  return out.at();
}

char* XLogInsertion::Impl::PutPayload(char* at) const {
  auto* self = const_cast<Impl*>(this);
  Writer out(at);
  for (int i = 0; i <= max_block_id; ++i) {
    const RegisteredBlock& block = blocks[static_cast<size_t>(i)];
    if (!block.in_use) continue;
    if (block.include_image) {
      self->PutImage(&out, block);
    }
    if (block.include_data) self->PutChunks(&out, block.data);
  }
  self->PutChunks(&out, main_data);
  return out.at();
}

void XLogInsertion::Impl::PutImage(Writer* out, const RegisteredBlock& block) {
  if (block.compressed()) {
    out->PutBytes(compressed.get() + block.compressed_offset,
                  block.compressed_length);
    return;
  }
  size_t hole_end = size_t{block.hole.offset} + block.hole.length;
  out->PutBytes(block.page, block.hole.offset);
  out->PutBytes(block.page + hole_end, BLCKSZ - hole_end);
}

void XLogInsertion::Impl::PutChunks(Writer* out, const ChunkList& list) {
  for (int i = list.first; i != kNoChunk;) {
    const Chunk& chunk = chunks[static_cast<size_t>(i)];
    out->PutBytes(data.get() + chunk.offset, chunk.length);
    i = chunk.next;
  }
}

// Builds the record's bytes; xl_prev and the CRC of the header are still
// missing. Suspends: no, so that no page changes while it is copied.
std::span<char> XLogInsertion::Impl::Assemble(RmgrId rmid, uint8_t info,
                                              XLogRecPtr* fpw_lsn) {
  *fpw_lsn = ChooseImages();
  char* begin = record.Reserve(kMaxHeaderBytes + PayloadBytes());
  payload = PutHeaders(begin + kSizeOfXLogRecord);
  char* end = PutPayload(payload);
  auto total_length = static_cast<size_t>(end - begin);
  XLogRecord header;
  header.xl_tot_len = static_cast<uint32_t>(total_length);
  header.xl_xid = XLogLocal(*be).xid;
  header.xl_info = info;
  header.xl_rmid = rmid;
  header.xl_crc = Crc32cComp(kCrc32cInit, begin + kSizeOfXLogRecord,
                             total_length - kSizeOfXLogRecord);
  std::memcpy(begin, &header, sizeof(header));
  return {begin, total_length};
}

std::span<char> XLogInsertion::Impl::AssembleHint(uint8_t info,
                                                  XLogRecPtr* fpw_lsn) {
  env::UnlockedAccess unlocked(
      "under a share lock: others may set hint bits and with them the LSN, "
      "which redo sets anew");
  return Assemble(RM_XLOG_ID, info, fpw_lsn);
}

// What hint images did before they were copied first: the page is read once
// for the CRC and once more for the log, and others may set hints in between.
void XLogInsertion::Impl::CopyPagesAgain() {
  YIELD_POINT(hint_image_copy);
  if (compressed_size == 0) PutPayload(payload);
}

XLogInsertion::XLogInsertion(Backend& be) {
  auto& idle = XLogLocal(be).insertion_workspaces;
  if (idle.empty()) {
    impl_ = std::make_unique<Impl>();
  } else {
    impl_.reset(static_cast<Impl*>(idle.back().release()));
    idle.pop_back();
  }
  impl_->Reset(be);
}

XLogInsertion::~XLogInsertion() {
  XLogLocal(*impl_->be).insertion_workspaces.push_back(std::move(impl_));
}

void XLogInsertion::RegisterData(const void* data, size_t size_bytes) {
  impl_->Append(&impl_->main_data, data, size_bytes);
}

void XLogInsertion::RegisterBuffer(uint8_t block_id, Buffer buffer,
                                   uint8_t flags) {
  RegisteredBlock& block = impl_->NewBlock(block_id, flags);
  block.tag = BufferGetTag(*impl_->be, buffer);
  block.page = BufferGetPage(*impl_->be, buffer);
}

void XLogInsertion::RegisterBlock(uint8_t block_id, const BufferTag& tag,
                                  const char* page, uint8_t flags) {
  RegisteredBlock& block = impl_->NewBlock(block_id, flags);
  block.tag = tag;
  block.page = page;
}

void XLogInsertion::RegisterBufData(uint8_t block_id, const void* data,
                                    size_t size_bytes) {
  SIM_CHECK(block_id <= XLR_MAX_BLOCK_ID);
  RegisteredBlock& block = impl_->blocks[block_id];
  SIM_CHECK(block.in_use);
  SIM_CHECK(block.data.length + size_bytes <= UINT16_MAX);
  impl_->Append(&block.data, data, size_bytes);
}

void XLogInsertion::SetRecordFlags(uint8_t flags) {
  impl_->record_flags = flags;
}

XLogRecPtr XLogInsertion::Insert(RmgrId rmid, uint8_t info) {
  SIM_CHECK(!impl_->inserted);
  SIM_CHECK((info & XLR_INFO_MASK & ~XLR_SPECIAL_REL_UPDATE) == 0);
  impl_->inserted = true;
  Backend& be = *impl_->be;
  for (;;) {
    XLogRecPtr fpw_lsn = 0;
    bool is_hint = rmid == RM_XLOG_ID && info == XLOG_FPI_FOR_HINT;
    std::span<char> record = is_hint ? impl_->AssembleHint(info, &fpw_lsn)
                                     : impl_->Assemble(rmid, info, &fpw_lsn);
    if (is_hint && PLANTED(hint_image_from_live_page)) impl_->CopyPagesAgain();
    XLogRecPtr end = XLogInsertRecord(be, record, fpw_lsn, impl_->record_flags);
    if (end != kInvalidXLogRecPtr) return end;
  }
}

bool XLogCheckBufferNeedsBackup(Backend& be, Buffer buffer) {
  const XLogLocalData& local = XLogLocal(be);
  return local.doPageWrites &&
         PageGetLSN(BufferGetPage(be, buffer)) <= local.RedoRecPtr;
}

XLogRecPtr LogNewPageBuffer(Backend& be, Buffer buffer, bool page_std) {
  XLogInsertion record(be);
  auto flags = static_cast<uint8_t>(REGBUF_FORCE_IMAGE |
                                    (page_std ? REGBUF_STANDARD : 0));
  record.RegisterBuffer(0, buffer, flags);
  XLogRecPtr lsn = record.Insert(RM_XLOG_ID, XLOG_FPI);
  char* page = BufferGetPage(be, buffer);
  // A page that is all zeros stays "new": it may not get an LSN.
  if (!PageIsNew(page)) PageSetLSN(page, lsn);
  return lsn;
}

void LogFillSegment(Backend& be, uint32_t room_bytes) {
  constexpr size_t kLong = 4000;
  uint32_t segsize = be.config().wal_segment_size;
  SIM_CHECK(room_bytes < segsize / 2);
  XLogRecPtr here = GetXLogInsertRecPtr(be);
  XLogRecPtr segment = here - here % segsize + segsize;
  std::string body(kLong, 'n');
  while (here + room_bytes < segment + segsize) {
    size_t length = kLong;
    bool in_first_half = here >= segment && here < segment + segsize / 2 &&
                         here < segment + kShortRecordBytes;
    if (in_first_half || segment + segsize - here < room_bytes + 2 * kLong) {
      length = ShortLength(here, segsize);
    }
    XLogInsertion record(be);
    record.RegisterData(body.data(), length);
    here = record.Insert(RM_XLOG_ID, XLOG_NOOP);
  }
}

XLogRecPtr LogHintImage(Backend& be, Buffer buffer, bool page_std) {
  XLogInsertion record(be);
  record.RegisterBuffer(0, buffer, page_std ? REGBUF_STANDARD : uint8_t{0});
  return record.Insert(RM_XLOG_ID, XLOG_FPI_FOR_HINT);
}

}  // namespace engine
