#include "engine/common/varlena.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace engine {
namespace {

TEST(Varlena, HeaderBytesAreThoseOfPostgres) {
  char out[256];
  EXPECT_EQ(WriteVarlena(out, "abc", /*packed=*/true) - out, 4);
  EXPECT_EQ(std::string_view(out, 4), std::string_view("\x09"
                                                       "abc",
                                                       4));
  EXPECT_EQ(WriteVarlena(out, "abc", /*packed=*/false) - out, 7);
  EXPECT_EQ(std::string_view(out, 7), std::string_view("\x1C\0\0\0abc", 7));
  // 126 bytes are the most that a short header takes.
  EXPECT_EQ(VarlenaSize(126, true), 127u);
  EXPECT_EQ(VarlenaSize(127, true), 131u);

  std::string compressed = MakeCompressedVarlena("zz", 3000, 1);
  EXPECT_EQ(compressed, std::string("\x2A\0\0\0\xB8\x0B\0\x40zz", 10));

  varatt_external t{10004, 10000, 16390, 16385};
  EXPECT_EQ(WriteToastPointer(out, t) - out, 18);
  EXPECT_EQ(std::string_view(out, 2), std::string_view("\x01\x12", 2));
  EXPECT_FALSE(VarattExternalIsCompressed(t));
  t.va_extinfo = 9999 | (1u << 30);
  EXPECT_TRUE(VarattExternalIsCompressed(t));
  EXPECT_EQ(VarattExternalGetMethod(t), 1);
}

TEST(Varlena, ParsingUndoesWriting) {
  EXPECT_TRUE(rc::check("all forms", [] {
    std::string payload(*rc::gen::inRange<size_t>(0, 300), 'p');
    bool packed = *rc::gen::arbitrary<bool>();
    std::string out(VarlenaSize(payload.size(), packed), '\0');
    RC_ASSERT(WriteVarlena(out.data(), payload, packed) ==
              out.data() + out.size());
    size_t size = out.size();
    out += "trailing";
    Result<Varlena> plain = ParseVarlena(out);
    RC_ASSERT(plain.ok());
    RC_ASSERT(plain->payload == payload);
    RC_ASSERT(plain->size == size);
    RC_ASSERT((plain->form == VarlenaForm::k1B) ==
              (packed && payload.size() <= 126));

    auto raw = *rc::gen::inRange<uint32_t>(0, 1u << 30);
    auto method = *rc::gen::inRange<uint8_t>(0, 4);
    std::string stored = MakeCompressedVarlena(payload, raw, method);
    Result<Varlena> packed_value = ParseVarlena(stored);
    RC_ASSERT(packed_value.ok());
    RC_ASSERT(packed_value->form == VarlenaForm::k4BC);
    RC_ASSERT(packed_value->payload == payload);
    RC_ASSERT(packed_value->raw_size == raw);
    RC_ASSERT(packed_value->method == method);
  }));
}

TEST(Varlena, ToastPointerSurvivesAtAnyAlignment) {
  varatt_external t{-1, 0xC0000005, 7, 8};
  char out[32];
  WriteToastPointer(out + 3, t);
  Result<Varlena> v = ParseVarlena(std::string_view(out + 3, 18));
  ASSERT_TRUE(v.ok());
  EXPECT_EQ(v->form, VarlenaForm::k1BE);
  EXPECT_TRUE(VarattExternalLoad(v->payload) == t);
}

TEST(Varlena, TruncatedOrImpossibleBytesAreRefused) {
  EXPECT_FALSE(ParseVarlena("").ok());
  EXPECT_FALSE(ParseVarlena(std::string_view("\x1C\0\0", 3)).ok());
  EXPECT_FALSE(ParseVarlena(std::string_view("\x1C\0\0\0ab", 6)).ok());
  EXPECT_FALSE(ParseVarlena(std::string_view("\x04\0\0\0ab", 6)).ok());
  EXPECT_FALSE(ParseVarlena(std::string_view("\x0B"
                                             "ab",
                                             3))
                   .ok());
  EXPECT_FALSE(ParseVarlena(std::string_view("\x01\x02", 2)).ok());
  EXPECT_FALSE(ParseVarlena(std::string_view("\x01\x12"
                                             "0123456789abcde",
                                             17))
                   .ok());
  EXPECT_TRUE(rc::check("random bytes never read too far", [] {
    std::string bytes = *rc::gen::arbitrary<std::string>();
    Result<Varlena> v = ParseVarlena(bytes);
    if (!v.ok()) return;
    RC_ASSERT(v->size <= bytes.size());
    RC_ASSERT(v->payload.size() < v->size);
  }));
}

}  // namespace
}  // namespace engine
