// Varlena: the on-disk forms of a variable-length value.
//
//   first byte   form     header  length word
//   xxxxxx00     4B_U     4       len << 2, len includes the header
//   xxxxxx10     4B_C     8       as 4B_U, then va_tcinfo: raw payload size
//                                 (30 bits) and compression method (2 bits)
//   xxxxxxx1     1B       1       len << 1 | 1, len includes the header
//   00000001     1B_E     2       a tag; for ONDISK a varatt_external follows
//
// 1B and 1B_E are never aligned, the others are aligned to 4 bytes. A zero byte
// where a value could start is padding, because no 1B header is zero.
// Bytes come from disk: ParseVarlena checks everything; the inline helpers
// require what they say.
// Source: src/include/postgres.h, access/detoast.h, access/heaptoast.h.
#ifndef MUSTH_ENGINE_COMMON_VARLENA_H_
#define MUSTH_ENGINE_COMMON_VARLENA_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "engine/common/types.h"

namespace engine {

inline constexpr uint32_t VARHDRSZ = 4;
inline constexpr uint32_t VARHDRSZ_SHORT = 1;
inline constexpr uint32_t VARHDRSZ_EXTERNAL = 2;
inline constexpr uint32_t VARHDRSZ_COMPRESSED = 8;
inline constexpr uint32_t VARATT_SHORT_MAX = 0x7F;  // header included
inline constexpr uint32_t VARLENA_EXTSIZE_BITS = 30;
inline constexpr uint32_t VARLENA_EXTSIZE_MASK =
    (1u << VARLENA_EXTSIZE_BITS) - 1;
inline constexpr uint8_t VARTAG_ONDISK = 18;
inline constexpr uint32_t TOAST_POINTER_SIZE = 18;

enum class VarlenaForm : uint8_t {
  k4BU,  // plain
  k4BC,  // compressed in line
  k1B,   // plain, short
  k1BE,  // out of line
};

// A toast pointer's body, behind the two header bytes; unaligned on disk.
struct varatt_external {
  int32_t va_rawsize;   // original size, header (4) included
  uint32_t va_extinfo;  // stored size without header, and method << 30
  Oid va_valueid;       // chunk_id in the toast relation
  Oid va_toastrelid;    // the toast relation
  bool operator==(const varatt_external&) const = default;
};
static_assert(sizeof(varatt_external) == 16);

inline uint32_t VarattExternalGetExtsize(const varatt_external& t) {
  return t.va_extinfo & VARLENA_EXTSIZE_MASK;
}
inline uint8_t VarattExternalGetMethod(const varatt_external& t) {
  return static_cast<uint8_t>(t.va_extinfo >> VARLENA_EXTSIZE_BITS);
}
// Nothing but the sizes says so.
inline bool VarattExternalIsCompressed(const varatt_external& t) {
  return static_cast<int64_t>(VarattExternalGetExtsize(t)) <
         static_cast<int64_t>(t.va_rawsize) - VARHDRSZ;
}

// The form that the first byte announces. Requires: it is not padding (0 at a
// place that may be padding; an aligned 4B_U header may begin with 0).
inline VarlenaForm VarlenaFormOf(const char* p) {
  auto b = static_cast<unsigned char>(*p);
  if (b == 1) return VarlenaForm::k1BE;
  if ((b & 1) != 0) return VarlenaForm::k1B;
  return (b & 2) != 0 ? VarlenaForm::k4BC : VarlenaForm::k4BU;
}

inline uint32_t VarlenaLoad32(const char* p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Whole size, header included, as the header says (VARSIZE_ANY). 0 for a 1B_E
// with a tag that is never on disk. Requires: the header's bytes are readable.
inline uint32_t VarsizeAny(const char* p) {
  auto b = static_cast<unsigned char>(p[0]);
  if (b == 1) {
    return static_cast<unsigned char>(p[1]) == VARTAG_ONDISK
               ? TOAST_POINTER_SIZE
               : 0;
  }
  if ((b & 1) != 0) return b >> 1;
  return VarlenaLoad32(p) >> 2;
}

// One value taken apart.
struct Varlena {
  VarlenaForm form = VarlenaForm::k4BU;
  uint32_t size = 0;  // header included
  // 4BU, 1B: the value. 4BC: the compressed bytes behind va_tcinfo. 1BE: the
  // varatt_external's 16 bytes.
  std::string_view payload;
  uint32_t raw_size = 0;  // 4BC: size of the value, without header
  uint8_t method = 0;     // 4BC: compression method
};

// Reads the value that begins at bytes[0]. Errors: kCorrupted if its header
// is none or says more than there is.
Result<Varlena> ParseVarlena(std::string_view bytes);

// The toast pointer in a 1B_E value's payload. Requires: 16 bytes.
inline varatt_external VarattExternalLoad(std::string_view payload) {
  varatt_external t;
  std::memcpy(&t, payload.data(), sizeof t);
  return t;
}

// --- Writing ---

inline void SetVarsize4B(char* p, uint32_t size) {
  uint32_t word = size << 2;
  std::memcpy(p, &word, sizeof word);
}
inline void SetVarsize4BC(char* p, uint32_t size, uint32_t raw_size,
                          uint8_t method) {
  uint32_t words[2] = {
      (size << 2) | 2,
      raw_size | (static_cast<uint32_t>(method) << VARLENA_EXTSIZE_BITS)};
  std::memcpy(p, words, sizeof words);
}
inline void SetVarsize1B(char* p, uint32_t size) {
  *p = static_cast<char>((size << 1) | 1);
}
inline bool VarlenaFits1B(size_t payload_size) {
  return payload_size + VARHDRSZ_SHORT <= VARATT_SHORT_MAX;
}

// Size of a plain value. packed: a 1B header where it fits.
inline uint32_t VarlenaSize(size_t payload_size, bool packed) {
  uint32_t header =
      packed && VarlenaFits1B(payload_size) ? VARHDRSZ_SHORT : VARHDRSZ;
  return static_cast<uint32_t>(payload_size) + header;
}
// Writes a plain value at out, which has VarlenaSize() bytes; returns the end.
// Requires: payload shorter than 1 GB - 4.
char* WriteVarlena(char* out, std::string_view payload, bool packed);
// A compressed value as one string: 8 bytes of header, then the bytes.
std::string MakeCompressedVarlena(std::string_view compressed,
                                  uint32_t raw_size, uint8_t method);
// A toast pointer: TOAST_POINTER_SIZE bytes at out; returns the end.
char* WriteToastPointer(char* out, const varatt_external& pointer);

}  // namespace engine

#endif  // MUSTH_ENGINE_COMMON_VARLENA_H_
