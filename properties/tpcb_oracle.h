// TpcbOracle: pgbench's books balance.
//
// Whatever commits and whatever is lost, tpcb-like keeps four sums equal and
// simple-update two of them:
//   sum(accounts.abalance) == sum(history.delta)
//   sum(tellers.tbalance)  == sum(branches.bbalance) [== sum(history.delta)]
// The sums are taken over committed rows decoded from the disk's bytes (ATOM).
// Does not check: anything else about the rows; nothing at all if the tables
// are not pgbench's.
#ifndef MUSTH_PROPERTIES_TPCB_ORACLE_H_
#define MUSTH_PROPERTIES_TPCB_ORACLE_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "properties/cluster_image.h"
#include "properties/content_oracle.h"
#include "properties/oracle.h"

namespace properties {

class TpcbOracle {
 public:
  // only_tpcb: no other script writes, so that all four sums are equal.
  TpcbOracle(VerdictSink* sink, bool only_tpcb)
      : sink_(sink), only_tpcb_(only_tpcb) {}

  void Check(const ClusterImage& image, const Catalog& catalog, uint64_t seq);

 private:
  VerdictSink* sink_;
  bool only_tpcb_;
};

// The sum of a column over a table's committed rows, nulls left out. Nothing
// if there is no such table or column.
std::optional<int64_t> SumOfColumn(const ClusterImage& image,
                                   const Catalog& catalog,
                                   std::string_view table,
                                   std::string_view column);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_TPCB_ORACLE_H_
