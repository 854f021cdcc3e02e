#include "engine/heap/htup.h"

#include <algorithm>
#include <cstring>

#include "engine/common/errcodes.h"
#include "engine/common/varlena.h"
#include "sim/env/race.h"

namespace engine {
namespace {

size_t AlignmentOf(const Attribute& att) {
  switch (att.attalign) {
    case 'c':
      return 1;
    case 's':
      return 2;
    case 'd':
      return 8;
    default:
      return 4;
  }
}

size_t AlignUp(size_t offset, size_t alignment) {
  return (offset + alignment - 1) & ~(alignment - 1);
}

bool IsVarlena(const Attribute& att) { return att.attlen == -1; }

// Whether a value gets a one-byte header, which is never aligned.
bool IsPacked(const Attribute& att, const Datum& value) {
  return att.attstorage != 'p' && VarlenaFits1B(value.bytes.size());
}

// Where the value starts and ends when the one before it ended at offset.
struct Extent {
  size_t begin;
  size_t end;
};
Extent PlaceValue(const Attribute& att, const Datum& value, size_t offset) {
  if (!IsVarlena(att)) {
    size_t begin = AlignUp(offset, AlignmentOf(att));
    return {begin, begin + static_cast<size_t>(att.attlen)};
  }
  bool packed = IsPacked(att, value);
  size_t begin = packed ? offset : AlignUp(offset, AlignmentOf(att));
  return {begin, begin + VarlenaSize(value.bytes.size(), packed)};
}

void WriteFixed(const Attribute& att, const Datum& value, char* out) {
  auto size = static_cast<size_t>(att.attlen);
  if (att.attbyval) {
    std::memcpy(out, &value.num, size);  // little endian
  } else {
    std::memcpy(out, value.bytes.data(), std::min(size, value.bytes.size()));
  }
}

// Errors about the caller's values, before anything is written.
Status CheckValue(const Attribute& att, const Datum& value) {
  if (att.attbyval) {
    if (att.attlen >= 1 && att.attlen <= 8) return {};
  } else if (IsVarlena(att)) {
    if (value.bytes.size() < (size_t{1} << 30) - VARHDRSZ) return {};
  } else if (att.attlen > 0 &&
             value.bytes.size() <= static_cast<size_t>(att.attlen)) {
    return {};
  }
  return SqlError(ERRCODE_INTERNAL_ERROR, "invalid value for attribute \"{}\"",
                  att.attname);
}

Datum ReadByValue(const Attribute& att, const char* p) {
  bool is_unsigned = att.atttypid == OIDOID || att.atttypid == XIDOID ||
                     att.atttypid == CIDOID;
  switch (att.attlen) {
    case 1: {
      int8_t v;
      std::memcpy(&v, p, sizeof(v));
      return Datum::Int(v);
    }
    case 2: {
      int16_t v;
      std::memcpy(&v, p, sizeof(v));
      return Datum::Int(v);
    }
    case 4: {
      int32_t v;
      std::memcpy(&v, p, sizeof(v));
      return Datum::Int(is_unsigned ? static_cast<uint32_t>(v) : int64_t{v});
    }
    default: {
      int64_t v;
      std::memcpy(&v, p, sizeof(v));
      return Datum::Int(v);
    }
  }
}

Status CorruptTuple(const char* why) {
  return SqlError(ERRCODE_DATA_CORRUPTED, "invalid heap tuple: {}", why);
}

// Reads the varlena at *offset of tuple and moves *offset behind it.
Result<Datum> ReadVarlena(const Attribute& att, std::string_view tuple,
                          size_t* offset) {
  if (*offset >= tuple.size()) return CorruptTuple("too short");
  // A zero byte cannot begin a short header: it is padding.
  if (tuple[*offset] == 0) *offset = AlignUp(*offset, AlignmentOf(att));
  if (*offset >= tuple.size()) return CorruptTuple("too short");
  auto parsed = ParseVarlena(tuple.substr(*offset));
  if (!parsed.ok()) return CorruptTuple("bad varlena");
  if (parsed->form != VarlenaForm::k4BU && parsed->form != VarlenaForm::k1B) {
    return CorruptTuple("compressed or external value");
  }
  *offset += parsed->size;
  return Datum::Bytes(parsed->payload);
}

Result<Datum> ReadFixed(const Attribute& att, std::string_view tuple,
                        size_t* offset) {
  auto size = static_cast<size_t>(att.attlen);
  *offset = AlignUp(*offset, AlignmentOf(att));
  if (*offset + size > tuple.size()) return CorruptTuple("too short");
  const char* p = tuple.data() + *offset;
  *offset += size;
  if (att.attbyval) return ReadByValue(att, p);
  return Datum::Bytes({p, size});
}

// A tuple on a page may be taken apart under a pin alone, while somebody who
// holds the content lock sets transactions' bits in the same two words.
constexpr char kStableBits[] = "these bits stay as long as the tuple";
size_t StoredAttributes(const HeapTupleHeaderData& t) {
  return env::UnlockedRead(t.t_infomask2, kStableBits) & HEAP_NATTS_MASK;
}
bool HasNull(const HeapTupleHeaderData& t) {
  return (env::UnlockedRead(t.t_infomask, kStableBits) & HEAP_HASNULL) != 0;
}

// Bitmap bit 1: not null.
bool BitmapSays(const char* bitmap, size_t i) {
  return ((bitmap[i / 8] >> (i % 8)) & 1) != 0;
}

// Writes bitmap and values of a tuple whose header is complete and whose other
// bytes are zero.
void FillTuple(const TupleDesc& desc, std::span<const Datum> values,
               HeapTuple* tuple) {
  bool has_null = (tuple->header()->t_infomask & HEAP_HASNULL) != 0;
  char* bitmap = tuple->data.data() + kSizeofHeapTupleHeader;
  char* data = tuple->data.data() + tuple->header()->t_hoff;
  size_t offset = 0;
  for (size_t i = 0; i < desc.size(); ++i) {
    if (values[i].isnull) continue;
    if (has_null) bitmap[i / 8] = static_cast<char>(bitmap[i / 8] | 1 << i % 8);
    Extent extent = PlaceValue(desc[i], values[i], offset);
    if (IsVarlena(desc[i])) {
      WriteVarlena(data + extent.begin, values[i].bytes,
                   IsPacked(desc[i], values[i]));
    } else {
      WriteFixed(desc[i], values[i], data + extent.begin);
    }
    offset = extent.end;
  }
}

}  // namespace

Result<HeapTuple> HeapFormTuple(const TupleDesc& desc,
                                std::span<const Datum> values) {
  SIM_CHECK(values.size() == desc.size());
  SIM_CHECK(desc.size() <= MaxTupleAttributeNumber);
  uint16_t infomask = 0;
  size_t data_size = 0;
  for (size_t i = 0; i < desc.size(); ++i) {
    if (values[i].isnull) {
      infomask |= HEAP_HASNULL;
      continue;
    }
    RETURN_IF_ERROR(CheckValue(desc[i], values[i]));
    if (IsVarlena(desc[i])) infomask |= HEAP_HASVARWIDTH;
    data_size = PlaceValue(desc[i], values[i], data_size).end;
  }
  bool has_null = (infomask & HEAP_HASNULL) != 0;
  size_t hoff = MaxAlign(kSizeofHeapTupleHeader +
                         (has_null ? BITMAPLEN(desc.size()) : 0));
  size_t size = hoff + data_size;
  if (MaxAlign(size) > MaxHeapTupleSize) {
    return SqlError(ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                    "row is too big: size {}, maximum size {}", MaxAlign(size),
                    MaxHeapTupleSize);
  }
  HeapTuple tuple;
  tuple.data.assign(size, '\0');
  tuple.header()->t_infomask = infomask;
  tuple.header()->t_infomask2 = static_cast<uint16_t>(desc.size());
  tuple.header()->t_hoff = static_cast<uint8_t>(hoff);
  FillTuple(desc, values, &tuple);
  return tuple;
}

Status HeapTupleHeaderCheck(std::string_view tuple) {
  if (tuple.size() < kSizeofHeapTupleHeader) return CorruptTuple("too short");
  const HeapTupleHeaderData* header = AsTupleHeader(tuple);
  size_t natts = StoredAttributes(*header);
  bool has_null = HasNull(*header);
  size_t least = kSizeofHeapTupleHeader + (has_null ? BITMAPLEN(natts) : 0);
  size_t hoff = header->t_hoff;
  if (hoff < least || hoff > tuple.size() || hoff != MaxAlign(hoff)) {
    return CorruptTuple("bad t_hoff");
  }
  return {};
}

Status HeapDeformTuple(const TupleDesc& desc, std::string_view tuple,
                       std::span<Datum> values) {
  SIM_CHECK(values.size() == desc.size());
  RETURN_IF_ERROR(HeapTupleHeaderCheck(tuple));
  const HeapTupleHeaderData* header = AsTupleHeader(tuple);
  size_t natts = StoredAttributes(*header);
  bool has_null = HasNull(*header);
  const char* bitmap = tuple.data() + kSizeofHeapTupleHeader;
  std::string_view data = tuple.substr(header->t_hoff);
  size_t offset = 0;
  for (size_t i = 0; i < desc.size(); ++i) {
    if (i >= natts || (has_null && !BitmapSays(bitmap, i))) {
      values[i] = Datum::Null();
    } else if (IsVarlena(desc[i])) {
      ASSIGN_OR_RETURN(values[i], ReadVarlena(desc[i], data, &offset));
    } else {
      ASSIGN_OR_RETURN(values[i], ReadFixed(desc[i], data, &offset));
    }
  }
  return {};
}

}  // namespace engine
