#include "properties/decoders/tuple_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "properties/decoders/bytes.h"

namespace properties {
namespace {

using env::Code;
using env::Status;

constexpr uint32_t kBoolOid = 16;
constexpr uint32_t kCharOid = 18;
constexpr uint32_t kNameOid = 19;
constexpr uint32_t kTextOid = 25;
constexpr uint32_t kOidOid = 26;
constexpr uint32_t kXidOid = 28;
constexpr uint32_t kBpcharOid = 1042;
constexpr uint32_t kVarcharOid = 1043;
constexpr uint32_t kTimestampOid = 1114;
constexpr size_t kBodyHoff = 4;    // of t_hoff in a body
constexpr size_t kBodyBitmap = 5;  // of the null bitmap in a body

Status Corrupted(std::string message) {
  return Status(Code::kCorrupted, std::move(message));
}

size_t AlignmentOf(char align) {
  switch (align) {
    case 'd':
      return 8;
    case 'i':
      return 4;
    case 's':
      return 2;
    default:
      return 1;
  }
}

// Walks over a tuple's data; positions count from the start of the data, which
// t_hoff aligns to 8.
class DataCursor {
 public:
  explicit DataCursor(std::string_view data) : data_(data) {}

  Status Align(size_t alignment) {
    size_t to = AlignUp(at_, alignment);
    if (to == at_) return {};
    for (; at_ < to; ++at_) {
      if (at_ >= data_.size()) return Corrupted("padding runs past the tuple");
      if (data_[at_] != '\0') return Corrupted("padding that is not zero");
    }
    return {};
  }
  env::Result<std::string_view> Take(size_t n) {
    if (n > data_.size() - at_) {
      return Corrupted(fmt::format("a value of {} bytes where {} are left", n,
                                   data_.size() - at_));
    }
    std::string_view taken = data_.substr(at_, n);
    at_ += n;
    return taken;
  }
  // The next byte, or 0 at the end.
  unsigned char Peek() const {
    return at_ < data_.size() ? static_cast<unsigned char>(data_[at_]) : 0;
  }
  size_t left() const { return data_.size() - at_; }

 private:
  std::string_view data_;
  size_t at_ = 0;
};

// Both replace *value, and keep its memory.
Status TakeFixed(const ColumnShape& column, DataCursor* cursor, Value* value) {
  RETURN_IF_ERROR(cursor->Align(AlignmentOf(column.align)));
  ASSIGN_OR_RETURN(std::string_view bytes,
                   cursor->Take(static_cast<size_t>(column.length)));
  value->form = ValueForm::kNumber;
  value->bytes.clear();
  switch (column.length) {
    case 1:
      value->number = LoadField<int8_t>(bytes, 0);
      break;
    case 2:
      value->number = LoadField<int16_t>(bytes, 0);
      break;
    case 4:
      value->number = LoadField<int32_t>(bytes, 0);
      break;
    case 8:
      value->number = LoadField<int64_t>(bytes, 0);
      break;
    default:
      value->form = ValueForm::kBytes;
      value->number = 0;
      value->bytes.assign(bytes);
  }
  return {};
}

Status TakeVarlena(const ColumnShape& column, DataCursor* cursor,
                   Value* value) {
  // A zero byte can only be padding in front of an aligned header.
  if (cursor->Peek() == 0) {
    RETURN_IF_ERROR(cursor->Align(AlignmentOf(column.align)));
  }
  if (cursor->left() == 0) return Corrupted("a value's header is missing");
  value->form = ValueForm::kBytes;
  value->number = 0;
  unsigned char first = cursor->Peek();
  if (first == 1) {  // out of line: a tag byte follows
    ASSIGN_OR_RETURN(std::string_view bytes, cursor->Take(18));
    if (bytes[1] != 18) return Corrupted("a toast pointer's tag is not 18");
    value->form = ValueForm::kExternal;
    value->bytes.assign(bytes.substr(2));
    return {};
  }
  if ((first & 1) != 0) {  // one byte of header, length included
    ASSIGN_OR_RETURN(std::string_view bytes, cursor->Take(first >> 1));
    value->bytes.assign(bytes.substr(1));
    return {};
  }
  RETURN_IF_ERROR(cursor->Align(AlignmentOf(column.align)));
  if (cursor->left() < 4) return Corrupted("a value's header is cut off");
  ASSIGN_OR_RETURN(std::string_view head, cursor->Take(4));
  uint32_t word = LoadField<uint32_t>(head, 0);
  uint32_t size = word >> 2;
  if (size < 4) return Corrupted("a value shorter than its header");
  ASSIGN_OR_RETURN(std::string_view bytes, cursor->Take(size - 4));
  if ((word & 2) != 0) value->form = ValueForm::kCompressed;
  value->bytes.assign(bytes);
  return {};
}

// Days since 2000-01-01 as year, month, day of the proleptic Gregorian
// calendar, counted in 400-year eras that begin in March.
void CivilFromDays(int64_t days, int64_t* year, int* month, int* day) {
  int64_t z = days + 730425;  // days since 0000-03-01
  int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  int64_t doe = z - era * 146097;
  int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  int64_t mp = (5 * doy + 2) / 153;
  *day = static_cast<int>(doy - (153 * mp + 2) / 5 + 1);
  *month = static_cast<int>(mp < 10 ? mp + 3 : mp - 9);
  *year = yoe + era * 400 + (*month <= 2 ? 1 : 0);
}

std::string TimestampToText(int64_t micros) {
  constexpr int64_t kDay = int64_t{86400} * 1000000;
  int64_t days = micros / kDay;
  int64_t rest = micros % kDay;
  if (rest < 0) {
    rest += kDay;
    --days;
  }
  int64_t year;
  int month;
  int day;
  CivilFromDays(days, &year, &month, &day);
  int64_t seconds = rest / 1000000;
  std::string text =
      fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", year, month, day,
                  seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (int64_t fraction = rest % 1000000; fraction != 0) {
    std::string digits = fmt::format("{:06}", fraction);
    digits.erase(digits.find_last_not_of('0') + 1);
    text += "." + digits;
  }
  return text;
}

std::string Hex(std::string_view bytes) {
  std::string out = "\\x";
  for (unsigned char c : bytes) out += fmt::format("{:02x}", c);
  return out;
}

}  // namespace

env::Result<TupleHeader> DecodeTupleHeader(std::string_view tuple) {
  if (tuple.size() < kTupleHeaderBytes) {
    return Corrupted(fmt::format("a tuple of {} bytes", tuple.size()));
  }
  TupleHeader h;
  h.xmin = LoadField<uint32_t>(tuple, 0);
  h.xmax = LoadField<uint32_t>(tuple, 4);
  h.cid = LoadField<uint32_t>(tuple, 8);
  h.ctid = static_cast<uint64_t>(LoadField<uint16_t>(tuple, 12)) << 32 |
           static_cast<uint64_t>(LoadField<uint16_t>(tuple, 14)) << 16 |
           LoadField<uint16_t>(tuple, 16);
  h.infomask2 = LoadField<uint16_t>(tuple, 18);
  h.infomask = LoadField<uint16_t>(tuple, 20);
  h.hoff = LoadField<uint8_t>(tuple, 22);
  size_t bitmap =
      (h.infomask & kHeapHasNull) != 0 ? (size_t{h.natts()} + 7) / 8 : 0;
  if (h.hoff != AlignUp(kTupleHeaderBytes + bitmap, 8)) {
    return Corrupted(fmt::format("t_hoff {} with {} columns{}", h.hoff,
                                 h.natts(), bitmap != 0 ? " and nulls" : ""));
  }
  if (h.hoff > tuple.size()) {
    return Corrupted(
        fmt::format("t_hoff {} in a tuple of {} bytes", h.hoff, tuple.size()));
  }
  return h;
}

Status DecodeTupleBodyInto(const RelationShape& shape, std::string_view body,
                           Row* row) {
  if (body.size() < kBodyBitmap) return Corrupted("a tuple without header");
  size_t natts = LoadField<uint16_t>(body, 0) & 0x07FF;
  bool has_null = (LoadField<uint16_t>(body, 2) & kHeapHasNull) != 0;
  size_t hoff = LoadField<uint8_t>(body, kBodyHoff);
  size_t bitmap_bytes = has_null ? (natts + 7) / 8 : 0;
  if (hoff != AlignUp(kTupleHeaderBytes + bitmap_bytes, 8) ||
      hoff - kTupleBodyOffset > body.size()) {
    return Corrupted(fmt::format("t_hoff {} does not fit", hoff));
  }
  if (natts > shape.size()) {
    return Corrupted(fmt::format("{} columns stored, the relation has {}",
                                 natts, shape.size()));
  }
  DataCursor cursor(body.substr(hoff - kTupleBodyOffset));
  row->resize(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    bool null = i >= natts;
    if (!null && has_null) {
      auto bits = static_cast<unsigned char>(body[kBodyBitmap + i / 8]);
      null = (bits >> (i % 8) & 1) == 0;
    }
    if (null) {
      (*row)[i] = Value();
    } else if (shape[i].length == -1) {
      RETURN_IF_ERROR(TakeVarlena(shape[i], &cursor, &(*row)[i]));
    } else {
      RETURN_IF_ERROR(TakeFixed(shape[i], &cursor, &(*row)[i]));
    }
  }
  if (cursor.left() != 0) {
    return Corrupted(
        fmt::format("{} bytes behind the last column", cursor.left()));
  }
  return {};
}

env::Result<Row> DecodeTupleBody(const RelationShape& shape,
                                 std::string_view body) {
  Row row;
  RETURN_IF_ERROR(DecodeTupleBodyInto(shape, body, &row));
  return row;
}

bool SameTupleData(std::string_view a, std::string_view b) {
  if (a.size() != b.size() || a.size() < kBodyBitmap) return false;
  constexpr uint16_t kLayoutBits =
      kHeapHasNull | kHeapHasVarWidth | kHeapHasExternal;
  return ((LoadField<uint16_t>(a, 0) ^ LoadField<uint16_t>(b, 0)) & 0x07FF) ==
             0 &&
         ((LoadField<uint16_t>(a, 2) ^ LoadField<uint16_t>(b, 2)) &
          kLayoutBits) == 0 &&
         a.substr(kBodyHoff) == b.substr(kBodyHoff);
}

std::string ValueToText(const ColumnShape& column, const Value& value) {
  switch (value.form) {
    case ValueForm::kNull:
      return "null";
    case ValueForm::kCompressed:
    case ValueForm::kExternal:
      return Hex(value.bytes);
    case ValueForm::kBytes:
      switch (column.type) {
        case kNameOid:
          return value.bytes.substr(0, value.bytes.find('\0'));
        case kTextOid:
        case kBpcharOid:
        case kVarcharOid:
          return value.bytes;
        default:
          return Hex(value.bytes);
      }
    case ValueForm::kNumber:
      break;
  }
  switch (column.type) {
    case kBoolOid:
      return value.number != 0 ? "t" : "f";
    case kCharOid:
      return std::string(1, static_cast<char>(value.number));
    case kOidOid:
    case kXidOid:
      return fmt::format("{}", static_cast<uint32_t>(value.number));
    case kTimestampOid:
      return TimestampToText(value.number);
    default:
      return fmt::format("{}", value.number);
  }
}

std::string RowToText(const RelationShape& shape, const Row& row) {
  constexpr size_t kCut = 40;
  std::string out = "(";
  for (size_t i = 0; i < row.size() && i < shape.size(); ++i) {
    if (i > 0) out += ", ";
    std::string text = ValueToText(shape[i], row[i]);
    if (row[i].form == ValueForm::kBytes) {
      if (text.size() > kCut) {
        text =
            fmt::format("{}...({} bytes)", text.substr(0, kCut), text.size());
      }
      text = "'" + text + "'";
    }
    out += text;
  }
  return out + ")";
}

bool IsVisibleAtRest(const TupleHeader& h, const CommittedXids& xids) {
  bool frozen = (h.infomask & kHeapXminFrozen) == kHeapXminFrozen;
  if (!frozen && !xids.IsCommitted(h.xmin)) return false;
  if (h.xmax == 0 || (h.infomask & kHeapXmaxLockOnly) != 0) return true;
  // XMAX_INVALID is a hint except where xmax was reset along with it.
  if ((h.infomask & kHeapXmaxInvalid) != 0) return true;
  return !xids.IsCommitted(h.xmax);
}

}  // namespace properties
