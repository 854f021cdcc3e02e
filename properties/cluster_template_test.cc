#include "properties/cluster_template.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace properties {
namespace {

// Whatever was built before, a run gets the disk that it asked for.
TEST(ClusterTemplates, EveryDiskHasItsOwnOptions) {
  std::vector<sim::DiskOptions> wanted(9);
  wanted[1].sector_bytes = 4096;
  wanted[2].meta = sim::MetaMode::kWeak;
  wanted[3].fill = sim::Fill::kGarbage;
  wanted[4].mix = sim::ImageMix::kPrefix;
  wanted[5].atomic8k = true;
  wanted[6].delayed_allocation = true;
  wanted[7].rename_split = true;
  wanted[8].biased_images = false;
  ClusterTemplates templates(nullptr);
  for (const sim::DiskOptions& options : wanted) {
    auto disk = templates.Fresh(engine::Config(), options);
    ASSERT_TRUE(disk.ok());
    EXPECT_EQ((*disk)->options(), options);
  }
}

TEST(ClusterTemplates, ClonesHaveTheSameBytesAndLivesOfTheirOwn) {
  ClusterTemplates templates(nullptr);
  engine::Config config;
  std::unique_ptr<sim::Disk> one =
      templates.Fresh(config, sim::DiskOptions()).value();
  std::unique_ptr<sim::Disk> two =
      templates.Fresh(config, sim::DiskOptions()).value();
  std::string control = one->VisibleFile("global/pg_control");
  EXPECT_EQ(two->VisibleFile("global/pg_control"), control);
  ASSERT_TRUE(one->Unlink("global/pg_control").ok());
  EXPECT_EQ(two->VisibleFile("global/pg_control"), control);
  config.data_checksums = !config.data_checksums;
  std::unique_ptr<sim::Disk> other =
      templates.Fresh(config, sim::DiskOptions()).value();
  EXPECT_NE(other->VisibleFile("global/pg_control"), control);
}

}  // namespace
}  // namespace properties
