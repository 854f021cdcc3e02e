#include "properties/liveness_oracle.h"

#include <fmt/format.h>

#include <utility>

namespace properties {

void LivenessOracle::Report(const char* promise, std::string subject,
                            std::string message) {
  sink_->Report(promise, "liveness", std::move(subject), std::move(message),
                seq_);
}

void LivenessOracle::OnEvent(const env::Event& e) {
  seq_ = e.seq;
  if (e.kind != env::EventKind::kPanic || excused_) return;
  Report("REC", fmt::format("task {}", e.task),
         fmt::format("PANIC without an injected fault that excuses it: {}",
                     e.bytes));
}

void LivenessOracle::OnDeadline(uint64_t step,
                                const std::vector<std::string>& unfinished,
                                const std::string& waits) {
  if (unfinished.empty()) return;
  std::string names;
  for (const std::string& name : unfinished) {
    if (!names.empty()) names += ", ";
    names += name;
  }
  Report("LIVE", names,
         fmt::format("not finished {} scheduling steps after the faults "
                     "stopped\n{}",
                     step - stopped_at_.value_or(step), waits));
}

void LivenessOracle::OnRefusedStart(const std::string& why) {
  if (excused_) return;
  Report("REC", "start-up", fmt::format("the node did not start: {}", why));
}

}  // namespace properties
