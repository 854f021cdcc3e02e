#include "sim/exhaustive_search.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "sim/choices.h"
#include "sim/env/check.h"
#include "sim/env/lookup_map.h"
#include "sim/fiber.h"
#include "sim/strategy_parts.h"

namespace sim {
namespace {

// A resource that a segment touched, each once.
struct Touch {
  uint64_t resource;
  bool stable;  // else a number in the order of first use
  bool changes;
};

struct Footprint {
  std::vector<Touch> touches;
  // Resources below this were in use when the segment began.
  uint64_t known = 0;

  uint64_t Hash() const {
    uint64_t hash = touches.size();
    for (const Touch& t : touches) {
      hash = Mix(hash, Mix(t.resource, t.stable * 2u + t.changes));
    }
    return hash;
  }
};

// One of the two began where the other did or later, after a common past.
bool Conflict(const Footprint& earlier, const Footprint& later) {
  for (const Touch& a : earlier.touches) {
    for (const Touch& b : later.touches) {
      if (a.stable != b.stable || !(a.changes || b.changes)) continue;
      bool fresh = !a.stable && a.resource >= earlier.known;
      bool same =
          fresh ? b.resource >= earlier.known : a.resource == b.resource;
      if (same) return true;
    }
  }
  return false;
}

// A task by its scope, and the segment it would make.
struct Tried {
  uint64_t task;
  Footprint footprint;
};

struct Node {
  std::vector<uint64_t> enabled;
  std::vector<Tried> asleep;
  std::vector<Tried> tried;
  uint64_t chosen = 0;
  Footprint footprint;  // of the chosen one's segment
  uint64_t footprint_hash = 0;

  bool IsDone(uint64_t task) const {
    auto is = [task](const Tried& t) { return t.task == task; };
    return std::any_of(asleep.begin(), asleep.end(), is) ||
           std::any_of(tried.begin(), tried.end(), is);
  }
};

}  // namespace

class ExhaustiveSearch::Path final : public Strategy, public env::AccessLog {
 public:
  explicit Path(const Options& options) : options_(options) {}

  bool watches() const override { return true; }
  env::AccessLog* access_log() override { return this; }

  void BeginRun() {
    depth_ = 0;
    pruned_ = cut_ = segment_open_ = false;
    resources_.Clear();
    next_resource_ = 0;
    pending_ = PerTask<env::Access>();
  }
  void EndRun() { CloseSegment(); }

  bool Begin(const SchedulePoint& point, env::TimeNs) override {
    CloseSegment();
    pending_[point.last] = point.access;
    at_ = point;
    decided_ = false;
    return false;
  }

  size_t Next(const SchedulePoint&,
              std::span<const Candidate> candidates) override {
    return Decide(candidates);
  }

  void Runs(const Candidate& task) override {
    if (!decided_) Decide({&task, 1});
    if (Idle()) return;
    // The scheduler must not prefer anybody else.
    SIM_CHECK(nodes_[depth_ - 1].chosen == task.key);
    segment_open_ = true;
    segment_ = Footprint();
    segment_.known = next_resource_;
    OnAccess(pending_[task.id]);
  }

  void OnAccess(const env::Access& access) override {
    if (!segment_open_ || !access.any()) return;
    Touch touch{access.resource, access.stable, access.changes};
    if (!access.stable) {
      if (resources_.Insert(access.resource, next_resource_)) ++next_resource_;
      touch.resource = resources_[access.resource];
    }
    for (Touch& known : segment_.touches) {
      if (known.resource != touch.resource || known.stable != touch.stable) {
        continue;
      }
      known.changes |= touch.changes;
      return;
    }
    segment_.touches.push_back(touch);
  }

  // The next path to try. False: there is none.
  bool Advance() {
    while (!nodes_.empty()) {
      Node& node = nodes_.back();
      node.tried.push_back({node.chosen, std::move(node.footprint)});
      for (uint64_t task : node.enabled) {
        if (node.IsDone(task)) continue;
        node.chosen = task;
        node.footprint = Footprint();
        node.footprint_hash = 0;
        return true;
      }
      nodes_.pop_back();
    }
    return false;
  }

  bool pruned() const { return pruned_; }
  bool cut() const { return cut_; }
  size_t depth() const { return depth_; }

 private:
  // Nothing is decided any more in this run.
  bool Idle() const { return pruned_ || cut_; }

  void CloseSegment() {
    if (!segment_open_) return;
    segment_open_ = false;
    Node& node = nodes_[depth_ - 1];
    uint64_t hash = segment_.Hash();
    // A run that does otherwise where it is told the same is not closed.
    SIM_CHECK(node.footprint_hash == 0 || node.footprint_hash == hash);
    node.footprint_hash = hash;
    node.footprint = std::move(segment_);
  }

  size_t Decide(std::span<const Candidate> candidates) {
    decided_ = true;
    if (Idle()) return kKeepRunning;
    if (depth_ == nodes_.size() && !AddNode(candidates)) return kKeepRunning;
    const Node& node = nodes_[depth_++];
    SIM_CHECK(node.enabled.size() == candidates.size());
    for (size_t i = 0; i < candidates.size(); ++i) {
      SIM_CHECK(node.enabled[i] == candidates[i].key);
      if (candidates[i].key == node.chosen) return i;
    }
    SIM_UNREACHABLE();
  }

  bool AddNode(std::span<const Candidate> candidates) {
    if (depth_ == options_.max_points) {
      cut_ = true;
      return false;
    }
    Node node;
    for (const Candidate& c : candidates) node.enabled.push_back(c.key);
    if (options_.sleep_sets && depth_ > 0) {
      const Node& from = nodes_[depth_ - 1];
      for (const auto* group : {&from.asleep, &from.tried}) {
        for (const Tried& t : *group) {
          if (!Conflict(t.footprint, from.footprint)) node.asleep.push_back(t);
        }
      }
    }
    if (!ChooseFirst(candidates, &node)) {
      pruned_ = true;
      return false;
    }
    nodes_.push_back(std::move(node));
    return true;
  }

  // Whoever runs goes on if it may, so that the first runs are the plainest.
  bool ChooseFirst(std::span<const Candidate> candidates, Node* node) const {
    bool found = false;
    for (const Candidate& c : candidates) {
      if (node->IsDone(c.key)) continue;
      if (!found || c.id == at_.current) node->chosen = c.key;
      found = true;
    }
    return found;
  }

  const Options& options_;
  std::vector<Node> nodes_;
  size_t depth_ = 0;
  SchedulePoint at_{};
  bool decided_ = false;
  bool pruned_ = false;
  bool cut_ = false;
  bool segment_open_ = false;
  Footprint segment_;
  PerTask<env::Access> pending_;
  env::LookupMap<uint64_t, uint64_t> resources_;
  uint64_t next_resource_ = 0;
};

ExhaustiveSearch::ExhaustiveSearch(const Options& options)
    : options_(options), path_(std::make_unique<Path>(options_)) {}
ExhaustiveSearch::~ExhaustiveSearch() = default;

ExhaustiveSearch::Result ExhaustiveSearch::Run(const Execution& execution) {
  Result result;
  StackPool stacks;
  Choices choices(0, Base::kZero);
  WorldOptions options;
  options.choices = &choices;
  options.custom_strategy = path_.get();
  options.stacks = &stacks;
  // Fairness would overrule the search.
  options.strategy.max_run = UINT32_MAX;
  options.strategy.max_ops_without_timer = UINT32_MAX;
  options.max_steps = 20 * options_.max_points;
  while (result.runs + result.pruned + result.cut < options_.max_runs) {
    path_->BeginRun();
    std::string finding = execution(options);
    path_->EndRun();
    result.deepest = std::max(result.deepest, path_->depth());
    ++(path_->pruned() ? result.pruned
       : path_->cut()  ? result.cut
                       : result.runs);
    if (!finding.empty() && !path_->pruned() && result.findings++ == 0) {
      result.first_finding = std::move(finding);
    }
    if (result.findings != 0 && options_.stop_at_finding) return result;
    if (!path_->Advance()) {
      result.complete = result.cut == 0;
      return result;
    }
  }
  return result;
}

}  // namespace sim
