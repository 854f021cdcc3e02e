// The ids and names of the simulated world's own sites; see sites.def.
#ifndef MUSTH_SIM_SIM_SITES_H_
#define MUSTH_SIM_SIM_SITES_H_

#include "sim/device_host.h"
#include "sim/env/site.h"

namespace sim {

// kSimSite_switch is 0, and so on; kSimSiteCount is their number.
enum SimSite : env::SiteId {
#define SIM_SITE(name, kind, why) kSimSite_##name,
#include "sim/sites.def"
#undef SIM_SITE
  kSimSiteCount,
};

// The table, indexed by SimSite.
env::SiteTable SimSites();

// The hash of a site's name.
uint64_t SimSiteHash(SimSite site);

// The site of a device step.
inline SimSite SiteOf(DeviceStep step) {
  return static_cast<SimSite>(kSimSite_device_plain + static_cast<int>(step));
}

}  // namespace sim

#endif  // MUSTH_SIM_SIM_SITES_H_
