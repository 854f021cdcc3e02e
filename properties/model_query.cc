#include "properties/model_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace properties {
namespace {

using engine::Expr;
using engine::ExprKind;
using env::Result;
using env::Status;

// More rows than any run's table has.
constexpr int64_t kMaxSeriesRows = 1'000'000;

int CompareWithNulls(uint32_t type, const Value& a, const Value& b) {
  if (IsNull(a) || IsNull(b)) {
    return IsNull(a) == IsNull(b) ? 0 : IsNull(a) ? 1 : -1;
  }
  return CompareValues(type, a, b);
}

struct KeyLess {
  std::vector<uint32_t> types;
  bool operator()(const std::vector<Value>& a,
                  const std::vector<Value>& b) const {
    for (size_t i = 0; i < types.size(); ++i) {
      int order = CompareWithNulls(types[i], a[i], b[i]);
      if (order != 0) return order < 0;
    }
    return false;
  }
};

std::string Int128ToText(__int128 value) {
  std::string digits;
  bool negative = value < 0;
  do {
    auto digit = static_cast<int>(value % 10);
    digits += static_cast<char>('0' + (digit < 0 ? -digit : digit));
    value /= 10;
  } while (value != 0);
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

// One aggregate of one group.
class Accumulator {
 public:
  explicit Accumulator(const ModelAggregate* aggregate)
      : aggregate_(aggregate), seen_(KeyLess{{aggregate->arg.type}}) {}

  Status Add(const EvalRow& row) {
    using Kind = ModelAggregate::Kind;
    if (aggregate_->kind == Kind::kCountStar) {
      ++count_;
      return {};
    }
    ASSIGN_OR_RETURN(Value v, EvaluateValue(aggregate_->arg, row));
    if (IsNull(v)) return {};
    if (aggregate_->distinct && !seen_.insert({v}).second) return {};
    ++count_;
    if (aggregate_->kind == Kind::kSum) sum_ += v.number;
    if (aggregate_->kind == Kind::kMin || aggregate_->kind == Kind::kMax) {
      int order =
          IsNull(best_) ? 0 : CompareValues(aggregate_->arg.type, v, best_);
      bool better = aggregate_->kind == Kind::kMin ? order < 0 : order > 0;
      if (IsNull(best_) || better) best_ = std::move(v);
    }
    return {};
  }

  Result<Value> Final() const {
    using Kind = ModelAggregate::Kind;
    switch (aggregate_->kind) {
      case Kind::kSum:
        if (count_ == 0) return NullValue();
        if (aggregate_->type == kNumericType) {
          return TextValue(Int128ToText(sum_));
        }
        if (sum_ > INT64_MAX || sum_ < INT64_MIN) {
          return Status::Sql(kNumericValueOutOfRange, "bigint out of range");
        }
        return IntValue(static_cast<int64_t>(sum_));
      case Kind::kMin:
      case Kind::kMax:
        return best_;
      default:
        return IntValue(count_);
    }
  }

 private:
  const ModelAggregate* aggregate_;
  int64_t count_ = 0;
  __int128 sum_ = 0;
  Value best_;
  std::set<std::vector<Value>, KeyLess> seen_;
};

// Takes the rows that pass the filter and makes target rows of them.
class Runner {
 public:
  explicit Runner(const ModelQuery& query) : query_(query) {
    std::vector<uint32_t> types;
    for (const ModelExpr& key : query.keys) types.push_back(key.type);
    groups_ = Groups(KeyLess{std::move(types)});
    if (query.grouped && query.keys.empty()) AddGroup({});
  }

  Status Add(const Row* row) {
    EvalRow at;
    at.row = row;
    if (query_.where.has_value()) {
      ASSIGN_OR_RETURN(bool holds, Holds(*query_.where, at));
      if (!holds) return {};
    }
    if (!query_.grouped) return Emit(at);
    std::vector<Value> keys;
    for (const ModelExpr& key : query_.keys) {
      ASSIGN_OR_RETURN(Value v, EvaluateValue(key, at));
      keys.push_back(std::move(v));
    }
    auto it = groups_.find(keys);
    if (it == groups_.end()) it = AddGroup(std::move(keys));
    for (Accumulator& state : it->second) RETURN_IF_ERROR(state.Add(at));
    return {};
  }

  Status Finish() {
    for (const auto& [keys, states] : groups_) {
      std::vector<Value> aggregates;
      for (const Accumulator& state : states) {
        ASSIGN_OR_RETURN(Value v, state.Final());
        aggregates.push_back(std::move(v));
      }
      EvalRow at;
      at.keys = &keys;
      at.aggregates = &aggregates;
      RETURN_IF_ERROR(Emit(at));
    }
    return {};
  }
  std::vector<std::vector<Value>> TakeRows() { return std::move(rows_); }

 private:
  using Groups =
      std::map<std::vector<Value>, std::vector<Accumulator>, KeyLess>;

  Groups::iterator AddGroup(std::vector<Value> keys) {
    std::vector<Accumulator> states;
    for (const ModelAggregate& aggregate : query_.aggregates) {
      states.emplace_back(&aggregate);
    }
    return groups_.emplace(std::move(keys), std::move(states)).first;
  }

  Status Emit(const EvalRow& at) {
    std::vector<Value> out;
    out.reserve(query_.targets.size());
    for (const ModelExpr& target : query_.targets) {
      ASSIGN_OR_RETURN(Value v, EvaluateValue(target, at));
      out.push_back(std::move(v));
    }
    rows_.push_back(std::move(out));
    return {};
  }

  const ModelQuery& query_;
  Groups groups_;
  std::vector<std::vector<Value>> rows_;
};

int CompareSorted(const ModelQuery& query, const std::vector<Value>& a,
                  const std::vector<Value>& b) {
  for (const ModelQuery::Sort& sort : query.order_by) {
    const Value& x = a[sort.target];
    const Value& y = b[sort.target];
    if (IsNull(x) && IsNull(y)) continue;
    if (IsNull(x) || IsNull(y)) return IsNull(x) == sort.nulls_first ? -1 : 1;
    int order = CompareValues(query.targets[sort.target].type, x, y);
    if (order != 0) return sort.descending ? -order : order;
  }
  return 0;
}

Status AddSeries(const ModelQuery::Series& series, Runner* runner) {
  Value bounds[3];
  const ModelExpr* exprs[] = {&series.start, &series.stop, &series.step};
  for (size_t i = 0; i < 3; ++i) {
    ASSIGN_OR_RETURN(bounds[i], EvaluateValue(*exprs[i], EvalRow()));
    if (IsNull(bounds[i])) return {};
  }
  int64_t step = bounds[2].number;
  if (step == 0) return NotModelled("a series without a step");
  __int128 stop = bounds[1].number;
  int64_t count = 0;
  for (__int128 i = bounds[0].number; step > 0 ? i <= stop : i >= stop;
       i += step) {
    if (++count > kMaxSeriesRows) return NotModelled("so long a series");
    Row row = {IntValue(static_cast<int64_t>(i))};
    RETURN_IF_ERROR(runner->Add(&row));
  }
  return {};
}

Status SetWindow(const ModelQuery& query, ExpectedRows* expected) {
  if (query.offset.has_value()) {
    ASSIGN_OR_RETURN(Value v, EvaluateValue(*query.offset, EvalRow()));
    if (!IsNull(v) && v.number < 0) {
      return Status::Sql(kInvalidOffset, "OFFSET must not be negative");
    }
    if (!IsNull(v)) expected->skip = static_cast<uint64_t>(v.number);
  }
  if (query.limit.has_value()) {
    ASSIGN_OR_RETURN(Value v, EvaluateValue(*query.limit, EvalRow()));
    if (!IsNull(v) && v.number < 0) {
      return Status::Sql(kInvalidLimit, "LIMIT must not be negative");
    }
    if (!IsNull(v)) expected->left = static_cast<uint64_t>(v.number);
  }
  return {};
}

TextRow ToTextRow(const std::vector<uint32_t>& types,
                  const std::vector<Value>& row) {
  TextRow text(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    if (!IsNull(row[i])) text[i] = OutputText(types[i], row[i]);
  }
  return text;
}

std::string Examples(const char* what, const std::vector<TextRow>& rows) {
  constexpr size_t kMost = 2;
  std::string out;
  for (size_t i = 0; i < std::min(rows.size(), kMost); ++i) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", what,
                       TextRowToString(rows[i]));
  }
  if (rows.size() > kMost) out += fmt::format(" and {} more", rows.size() - 2);
  return out;
}

}  // namespace

std::string TextRowToString(const TextRow& row) {
  constexpr size_t kCut = 40;
  std::string out = "(";
  for (size_t i = 0; i < row.size(); ++i) {
    if (i > 0) out += ", ";
    std::string cell = row[i].value_or("null");
    if (cell.size() > kCut) {
      cell = fmt::format("{}...({} bytes)", cell.substr(0, kCut), cell.size());
    }
    out += cell;
  }
  return out + ")";
}

Result<ExpectedRows> RunQuery(const ModelQuery& query,
                              const std::vector<const Row*>& rows) {
  ExpectedRows expected;
  RETURN_IF_ERROR(SetWindow(query, &expected));
  Runner runner(query);
  if (query.series.has_value()) {
    RETURN_IF_ERROR(AddSeries(*query.series, &runner));
  } else if (query.from_table) {
    for (const Row* row : rows) RETURN_IF_ERROR(runner.Add(row));
  } else {
    RETURN_IF_ERROR(runner.Add(nullptr));
  }
  RETURN_IF_ERROR(runner.Finish());
  expected.rows = runner.TakeRows();
  for (size_t i = 0; i < query.visible; ++i) {
    expected.types.push_back(query.targets[i].type);
  }
  auto less = [&query](const auto& a, const auto& b) {
    return CompareSorted(query, a, b) < 0;
  };
  if (!query.order_by.empty()) {
    std::stable_sort(expected.rows.begin(), expected.rows.end(), less);
    for (size_t i = 1; i < expected.rows.size(); ++i) {
      if (less(expected.rows[i - 1], expected.rows[i])) {
        expected.class_ends.push_back(i);
      }
    }
  }
  expected.class_ends.push_back(expected.rows.size());
  return expected;
}

ExpectedRows AnyOrder(std::vector<uint32_t> types,
                      std::vector<std::vector<Value>> rows) {
  ExpectedRows expected;
  expected.types = std::move(types);
  expected.rows = std::move(rows);
  expected.class_ends.push_back(expected.rows.size());
  return expected;
}

namespace {

// Compares the received rows [from, to) with the expected class, of which any
// to - from rows may be there.
std::optional<std::string> CompareClass(const ExpectedRows& expected,
                                        size_t first, size_t last,
                                        const std::vector<TextRow>& received,
                                        size_t from, size_t to) {
  std::vector<TextRow> wanted;
  bool same = last - first == to - from;
  for (size_t i = first; i < last; ++i) {
    wanted.push_back(ToTextRow(expected.types, expected.rows[i]));
    same = same && wanted.back() == received[from + (i - first)];
  }
  if (same) return std::nullopt;
  std::vector<TextRow> got(received.begin() + static_cast<ptrdiff_t>(from),
                           received.begin() + static_cast<ptrdiff_t>(to));
  std::sort(wanted.begin(), wanted.end());
  std::sort(got.begin(), got.end());
  std::vector<TextRow> surplus;
  std::set_difference(got.begin(), got.end(), wanted.begin(), wanted.end(),
                      std::back_inserter(surplus));
  if (surplus.empty()) return std::nullopt;
  std::vector<TextRow> lacking;
  std::set_difference(wanted.begin(), wanted.end(), got.begin(), got.end(),
                      std::back_inserter(lacking));
  return Examples("expected", lacking) + ", " + Examples("received", surplus);
}

}  // namespace

std::optional<std::string> FirstDifference(
    const ExpectedRows& expected, const std::vector<TextRow>& received) {
  size_t begin = std::min<size_t>(expected.skip, expected.rows.size());
  size_t count = std::min<size_t>(expected.left, expected.rows.size() - begin);
  if (received.size() != count) {
    std::vector<TextRow> wanted;
    for (size_t i = begin; i < begin + count; ++i) {
      wanted.push_back(ToTextRow(expected.types, expected.rows[i]));
    }
    std::vector<TextRow> got = received;
    std::sort(wanted.begin(), wanted.end());
    std::sort(got.begin(), got.end());
    std::vector<TextRow> lacking;
    std::vector<TextRow> surplus;
    std::set_difference(wanted.begin(), wanted.end(), got.begin(), got.end(),
                        std::back_inserter(lacking));
    std::set_difference(got.begin(), got.end(), wanted.begin(), wanted.end(),
                        std::back_inserter(surplus));
    std::string rows = Examples("expected", lacking);
    if (!rows.empty() && !surplus.empty()) rows += ", ";
    rows += Examples("received", surplus);
    return fmt::format("expected {} rows, received {}: {}", count,
                       received.size(), rows);
  }
  size_t first = 0;
  for (size_t last : expected.class_ends) {
    size_t from = std::max(first, begin);
    size_t to = std::min(last, begin + count);
    if (from < to) {
      std::optional<std::string> difference = CompareClass(
          expected, first, last, received, from - begin, to - begin);
      if (difference) return difference;
    }
    first = last;
  }
  return std::nullopt;
}

}  // namespace properties
