#include "engine/common/sites.h"

namespace engine {
namespace {

constexpr env::SiteInfo kSites[] = {
#define SITE(name, kind, why) {#name, env::SiteKind::k##kind, why},
#include "engine/sites.def"
#undef SITE
};

}  // namespace

env::SiteTable EngineSites() { return kSites; }

}  // namespace engine
