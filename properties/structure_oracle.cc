#include "properties/structure_oracle.h"

#include <fmt/format.h>

#include <utility>

#include "properties/structure_check.h"

namespace properties {

void StructureOracle::Report(const char* promise, std::string subject,
                             std::string message) {
  sink_->Report(promise, "structure", std::move(subject), std::move(message),
                seq_);
}

void StructureOracle::OnEvent(const env::Event& e) {
  if (e.kind == env::EventKind::kRecoveryStart) recovered_ = true;
  if (e.kind != env::EventKind::kResourcesHeld || (e.a[1] | e.a[2]) == 0) {
    return;
  }
  seq_ = e.seq;
  Report("RES", fmt::format("task {}", e.task),
         fmt::format("{} ends with {} buffers pinned and {} LWLocks held",
                     e.a[0] == 0 ? "its statement" : "it", e.a[1], e.a[2]));
}

void StructureOracle::Check(const ClusterImage& image, const Catalog& catalog,
                            bool shut_down, uint64_t seq) {
  seq_ = seq;
  if (!image.control().ok()) {
    Report("REC", kControlFilePath,
           std::string(image.control().status().message()));
    return;
  }
  ClusterState state = image.control()->state;
  ClusterState wanted =
      shut_down ? ClusterState::kShutDown : ClusterState::kInProduction;
  if (state != wanted) {
    Report("REC", kControlFilePath,
           fmt::format("says that the cluster is {}, expected {}",
                       ClusterStateName(state), ClusterStateName(wanted)));
  }
  StructureReport report;
  report.log = ReadLog(image, /*with_blocks=*/false);
  CheckStructure(image, &catalog,
                 shut_down ? Rest::kShutDown : Rest::kRecovered, &report);
  for (const Problem& problem : report.problems.list()) {
    Report(problem.promise, problem.subject, problem.message);
  }
  if (!shut_down || recovered_) return;
  for (const std::string& orphan : report.orphans) {
    Report("RES", orphan, "no committed pg_class row names this file");
  }
}

void StructureOracle::CheckNothingPending(const sim::Disk& disk, uint64_t seq) {
  seq_ = seq;
  uint64_t pending = disk.DirtySectors();
  if (pending == 0) return;
  Report("CKPT", "disk after shutdown",
         fmt::format("{} sectors were written and never synced", pending));
}

}  // namespace properties
