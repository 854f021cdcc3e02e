#include "properties/decoders/page_decoder.h"

#include <gtest/gtest.h>

#include <cstring>

#include "properties/decoders/checksums.h"
#include "properties/decoders/testdata.h"

namespace properties {
namespace {

std::string Block(size_t n) {
  return ReadTestdata("pg15_heap.bin").substr(n * kPageBytes, kPageBytes);
}

void Poke16(std::string* page, size_t at, uint16_t value) {
  std::memcpy(page->data() + at, &value, sizeof value);
}

TEST(PageDecoder, ReadsPagesOfARealServer) {
  for (size_t n = 0; n < 5; ++n) {
    std::string page = Block(n);
    ASSERT_EQ(page.size(), kPageBytes);
    env::Result<DecodedPage> decoded = DecodePage(page);
    ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
    EXPECT_EQ(decoded->checksum,
              ComputePageChecksum(page, static_cast<uint32_t>(n)));
    EXPECT_GT(decoded->lsn, 0x877F80u);
    EXPECT_LE(decoded->lsn, 0x884488u);
  }
  env::Result<DecodedPage> first = DecodePage(Block(0));
  // Pruned: 1 and 3 redirect to the newest versions, 2 and the aborted ones
  // are dead.
  EXPECT_EQ(first->items[0].kind, LinePointerKind::kRedirect);
  EXPECT_EQ(first->items[0].offset, 6);
  EXPECT_EQ(first->items[1].kind, LinePointerKind::kDead);
  EXPECT_EQ(first->items[3].kind, LinePointerKind::kNormal);
}

TEST(PageDecoder, ChecksumDependsOnEveryBitAndOnTheBlock) {
  std::string page = Block(0);
  uint16_t sum = ComputePageChecksum(page, 0);
  EXPECT_NE(sum, ComputePageChecksum(page, 1));
  for (size_t at : {0u, 7u, 12u, 4095u, 8191u}) {
    std::string flipped = page;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    EXPECT_NE(sum, ComputePageChecksum(flipped, 0)) << at;
  }
  std::string other = page;
  Poke16(&other, 8, 12345);  // pd_checksum itself does not count
  EXPECT_EQ(sum, ComputePageChecksum(other, 0));
}

TEST(PageDecoder, AllZerosIsANewPageAndNothingElseIs) {
  std::string page(kPageBytes, '\0');
  env::Result<DecodedPage> decoded = DecodePage(page);
  ASSERT_TRUE(decoded.ok());
  EXPECT_TRUE(decoded->is_new);
  page[8000] = 1;
  EXPECT_FALSE(DecodePage(page).ok());
}

TEST(PageDecoder, RefusesWhatNoPageCanBe) {
  struct Case {
    size_t at;
    uint16_t value;
  };
  // pd_flags, pd_lower behind pd_upper, lower cutting a line pointer, special
  // behind the end, a wrong version, an item outside, an item of length 0.
  for (Case c : {Case{10, 0x80}, Case{12, 8000}, Case{12, 30}, Case{16, 8200},
                 Case{18, 8192 | 5}, Case{24 + 3 * 4, 0x8000 | 24},
                 Case{24 + 3 * 4 + 2, 0}}) {
    std::string page = Block(0);
    Poke16(&page, c.at, c.value);
    EXPECT_FALSE(DecodePage(page).ok()) << c.at << " = " << c.value;
  }
  EXPECT_FALSE(DecodePage(Block(0).substr(1)).ok());
}

TEST(PageDecoder, RefusesOverlappingItems) {
  std::string page = Block(4);
  ASSERT_GE(DecodePage(page)->items.size(), 2u);
  uint32_t first;
  std::memcpy(&first, page.data() + 24, 4);
  size_t second = 0;
  env::Result<DecodedPage> decoded = DecodePage(page);
  for (size_t i = 0; i < decoded->items.size(); ++i) {
    if (decoded->items[i].kind == LinePointerKind::kNormal) second = i;
  }
  // A second pointer to the same bytes.
  size_t free_slot = second == 0 ? 1 : 0;
  std::memcpy(page.data() + 24 + free_slot * 4, page.data() + 24 + second * 4,
              4);
  EXPECT_FALSE(DecodePage(page).ok());
}

}  // namespace
}  // namespace properties
