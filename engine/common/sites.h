// The engine's sites as dense ids, and the macros that name them.
#ifndef MUSTH_ENGINE_COMMON_SITES_H_
#define MUSTH_ENGINE_COMMON_SITES_H_

#include "sim/env/env.h"

namespace engine {

enum class Site : env::SiteId {
#define SITE(name, kind, why) name,
#include "engine/sites.def"
#undef SITE
  kCount,
};

// The table that is handed to the world when a node is built.
env::SiteTable EngineSites();

}  // namespace engine

#define SITE_ID(name) static_cast<::env::SiteId>(::engine::Site::name)

// A scheduling point; INJECTION_POINT is one where a crash is interesting.
// Both do nothing outside a world (unit tests of page code). With _BEFORE the
// point says what follows it until the next one (env::Access); without, that is
// nothing that another process looks at.
#define YIELD_POINT_BEFORE(name, access)              \
  do {                                                \
    ::env::Env* musth_env = ::env::Current().env;     \
    if (musth_env != nullptr) {                       \
      musth_env->tasks->Yield(SITE_ID(name), access); \
    }                                                 \
  } while (false)
#define YIELD_POINT(name) YIELD_POINT_BEFORE(name, ::env::Access())
#define INJECTION_POINT(name) YIELD_POINT(name)
#define INJECTION_POINT_BEFORE(name, access) YIELD_POINT_BEFORE(name, access)

// True where the planted bug `name` is switched on; constant false in builds
// without planted bugs.
#ifdef MUSTH_PLANTED
#define PLANTED(name) (::env::PlantedOn(SITE_ID(name)))
#else
#define PLANTED(name) (false && SITE_ID(name) == 0)
#endif

#endif  // MUSTH_ENGINE_COMMON_SITES_H_
