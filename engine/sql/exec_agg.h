// Aggregates and grouping.
#ifndef MUSTH_ENGINE_SQL_EXEC_AGG_H_
#define MUSTH_ENGINE_SQL_EXEC_AGG_H_

#include <map>
#include <set>
#include <vector>

#include "engine/sql/plan.h"

namespace engine {

// Order of datums of one type, nulls last; usable in std::set.
struct DatumLess {
  Oid type = 0;
  bool operator()(const Datum& a, const Datum& b) const {
    if (a.isnull || b.isnull) return !a.isnull && b.isnull;
    return CompareDatums(type, a, b) < 0;
  }
};

// A copy of value whose bytes are in arena.
inline Datum CopyDatum(const Datum& value, Arena& arena) {
  Datum copy = value;
  if (!value.bytes.empty()) copy.bytes = arena.Copy(value.bytes);
  return copy;
}

// One aggregate over one group. Bytes it keeps are in the arena given.
class AggregateState {
 public:
  explicit AggregateState(const AggregateCall& call)
      : call_(&call), seen_(DatumLess{call.arg.type}) {}

  // Takes the current row in. Errors: those of the argument.
  Status Advance(EvalContext& context, Arena& arena);
  // Errors: 22003.
  Result<Datum> Final(Arena& arena) const;

 private:
  const AggregateCall* call_;
  int64_t count_ = 0;
  __int128 sum_ = 0;
  Datum best_;
  std::set<Datum, DatumLess> seen_;  // DISTINCT
};

struct Group {
  std::vector<Datum> keys;
  std::vector<AggregateState> states;
};

// All groups of a query, in the order of their keys.
class GroupTable {
 public:
  // Without GROUP BY there is one group from the start.
  GroupTable(const SelectPlan& plan, Arena& arena);

  // Adds the current row to its group.
  Status Add(EvalContext& context);
  size_t size() const { return groups_.size(); }
  // Points context at the i-th group's keys and results, valid until the next
  // call. Errors: 22003.
  Status Load(size_t i, EvalContext* context);

 private:
  struct KeyLess {
    std::vector<DatumLess> less;
    bool operator()(const std::vector<Datum>& a,
                    const std::vector<Datum>& b) const;
  };
  Group MakeGroup(std::vector<Datum> keys) const;

  const SelectPlan& plan_;
  Arena& arena_;
  std::vector<Group> groups_;
  std::map<std::vector<Datum>, size_t, KeyLess> index_;
  std::vector<size_t> order_;
  std::vector<Datum> results_;
};

}  // namespace engine

#endif  // MUSTH_ENGINE_SQL_EXEC_AGG_H_
