#include "properties/tpcb_oracle.h"

#include <fmt/format.h>

#include <utility>

namespace properties {

std::optional<int64_t> SumOfColumn(const ClusterImage& image,
                                   const Catalog& catalog,
                                   std::string_view table,
                                   std::string_view column) {
  for (const auto& [filenode, relation] : catalog) {
    if (relation.name != table) continue;
    for (size_t i = 0; i < relation.shape.size(); ++i) {
      if (relation.shape[i].name != column) continue;
      int64_t sum = 0;
      for (const HeapTupleRef& tuple : image.Heap(filenode).tuples) {
        if (!IsVisibleAtRest(tuple.header, image.clog())) continue;
        env::Result<Row> row = DecodeTupleBody(relation.shape, tuple.body);
        // A broken tuple is StructureOracle's finding.
        if (row.ok()) sum += (*row)[i].number;
      }
      return sum;
    }
  }
  return std::nullopt;
}

void TpcbOracle::Check(const ClusterImage& image, const Catalog& catalog,
                       uint64_t seq) {
  std::optional<int64_t> accounts =
      SumOfColumn(image, catalog, "pgbench_accounts", "abalance");
  std::optional<int64_t> tellers =
      SumOfColumn(image, catalog, "pgbench_tellers", "tbalance");
  std::optional<int64_t> branches =
      SumOfColumn(image, catalog, "pgbench_branches", "bbalance");
  std::optional<int64_t> history =
      SumOfColumn(image, catalog, "pgbench_history", "delta");
  if (!accounts || !tellers || !branches || !history) return;
  bool balanced = *accounts == *history && *tellers == *branches &&
                  (!only_tpcb_ || *tellers == *history);
  if (balanced) return;
  Verdict v;
  v.promise = "ATOM";
  v.oracle = "tpcb";
  v.subject = "pgbench tables";
  v.message = fmt::format(
      "sum(abalance) {}, sum(delta) {}, sum(tbalance) {}, sum(bbalance) {} do "
      "not balance",
      *accounts, *history, *tellers, *branches);
  v.event_seq = seq;
  sink_->Report(std::move(v));
}

}  // namespace properties
