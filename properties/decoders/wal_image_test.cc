// The judges' decoder of page images against the engine's encoder.
#include "properties/decoders/wal_image.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "engine/common/pglz.h"
#include "engine/wal/fpi_compression.h"
#include "properties/decoders/bytes.h"

namespace properties {
namespace {

using engine::WalCompression;

// A page of runs and repeats, empty between lower and upper.
std::string MakePage(uint32_t noise, uint16_t lower, uint16_t upper) {
  std::string page(kPageBytes, '\0');
  for (char& byte : page) {
    noise = noise * 1664525 + 1013904223;
    byte = (noise >> 28) < 12 ? 'r' : static_cast<char>(noise >> 20);
  }
  std::fill(page.begin() + lower, page.begin() + upper, '\0');
  return page;
}

TEST(WalImage, TheEnginesImagesBecomePagesAgain) {
  EXPECT_TRUE(rc::check([](uint32_t noise) {
    auto lower = *rc::gen::inRange<uint16_t>(24, 8192);
    auto upper = *rc::gen::inRange<uint16_t>(lower, 8193);
    std::string page = MakePage(noise, lower, upper);
    engine::PageHole hole;
    if (lower < upper) hole = {lower, static_cast<uint16_t>(upper - lower)};
    auto method =
        *rc::gen::element(WalCompression::kPglz, WalCompression::kLz4);
    std::vector<char> out(engine::kMaxCompressedImageBytes);
    std::optional<uint16_t> length =
        engine::CompressImage(method, page.data(), hole,
                              std::span<char, engine::kMaxCompressedImageBytes>(
                                  out.data(), out.size()));
    if (!length.has_value()) return;
    WalBlockRef block;
    block.has_image = true;
    block.image_info = engine::CompressionBit(method);
    block.hole_offset = hole.offset;
    block.hole_length = hole.length;
    block.image = std::string_view(out.data(), *length);
    RC_ASSERT(MethodOf(block) == (method == WalCompression::kPglz
                                      ? WalImageMethod::kPglz
                                      : WalImageMethod::kLz4));
    env::Result<std::string> restored = RestoreWalImage(block);
    RC_ASSERT(restored.ok());
    RC_ASSERT(*restored == page);
    // One byte more or less is not an image of this page.
    block.image = std::string_view(out.data(), *length - 1u);
    RC_ASSERT(!RestoreWalImage(block).ok());
    block.image = std::string_view(out.data(), *length);
    block.hole_length = static_cast<uint16_t>(hole.length ^ 1);
    RC_ASSERT(!RestoreWalImage(block).ok());
    block.image_info = 0x10;  // zstd
    RC_ASSERT(!RestoreWalImage(block).ok());
  }));
}

// Both decoders take the same streams and give the same bytes.
TEST(WalImage, PglzDecodersAgreeOnDamagedStreams) {
  EXPECT_TRUE(rc::check(
      [](const std::vector<uint8_t>& text, uint16_t at, uint8_t byte) {
        std::string raw(40, 'a');
        for (uint8_t c : text) raw.append(c % 7 + 1u, static_cast<char>(c % 5));
        std::vector<char> out(engine::PGLZ_MAX_OUTPUT(raw.size()));
        std::optional<size_t> size =
            engine::PglzCompress(raw, out, engine::PGLZ_strategy_default);
        if (!size.has_value()) return;
        out.resize(*size);
        out[at % out.size()] = static_cast<char>(byte);
        std::string engines(raw.size(), '\0');
        std::optional<size_t> got = engine::PglzDecompress(out, engines, true);
        env::Result<std::string> judges =
            DecodePglz(std::string_view(out.data(), out.size()), raw.size());
        // The engine lets a reference run past the end of the raw data, as
        // PostgreSQL does; the judges do not.
        if (judges.ok()) {
          RC_ASSERT(got.has_value());
          RC_ASSERT(*judges == engines);
        }
      }));
}

}  // namespace
}  // namespace properties
