#include "properties/attribution.h"

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <utility>

namespace properties {
namespace {

// Committed rows of the relation in the block.
int64_t CommittedRows(const Model& model, uint32_t rel_node, uint32_t block) {
  const RelationRows& rows = model.Rows(rel_node);
  return std::distance(rows.lower_bound(uint64_t{block} << 16),
                       rows.lower_bound((uint64_t{block} + 1) << 16));
}

}  // namespace

bool RefusesForDamage(const env::Status& status) {
  return !status.ok() && status.sqlstate() != 0 &&
         env::SqlStateToString(status.sqlstate()).substr(0, 2) == "XX";
}

Attribution::Answer Attribution::OfPage(const PageRef& page,
                                        const sim::Disk* disk) const {
  Answer answer;
  uint32_t rel_node = 0;
  uint32_t fork = 0;
  if (!page.Relation(&rel_node, &fork)) {
    answer.objection = fmt::format("{} is no relation's", page.ToString());
    return answer;
  }
  int64_t rows = fork == 0 ? CommittedRows(*model_, rel_node, page.block) : 0;
  if (rows > 0) {
    answer.objection =
        fmt::format("{} holds {} committed rows", page.ToString(), rows);
    return answer;
  }
  if (coverage_->Covers(rel_node, fork, page.block)) {
    answer.objection =
        fmt::format("the log has records that make {} again", page.ToString());
    return answer;
  }
  std::vector<sim::FaultRecord> faults = BlastRadius(disk).OfPage(page);
  for (const sim::FaultRecord& fault : faults) {
    answer.faults.push_back(fault.id);
  }
  if (faults.empty()) {
    answer.objection =
        fmt::format("no injected fault damaged {}", page.ToString());
  }
  return answer;
}

Attribution::Answer Attribution::OfRefusal(const env::Status& status,
                                           const sim::Disk* disk) const {
  std::optional<PageRef> page = PageInMessage(status.message());
  if (page.has_value()) return OfPage(*page, disk);
  Answer answer;
  answer.objection = "it names no page";
  return answer;
}

}  // namespace properties
