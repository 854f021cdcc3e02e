#include "engine/heap/combocid.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/txn/xact.h"

namespace engine {
namespace {

using CidPair = std::pair<CommandId, CommandId>;  // cmin, cmax

class HeapLocal : public LayerState {
 public:
  std::vector<CidPair> pairs;
  std::map<CidPair, CommandId> index;
};

HeapLocal& LocalHeap(Backend& be) {
  return be.local.Get<HeapLocal>(Layer::kHeap);
}

CommandId GetComboCommandId(Backend& be, CommandId cmin, CommandId cmax) {
  HeapLocal& local = LocalHeap(be);
  if (local.pairs.empty()) {
    RegisterXactCallback(be, [](Backend& b, bool) {
      LocalHeap(b).pairs.clear();
      LocalHeap(b).index.clear();
    });
  }
  auto next = static_cast<CommandId>(local.pairs.size());
  auto [it, is_new] = local.index.emplace(CidPair(cmin, cmax), next);
  if (is_new) local.pairs.emplace_back(cmin, cmax);
  return it->second;
}

// The pair behind a tuple's command id. A page with a number that was never
// handed out is damaged; the tuple is then neither inserted nor deleted yet.
CidPair PairOf(Backend& be, const HeapTupleHeaderData& tuple) {
  if ((tuple.t_infomask & HEAP_COMBOCID) == 0) {
    return {tuple.t_cid, tuple.t_cid};
  }
  const std::vector<CidPair>& pairs = LocalHeap(be).pairs;
  if (tuple.t_cid >= pairs.size()) {
    return {kInvalidCommandId, kInvalidCommandId};
  }
  return pairs[tuple.t_cid];
}

}  // namespace

void ComboCidInit(Backend& be) {
  be.local.Set(Layer::kHeap, std::make_unique<HeapLocal>());
}

CommandId HeapTupleHeaderGetCmin(Backend& be,
                                 const HeapTupleHeaderData& tuple) {
  return PairOf(be, tuple).first;
}

CommandId HeapTupleHeaderGetCmax(Backend& be,
                                 const HeapTupleHeaderData& tuple) {
  return PairOf(be, tuple).second;
}

TupleCmax HeapTupleHeaderAdjustCmax(Backend& be,
                                    const HeapTupleHeaderData& tuple,
                                    CommandId cid) {
  // cmin matters only while the inserter runs, and then it is this backend.
  if (HeapTupleHeaderXminCommitted(tuple) ||
      !TransactionIdIsCurrentTransactionId(be, tuple.t_xmin)) {
    return {cid, false};
  }
  CommandId cmin = HeapTupleHeaderGetCmin(be, tuple);
  return {GetComboCommandId(be, cmin, cid), true};
}

}  // namespace engine
