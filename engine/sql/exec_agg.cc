#include "engine/sql/exec_agg.h"

#include <algorithm>
#include <utility>

#include "engine/common/errcodes.h"

namespace engine {
namespace {

std::string Int128ToString(__int128 value) {
  if (value == 0) return "0";
  bool negative = value < 0;
  std::string digits;
  while (value != 0) {
    int digit = static_cast<int>(value % 10);
    digits += static_cast<char>('0' + (negative ? -digit : digit));
    value /= 10;
  }
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

DatumLess LessFor(const ExprNode& key) { return DatumLess{key.type}; }

}  // namespace

Status AggregateState::Advance(EvalContext& context, Arena& arena) {
  if (call_->kind == AggregateKind::kCountStar) {
    ++count_;
    return {};
  }
  Datum value;
  RETURN_IF_ERROR(Eval(call_->arg, context, &value));
  if (value.isnull) return {};
  if (call_->distinct && !seen_.insert(CopyDatum(value, arena)).second) {
    return {};
  }
  ++count_;
  switch (call_->kind) {
    case AggregateKind::kSum:
      sum_ += value.num;
      break;
    case AggregateKind::kMin:
    case AggregateKind::kMax: {
      int order =
          best_.isnull ? 0 : CompareDatums(call_->arg.type, value, best_);
      bool better = call_->kind == AggregateKind::kMin ? order < 0 : order > 0;
      if (best_.isnull || better) best_ = CopyDatum(value, arena);
      break;
    }
    default:
      break;
  }
  return {};
}

Result<Datum> AggregateState::Final(Arena& arena) const {
  switch (call_->kind) {
    case AggregateKind::kSum:
      if (count_ == 0) return Datum::Null();
      if (call_->result == NUMERICOID) {
        return Datum::Bytes(arena.Copy(Int128ToString(sum_)));
      }
      if (sum_ < INT64_MIN || sum_ > INT64_MAX) {
        return SqlError(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                        "bigint out of range");
      }
      return Datum::Int(static_cast<int64_t>(sum_));
    case AggregateKind::kMin:
    case AggregateKind::kMax:
      return best_;
    default:
      return Datum::Int(count_);
  }
}

bool GroupTable::KeyLess::operator()(const std::vector<Datum>& a,
                                     const std::vector<Datum>& b) const {
  for (size_t i = 0; i < less.size(); ++i) {
    if (less[i](a[i], b[i])) return true;
    if (less[i](b[i], a[i])) return false;
  }
  return false;
}

GroupTable::GroupTable(const SelectPlan& plan, Arena& arena)
    : plan_(plan), arena_(arena), index_([&plan] {
        KeyLess less;
        std::transform(plan.group_by.begin(), plan.group_by.end(),
                       std::back_inserter(less.less), LessFor);
        return less;
      }()) {
  if (plan.group_by.empty()) groups_.push_back(MakeGroup({}));
}

Group GroupTable::MakeGroup(std::vector<Datum> keys) const {
  Group group;
  group.keys = std::move(keys);
  for (const AggregateCall& call : plan_.aggregates) {
    group.states.emplace_back(call);
  }
  return group;
}

Status GroupTable::Add(EvalContext& context) {
  size_t at = 0;
  if (!plan_.group_by.empty()) {
    std::vector<Datum> keys(plan_.group_by.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      RETURN_IF_ERROR(Eval(plan_.group_by[i], context, &keys[i]));
    }
    auto it = index_.find(keys);
    if (it != index_.end()) {
      at = it->second;
    } else {
      for (Datum& key : keys) key = CopyDatum(key, arena_);
      at = groups_.size();
      groups_.push_back(MakeGroup(keys));
      index_.emplace(std::move(keys), at);
      order_.clear();
    }
  }
  for (AggregateState& state : groups_[at].states) {
    RETURN_IF_ERROR(state.Advance(context, arena_));
  }
  return {};
}

Status GroupTable::Load(size_t i, EvalContext* context) {
  if (order_.empty()) {
    for (const auto& entry : index_) order_.push_back(entry.second);
    if (plan_.group_by.empty()) order_.push_back(0);
  }
  const Group& group = groups_[order_[i]];
  results_.clear();
  for (const AggregateState& state : group.states) {
    ASSIGN_OR_RETURN(Datum value, state.Final(arena_));
    results_.push_back(value);
  }
  context->group_keys = group.keys.data();
  context->aggregates = results_.data();
  context->row = nullptr;
  return {};
}

}  // namespace engine
