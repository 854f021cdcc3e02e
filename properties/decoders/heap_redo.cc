#include "properties/decoders/heap_redo.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "properties/decoders/bytes.h"
#include "properties/decoders/wal_image.h"

namespace properties {
namespace {

using env::Code;
using env::Result;
using env::Status;

constexpr uint8_t kOpMask = 0x70;
constexpr uint8_t kOpInsert = 0x00;
constexpr uint8_t kOpDelete = 0x10;
constexpr uint8_t kOpUpdate = 0x20;
constexpr uint8_t kOpHotUpdate = 0x40;
constexpr uint8_t kOpLock = 0x60;
constexpr uint8_t kOpInplace = 0x70;
constexpr uint8_t kInitPage = 0x80;
constexpr uint8_t kInfoFpiForHint = 0xA0;
constexpr uint8_t kInfoFpi = 0xB0;

// Sizes and fields of the records' main data.
constexpr size_t kInsertBytes = 3;   // offnum 0, flags 2
constexpr size_t kDeleteBytes = 8;   // xmax 0, offnum 4, infobits 6, flags 7
constexpr size_t kUpdateBytes = 14;  // as delete, then xmax 8, offnum 12
constexpr size_t kLockBytes = 8;     // as delete
constexpr size_t kInplaceBytes = 2;  // offnum 0
constexpr size_t kShortHeader = 5;   // infomask2 0, infomask 2, hoff 4
constexpr size_t kInsertFlagsAt = 2;
constexpr size_t kFlagsAt = 7;
constexpr uint8_t kAllVisibleCleared = 1 << 0;
constexpr uint8_t kNewAllVisibleCleared = 1 << 1;
constexpr uint8_t kPrefixFromOld = 1 << 5;
constexpr uint8_t kSuffixFromOld = 1 << 6;

// Fields of a page and of a tuple on it.
constexpr size_t kFlagsOfPageAt = 10;
constexpr size_t kLowerAt = 12;
constexpr size_t kUpperAt = 14;
constexpr size_t kSpecialAt = 16;
constexpr size_t kPruneXidAt = 20;
constexpr size_t kPageHeaderBytes = 24;
constexpr uint16_t kPageAllVisible = 0x0004;
constexpr size_t kXminAt = 0;
constexpr size_t kXmaxAt = 4;
constexpr size_t kCidAt = 8;
constexpr size_t kCtidAt = 12;
constexpr size_t kInfomask2At = 18;
constexpr size_t kInfomaskAt = 20;
constexpr size_t kHoffAt = 22;
constexpr size_t kTupleBytes = 23;
constexpr uint32_t kNormalPointer = 1u << 15;

// t_infomask: all bits about xmax; t_infomask2.
constexpr uint16_t kComboCid = 0x0020;
constexpr uint16_t kXmaxBits =
    0x0010 | 0x0040 | 0x0080 | 0x0400 | 0x0800 | 0x1000 | 0xC000;
constexpr uint16_t kExclLock = 0x0040;
constexpr uint16_t kLockOnly = 0x0080;
constexpr uint16_t kIsMulti = 0x1000;
constexpr uint16_t kLockMask = 0x0050;
constexpr uint16_t kKeysUpdated = 0x2000;
constexpr uint16_t kHotUpdated = 0x4000;

Status Corrupted(std::string message) {
  return Status(Code::kCorrupted, std::move(message));
}

template <typename T>
void Store(std::string* page, size_t at, T value) {
  std::memcpy(page->data() + at, &value, sizeof value);
}

// A tuple on a page, by field.
class Tuple {
 public:
  Tuple(std::string* page, size_t at, size_t length)
      : page_(page), at_(at), length_(length) {}
  template <typename T>
  T Get(size_t field) const {
    return LoadField<T>(*page_, at_ + field);
  }
  template <typename T>
  void Set(size_t field, T value) {
    Store(page_, at_ + field, value);
  }
  void SetCtid(uint32_t block, uint16_t offset) {
    Set<uint16_t>(kCtidAt, static_cast<uint16_t>(block >> 16));
    Set<uint16_t>(kCtidAt + 2, static_cast<uint16_t>(block));
    Set<uint16_t>(kCtidAt + 4, offset);
  }
  void SetCid0() {
    Set<uint32_t>(kCidAt, 0);
    auto infomask = Get<uint16_t>(kInfomaskAt);
    Set<uint16_t>(kInfomaskAt, static_cast<uint16_t>(infomask & ~kComboCid));
  }
  void SetHotUpdated(bool on) {
    auto infomask2 =
        static_cast<uint16_t>(Get<uint16_t>(kInfomask2At) & ~kHotUpdated);
    if (on) infomask2 |= kHotUpdated;
    Set<uint16_t>(kInfomask2At, infomask2);
  }
  // xmax's bits as a record packs them.
  void SetXmaxBits(uint8_t infobits) {
    auto infomask =
        static_cast<uint16_t>(Get<uint16_t>(kInfomaskAt) & ~kXmaxBits);
    auto infomask2 =
        static_cast<uint16_t>(Get<uint16_t>(kInfomask2At) & ~kKeysUpdated);
    if ((infobits & 0x01) != 0) infomask |= kIsMulti;
    if ((infobits & 0x02) != 0) infomask |= kLockOnly;
    if ((infobits & 0x04) != 0) infomask |= kExclLock;
    if ((infobits & 0x08) != 0) infomask |= 0x0010;
    if ((infobits & 0x10) != 0) infomask2 |= kKeysUpdated;
    Set<uint16_t>(kInfomaskAt, infomask);
    Set<uint16_t>(kInfomask2At, infomask2);
  }
  std::string_view bytes() const {
    return std::string_view(*page_).substr(at_, length_);
  }

 private:
  std::string* page_;
  size_t at_;
  size_t length_;
};

size_t PointerCount(std::string_view page) {
  size_t lower = LoadField<uint16_t>(page, kLowerAt);
  return lower < kPageHeaderBytes ? 0 : (lower - kPageHeaderBytes) / 4;
}

Result<Tuple> TupleAt(std::string* page, uint16_t offset) {
  if (offset == 0 || offset > PointerCount(*page)) {
    return Corrupted(fmt::format("there is no line pointer {}", offset));
  }
  auto word = LoadField<uint32_t>(*page, kPageHeaderBytes + (offset - 1) * 4);
  size_t at = word & 0x7FFF;
  size_t length = word >> 17;
  if ((word >> 15 & 3) != 1 || length < kTupleBytes ||
      at + length > kPageBytes) {
    return Corrupted(fmt::format("line pointer {} holds no tuple", offset));
  }
  return Tuple(page, at, length);
}

void InitPage(std::string* page) {
  page->assign(kPageBytes, '\0');
  Store<uint16_t>(page, kLowerAt, kPageHeaderBytes);
  Store<uint16_t>(page, kUpperAt, kPageBytes);
  Store<uint16_t>(page, kSpecialAt, kPageBytes);
  Store<uint16_t>(page, kSpecialAt + 2, kPageBytes | 4);
}

// Puts a tuple under the line pointer that its record names: the next one, or
// one that is unused.
Status PlaceTuple(std::string* page, uint16_t offset, std::string_view tuple) {
  size_t count = PointerCount(*page);
  size_t lower = LoadField<uint16_t>(*page, kLowerAt);
  size_t upper = LoadField<uint16_t>(*page, kUpperAt);
  if (offset == 0 || offset > count + 1) {
    return Corrupted(
        fmt::format("line pointer {} on a page with {}", offset, count));
  }
  size_t pointer = kPageHeaderBytes + (offset - 1) * size_t{4};
  if (offset == count + 1) {
    lower += 4;
  } else if ((LoadField<uint32_t>(*page, pointer) >> 15 & 3) != 0) {
    return Corrupted(fmt::format("line pointer {} is in use", offset));
  }
  size_t room = AlignUp(tuple.size(), 8);
  if (upper > kPageBytes || lower + room > upper) {
    return Corrupted(fmt::format("no room for {} bytes", tuple.size()));
  }
  upper -= room;
  Store(page, pointer,
        static_cast<uint32_t>(upper | kNormalPointer | tuple.size() << 17));
  page->replace(upper, tuple.size(), tuple);
  Store(page, kLowerAt, static_cast<uint16_t>(lower));
  Store(page, kUpperAt, static_cast<uint16_t>(upper));
  return {};
}

void ClearAllVisible(std::string* page) {
  auto flags = LoadField<uint16_t>(*page, kFlagsOfPageAt);
  Store(page, kFlagsOfPageAt, static_cast<uint16_t>(flags & ~kPageAllVisible));
}

// Keeps the older of xid and what is there.
void SetPrunable(std::string* page, uint32_t xid) {
  constexpr uint32_t kFirstNormal = 3;
  if (xid < kFirstNormal) return;
  auto prune = LoadField<uint32_t>(*page, kPruneXidAt);
  if (prune == 0 || static_cast<int32_t>(xid - prune) < 0) {
    Store(page, kPruneXidAt, xid);
  }
}

// A new tuple of the short header that records carry and what follows byte 23.
Result<std::string> NewTuple(std::string_view data, uint32_t xmin,
                             uint32_t xmax, uint32_t block, uint16_t offset) {
  if (data.size() < kShortHeader) return Corrupted("a tuple without header");
  std::string tuple(kTupleBytes, '\0');
  tuple += data.substr(kShortHeader);
  Tuple t(&tuple, 0, tuple.size());
  t.Set(kXminAt, xmin);
  t.Set(kXmaxAt, xmax);
  t.SetCtid(block, offset);
  t.Set(kInfomask2At, LoadField<uint16_t>(data, 0));
  t.Set(kInfomaskAt, LoadField<uint16_t>(data, 2));
  t.Set(kHoffAt, LoadField<uint8_t>(data, 4));
  t.SetCid0();
  return tuple;
}

Status ApplyInsert(const BlockChange& c, std::string* page) {
  if (c.main_data.size() < kInsertBytes) return Corrupted("short insert");
  auto offset = LoadField<uint16_t>(c.main_data, 0);
  ASSIGN_OR_RETURN(std::string tuple,
                   NewTuple(c.data, c.xid, 0, c.block, offset));
  RETURN_IF_ERROR(PlaceTuple(page, offset, tuple));
  auto flags = LoadField<uint8_t>(c.main_data, kInsertFlagsAt);
  if ((flags & kAllVisibleCleared) != 0) ClearAllVisible(page);
  return {};
}

Status ApplyDelete(const BlockChange& c, std::string* page) {
  if (c.main_data.size() < kDeleteBytes) return Corrupted("short delete");
  auto offset = LoadField<uint16_t>(c.main_data, 4);
  ASSIGN_OR_RETURN(Tuple tuple, TupleAt(page, offset));
  tuple.SetXmaxBits(LoadField<uint8_t>(c.main_data, 6));
  tuple.SetHotUpdated(false);
  tuple.Set(kXmaxAt, LoadField<uint32_t>(c.main_data, 0));
  tuple.SetCid0();
  tuple.SetCtid(c.block, offset);
  SetPrunable(page, c.xid);
  auto flags = LoadField<uint8_t>(c.main_data, kFlagsAt);
  if ((flags & kAllVisibleCleared) != 0) ClearAllVisible(page);
  return {};
}

Status ApplyLock(const BlockChange& c, std::string* page) {
  if (c.main_data.size() < kLockBytes) return Corrupted("short lock");
  auto offset = LoadField<uint16_t>(c.main_data, 4);
  ASSIGN_OR_RETURN(Tuple tuple, TupleAt(page, offset));
  tuple.SetXmaxBits(LoadField<uint8_t>(c.main_data, 6));
  auto infomask = tuple.Get<uint16_t>(kInfomaskAt);
  if ((infomask & kLockOnly) != 0 ||
      (infomask & (kIsMulti | kLockMask)) == kExclLock) {
    tuple.SetHotUpdated(false);
    tuple.SetCtid(c.block, offset);
  }
  tuple.Set(kXmaxAt, LoadField<uint32_t>(c.main_data, 0));
  tuple.SetCid0();
  return {};
}

Status ApplyInplace(const BlockChange& c, std::string* page) {
  if (c.main_data.size() < kInplaceBytes) return Corrupted("short inplace");
  ASSIGN_OR_RETURN(Tuple tuple,
                   TupleAt(page, LoadField<uint16_t>(c.main_data, 0)));
  std::string_view bytes = tuple.bytes();
  size_t hoff = LoadField<uint8_t>(bytes, kHoffAt);
  if (hoff + c.data.size() != bytes.size()) {
    return Corrupted("inplace update of another length");
  }
  auto at = static_cast<size_t>(bytes.data() - page->data());
  page->replace(at + hoff, c.data.size(), c.data);
  return {};
}

// The bytes of an update's block 0: short header and body, with prefix and
// suffix taken from the old version.
Result<std::string> WholeData(const BlockChange& c, std::string_view old) {
  auto flags = LoadField<uint8_t>(c.main_data, kFlagsAt);
  std::string_view data = c.data;
  size_t ends[2] = {0, 0};
  for (int i = 0; i < 2; ++i) {
    if ((flags & (i == 0 ? kPrefixFromOld : kSuffixFromOld)) == 0) continue;
    if (data.size() < 2) return Corrupted("short update");
    ends[i] = LoadField<uint16_t>(data, 0);
    data.remove_prefix(2);
  }
  if (ends[0] + ends[1] == 0) return std::string(data);
  if (old.empty()) return Corrupted("the old version is on another page");
  if (data.size() < kShortHeader) return Corrupted("short update");
  size_t new_hoff = LoadField<uint8_t>(data, 4);
  size_t old_hoff = LoadField<uint8_t>(old, kHoffAt);
  if (new_hoff < kTupleBytes || old_hoff > old.size()) {
    return Corrupted("t_hoff does not fit");
  }
  size_t bitmap_end = kShortHeader + new_hoff - kTupleBytes;
  std::string_view columns = old.substr(old_hoff);
  if (bitmap_end > data.size() || ends[0] + ends[1] > columns.size()) {
    return Corrupted("prefix or suffix do not fit");
  }
  std::string whole(data.substr(0, bitmap_end));
  whole += columns.substr(0, ends[0]);
  whole += data.substr(bitmap_end);
  whole += columns.substr(columns.size() - ends[1]);
  return whole;
}

Status ApplyUpdate(const BlockChange& c, std::string* page) {
  if (c.main_data.size() < kUpdateBytes) return Corrupted("short update");
  auto old_offset = LoadField<uint16_t>(c.main_data, 4);
  auto new_offset = LoadField<uint16_t>(c.main_data, 12);
  auto flags = LoadField<uint8_t>(c.main_data, kFlagsAt);
  std::string old_bytes;
  if (c.kind != ChangeKind::kUpdateNew) {
    ASSIGN_OR_RETURN(Tuple old, TupleAt(page, old_offset));
    old.SetXmaxBits(LoadField<uint8_t>(c.main_data, 6));
    old.SetHotUpdated(c.hot);
    old.Set(kXmaxAt, LoadField<uint32_t>(c.main_data, 0));
    old.SetCid0();
    old.SetCtid(c.new_block, new_offset);
    old_bytes = std::string(old.bytes());
    SetPrunable(page, c.xid);
    if ((flags & kAllVisibleCleared) != 0) ClearAllVisible(page);
  }
  if (c.kind == ChangeKind::kUpdateOld) return {};
  ASSIGN_OR_RETURN(std::string data, WholeData(c, old_bytes));
  auto new_xmax = LoadField<uint32_t>(c.main_data, 8);
  ASSIGN_OR_RETURN(std::string tuple,
                   NewTuple(data, c.xid, new_xmax, c.block, new_offset));
  RETURN_IF_ERROR(PlaceTuple(page, new_offset, tuple));
  if ((flags & kNewAllVisibleCleared) != 0) ClearAllVisible(page);
  return {};
}

Status ApplyToPage(const BlockChange& c, std::string* page) {
  switch (c.kind) {
    case ChangeKind::kInsert:
      return ApplyInsert(c, page);
    case ChangeKind::kDelete:
      return ApplyDelete(c, page);
    case ChangeKind::kUpdateOld:
    case ChangeKind::kUpdateNew:
    case ChangeKind::kUpdateBoth:
      return ApplyUpdate(c, page);
    case ChangeKind::kLock:
      return ApplyLock(c, page);
    case ChangeKind::kInplace:
      return ApplyInplace(c, page);
    case ChangeKind::kImage:
      *page = c.image;
      return {};
    case ChangeKind::kHintImage:
      break;
  }
  // The hints in the image are left out: another process may log an older copy
  // of the page later. With full_page_writes off there is no image at all.
  return {};
}

Result<ChangeKind> KindOf(const WalRecord& record, const WalBlockRef& block) {
  if (record.rmid == kRmXlog && record.info == kInfoFpi) {
    return ChangeKind::kImage;
  }
  if (record.rmid == kRmXlog && record.info == kInfoFpiForHint) {
    return ChangeKind::kHintImage;
  }
  bool one_page = record.blocks.size() == 1;
  if (record.rmid == kRmHeap) {
    switch (record.info & kOpMask) {
      case kOpInsert:
        return ChangeKind::kInsert;
      case kOpDelete:
        return ChangeKind::kDelete;
      case kOpUpdate:
      case kOpHotUpdate:
        if (block.id == 1) return ChangeKind::kUpdateOld;
        return one_page ? ChangeKind::kUpdateBoth : ChangeKind::kUpdateNew;
      case kOpLock:
        return ChangeKind::kLock;
      case kOpInplace:
        return ChangeKind::kInplace;
      default:
        break;
    }
  }
  return Status(Code::kInvalid,
                fmt::format("the judges know no redo of resource manager {}, "
                            "info {:#04x}",
                            record.rmid, record.info));
}

// Where the tuple that the change adds stands, if it adds one.
std::optional<uint16_t> NewOffset(const BlockChange& c) {
  bool update =
      c.kind == ChangeKind::kUpdateNew || c.kind == ChangeKind::kUpdateBoth;
  if (update && c.main_data.size() >= kUpdateBytes) {
    return LoadField<uint16_t>(c.main_data, 12);
  }
  if (c.kind == ChangeKind::kInsert && c.main_data.size() >= kInsertBytes) {
    return LoadField<uint16_t>(c.main_data, 0);
  }
  return std::nullopt;
}

// The writer leaves the new tuple out of a record whose image has it.
Status TakeTupleFromImage(std::string image, BlockChange* c) {
  std::optional<uint16_t> offset = NewOffset(*c);
  if (!offset.has_value()) return {};
  ASSIGN_OR_RETURN(Tuple tuple, TupleAt(&image, *offset));
  c->data.assign(tuple.bytes().substr(kInfomask2At, kShortHeader));
  c->data += tuple.bytes().substr(kTupleBytes);
  if (c->kind == ChangeKind::kInsert) return {};
  auto flags = LoadField<uint8_t>(c->main_data, kFlagsAt);
  flags &= static_cast<uint8_t>(~(kPrefixFromOld | kSuffixFromOld));
  Store(&c->main_data, kFlagsAt, flags);
  return {};
}

}  // namespace

const char* ChangeKindName(ChangeKind kind) {
  constexpr const char* kNames[] = {
      "insert",           "delete",     "update, old page",
      "update, new page", "update",     "lock",
      "inplace update",   "page image", "page image for a hint"};
  return kNames[static_cast<size_t>(kind)];
}

std::string BlockChange::ToString() const {
  return fmt::format("record {} ({})", LsnToText(start), ChangeKindName(kind));
}

Result<std::vector<TouchedBlock>> DecodeBlockChanges(const WalRecord& record) {
  std::vector<TouchedBlock> touched;
  for (const WalBlockRef& block : record.blocks) {
    TouchedBlock t;
    t.rel_node = block.rel_node;
    t.db_node = block.db_node;
    t.fork = block.fork;
    BlockChange& c = t.change;
    ASSIGN_OR_RETURN(c.kind, KindOf(record, block));
    c.start = record.start;
    c.end = record.end;
    c.init = block.will_init;
    c.hot = record.rmid == kRmHeap && (record.info & kOpMask) == kOpHotUpdate;
    c.xid = record.xid;
    c.block = block.block;
    c.new_block = record.blocks[0].block;
    c.main_data = std::string(record.main_data);
    c.data = std::string(block.data);
    if (record.rmid == kRmHeap && block.id == 0 &&
        block.will_init != ((record.info & kInitPage) != 0)) {
      return Corrupted("the block and the record disagree on a new page");
    }
    if (block.has_image) {
      ASSIGN_OR_RETURN(t.image, RestoreWalImage(block));
      if (c.kind == ChangeKind::kImage) {
        c.image = t.image;
      } else if (c.kind != ChangeKind::kHintImage && block.data.empty()) {
        RETURN_IF_ERROR(TakeTupleFromImage(t.image, &c));
      }
    } else if (c.kind == ChangeKind::kImage) {
      return Corrupted("an image record without image");
    }
    touched.push_back(std::move(t));
  }
  return touched;
}

Status ApplyBlockChange(const BlockChange& change, std::string* page) {
  if (change.init) InitPage(page);
  bool page_is_new =
      page->size() != kPageBytes || LoadField<uint16_t>(*page, kUpperAt) == 0;
  bool whole = !change.image.empty();
  if (page_is_new && !whole) return Corrupted("the page is not initialised");
  RETURN_IF_ERROR(ApplyToPage(change, page));
  // An image of zeros stays a new page.
  if (LoadField<uint16_t>(*page, kUpperAt) == 0) return {};
  Store(page, 0, static_cast<uint32_t>(change.end >> 32));
  Store(page, 4, static_cast<uint32_t>(change.end));
  return {};
}

}  // namespace properties
