#include "properties/page_mask.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "properties/decoders/test_cluster.h"

namespace properties {
namespace {

constexpr uint16_t kXmaxInvalid = 0x0800;

// Three tuples of two columns; the second was deleted by 702.
std::string SomePage() {
  TestPage page;
  page.Add(700, 0, 1, Int4Body({1, 10}), kXmaxInvalid);
  page.Add(701, 702, 2, Int4Body({2, 20}));
  page.Add(703, 0, 3, Int4Body({3, 30}), kXmaxInvalid);
  page.SetLsn(5000);
  return page.Bytes(0);
}

size_t TupleAt(const std::string& page, size_t n) {
  return LoadField<uint32_t>(page, 24 + (n - 1) * 4) & 0x7FFF;
}

void FlipBits(std::string* page, size_t at, uint16_t bits) {
  PokeField(page, at,
            static_cast<uint16_t>(LoadField<uint16_t>(*page, at) ^ bits));
}

TEST(PageMask, EveryRowNamesItsOracleAndItsReason) {
  std::set<MaskedPart> parts;
  for (const MaskRow& row : MaskTable()) {
    EXPECT_TRUE(parts.insert(row.part).second) << row.fields;
    EXPECT_NE(std::string(row.oracle), "") << row.fields;
    EXPECT_NE(std::string(row.why), "") << row.fields;
  }
  EXPECT_EQ(parts.size(), 5u);
}

TEST(PageMask, MaskedPartsMayDiffer) {
  std::string redone = SomePage();
  std::string found = redone;
  PokeField(&found, 4, uint32_t{6000});    // pd_lsn
  PokeField(&found, 8, uint16_t{0x1234});  // pd_checksum
  FlipBits(&found, 10, 0x0002);            // PD_PAGE_FULL
  size_t second = TupleAt(found, 2);
  PokeField(&found, second + 8, uint32_t{7});  // t_cid
  FlipBits(&found, second + 20, 0x0020);       // HEAP_COMBOCID
  FlipBits(&found, second + 20, 0x0100);       // HEAP_XMIN_COMMITTED
  FlipBits(&found, second + 20, 0x0400);       // HEAP_XMAX_COMMITTED
  EXPECT_EQ(ComparePages(redone, found), "");
}

TEST(PageMask, AHintThatRedoMakesMayNotBeMissing) {
  std::string redone = SomePage();
  std::string found = redone;
  FlipBits(&found, TupleAt(found, 1) + 20, kXmaxInvalid);
  EXPECT_EQ(ComparePages(redone, found),
            "t_infomask of line pointer 1 is 0x0, redo makes 0x800");
}

TEST(PageMask, FrozenIsNoHint) {
  std::string redone = SomePage();
  std::string found = redone;
  FlipBits(&found, TupleAt(found, 1) + 20, 0x0300);
  EXPECT_NE(ComparePages(redone, found), "");
}

TEST(PageMask, TheFirstFieldThatDiffersIsNamed) {
  std::string redone = SomePage();
  std::string found = redone;
  PokeField(&found, TupleAt(found, 2) + 4, uint32_t{0});
  EXPECT_EQ(ComparePages(redone, found),
            "t_xmax of line pointer 2 is 0x0, redo makes 0x2be");
  found = redone;
  FlipBits(&found, 24, 1);
  EXPECT_NE(ComparePages(redone, found).find("line pointer 1"),
            std::string::npos);
  found = redone;
  PokeField(&found, 20, uint32_t{702});
  EXPECT_EQ(ComparePages(redone, found),
            "pd_prune_xid is 0x2be, redo makes 0x0");
}

// True if the table lets this bit of a found SomePage() be set or cleared.
bool MayFlip(const std::string& page, size_t byte, int bit) {
  bool set = (static_cast<unsigned char>(page[byte]) >> bit & 1) != 0;
  if (byte < 10) return true;
  if (byte == 10) return bit == 1 && !set;
  for (size_t n = 1; n <= 3; ++n) {
    size_t tuple = TupleAt(page, n);
    if (byte >= tuple + 8 && byte < tuple + 12) return true;
    if (byte == tuple + 20) return bit == 5;
    if (byte == tuple + 21) return bit <= 3 && !set;
  }
  return false;
}

RC_GTEST_PROP(PageMask, EveryOtherBitCounts, ()) {
  std::string redone = SomePage();
  size_t byte = 0;
  if (*rc::gen::inRange(0, 2) == 0) {
    size_t tuple = TupleAt(redone, *rc::gen::inRange<size_t>(1, 4));
    byte = tuple + *rc::gen::inRange<size_t>(0, 32);
  } else {
    byte = *rc::gen::inRange<size_t>(0, kPageBytes);
  }
  int bit = *rc::gen::inRange(0, 8);
  std::string found = redone;
  found[byte] = static_cast<char>(found[byte] ^ (1 << bit));
  RC_ASSERT(ComparePages(redone, found).empty() == MayFlip(redone, byte, bit));
}

}  // namespace
}  // namespace properties
