// The inside of one record; wal_decoder.cc finds records in the log.
#include <fmt/format.h>

#include <algorithm>

#include "properties/decoders/bytes.h"
#include "properties/decoders/checksums.h"
#include "properties/decoders/wal_decoder.h"

namespace properties {
namespace {

using env::Code;
using env::Status;

constexpr size_t kRecordHeader = 24;
constexpr size_t kCrcOffset = 20;
constexpr uint8_t kMaxBlockId = 32;
constexpr uint8_t kIdDataShort = 255;
constexpr uint8_t kIdDataLong = 254;
constexpr uint8_t kIdOrigin = 253;
constexpr uint8_t kIdTopXid = 252;
constexpr uint8_t kHasImage = 0x10;
constexpr uint8_t kHasData = 0x20;
constexpr uint8_t kWillInit = 0x40;
constexpr uint8_t kSameRel = 0x80;
constexpr uint8_t kImageHasHole = 0x01;
constexpr uint8_t kImageApply = 0x02;
constexpr uint8_t kImageCompressed = 0x1C;

Status Corrupted(std::string message) {
  return Status(Code::kCorrupted, std::move(message));
}

// Reads header fields one after the other.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  bool Read(T* out) {
    if (bytes_.size() - at_ < sizeof(T)) return false;
    *out = LoadField<T>(bytes_, at_);
    at_ += sizeof(T);
    return true;
  }
  size_t at() const { return at_; }
  void set_at(size_t at) { at_ = at; }

 private:
  std::string_view bytes_;
  size_t at_ = kRecordHeader;
};

// What the headers promise about the payload behind them.
struct Promised {
  size_t payload = 0;
  size_t main = 0;
  std::vector<size_t> image_lengths;
  std::vector<size_t> data_lengths;
};

Status ReadImageHeader(HeaderReader* in, WalBlockRef* block, size_t* length) {
  uint16_t stored = 0;
  if (!in->Read(&stored) || !in->Read(&block->hole_offset) ||
      !in->Read(&block->image_info)) {
    return Corrupted("an image header is cut off");
  }
  *length = stored;
  block->apply_image = (block->image_info & kImageApply) != 0;
  bool hole = (block->image_info & kImageHasHole) != 0;
  if ((block->image_info & kImageCompressed) == 0) {
    if (stored > kPageBytes) return Corrupted("an image longer than a page");
    block->hole_length = static_cast<uint16_t>(kPageBytes - stored);
  } else if (hole && !in->Read(&block->hole_length)) {
    return Corrupted("an image header is cut off");
  }
  if (hole != (block->hole_length != 0) || (hole && block->hole_offset == 0) ||
      (!hole && block->hole_offset != 0) ||
      block->hole_offset + block->hole_length > static_cast<int>(kPageBytes)) {
    return Corrupted(fmt::format("image hole {}+{} and length {} do not fit",
                                 block->hole_offset, block->hole_length,
                                 stored));
  }
  return {};
}

Status ReadBlockHeader(HeaderReader* in, uint8_t id, WalRecord* record,
                       Promised* promised) {
  if (!record->blocks.empty() && id <= record->blocks.back().id) {
    return Corrupted(fmt::format("block {} out of order", id));
  }
  WalBlockRef block;
  block.id = id;
  uint8_t flags = 0;
  uint16_t data_length = 0;
  if (!in->Read(&flags) || !in->Read(&data_length)) {
    return Corrupted("a block header is cut off");
  }
  block.fork = flags & 0x0F;
  block.will_init = (flags & kWillInit) != 0;
  block.has_image = (flags & kHasImage) != 0;
  if (((flags & kHasData) != 0) != (data_length != 0)) {
    return Corrupted(fmt::format("block {}: data flag and length {} disagree",
                                 id, data_length));
  }
  size_t image_length = 0;
  if (block.has_image)
    RETURN_IF_ERROR(ReadImageHeader(in, &block, &image_length));
  if ((flags & kSameRel) == 0) {
    if (!in->Read(&block.spc_node) || !in->Read(&block.db_node) ||
        !in->Read(&block.rel_node)) {
      return Corrupted("a block's relation is cut off");
    }
  } else {
    if (record->blocks.empty()) {
      return Corrupted("the first block refers to a previous relation");
    }
    const WalBlockRef& last = record->blocks.back();
    block.spc_node = last.spc_node;
    block.db_node = last.db_node;
    block.rel_node = last.rel_node;
  }
  if (!in->Read(&block.block)) return Corrupted("a block number is cut off");
  promised->payload += image_length + data_length;
  promised->image_lengths.push_back(image_length);
  promised->data_lengths.push_back(data_length);
  record->blocks.push_back(block);
  return {};
}

// Reads all headers; stops where what is left is exactly the payload.
Status ReadHeaders(std::string_view bytes, HeaderReader* in, WalRecord* record,
                   Promised* promised) {
  while (bytes.size() - in->at() > promised->payload) {
    uint8_t id = 0;
    in->Read(&id);
    if (id == kIdDataShort || id == kIdDataLong) {
      uint8_t short_length = 0;
      uint32_t long_length = 0;
      bool ok =
          id == kIdDataShort ? in->Read(&short_length) : in->Read(&long_length);
      if (!ok) return Corrupted("the data header is cut off");
      promised->main = id == kIdDataShort ? short_length : long_length;
      promised->payload += promised->main;
      break;  // by convention the last header
    }
    if (id == kIdOrigin) {
      uint16_t origin = 0;
      if (!in->Read(&origin)) return Corrupted("the origin is cut off");
    } else if (id == kIdTopXid) {
      uint32_t top_xid = 0;
      if (!in->Read(&top_xid)) return Corrupted("the top xid is cut off");
    } else if (id <= kMaxBlockId) {
      RETURN_IF_ERROR(ReadBlockHeader(in, id, record, promised));
    } else {
      return Corrupted(fmt::format("unknown header id {}", id));
    }
  }
  if (bytes.size() - in->at() != promised->payload) {
    return Corrupted(fmt::format("headers promise {} bytes, {} follow",
                                 promised->payload, bytes.size() - in->at()));
  }
  return {};
}

}  // namespace

env::Result<WalRecord> DecodeWalRecord(std::string_view bytes) {
  if (bytes.size() < kRecordHeader) return Corrupted("no record header");
  WalRecord r;
  r.bytes = bytes;
  r.total_length = LoadField<uint32_t>(bytes, 0);
  if (r.total_length != bytes.size()) {
    return Corrupted(fmt::format("length {} in a record of {} bytes",
                                 r.total_length, bytes.size()));
  }
  r.xid = LoadField<uint32_t>(bytes, 4);
  r.prev = LoadField<uint64_t>(bytes, 8);
  r.info = LoadField<uint8_t>(bytes, 16);
  r.rmid = LoadField<uint8_t>(bytes, 17);
  HeaderReader in(bytes);
  Promised promised;
  RETURN_IF_ERROR(ReadHeaders(bytes, &in, &r, &promised));
  size_t at = in.at();
  for (size_t i = 0; i < r.blocks.size(); ++i) {
    r.blocks[i].image = bytes.substr(at, promised.image_lengths[i]);
    at += promised.image_lengths[i];
    r.blocks[i].data = bytes.substr(at, promised.data_lengths[i]);
    at += promised.data_lengths[i];
  }
  r.main_data = bytes.substr(at, promised.main);
  return r;
}

bool WalRecordCrcMatches(std::string_view bytes) {
  if (bytes.size() < kRecordHeader) return false;
  uint32_t crc = CrcAppend(kCrcStart, bytes.substr(kRecordHeader));
  crc = CrcAppend(crc, bytes.substr(0, kCrcOffset));
  return ~crc == LoadField<uint32_t>(bytes, kCrcOffset);
}

namespace {

// The array of counted elements at the front of *data, dropped from it. False
// if it is cut off.
bool TakeArray(std::string_view* data, size_t element_bytes,
               std::string_view* out) {
  if (data->size() < 4) return false;
  size_t count = LoadField<uint32_t>(*data, 0);
  data->remove_prefix(4);
  if (data->size() / element_bytes < count) return false;
  *out = data->substr(0, count * element_bytes);
  data->remove_prefix(count * element_bytes);
  return true;
}

}  // namespace

std::optional<WalXactEnd> DecodeXactEnd(const WalRecord& record) {
  constexpr uint8_t kOpMask = 0x70;
  constexpr uint8_t kCommit = 0x00;
  constexpr uint8_t kAbort = 0x20;
  constexpr uint8_t kHasInfo = 0x80;
  constexpr uint32_t kHasDbInfo = 1;
  constexpr uint32_t kHasSubxacts = 2;
  constexpr uint32_t kHasRelFileNodes = 4;
  constexpr size_t kDbInfoBytes = 8;
  constexpr size_t kRelFileNodeBytes = 12;
  if (record.rmid != kRmXact) return std::nullopt;
  uint8_t op = record.info & kOpMask;
  if (op != kCommit && op != kAbort) return std::nullopt;
  WalXactEnd end;
  end.commit = op == kCommit;
  end.xid = record.xid;
  std::string_view data = record.main_data;
  if ((record.info & kHasInfo) == 0 || data.size() < 12) return end;
  uint32_t xinfo = LoadField<uint32_t>(data, 8);
  data.remove_prefix(12);
  if ((xinfo & kHasDbInfo) != 0) {
    data.remove_prefix(std::min(kDbInfoBytes, data.size()));
  }
  std::string_view array;
  if ((xinfo & kHasSubxacts) != 0) {
    if (!TakeArray(&data, 4, &array)) return end;
    for (size_t at = 0; at < array.size(); at += 4) {
      end.subxids.push_back(LoadField<uint32_t>(array, at));
    }
  }
  if ((xinfo & kHasRelFileNodes) != 0) {
    if (!TakeArray(&data, kRelFileNodeBytes, &array)) return end;
    for (size_t at = 0; at < array.size(); at += kRelFileNodeBytes) {
      end.dropped_rels.push_back(LoadField<uint32_t>(array, at + 8));
    }
  }
  return end;
}

}  // namespace properties
