#include "engine/heap/htup.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "engine/common/errcodes.h"

namespace engine {
namespace {

// --- An encoder of its own: bytes pushed one by one. ---

struct Column {
  Attribute att;
  bool isnull = false;
  uint64_t num = 0;
  std::string bytes;
};

size_t NaiveAlignment(char attalign) {
  return attalign == 'c' ? 1 : attalign == 's' ? 2 : attalign == 'i' ? 4 : 8;
}

void PadTo(std::vector<unsigned char>* out, size_t multiple) {
  while (out->size() % multiple != 0) out->push_back(0);
}

void PushLittleEndian(std::vector<unsigned char>* out, uint64_t v, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    out->push_back(static_cast<unsigned char>(v >> (8 * i)));
  }
}

std::string NaiveEncode(const std::vector<Column>& columns) {
  bool nulls = false;
  bool wide = false;
  for (const Column& c : columns) {
    nulls = nulls || c.isnull;
    wide = wide || (!c.isnull && c.att.attlen == -1);
  }
  std::vector<unsigned char> out(18, 0);
  PushLittleEndian(&out, columns.size(), 2);
  PushLittleEndian(&out, (nulls ? 1 : 0) + (wide ? 2 : 0), 2);
  out.push_back(0);  // t_hoff, below
  if (nulls) {
    unsigned char byte = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (!columns[i].isnull) byte |= static_cast<unsigned char>(1 << i % 8);
      if (i % 8 == 7 || i + 1 == columns.size()) {
        out.push_back(byte);
        byte = 0;
      }
    }
  }
  PadTo(&out, 8);
  out[22] = static_cast<unsigned char>(out.size());
  for (const Column& c : columns) {
    if (c.isnull) continue;
    if (c.att.attlen > 0) {
      PadTo(&out, NaiveAlignment(c.att.attalign));
      if (c.att.attbyval) {
        PushLittleEndian(&out, c.num, c.att.attlen);
      } else {
        for (int i = 0; i < c.att.attlen; ++i) {
          size_t at = static_cast<size_t>(i);
          out.push_back(at < c.bytes.size()
                            ? static_cast<unsigned char>(c.bytes[at])
                            : 0);
        }
      }
    } else if (c.att.attstorage != 'p' && c.bytes.size() < 127) {
      out.push_back(static_cast<unsigned char>((c.bytes.size() + 1) * 2 + 1));
      out.insert(out.end(), c.bytes.begin(), c.bytes.end());
    } else {
      PadTo(&out, NaiveAlignment(c.att.attalign));
      PushLittleEndian(&out, (c.bytes.size() + 4) * 4, 4);
      out.insert(out.end(), c.bytes.begin(), c.bytes.end());
    }
  }
  return std::string(out.begin(), out.end());
}

// --- Random columns. ---

struct TypeRow {
  Oid oid;
  int16_t len;
  char align;
  char storage;
  bool byval;
};
constexpr TypeRow kTypes[] = {
    {BOOLOID, 1, 'c', 'p', true},    {INT2OID, 2, 's', 'p', true},
    {INT4OID, 4, 'i', 'p', true},    {INT8OID, 8, 'd', 'p', true},
    {OIDOID, 4, 'i', 'p', true},     {CHAROID, 1, 'c', 'p', true},
    {NAMEOID, 64, 'c', 'p', false},  {TIDOID, 6, 's', 'p', false},
    {TEXTOID, -1, 'i', 'x', false},  {TEXTOID, -1, 'i', 'p', false},
    {BYTEAOID, -1, 'd', 'e', false}, {NUMERICOID, -1, 'i', 'm', false},
};

Column RandomColumn() {
  size_t type_index = *rc::gen::inRange<size_t>(0, std::size(kTypes));
  const TypeRow& type = kTypes[type_index];
  Column c;
  c.att.atttypid = type.oid;
  c.att.attlen = type.len;
  c.att.attalign = type.align;
  c.att.attstorage = type.storage;
  c.att.attbyval = type.byval;
  c.isnull = *rc::gen::inRange(0, 4) == 0;
  if (c.isnull) return c;
  if (type.byval) {
    c.num = *rc::gen::arbitrary<uint64_t>();
    if (type.oid == BOOLOID) c.num &= 1;
  } else {
    int limit = type.len > 0 ? type.len + 1 : 300;
    auto size = static_cast<size_t>(*rc::gen::inRange(0, limit));
    c.bytes =
        *rc::gen::container<std::string>(size, rc::gen::arbitrary<char>());
  }
  return c;
}

std::vector<Column> RandomColumns() {
  std::vector<Column> columns;
  int n = *rc::gen::inRange(0, 20);
  for (int i = 0; i < n; ++i) columns.push_back(RandomColumn());
  return columns;
}

TupleDesc DescOf(const std::vector<Column>& columns) {
  TupleDesc desc;
  for (const Column& c : columns) desc.push_back(c.att);
  return desc;
}

Result<HeapTuple> Form(const std::vector<Column>& columns) {
  std::vector<Datum> values;
  for (const Column& c : columns) {
    values.push_back(c.isnull         ? Datum::Null()
                     : c.att.attbyval ? Datum::Int(static_cast<int64_t>(c.num))
                                      : Datum::Bytes(c.bytes));
  }
  return HeapFormTuple(DescOf(columns), values);
}

// The number that comes back of one that went in.
int64_t Narrow(const Attribute& att, uint64_t num) {
  switch (att.attlen) {
    case 1:
      return static_cast<int8_t>(num);
    case 2:
      return static_cast<int16_t>(num);
    case 4:
      return att.atttypid == OIDOID ? int64_t{static_cast<uint32_t>(num)}
                                    : int64_t{static_cast<int32_t>(num)};
    default:
      return static_cast<int64_t>(num);
  }
}

RC_GTEST_PROP(HeapTuple, BytesAreThoseOfANaiveEncoder, ()) {
  std::vector<Column> columns = RandomColumns();
  auto tuple = Form(columns);
  RC_ASSERT(tuple.ok());
  RC_ASSERT(tuple->data == NaiveEncode(columns));
}

RC_GTEST_PROP(HeapTuple, WhatGoesInComesOut, ()) {
  std::vector<Column> columns = RandomColumns();
  auto tuple = Form(columns);
  RC_ASSERT(tuple.ok());
  // Columns added to the table later read as null.
  std::vector<Column> wider = columns;
  wider.push_back(RandomColumn());
  std::vector<Datum> values(wider.size());
  RC_ASSERT(HeapDeformTuple(DescOf(wider), tuple->data, values).ok());
  RC_ASSERT(values.back().isnull);
  for (size_t i = 0; i < columns.size(); ++i) {
    const Column& c = columns[i];
    RC_ASSERT(values[i].isnull == c.isnull);
    if (c.isnull) continue;
    if (c.att.attbyval) {
      RC_ASSERT(values[i].num == Narrow(c.att, c.num));
    } else {
      std::string expected = c.bytes;
      if (c.att.attlen > 0) {
        expected.resize(static_cast<size_t>(c.att.attlen), '\0');
      }
      RC_ASSERT(values[i].bytes == expected);
    }
  }
}

RC_GTEST_PROP(HeapTuple, DamagedBytesNeverReachBeyondTheTuple, ()) {
  std::vector<Column> columns = RandomColumns();
  auto tuple = Form(columns);
  RC_ASSERT(tuple.ok());
  std::string damaged = tuple->data;
  int flips = *rc::gen::inRange(0, 4);
  for (int i = 0; i < flips; ++i) {
    size_t at = *rc::gen::inRange<size_t>(0, damaged.size());
    damaged[at] = *rc::gen::arbitrary<char>();
  }
  damaged.resize(*rc::gen::inRange<size_t>(0, damaged.size() + 1));
  // An exact heap copy, so that a sanitizer sees one byte too many.
  std::vector<char> exact(damaged.begin(), damaged.end());
  std::string_view view(exact.data(), exact.size());
  std::vector<Datum> values(columns.size());
  if (!HeapDeformTuple(DescOf(columns), view, values).ok()) return;
  for (const Datum& value : values) {
    if (value.isnull || value.bytes.empty()) continue;
    RC_ASSERT(value.bytes.data() >= view.data());
    RC_ASSERT(value.bytes.data() + value.bytes.size() <=
              view.data() + view.size());
  }
}

TEST(HeapTuple, RowThatFillsAPageIsTheLargest) {
  Column c;
  c.att.attlen = -1;
  c.att.attstorage = 'x';
  c.att.attbyval = false;
  c.bytes.assign(8160 - 24 - 4, 'x');
  auto largest = Form({c});
  ASSERT_TRUE(largest.ok());
  EXPECT_EQ(largest->data.size(), 8160u);
  c.bytes += 'x';
  auto too_large = Form({c});
  ASSERT_FALSE(too_large.ok());
  EXPECT_EQ(too_large.status().sqlstate(), ERRCODE_PROGRAM_LIMIT_EXCEEDED);
  EXPECT_EQ(too_large.status().message(),
            "row is too big: size 8168, maximum size 8160");
}

TEST(HeapTuple, PgbenchAccountIs121BytesLong) {
  std::vector<Column> columns(4);
  for (int i = 0; i < 3; ++i) {
    columns[static_cast<size_t>(i)].att.attlen = 4;
  }
  columns[3].att.attlen = -1;
  columns[3].att.attstorage = 'x';
  columns[3].att.attbyval = false;
  columns[3].bytes.assign(84, ' ');
  auto tuple = Form(columns);
  ASSERT_TRUE(tuple.ok());
  EXPECT_EQ(tuple->data.size(), 121u);
}

}  // namespace
}  // namespace engine
