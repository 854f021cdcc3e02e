#include "properties/decoders/tuple_decoder.h"

#include <gtest/gtest.h>

#include <set>

#include "properties/decoders/clog_decoder.h"
#include "properties/decoders/page_decoder.h"
#include "properties/decoders/testdata.h"

namespace properties {
namespace {

const RelationShape& GoldenShape() {
  static const RelationShape shape = {
      {"id", 23, 4, 'i', -1, false},   {"big", 20, 8, 'd', -1, false},
      {"ok", 16, 1, 'c', -1, false},   {"note", 25, -1, 'i', -1, false},
      {"v", 1043, -1, 'i', 24, false}, {"c", 1042, -1, 'i', 9, false},
      {"ts", 1114, 8, 'd', -1, false}};
  return shape;
}

// What psql showed for the table whose pages these are.
TEST(TupleDecoder, ReadsTheVisibleRowsOfARealServer) {
  std::string heap = ReadTestdata("pg15_heap.bin");
  MemoryCluster files;
  files.Put("pg_xact/0000", ReadTestdata("pg15_clog.bin"));
  ClogDecoder clog(&files);
  std::set<std::string> rows;
  for (size_t block = 0; block * kPageBytes < heap.size(); ++block) {
    std::string_view page =
        std::string_view(heap).substr(block * kPageBytes, kPageBytes);
    env::Result<DecodedPage> decoded = DecodePage(page);
    ASSERT_TRUE(decoded.ok());
    for (size_t n = 1; n <= decoded->items.size(); ++n) {
      if (decoded->items[n - 1].kind != LinePointerKind::kNormal) continue;
      std::string_view tuple = PageItem(page, *decoded, n);
      env::Result<TupleHeader> header = DecodeTupleHeader(tuple);
      ASSERT_TRUE(header.ok()) << header.status().ToString();
      env::Result<Row> row =
          DecodeTupleBody(GoldenShape(), tuple.substr(kTupleBodyOffset));
      ASSERT_TRUE(row.ok()) << row.status().ToString();
      if (IsVisibleAtRest(*header, clog)) {
        rows.insert(RowToText(GoldenShape(), *row));
      }
    }
  }
  std::set<std::string> expected = {
      "(1, 5000000000, t, 'after checkpoint', 'vc', 'ab   ', "
      "2024-02-29 12:34:56.789)",
      "(3, 8, null, '', 'v3', '     ', 1999-12-31 23:59:59.000001)",
      "(5, 55, t, 'last', 'x', 'y    ', null)"};
  EXPECT_EQ(rows, expected);
}

// A body with two int4 columns, the second null: natts 2, HASNULL, hoff 24.
std::string NullBody() {
  std::string body("\x02\x00\x01\x00\x18\x01\x07\x00\x00\x00", 10);
  return body;
}

TEST(TupleDecoder, NullBitmapSaysWhichColumnsAreMissing) {
  RelationShape shape = {{"a", 23, 4, 'i', -1, false},
                         {"b", 23, 4, 'i', -1, false},
                         {"added_later", 25, -1, 'i', -1, false}};
  env::Result<Row> row = DecodeTupleBody(shape, NullBody());
  ASSERT_TRUE(row.ok()) << row.status().ToString();
  EXPECT_EQ((*row)[0].number, 7);
  EXPECT_EQ((*row)[1].form, ValueForm::kNull);
  EXPECT_EQ((*row)[2].form, ValueForm::kNull);
}

TEST(TupleDecoder, RefusesLengthsThatDoNotAddUp) {
  RelationShape one = {{"a", 23, 4, 'i', -1, false}};
  RelationShape wide = {{"a", 20, 8, 'd', -1, false},
                        {"b", 23, 4, 'i', -1, false}};
  RelationShape two = {{"a", 23, 4, 'i', -1, false},
                       {"b", 23, 4, 'i', -1, false}};
  EXPECT_FALSE(DecodeTupleBody(one, NullBody()).ok());   // too many columns
  EXPECT_FALSE(DecodeTupleBody(wide, NullBody()).ok());  // runs past the end
  EXPECT_FALSE(DecodeTupleBody(two, NullBody() + "x").ok());  // bytes left
  std::string hoff = NullBody();
  hoff[4] = 32;
  EXPECT_FALSE(DecodeTupleBody(two, hoff).ok());
}

TEST(TupleDecoder, HintBitsDoNotMakeTwoTuplesDifferent) {
  std::string a = NullBody();
  std::string b = a;
  b[3] = 0x0B;                     // XMIN_COMMITTED and more
  b[1] = static_cast<char>(0xC0);  // HOT bits
  EXPECT_TRUE(SameTupleData(a, b));
  b[6] = 8;
  EXPECT_FALSE(SameTupleData(a, b));
}

class Fixed : public CommittedXids {
 public:
  explicit Fixed(std::set<uint32_t> xids) : xids_(std::move(xids)) {}
  bool IsCommitted(uint32_t xid) const override { return xids_.count(xid) > 0; }

 private:
  std::set<uint32_t> xids_;
};

TEST(TupleDecoder, VisibleOnlyIfInserterCommittedAndDeleterDidNot) {
  Fixed xids({10, 11});
  TupleHeader h;
  h.xmin = 10;
  EXPECT_TRUE(IsVisibleAtRest(h, xids));
  h.xmax = 12;  // aborted
  EXPECT_TRUE(IsVisibleAtRest(h, xids));
  h.xmax = 11;
  EXPECT_FALSE(IsVisibleAtRest(h, xids));
  h.infomask = kHeapXmaxLockOnly;
  EXPECT_TRUE(IsVisibleAtRest(h, xids));
  h.xmin = 12;
  EXPECT_FALSE(IsVisibleAtRest(h, xids));
  h.infomask = kHeapXminCommitted;  // a wrong hint is not believed
  EXPECT_FALSE(IsVisibleAtRest(h, xids));
}

}  // namespace
}  // namespace properties
