// pglz: PostgreSQL's bytes, in both directions, and no trust in garbage.
#include "engine/common/pglz.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace engine {
namespace {

std::optional<std::string> Compress(
    const std::string& raw,
    const PGLZ_Strategy& strategy = PGLZ_strategy_default) {
  std::vector<char> out(PGLZ_MAX_OUTPUT(raw.size()));
  std::optional<size_t> size = PglzCompress(raw, out, strategy);
  if (!size.has_value()) return std::nullopt;
  return std::string(out.data(), *size);
}

std::optional<std::string> Decompress(const std::string& compressed,
                                      size_t rawsize,
                                      bool check_complete = true) {
  std::string raw(rawsize, '\0');
  std::optional<size_t> size = PglzDecompress(compressed, raw, check_complete);
  if (!size.has_value()) return std::nullopt;
  raw.resize(*size);
  return raw;
}

// The values that a real server was made to compress; testdata/README.md.
std::string GoldenRaw(uint32_t seed, uint32_t length, uint32_t mask,
                      uint32_t shape) {
  uint64_t x = seed;
  std::string out;
  for (uint32_t i = 0; i < length; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    auto byte = static_cast<uint8_t>((x >> 33) & mask);
    size_t back = (x >> 40) % 37;
    if (shape == 1 && !out.empty() && (x >> 50) % 4 != 0) {
      byte = static_cast<uint8_t>(
          out[out.size() > back ? out.size() - 1 - back : 0]);
    } else if (shape == 2 && out.size() > 300 && (x >> 50) % 8 != 0) {
      byte = static_cast<uint8_t>(out[out.size() - 300]);
    } else if (shape != 0) {
      byte = static_cast<uint8_t>(((x >> 33) & mask) | ((x >> 20) & 0x80));
    }
    out += static_cast<char>(byte);
  }
  return out;
}

TEST(Pglz, CompressesToTheBytesOfARealServer) {
  std::ifstream in("engine/common/testdata/pg15_pglz.bin", std::ios::binary);
  std::string file((std::istreambuf_iterator<char>(in)),
                   std::istreambuf_iterator<char>());
  int cases = 0;
  for (size_t at = 0; at < file.size();) {
    uint32_t head[5];
    ASSERT_LE(at + sizeof(head), file.size());
    std::memcpy(head, file.data() + at, sizeof(head));
    at += sizeof(head);
    std::string theirs = file.substr(at, head[4]);
    ASSERT_EQ(theirs.size(), head[4]);
    at += head[4];
    std::string raw = GoldenRaw(head[0], head[1], head[2], head[3]);
    EXPECT_EQ(Decompress(theirs, raw.size()), raw) << "seed " << head[0];
    EXPECT_EQ(Compress(raw), theirs) << "seed " << head[0];
    ++cases;
  }
  EXPECT_EQ(cases, 16);
}

// POSTGRESQL_FACTS' arithmetic: one literal, then references of 273 bytes.
TEST(Pglz, ALongRunTakesTheLengthThatArithmeticSays) {
  std::optional<std::string> long_run = Compress(std::string(100000, 'b'));
  ASSERT_TRUE(long_run.has_value());
  EXPECT_EQ(long_run->size(), 1148u);
  std::optional<std::string> short_run = Compress(std::string(3000, 'c'));
  ASSERT_TRUE(short_run.has_value());
  EXPECT_EQ(short_run->size(), 36u);
}

TEST(Pglz, TheDefaultStrategyGivesUpWhereItShould) {
  EXPECT_FALSE(Compress(std::string(31, 'a')).has_value());
  EXPECT_TRUE(Compress(std::string(32, 'a')).has_value());
  EXPECT_FALSE(Compress("").has_value());
  // No match in the first 1024 bytes of output: 910 literals and 114 control
  // bytes. The run behind them is not looked at.
  std::string noise;
  for (uint32_t x = 1; noise.size() < 1000;) {
    x = x * 1664525 + 1013904223;
    noise += static_cast<char>(x >> 24);
  }
  EXPECT_FALSE(Compress(noise + std::string(8000, 'z')).has_value());
  EXPECT_TRUE(
      Compress(noise.substr(0, 800) + std::string(8000, 'z')).has_value());
  EXPECT_TRUE(Compress(noise + std::string(8000, 'z'), PGLZ_strategy_always));
  // A quarter must be saved: 64 bytes of noise twice, and a little more.
  std::string twice = noise.substr(0, 64) + noise.substr(0, 64);
  EXPECT_TRUE(Compress(twice).has_value());
  EXPECT_FALSE(Compress(twice + noise.substr(200, 90)).has_value());
}

std::string Text(const std::vector<std::pair<uint8_t, uint16_t>>& pieces) {
  std::string raw;
  for (const auto& [byte, spec] : pieces) {
    size_t length = spec % 400;
    if (spec % 3 == 0 || raw.empty()) {
      raw.append(length % 40 + 1, static_cast<char>(byte));
    } else {
      size_t from = (byte * 131u + spec) % raw.size();
      for (size_t i = 0; i < length; ++i) raw += raw[from + i];
    }
  }
  return raw;
}

TEST(Pglz, WhatIsCompressedComesBack) {
  EXPECT_TRUE(
      rc::check([](const std::vector<std::pair<uint8_t, uint16_t>>& pieces) {
        std::string raw = Text(pieces);
        for (const PGLZ_Strategy& strategy :
             {PGLZ_strategy_default, PGLZ_strategy_always}) {
          std::optional<std::string> compressed = Compress(raw, strategy);
          if (!compressed.has_value()) continue;
          RC_ASSERT(compressed->size() < raw.size());
          RC_ASSERT(Decompress(*compressed, raw.size()) == raw);
        }
      }));
}

TEST(Pglz, ASliceNeedsNoMoreThanTheBoundSays) {
  EXPECT_TRUE(
      rc::check([](const std::vector<std::pair<uint8_t, uint16_t>>& pieces,
                   uint16_t wanted) {
        std::string raw = Text(pieces);
        std::optional<std::string> compressed = Compress(raw);
        if (!compressed.has_value()) return;
        size_t slice = wanted % raw.size();
        size_t need = PglzMaximumCompressedSize(slice, compressed->size());
        std::optional<std::string> got =
            Decompress(compressed->substr(0, need), slice, false);
        RC_ASSERT(got.has_value());
        RC_ASSERT(*got == raw.substr(0, slice));
      }));
}

TEST(Pglz, DamagedInputIsRefusedOrStaysInBounds) {
  // Whole, exact, and nothing behind or missing.
  std::string good = *Compress(std::string(500, 'q') + "tail");
  EXPECT_TRUE(Decompress(good, 504).has_value());
  EXPECT_FALSE(Decompress(good, 505).has_value());
  EXPECT_FALSE(Decompress(good, 503).has_value());
  EXPECT_FALSE(Decompress(good + 'x', 504).has_value());
  EXPECT_FALSE(Decompress(good.substr(0, good.size() - 1), 504).has_value());
  // An offset of zero, one before the start, and references cut in two.
  EXPECT_FALSE(Decompress(std::string("\x02"
                                      "a\x00\x00",
                                      4),
                          4)
                   .has_value());
  EXPECT_FALSE(Decompress("\x02"
                          "a\x01\x02",
                          4)
                   .has_value());
  EXPECT_TRUE(Decompress(std::string("\x02"
                                     "a\x00\x01",
                                     4),
                         4)
                  .has_value());
  EXPECT_FALSE(Decompress("\x02"
                          "a\x01",
                          4, false)
                   .has_value());
  EXPECT_FALSE(Decompress("\x02"
                          "a\x0f\x01",
                          40, false)
                   .has_value());
  // The heap blocks end where the data does, so that a sanitizer sees a byte
  // too many.
  EXPECT_TRUE(rc::check([](const std::vector<char>& garbage, uint16_t size) {
    std::vector<char> in(garbage);
    std::vector<char> out(size % 3000u);
    std::optional<size_t> got = PglzDecompress(in, out, false);
    if (got.has_value()) RC_ASSERT(*got <= out.size());
  }));
  EXPECT_TRUE(rc::check([&](uint16_t at, char byte) {
    std::vector<char> in(good.begin(), good.end());
    in[at % in.size()] = byte;
    std::vector<char> out(504);
    PglzDecompress(in, out, true);
  }));
}

}  // namespace
}  // namespace engine
