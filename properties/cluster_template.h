// ClusterTemplates: fresh clusters, built once per initdb setting and cloned
// for every run.
//
// A template is made in a world of its own with a fixed seed, so that its
// bytes depend on its settings alone. A clone costs pointers.
#ifndef MUSTH_PROPERTIES_CLUSTER_TEMPLATE_H_
#define MUSTH_PROPERTIES_CLUSTER_TEMPLATE_H_

#include <compare>
#include <cstdint>
#include <map>
#include <memory>

#include "engine/common/config.h"
#include "engine/node/node.h"
#include "sim/disk.h"

namespace sim {
class StackPool;
}  // namespace sim

namespace properties {

class ClusterTemplates {
 public:
  // stacks outlives this; may be null.
  explicit ClusterTemplates(sim::StackPool* stacks) : stacks_(stacks) {}

  // A cleanly shut down cluster with these settings, on a disk with these
  // options; everything on it is durable. Errors: initdb's.
  env::Result<std::unique_ptr<sim::Disk>> Fresh(
      const engine::Config& config, const sim::DiskOptions& disk,
      const engine::InitDbRoom& room = {});

 private:
  // All that a template is made from: a disk keeps its options when cloned.
  struct Key {
    engine::Config initdb;
    sim::DiskOptions disk;
    engine::InitDbRoom room;

    auto operator<=>(const Key&) const = default;
  };

  sim::StackPool* stacks_;
  std::map<Key, std::unique_ptr<sim::Disk>> templates_;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_CLUSTER_TEMPLATE_H_
