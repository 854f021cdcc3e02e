// Sites: named places in the code that the world may act upon.
//
// A room lists its sites in one .def file (name, kind, one line of why); the
// table is handed to the world when a node is built. Code knows only the dense
// ids. Draws are keyed by a hash of the name, so that a new row shifts none.
#ifndef MUSTH_SIM_ENV_SITE_H_
#define MUSTH_SIM_ENV_SITE_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/env/ids.h"

namespace env {

enum class SiteKind : uint8_t {
  kInjection,  // a scheduling point at which a crash is interesting
  kYield,      // a scheduling point
  kPlanted,    // a planted bug's switch; reached by PLANTED() only
  kDraw,       // a place that draws a value
};

struct SiteInfo {
  const char* name;
  SiteKind kind;
  const char* why;
};

using SiteTable = std::span<const SiteInfo>;

// FNV-1a over the name and an avalanche; the key under which a site draws.
constexpr uint64_t SiteHash(std::string_view name) {
  uint64_t h = 0xcbf29ce484222325ULL;
  for (char c : name) {
    h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93ULL;
  h ^= h >> 32;
  return h;
}

}  // namespace env

#endif  // MUSTH_SIM_ENV_SITE_H_
