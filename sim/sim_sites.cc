#include "sim/sim_sites.h"

namespace sim {
namespace {

constexpr env::SiteInfo kSites[] = {
#define SIM_SITE(name, kind, why) {#name, env::SiteKind::kind, why},
#include "sim/sites.def"
#undef SIM_SITE
};

constexpr uint64_t kHashes[] = {
#define SIM_SITE(name, kind, why) env::SiteHash(#name),
#include "sim/sites.def"
#undef SIM_SITE
};

// SiteOf() counts on these rows following each other.
static_assert(kSimSite_device_metadata - kSimSite_device_plain ==
              static_cast<int>(DeviceStep::kMetadata));

}  // namespace

env::SiteTable SimSites() { return kSites; }

uint64_t SimSiteHash(SimSite site) { return kHashes[site]; }

}  // namespace sim
