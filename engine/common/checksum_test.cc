#include "engine/common/checksum.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstring>
#include <string>

namespace engine {
namespace {

TEST(Crc32c, GoldenValues) {
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AAu);  // RFC 3720 B.4
  EXPECT_EQ(Crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
}

TEST(Crc32c, BothImplementationsAgreeOnAnySplit) {
  EXPECT_TRUE(rc::check("split anywhere", [] {
    std::string bytes = *rc::gen::arbitrary<std::string>();
    size_t cut = *rc::gen::inRange<size_t>(0, bytes.size() + 1);
    uint32_t whole = Crc32cComp(kCrc32cInit, bytes.data(), bytes.size());
    uint32_t parts = Crc32cComp(kCrc32cInit, bytes.data(), cut);
    parts = Crc32cCompPortable(parts, bytes.data() + cut, bytes.size() - cut);
    RC_ASSERT(whole == parts);
  }));
}

// Filled by a generator, so that PostgreSQL's own pg_checksum_page() can be
// asked about the same bytes.
TEST(PageChecksum, GoldenValues) {
  alignas(8) char page[BLCKSZ];
  const uint16_t golden[3][3] = {
      {27136, 27135, 51660}, {45816, 45815, 35548}, {59848, 59847, 10605}};
  uint32_t seed = 1;
  const uint16_t upper = 4000;
  for (int variant = 0; variant < 3; ++variant) {
    for (int i = 0; i < BLCKSZ; ++i) {
      seed = seed * 1103515245u + 12345u;
      page[i] = static_cast<char>(variant == 0 ? i * 7 : seed >> 16);
    }
    std::memcpy(page + 14, &upper, sizeof upper);
    EXPECT_EQ(PageChecksum(page, 0), golden[variant][0]);
    EXPECT_EQ(PageChecksum(page, 1), golden[variant][1]);
    EXPECT_EQ(PageChecksum(page, 0x12345678), golden[variant][2]);
    page[8] = static_cast<char>(page[8] + 1);  // its own field does not count
    EXPECT_EQ(PageChecksum(page, 0), golden[variant][0]);
  }
}

}  // namespace
}  // namespace engine
