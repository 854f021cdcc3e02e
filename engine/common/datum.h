// Datum: one SQL value in memory.
//
// Fixed-width types (bool, integers, oid, xid, timestamps) are in `num`;
// everything else is in `bytes`, which holds the payload without varlena
// header and points into a pinned page, a tuple copy or an Arena. Trivially
// copyable; whoever keeps a Datum longer than its memory copies the bytes.
#ifndef MUSTH_ENGINE_COMMON_DATUM_H_
#define MUSTH_ENGINE_COMMON_DATUM_H_

#include <cstdint>
#include <string_view>

namespace engine {

struct Datum {
  bool isnull = true;
  int64_t num = 0;
  std::string_view bytes;

  static Datum Null() { return {}; }
  static Datum Int(int64_t v) { return {false, v, {}}; }
  static Datum Bool(bool v) { return {false, v ? 1 : 0, {}}; }
  static Datum Bytes(std::string_view v) { return {false, 0, v}; }
};

}  // namespace engine

#endif  // MUSTH_ENGINE_COMMON_DATUM_H_
