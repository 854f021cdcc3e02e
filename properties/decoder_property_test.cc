// The judges' decoders against the engine's writers and readers: two
// implementations of each format that share no code must agree on every input.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "engine/common/checksum.h"
#include "engine/heap/htup.h"
#include "engine/page/bufpage.h"
#include "engine/wal/xlogreader.h"
#include "properties/decoders/checksums.h"
#include "properties/decoders/page_decoder.h"
#include "properties/decoders/test_cluster.h"
#include "properties/decoders/tuple_decoder.h"
#include "properties/decoders/wal_decoder.h"

namespace properties {
namespace {

struct TypeInfo {
  uint32_t oid;
  int16_t length;
  char align;
  char storage;
};
constexpr TypeInfo kTypes[] = {{16, 1, 'c', 'p'},   {21, 2, 's', 'p'},
                               {23, 4, 'i', 'p'},   {20, 8, 'd', 'p'},
                               {1114, 8, 'd', 'p'}, {25, -1, 'i', 'x'},
                               {25, -1, 'i', 'p'}};

struct ColumnCase {
  size_t type;
  bool null;
  int64_t number;
  std::string bytes;
};

void showValue(const ColumnCase& c, std::ostream& os) {
  os << "{type " << kTypes[c.type].oid << (c.null ? " null " : " ") << c.number
     << " '" << c.bytes << "'}";
}

rc::Gen<ColumnCase> ColumnCases() {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange<size_t>(0, std::size(kTypes)),
                     rc::gen::weightedElement<bool>({{4, false}, {1, true}}),
                     rc::gen::arbitrary<int64_t>(),
                     rc::gen::inRange<size_t>(0, 400)),
      [](const std::tuple<size_t, bool, int64_t, size_t>& t) {
        auto fill = static_cast<char>('a' + std::get<2>(t) % 20);
        return ColumnCase{std::get<0>(t), std::get<1>(t), std::get<2>(t),
                          std::string(std::get<3>(t), fill)};
      });
}

// The number as a column of this width stores it.
int64_t Narrow(int64_t v, int16_t length) {
  switch (length) {
    case 1:
      return v & 1;  // bool
    case 2:
      return static_cast<int16_t>(v);
    case 4:
      return static_cast<int32_t>(v);
    default:
      return v;
  }
}

RC_GTEST_PROP(TupleProperty, WhatTheEngineFormsTheJudgesDecode, ()) {
  auto columns = *rc::gen::resize(
      12, rc::gen::container<std::vector<ColumnCase>>(ColumnCases()));
  RC_PRE(!columns.empty());
  engine::TupleDesc desc;
  RelationShape shape;
  std::vector<engine::Datum> values;
  Row expected;
  for (const ColumnCase& c : columns) {
    const TypeInfo& type = kTypes[c.type];
    engine::Attribute att;
    att.atttypid = type.oid;
    att.attlen = type.length;
    att.attalign = type.align;
    att.attstorage = type.storage;
    att.attbyval = type.length > 0;
    desc.push_back(att);
    shape.push_back({"c", type.oid, type.length, type.align, -1, false});
    if (c.null) {
      values.push_back(engine::Datum::Null());
      expected.push_back(Value());
    } else if (type.length > 0) {
      int64_t number = Narrow(c.number, type.length);
      values.push_back(engine::Datum::Int(number));
      expected.push_back(NumberValue(number));
    } else {
      values.push_back(engine::Datum::Bytes(c.bytes));
      expected.push_back(BytesValue(c.bytes));
    }
  }
  engine::Result<engine::HeapTuple> formed =
      engine::HeapFormTuple(desc, values);
  if (!formed.ok()) RC_DISCARD("row too big");
  RC_ASSERT(DecodeTupleHeader(formed->data).ok());
  env::Result<Row> row = DecodeTupleBody(
      shape, std::string_view(formed->data).substr(kTupleBodyOffset));
  RC_ASSERT(row.ok());
  RC_ASSERT(*row == expected);
  // And byte by byte what the tests' own encoder writes, header flags aside.
  RC_ASSERT(EncodeBody(shape, expected).substr(4) ==
                formed->data.substr(kTupleBodyOffset + 4) ||
            std::any_of(columns.begin(), columns.end(), [](const auto& c) {
              return kTypes[c.type].length < 0 && kTypes[c.type].storage == 'p';
            }));
}

RC_GTEST_PROP(TupleProperty, DamagedBytesNeverMakeTheDecoderStray,
              (const std::string& bytes, const std::vector<bool>& wide)) {
  RelationShape shape;
  for (bool w : wide) {
    const TypeInfo& type = kTypes[w ? 5 : 2];
    shape.push_back({"c", type.oid, type.length, type.align, -1, false});
  }
  // Under the sanitizer this is what the property is about.
  env::Result<Row> row = DecodeTupleBody(shape, bytes);
  if (row.ok()) RC_ASSERT(row->size() == shape.size());
}

RC_GTEST_PROP(PageProperty, WhatTheEngineArrangesTheJudgesFind, ()) {
  alignas(8) char page[kPageBytes];
  engine::PageInit(page, 0);
  std::map<size_t, std::string> expected;
  auto steps = *rc::gen::container<std::vector<std::pair<uint8_t, uint16_t>>>(
      rc::gen::pair(rc::gen::inRange<uint8_t>(0, 10),
                    rc::gen::inRange<uint16_t>(1, 700)));
  for (const auto& [action, number] : steps) {
    if (action < 7) {
      std::string item(24 + number, static_cast<char>('a' + number % 26));
      engine::OffsetNumber at = engine::PageAddItem(page, item, 0, false, true);
      if (at != 0) expected[at] = item;
    } else if (action < 9 && !expected.empty()) {
      auto it = std::next(expected.begin(),
                          static_cast<long>(number % expected.size()));
      engine::ItemIdSetUnused(*engine::PageGetItemId(
          page, static_cast<engine::OffsetNumber>(it->first)));
      engine::PageSetHasFreeLinePointers(page);
      expected.erase(it);
    } else {
      RC_ASSERT(engine::PageRepairFragmentation(page).ok());
    }
    env::Result<DecodedPage> decoded = DecodePage({page, kPageBytes});
    RC_ASSERT(decoded.ok());
    size_t normal = 0;
    for (size_t n = 1; n <= decoded->items.size(); ++n) {
      if (decoded->items[n - 1].kind != LinePointerKind::kNormal) continue;
      ++normal;
      RC_ASSERT(expected.count(n) == 1u);
      RC_ASSERT(PageItem({page, kPageBytes}, *decoded, n) == expected[n]);
    }
    RC_ASSERT(normal == expected.size());
  }
  auto block = *rc::gen::arbitrary<uint32_t>();
  engine::PageSetChecksumInplace(page, block);
  RC_ASSERT(ComputePageChecksum({page, kPageBytes}, block) ==
            DecodePage({page, kPageBytes})->checksum);
  engine::RelFileNode relation = {*rc::gen::arbitrary<uint32_t>(),
                                  *rc::gen::arbitrary<uint32_t>(),
                                  *rc::gen::arbitrary<uint32_t>()};
  auto fork = *rc::gen::inRange<uint32_t>(0, 4);
  RC_ASSERT(
      RelationChecksumSalt(relation.spcNode, relation.dbNode, relation.relNode,
                           fork) ==
      engine::ChecksumSalt(relation, static_cast<engine::ForkNumber>(fork)));
}

// Where the engine's reader says that the log ends.
uint64_t EngineEnd(const MemoryCluster& files, const WalLayout& layout,
                   uint64_t from, size_t* records) {
  engine::XLogReaderState reader(
      layout.segment_bytes, layout.system_identifier,
      [&](engine::XLogRecPtr page, std::span<char, engine::XLOG_BLCKSZ> out) {
        const std::string* segment =
            files.Read("pg_wal/" + WalSegmentName(layout, page));
        if (segment == nullptr) {
          return engine::Status(env::Code::kNotFound, "no segment");
        }
        std::copy_n(
            segment->begin() + static_cast<long>(page % layout.segment_bytes),
            out.size(), out.begin());
        return engine::Status();
      });
  reader.BeginRead(from);
  uint64_t end = from;
  *records = 0;
  while (reader.ReadRecord()) {
    end = reader.EndRecPtr();
    ++*records;
  }
  return end;
}

RC_GTEST_PROP(WalProperty, BothReadersFindTheSameEndWhateverByteIsWrong, ()) {
  WalLayout layout;
  layout.segment_bytes = 8 * kPageBytes;
  layout.system_identifier = 42;
  MemoryCluster files;
  TestWal log(&files, layout, layout.segment_bytes);
  auto sizes = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<size_t>>(rc::gen::weightedOneOf<size_t>(
          {{6, rc::gen::inRange<size_t>(0, 300)},
           {1, rc::gen::inRange<size_t>(0, 20000)}})));
  uint64_t first = 0;
  for (size_t size : sizes) {
    uint64_t start = log.Append(kRmHeap, 0, 7, std::string(size, 'w'));
    if (first == 0) first = start;
  }
  uint64_t last = log.end();
  WalDecoder wal(&files, layout);
  wal.BeginRead(first);
  size_t mine = 0;
  while (wal.Next()) ++mine;
  RC_ASSERT(mine == sizes.size());
  size_t theirs = 0;
  RC_ASSERT(EngineEnd(files, layout, first, &theirs) == wal.end());
  RC_ASSERT(theirs == mine);

  uint64_t at = *rc::gen::inRange<uint64_t>(layout.segment_bytes, last);
  auto flip = *rc::gen::inRange<int>(1, 256);
  std::string& segment = files.At("pg_wal/" + WalSegmentName(layout, at));
  char& byte = segment[at % layout.segment_bytes];
  byte = static_cast<char>(byte ^ flip);
  WalDecoder again(&files, layout);
  again.BeginRead(first);
  mine = 0;
  while (again.Next()) ++mine;
  RC_ASSERT(EngineEnd(files, layout, first, &theirs) == again.end());
  RC_ASSERT(theirs == mine);
  RC_ASSERT(again.end() <= wal.end());
}

}  // namespace
}  // namespace properties
