// TestCluster: a data directory built byte by byte, for tests of judges.
//
// It writes the formats from scratch (no engine code, no decoder code apart
// from the checksums), so that a test can break any byte of it.
#ifndef MUSTH_PROPERTIES_DECODERS_TEST_CLUSTER_H_
#define MUSTH_PROPERTIES_DECODERS_TEST_CLUSTER_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "properties/decoders/bytes.h"
#include "properties/decoders/checksums.h"
#include "properties/decoders/clog_decoder.h"
#include "properties/decoders/cluster_view.h"
#include "properties/decoders/tuple_decoder.h"
#include "properties/decoders/wal_decoder.h"

namespace properties {

template <typename T>
void PokeField(std::string* bytes, size_t at, T value) {
  std::memcpy(bytes->data() + at, &value, sizeof value);
}

// Appends records to a log that begins at the start of a segment.
class TestWal {
 public:
  TestWal(MemoryCluster* files, const WalLayout& layout, uint64_t start)
      : files_(files), layout_(layout), at_(start) {}

  // A record without blocks; returns its start. end() is behind it.
  uint64_t Append(uint8_t rmid, uint8_t info, uint32_t xid,
                  std::string_view main_data) {
    std::string record(24, '\0');
    if (main_data.size() < 256) {
      record += static_cast<char>(255);
      record += static_cast<char>(main_data.size());
    } else {
      record += static_cast<char>(254);
      record.append(4, '\0');
      PokeField(&record, 25, static_cast<uint32_t>(main_data.size()));
    }
    record += main_data;
    PokeField(&record, 0, static_cast<uint32_t>(record.size()));
    PokeField(&record, 4, xid);
    PokeField(&record, 8, last_);
    PokeField(&record, 16, info);
    PokeField(&record, 17, rmid);
    uint32_t crc = CrcAppend(kCrcStart, std::string_view(record).substr(24));
    crc = ~CrcAppend(crc, std::string_view(record).substr(0, 20));
    PokeField(&record, 20, crc);
    return Place(record);
  }
  // A commit (or abort) record without extras.
  uint64_t AppendXactEnd(uint32_t xid, bool commit) {
    return Append(kRmXact, commit ? 0x00 : 0x20, xid, std::string(8, '\0'));
  }
  uint64_t end() const { return at_; }
  uint64_t last() const { return last_; }

 private:
  uint64_t Place(std::string_view record) {
    uint64_t start = 0;
    size_t done = 0;
    while (done < record.size()) {
      if (at_ % kPageBytes == 0) {
        StartPage(static_cast<uint32_t>(done == 0 ? 0 : record.size() - done));
      }
      if (done == 0) start = at_;
      size_t room = kPageBytes - at_ % kPageBytes;
      size_t n = std::min(room, record.size() - done);
      Segment().replace(at_ % layout_.segment_bytes, n, record.substr(done, n));
      done += n;
      at_ += n;
    }
    at_ = AlignUp(at_, 8);
    last_ = start;
    return start;
  }
  void StartPage(uint32_t rest) {
    bool first = at_ % layout_.segment_bytes == 0;
    std::string header(first ? 40 : 24, '\0');
    PokeField(&header, 0, uint16_t{0xD110});
    PokeField(&header, 2,
              static_cast<uint16_t>((rest != 0 ? 1 : 0) | (first ? 2 : 0)));
    PokeField(&header, 4, layout_.timeline);
    PokeField(&header, 8, at_);
    PokeField(&header, 16, rest);
    if (first) {
      PokeField(&header, 24, layout_.system_identifier);
      PokeField(&header, 32, layout_.segment_bytes);
      PokeField(&header, 36, static_cast<uint32_t>(kPageBytes));
    }
    Segment().replace(at_ % layout_.segment_bytes, header.size(), header);
    at_ += header.size();
  }
  std::string& Segment() {
    std::string& s = files_->At("pg_wal/" + WalSegmentName(layout_, at_));
    if (s.empty()) s.assign(layout_.segment_bytes, '\0');
    return s;
  }

  MemoryCluster* files_;
  WalLayout layout_;
  uint64_t at_;
  uint64_t last_ = 0;
};

// A tuple body (from t_infomask2 on) of int4 columns without nulls.
inline std::string Int4Body(const std::vector<int32_t>& values) {
  std::string body(6, '\0');
  PokeField(&body, 0, static_cast<uint16_t>(values.size()));
  body[4] = 24;
  for (int32_t v : values) {
    body.append(4, '\0');
    PokeField(&body, body.size() - 4, v);
  }
  return body;
}

// The body of a tuple with these values; short varlenas get short headers.
inline std::string EncodeBody(const RelationShape& shape, const Row& row) {
  bool has_null = false;
  for (const Value& v : row) has_null |= v.form == ValueForm::kNull;
  size_t bitmap = has_null ? (row.size() + 7) / 8 : 0;
  size_t hoff = AlignUp(kTupleHeaderBytes + bitmap, 8);
  std::string body(hoff - kTupleBodyOffset, '\0');
  PokeField(&body, 0, static_cast<uint16_t>(row.size()));
  PokeField(&body, 2, static_cast<uint16_t>(has_null ? kHeapHasNull : 0));
  body[4] = static_cast<char>(hoff);
  size_t base = body.size();
  auto align = [&](char a) {
    size_t n = a == 'd' ? 8 : a == 'i' ? 4 : a == 's' ? 2 : 1;
    body.resize(base + AlignUp(body.size() - base, n), '\0');
  };
  for (size_t i = 0; i < row.size(); ++i) {
    const Value& v = row[i];
    if (v.form == ValueForm::kNull) continue;
    if (has_null) {
      body[5 + i / 8] = static_cast<char>(body[5 + i / 8] | 1 << (i % 8));
    }
    if (shape[i].length == -1) {
      if (v.bytes.size() <= 126) {
        body += static_cast<char>((v.bytes.size() + 1) << 1 | 1);
      } else {
        align(shape[i].align);
        body.append(4, '\0');
        PokeField(&body, body.size() - 4,
                  static_cast<uint32_t>((v.bytes.size() + 4) << 2));
      }
      body += v.bytes;
      continue;
    }
    align(shape[i].align);
    if (v.form == ValueForm::kNumber) {
      body.append(reinterpret_cast<const char*>(&v.number),
                  static_cast<size_t>(shape[i].length));
    } else {
      std::string fixed = v.bytes;
      fixed.resize(static_cast<size_t>(shape[i].length), '\0');
      body += fixed;
    }
  }
  return body;
}

inline Value NumberValue(int64_t n) {
  Value v;
  v.form = ValueForm::kNumber;
  v.number = n;
  return v;
}
inline Value BytesValue(std::string bytes) {
  Value v;
  v.form = ValueForm::kBytes;
  v.bytes = std::move(bytes);
  return v;
}

// One heap page being filled.
class TestPage {
 public:
  TestPage() : page_(kPageBytes, '\0') {
    PokeField(&page_, 12, uint16_t{24});
    PokeField(&page_, 14, uint16_t{8192});
    PokeField(&page_, 16, uint16_t{8192});
    PokeField(&page_, 18, static_cast<uint16_t>(8192 | 4));
  }
  // Adds a tuple and returns its offset number.
  uint16_t Add(uint32_t xmin, uint32_t xmax, uint64_t ctid,
               std::string_view body, uint16_t infomask = 0) {
    std::string tuple(18, '\0');
    PokeField(&tuple, 0, xmin);
    PokeField(&tuple, 4, xmax);
    PokeField(&tuple, 12, static_cast<uint16_t>(ctid >> 32));
    PokeField(&tuple, 14, static_cast<uint16_t>(ctid >> 16));
    PokeField(&tuple, 16, static_cast<uint16_t>(ctid));
    tuple += body;
    PokeField(&tuple, 20,
              static_cast<uint16_t>(LoadField<uint16_t>(tuple, 20) | infomask));
    auto upper = static_cast<uint16_t>(LoadField<uint16_t>(page_, 14) -
                                       AlignUp(tuple.size(), 8));
    auto lower = LoadField<uint16_t>(page_, 12);
    page_.replace(upper, tuple.size(), tuple);
    PokeField(&page_, lower,
              static_cast<uint32_t>(upper | 1u << 15 |
                                    static_cast<uint32_t>(tuple.size()) << 17));
    PokeField(&page_, 12, static_cast<uint16_t>(lower + 4));
    PokeField(&page_, 14, upper);
    return static_cast<uint16_t>((lower - 24) / 4 + 1);
  }
  void SetLsn(uint64_t lsn) {
    PokeField(&page_, 0, static_cast<uint32_t>(lsn >> 32));
    PokeField(&page_, 4, static_cast<uint32_t>(lsn));
  }
  // The finished page, checksummed for this block.
  std::string Bytes(uint32_t block) const {
    std::string page = page_;
    PokeField(&page, 8, ComputePageChecksum(page, block));
    return page;
  }

 private:
  std::string page_;
};

inline void SetClog(MemoryCluster* files, uint32_t xid, ClogStatus status) {
  std::string& file = files->At(ClogPath(xid));
  if (file.empty()) file.assign(kPageBytes, '\0');
  size_t byte = xid % (32768 * 32) / 4;
  unsigned shift = xid % 4 * 2;
  auto old = static_cast<unsigned char>(file[byte]);
  file[byte] = static_cast<char>((old & ~(3u << shift)) |
                                 static_cast<unsigned>(status) << shift);
}

// A checkpoint's body.
inline std::string TestCheckpoint(uint64_t redo, uint32_t next_xid) {
  std::string body(88, '\0');
  PokeField(&body, 0, redo);
  PokeField(&body, 8, uint32_t{1});
  PokeField(&body, 12, uint32_t{1});
  body[16] = 1;
  PokeField(&body, 24, uint64_t{next_xid});
  PokeField(&body, 32, uint32_t{16384});
  PokeField(&body, 44, uint32_t{3});
  return body;
}

inline std::string TestControlFile(const WalLayout& layout, uint32_t state,
                                   uint64_t checkpoint,
                                   std::string_view checkpoint_body) {
  std::string file(8192, '\0');
  PokeField(&file, 0, layout.system_identifier);
  PokeField(&file, 8, uint32_t{1300});
  PokeField(&file, 16, state);
  PokeField(&file, 32, checkpoint);
  file.replace(40, checkpoint_body.size(), checkpoint_body);
  PokeField(&file, 216, uint32_t{8192});
  PokeField(&file, 224, uint32_t{8192});
  PokeField(&file, 228, layout.segment_bytes);
  PokeField(&file, 252, uint32_t{1});
  PokeField(&file, 288, CrcOf(std::string_view(file).substr(0, 288)));
  return file;
}

}  // namespace properties

#endif  // MUSTH_PROPERTIES_DECODERS_TEST_CLUSTER_H_
